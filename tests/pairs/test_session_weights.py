"""The weights of single sessions: kernel, reference and THEORY.md agree."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from click_logs import EXAMINATIONS, N_POSITIONS, Log, dense

from truerank import pair_weights
from truerank.losses.coefficients import correction
from truerank.losses.gains import gain_table
from truerank.pairs.reference import session_weights

METHODS = ("none", "robust", "complete")
GAIN = {"linear": float, "exp2": lambda label: 2.0**label - 1}
every_setting = [
    pytest.mark.parametrize("examination", EXAMINATIONS.values(), ids=EXAMINATIONS.keys()),
    pytest.mark.parametrize("method", METHODS),
    pytest.mark.parametrize("grades", [1, 4], ids=["binary", "graded"]),
    pytest.mark.parametrize("gain", GAIN),
    pytest.mark.parametrize("normalize", ["session", "none"]),
]


def in_every_setting(test):
    for mark in every_setting:
        test = mark(test)
    return test


def ragged_sessions(grades, seed=0):
    """Sizes 1 to 12, five of each, at shuffled positions with gaps; some without a click."""
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.repeat(np.arange(1, 13), 5))
    positions = np.concatenate([rng.permutation(N_POSITIONS)[:n] + 1 for n in group])
    labels = rng.integers(1, grades + 1, group.sum()) * (rng.random(group.sum()) < 0.4)
    return Log(labels, positions, group, None, None)


def sessions_of(log):
    ends = np.cumsum(log.group)
    for start, end in zip(ends - log.group, ends, strict=True):
        yield log.labels[start:end], log.positions[start:end]


def look_up(examination, positions):
    return examination.marginal(positions), examination.joint(positions[:, None], positions[None, :])


def losses_credited(a, b, p_i, p_j, p_ij):
    """THEORY.md, graded labels: what an observed pair of labels (a, b) credits to each ℓ_rs; binary is L = 1."""
    a_i, a_j, a_ij = 1 / p_i, 1 / p_j, 1 / p_ij
    if a and b:
        return {(a, b): a_ij, (a, 0): a_i - a_ij, (0, b): a_j - a_ij, (0, 0): 1 - a_i - a_j + a_ij}
    if a:
        return {(a, 0): a_i, (0, 0): 1 - a_i}
    if b:
        return {(0, b): a_j, (0, 0): 1 - a_j}
    return {(0, 0): 1.0}


def weight_by_theory(method, gain, a, b, *propensities):
    """What ℓ_rs with r > s, i above j, is credited, times the gain difference; only (a, b) itself short of complete."""
    credited = losses_credited(a, b, *propensities) if method != "none" else {(a, b): 1.0}
    kept = credited if method == "complete" else {(a, b): credited[a, b]}
    return sum(share * max(GAIN[gain](r) - GAIN[gain](s), 0) for (r, s), share in kept.items())


def best_dcg(labels, gain):
    """The largest DCG over all orders is that of the labels sorted."""
    return sum(GAIN[gain](y) / np.log2(2 + k) for k, y in enumerate(sorted(labels, reverse=True)))


@in_every_setting
def test_the_reference_reads_as_the_theory(examination, method, grades, gain, normalize):
    for labels, positions in itertools.islice(sessions_of(ragged_sessions(grades, seed=1)), 20):
        p, joint = look_up(examination, positions)
        expected = np.zeros(joint.shape)
        for i, j in itertools.permutations(range(len(labels)), 2):
            expected[i, j] = weight_by_theory(method, gain, labels[i], labels[j], p[i], p[j], joint[i, j])
        if normalize == "session" and labels.any():
            expected /= best_dcg(labels, gain)
        gains = gain_table(grades, gain)
        weight = session_weights(labels, p, joint, method, gains, normalize == "session")
        np.testing.assert_allclose(weight, expected, rtol=1e-12, atol=1e-12)


@in_every_setting
def test_each_session_has_the_weights_of_the_reference(examination, method, grades, gain, normalize):
    log = ragged_sessions(grades)
    pairs = pair_weights(
        log.labels, log.positions, log.group, method, examination, gain=gain, normalize=normalize, variance="none"
    )
    assert pairs.group.tolist() == log.group.tolist()
    for q, (labels, positions) in enumerate(sessions_of(log)):
        gains = gain_table(grades, gain)
        expected = session_weights(labels, *look_up(examination, positions), method, gains, normalize == "session")
        np.testing.assert_allclose(dense(pairs, q), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("examination", EXAMINATIONS.values(), ids=EXAMINATIONS.keys())
def test_complete_on_clicks_is_the_l10_row_of_the_inverse_matrix(examination):
    log = ragged_sessions(grades=1, seed=2)
    pairs = pair_weights(
        log.labels, log.positions, log.group, "complete", examination, normalize="none", variance="none"
    )
    for q, (labels, positions) in enumerate(sessions_of(log)):
        p, joint = look_up(examination, positions)
        row_10 = correction(p[:, None], p[None, :], joint)[..., 1, :]
        pair_type = np.where(labels[:, None], np.where(labels, 0, 1), np.where(labels, 2, 3))
        expected = np.take_along_axis(row_10, pair_type[..., None], axis=-1)[..., 0]
        np.fill_diagonal(expected, 0)
        np.testing.assert_allclose(dense(pairs, q), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        # θ = 1, 1/2, 1/4, independent; labels 2, 0, 1
        ("none", {(0, 1): 2, (0, 2): 1, (2, 1): 1}),
        ("robust", {(0, 1): 2 / 1, (0, 2): (2 - 1) / (1 / 4), (2, 1): 1 / (1 / 4)}),
        ("complete", {(0, 1): 2, (0, 2): 1 * 4 + 2 * (1 - 4), (2, 1): 4, (2, 0): 1 * (4 - 4)}),
    ],
)
def test_weights_worked_out_by_hand(method, expected):
    from truerank import Independent

    pairs = pair_weights(
        [2, 0, 1], [1, 2, 3], [3], method, Independent([1, 1 / 2, 1 / 4]), normalize="none", variance="none"
    )
    found = dict(zip(zip(pairs.i.tolist(), pairs.j.tolist(), strict=True), pairs.weight.tolist(), strict=True))
    assert found == pytest.approx(expected)


def test_complete_weights_of_two_clicks_can_be_negative():
    pairs = pair_weights([1, 1], [3, 4], [2], "complete", EXAMINATIONS["independent"], variance="none")
    assert pairs.n_pairs == 2
    assert (pairs.weight < 0).all()


def test_ratio_has_the_weights_of_none_and_keeps_positions():
    log = ragged_sessions(grades=4)
    plain, ratio = (pair_weights(log.labels, log.positions, log.group, method) for method in ("none", "ratio"))
    for name in ("i", "j", "weight", "offsets"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(ratio, name))
    start = np.repeat(ratio.row_offsets[:-1], np.diff(ratio.offsets))
    assert plain.position_i is plain.position_j is None
    np.testing.assert_array_equal(ratio.position_i, log.positions[start + ratio.i])
    np.testing.assert_array_equal(ratio.position_j, log.positions[start + ratio.j])

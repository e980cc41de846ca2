"""The compiled loss against its NumPy twin, and the twin against loops that are written from the formula."""

from types import SimpleNamespace

import numpy as np
import pytest

from truerank import Hinge, Independent, RankNet, Square, UnbiasedPairwiseLoss
from truerank.losses import SquaredHinge, reference
from truerank.ragged import read_sessions


def grade_weight(gain):
    """What a pair of grades 0 … 3 weighs."""
    gains = {None: np.arange(4), "linear": np.arange(4), "exp2": 2 ** np.arange(4) - 1}[gain]
    difference = abs(gains[:, None] - gains).astype(float)
    return np.where((difference == 0) | (gain is None), 1.0, difference)


def twin(examination, pair, gain, batch):
    sessions = read_sessions(batch.labels, batch.positions, batch.group)
    return reference.losses_and_derivatives(batch.scores, sessions, examination, pair, grade_weight(gain))


def three_loops(examination, pair, gain, batch):
    """Σ over sessions, i and j, i = j included, of what THEORY.md gives to a pair of observed grades."""
    weight = grade_weight(gain)

    def term(a, b, s_i, s_j):
        function = pair.l10 if a > b else pair.l01 if a < b else pair.l11 if a > 0 else pair.l00
        jet = function(np.array([s_i]), np.array([s_j]))
        return 0.0 if jet is None else weight[a, b] * jet.value[0]

    totals, start = [], 0
    for size in batch.group:
        total = 0.0
        for i in range(start, start + size):
            for j in range(start, start + size):
                a, b = batch.labels[i], batch.labels[j]
                l_ab, l_a0, l_0b, l_00 = (
                    term(x, y, batch.scores[i], batch.scores[j]) for x, y in ((a, b), (a, 0), (0, b), (0, 0))
                )
                k_i, k_j = batch.positions[i], batch.positions[j]
                if examination is None:
                    a_i = a_j = a_ij = 1.0
                else:
                    a_i, a_j = 1 / float(examination.marginal(k_i)), 1 / float(examination.marginal(k_j))
                    a_ij = 1 / float(examination.joint(k_i, k_j))
                if a > 0 and b > 0:
                    total += a_ij * l_ab + (a_i - a_ij) * l_a0 + (a_j - a_ij) * l_0b + (1 - a_i - a_j + a_ij) * l_00
                elif a > 0:
                    total += a_i * l_a0 + (1 - a_i) * l_00
                elif b > 0:
                    total += a_j * l_0b + (1 - a_j) * l_00
                else:
                    total += l_00
        totals.append(total)
        start += size
    return np.array(totals)


def test_compiled_loss_and_derivatives_equal_their_twin(examination, pair, gain, batch):
    loss = UnbiasedPairwiseLoss(examination, pair, gain=gain)
    value, gradient, hessian = twin(examination, pair, gain, batch)
    np.testing.assert_allclose(loss.session_values(*batch), value, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(loss.gradient_hessian(*batch), (gradient, hessian), rtol=1e-9, atol=1e-9)
    assert loss.value(*batch) == pytest.approx(value.sum(), rel=1e-9, abs=1e-9)


def test_twin_equals_three_loops(examination, pair, gain, batch):
    values, _, _ = twin(examination, pair, gain, batch)
    np.testing.assert_allclose(values, three_loops(examination, pair, gain, batch), rtol=1e-9, atol=1e-9)


def test_loss_without_an_examination_model_is_the_plain_sum_over_pairs(pair, gain, batch):
    loss = UnbiasedPairwiseLoss(None, pair, gain=gain)
    expected = three_loops(None, pair, gain, batch)
    np.testing.assert_allclose(loss.session_values(*batch), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(
        loss.session_values(*batch._replace(positions=None)), loss.session_values(*batch), "positions play no part"
    )


def test_twin_gives_the_same_whatever_the_number_of_pairs_at_a_time(examination, batch, monkeypatch, pair):
    whole = twin(examination, pair, "linear", batch)
    monkeypatch.setattr(reference, "_PAIRS_AT_A_TIME", 10)
    for expected, given in zip(whole, twin(examination, pair, "linear", batch), strict=True):
        np.testing.assert_allclose(given, expected, rtol=1e-12, atol=1e-12)


def test_gain_makes_no_difference_to_binary_labels(examination, pair, gain, clicks):
    with_gain, without = UnbiasedPairwiseLoss(examination, pair, gain=gain), UnbiasedPairwiseLoss(examination, pair)
    np.testing.assert_allclose(with_gain.session_values(*clicks), without.session_values(*clicks), rtol=1e-12)


def at_shifted_scores(loss, batch, h):
    """The total and the gradient with each score in turn moved by h: one row a moved score, all in one call."""
    n = len(batch.scores)
    scores = (batch.scores + h * np.eye(n)).ravel()
    shifted = (scores, *(np.tile(column, n) for column in batch[1:]))
    gradients, _ = loss.gradient_hessian(*shifted)
    return loss.session_values(*shifted).reshape(n, -1).sum(axis=1), gradients.reshape(n, n)


def test_derivatives_agree_with_central_differences(examination, smooth_pair, batch):
    loss, h = UnbiasedPairwiseLoss(examination, smooth_pair, gain="exp2"), 1e-5
    (value_after, gradient_after), (value_before, gradient_before) = (
        at_shifted_scores(loss, batch, step) for step in (h, -h)
    )
    gradient, hessian = loss.gradient_hessian(*batch)
    np.testing.assert_allclose(gradient, (value_after - value_before) / (2 * h), rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(hessian, np.diagonal(gradient_after - gradient_before) / (2 * h), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("pair", [RankNet(), Hinge(), SquaredHinge(), Square(), RankNet(sigma=2.5)], ids=repr)
def test_independent_examination_gives_the_loss_published_for_it(pair, clicks):
    """Σ_{i≠j} (c_i/θ_i)(1 − c_j/θ_j) ℓ10 and its mirror image (Saito 2020); ℓ11 = ℓ00 = 0, so the diagonal is 0."""
    theta = 1 / np.arange(1, 16)
    expected, end = [], np.cumsum(clicks.group)
    for first, last in zip(end - clicks.group, end, strict=True):
        s, x = clicks.scores[first:last], clicks.labels[first:last] / theta[clicks.positions[first:last] - 1]
        i, j = np.nonzero(~np.eye(last - first, dtype=bool))
        one_way = x[i] * (1 - x[j]) * pair.l10(s[i], s[j]).value
        other_way = (1 - x[i]) * x[j] * pair.l01(s[i], s[j]).value
        expected.append((one_way + other_way).sum())
    loss = UnbiasedPairwiseLoss(Independent(theta), pair)
    np.testing.assert_allclose(loss.session_values(*clicks), expected, rtol=1e-9, atol=1e-9)


def test_one_click_counts_both_orders_of_each_pair(theta):
    loss = UnbiasedPairwiseLoss(Independent(theta), "hinge")
    scores = SimpleNamespace(clicked=0.25, above=0.5, below=-1.0)
    hinge_above = max(0, 1 - (scores.clicked - scores.above))
    hinge_below = max(0, 1 - (scores.clicked - scores.below))
    value = loss.value([scores.above, scores.clicked, scores.below], [0, 1, 0], [1, 2, 3], [3])
    assert value == pytest.approx(2 / theta[1] * (hinge_above + hinge_below))


def test_two_clicks_alone_can_cost_less_than_nothing(theta):
    a_i, a_j = 1 / theta[1:]
    a_ij = a_i * a_j
    expected = 2 * ((a_i - a_ij) * np.log(2) + (a_j - a_ij) * np.log(2))
    assert expected < 0
    value = UnbiasedPairwiseLoss(Independent(theta)).value([0, 0], [1, 1], [2, 3], [2])
    assert value == pytest.approx(expected)


def test_diagonal_of_a_clicked_item_takes_its_marginal_for_the_pair(examination):
    """One item, clicked, ℓ11 = ℓ00 = log 2 at equal scores: a ℓ11 + (1 − a) ℓ00 = log 2."""
    loss = UnbiasedPairwiseLoss(examination, "ranknet_with_ties")
    assert loss.value([0.7], [1], [4], [1]) == pytest.approx(np.log(2))

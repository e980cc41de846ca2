"""Joint swaps: ψ is found for any way of looking, its intervals cover, gaps are filled as asked, bounds hold."""

from itertools import combinations

import numpy as np
import pytest

import truerank as tr
from truerank.errors import IdentificationError, InputError
from truerank.propensity import PropensityEstimate
from truerank.propensity.joint_fill import filled_pairs, within_bounds
from truerank.propensity.ratio import swap_ratio
from truerank.propensity.swap import paired_arms
from truerank.types import SwapArms

PAIRS = [pair for pair in combinations(range(1, 6), 2) if pair != (1, 2)]
SINGLES = [(k, 0) for k in range(2, 6)]
THETA = np.array([1, 0.8, 0.65, 0.5, 0.4])


def truth_of(model, n=5):
    k = np.arange(1, n + 1)
    return model.joint(k[:, None], k)


@pytest.fixture(scope="module")
def relevance():
    return np.random.default_rng(1).uniform(0.3, 0.9, size=(30, 5))


@pytest.mark.parametrize("model", [tr.Independent(THETA), tr.Continuous(THETA)], ids=["independent", "continuous"])
def test_every_pair_is_found_when_position_1_is_always_looked_at(model, relevance, draw_sessions, rng):
    log = draw_sessions(model, relevance, SINGLES + PAIRS, 300_000, rng)
    found = tr.propensity.joint_swap(log)
    truth = truth_of(model)
    i, j = np.triu_indices(5, 1)
    apart = np.log(found.psi / truth)[i, j] / found.psi_log_errors[i, j]
    assert np.all(np.abs(apart) <= 4)
    assert found.psi_log_errors[i, j].max() < 0.08
    np.testing.assert_array_equal(found.psi, found.psi.T)
    assert np.abs(truth_of(found.examination) - truth).max() < 0.06
    assert not any("disagree" in note for note in found.notes)


def test_the_ratio_is_right_even_if_position_1_is_not_always_looked_at(relevance, draw_sessions, rng):
    model = tr.RowSkipping(0.25, 0.9, [2, 3])
    log = draw_sessions(model, relevance, PAIRS, 300_000, rng)
    experiments = paired_arms(tr.propensity.swap_arms(log), joint=True)
    ratio = swap_ratio(experiments.arms)
    truth = model.joint(experiments.k1, experiments.k2) / model.joint(1, 2)
    assert np.all(np.abs(np.log(ratio.value / truth)) <= 4 * ratio.log_error)
    # pairs that hold position 2 go one way only
    assert np.isnan(ratio.disagreement).tolist() == (experiments.k1 == 2).tolist()


@pytest.mark.parametrize("two_way", [True, False])
def test_intervals_of_psi_cover_at_their_level(two_way, draw_swap_arms, rng):
    """ψ = θ_2 R from two experiments, 10,000 times over."""
    n, theta_2, r = 10_000, 0.7, 0.35
    single = swap_ratio(paired_arms(draw_swap_arms(np.full(n, theta_2), 0.5, 0.3, 0.1, 3_000, rng), joint=False).arms)
    arms = paired_arms(draw_swap_arms(np.full(n, r), 0.2, 0.1, 0.015, 6_000, rng), joint=False).arms
    arms.two_way[:] = two_way
    joint = swap_ratio(arms)
    apart = np.log(single.value * joint.value / (theta_2 * r)) / np.hypot(single.log_error, joint.log_error)
    covered = np.mean(np.abs(apart) <= 1.95996)
    assert abs(covered - 0.95) <= 4 * np.sqrt(0.95 * 0.05 / n) + 0.002


def arms_of(psi, pairs, n=1_000_000, relevant=0.5):
    """Counts without noise: what sessions would give on average."""
    k1, k2 = np.array(pairs).T
    low, top = n * psi[k1 - 1, k2 - 1] * relevant, n * psi[0, 1] * relevant
    columns = [np.full(len(pairs), n), np.full(len(pairs), top), low, low * top / n]
    return SwapArms(np.tile(k1, 2), np.tile(k2, 2), np.repeat([0, 1], len(pairs)), *np.tile(np.rint(columns), 2))


SOME = [(2, 3), (2, 5), (3, 5)]


@pytest.mark.parametrize("fill", ["independent", "continuous", "smooth"])
@pytest.mark.parametrize("model", [tr.Independent(THETA), tr.Continuous(THETA)], ids=["independent", "continuous"])
def test_pairs_that_were_not_measured_are_filled_as_asked(model, fill):
    truth = truth_of(model)
    found = tr.propensity.joint_swap(arms_of(truth, SOME), tr.Independent(THETA), fill=fill)
    table = truth_of(found.examination)
    i, j = np.array(SOME).T - 1
    np.testing.assert_allclose(table[i, j], truth[i, j], rtol=1e-5)
    filled = {"smooth": truth, "continuous": truth_of(tr.Continuous(THETA)), "independent": np.outer(THETA, THETA)}
    np.testing.assert_allclose(table[2, 3], filled[fill][2, 3], rtol=1e-4)
    assert f"3 of 10 pairs were not measured; training takes them as {fill}" in found.notes
    assert np.isnan(found.psi[2, 3])


def test_pairs_with_position_1_need_no_experiment():
    truth = truth_of(tr.Continuous(THETA))
    found = tr.propensity.joint_swap(arms_of(truth, PAIRS[3:]), tr.Independent(THETA))
    np.testing.assert_allclose(truth_of(found.examination), truth, rtol=1e-5)
    np.testing.assert_array_equal(found.psi[0], THETA)


def test_smooth_filling_follows_an_association_that_fades_with_distance():
    k = np.arange(1, 11)
    theta = tr.inverse_rank(10, 0.5)
    gap = np.abs(np.subtract.outer(k, k))
    association = np.clip(0.9 - 0.35 * np.log(np.maximum(gap, 1)), 0, 1)
    product, least = np.outer(theta, theta), np.minimum.outer(theta, theta)
    truth = product + association * (least - product)
    psi, errors = truth.copy(), np.full((10, 10), 0.01)
    hidden = np.random.default_rng(0).random((10, 10)) < 0.5
    hidden = np.triu(hidden, 1) | np.triu(hidden, 1).T
    psi[hidden] = np.nan
    filled = filled_pairs(theta, psi, errors, "smooth")
    np.testing.assert_array_equal(filled[~hidden], truth[~hidden])
    assert np.abs(filled - truth)[hidden].max() < 0.03
    assert np.abs(least - truth)[hidden].max() > 0.1


def test_without_a_word_about_gaps_they_are_refused():
    with pytest.raises(IdentificationError, match=r"3 pairs of positions were not measured, the first is \(2, 4\)"):
        tr.propensity.joint_swap(arms_of(truth_of(tr.Continuous(THETA)), SOME), tr.Independent(THETA))


def test_what_cannot_be_is_moved_to_the_nearest_bound_and_said():
    psi = truth_of(tr.Continuous(THETA))
    psi[1, 2] = psi[2, 1] = 0.7  # above θ_3 = 0.65
    psi[1, 3] = psi[3, 1] = 0.25  # below θ_2 + θ_4 − 1 = 0.3
    found = tr.propensity.joint_swap(arms_of(psi, PAIRS[3:]), tr.Independent(THETA))
    assert found.examination.joint(2, 3) == 0.65
    assert found.examination.joint(2, 4) == pytest.approx(0.3)
    assert found.psi[1, 2] == pytest.approx(0.7)
    (note,) = [note for note in found.notes if "bounds of probability" in note]
    assert note.startswith("2 of 10 measured pairs were moved within the bounds of probability, the most (2, ")
    assert note.endswith("more than noise; position 1 may not always be looked at, or θ be off")


def test_the_projection_is_the_nearest_table_within_bounds(rng):
    theta = np.array([0.9, 0.6, 0.3])
    raw = rng.uniform(0, 1, (3, 3))
    raw = (raw + raw.T) / 2
    nearest = within_bounds(theta, raw)
    tr.Tabulated(theta, nearest)  # refuses what is outside

    def distance(table):
        return np.sum((table - raw)[np.triu_indices(3, 1)] ** 2)

    for _ in range(2_000):
        mix = rng.uniform(0, 1, (3, 3))
        mix = np.triu(mix) + np.triu(mix, 1).T
        low, high = np.maximum(0, np.add.outer(theta, theta) - 1), np.minimum.outer(theta, theta)
        assert distance(nearest) <= distance(low + mix * (high - low)) + 1e-12


def test_a_pair_never_clicked_together_is_refused_or_counts_as_not_measured():
    k1, k2 = [2, 2, 3, 3], [3, 3, 4, 4]
    counts = SwapArms(k1, k2, [0, 1] * 2, [1000] * 4, [90] * 4, [30, 30, 0, 0], [0] * 4)
    with pytest.raises(IdentificationError, match=r"\(3, 4\) with \(1, 2\) has no click at its own place"):
        tr.propensity.joint_swap(counts, tr.Independent(THETA[:4]))
    found = tr.propensity.joint_swap(counts, tr.Independent(THETA[:4]), fill="continuous")
    assert found.examination.joint(3, 4) == THETA[3]
    assert "(3, 4) with (1, 2): no session with clicks on both; counts as not measured" in found.notes


def test_errors_of_theta_2_are_passed_on():
    counts = arms_of(truth_of(tr.Continuous(THETA)), PAIRS[3:], n=20_000)
    sure = tr.propensity.joint_swap(counts, tr.Independent(THETA))
    covariance = np.diag([0, 0.1, 0.1, 0.1, 0.1]) ** 2
    unsure = PropensityEstimate("given", "made up", THETA, covariance, tr.Independent(THETA))
    found = tr.propensity.joint_swap(counts, unsure)
    i, j = np.array(PAIRS[3:]).T - 1
    np.testing.assert_allclose(found.psi_log_errors[i, j], np.hypot(sure.psi_log_errors[i, j], 0.1))


def test_the_bootstrap_agrees_with_the_delta_method():
    counts = arms_of(truth_of(tr.Independent(THETA)), PAIRS, n=20_000)
    delta = tr.propensity.joint_swap(counts, tr.Independent(THETA))
    bootstrap = tr.propensity.joint_swap(counts, tr.Independent(THETA), errors="bootstrap", replicates=4_000)
    np.testing.assert_allclose(bootstrap.psi_log_errors, delta.psi_log_errors, rtol=0.06)


def test_an_estimate_with_pairs_saved_is_the_estimate_loaded(tmp_path):
    truth = truth_of(tr.Continuous(THETA))
    found = tr.propensity.joint_swap(arms_of(truth, SOME), tr.Independent(THETA), fill="smooth")
    found.save(tmp_path / "psi.json")
    loaded = PropensityEstimate.load(tmp_path / "psi.json")
    assert loaded.summary() == found.summary()
    assert "\n    2, 5   0.4000   0.3982 – 0.4018" in found.summary()
    assert tr.load_examination(tmp_path / "psi.json") == found.examination


def test_theta_that_does_not_fit_is_refused():
    counts = arms_of(truth_of(tr.Continuous(THETA)), PAIRS)
    with pytest.raises(InputError, match="θ is known at 3 positions and the experiment goes to position 5"):
        tr.propensity.joint_swap(counts, tr.Independent(THETA[:3]))
    with pytest.raises(InputError, match="marginal is a list"):
        tr.propensity.joint_swap(counts, [1, 0.5])
    with pytest.raises(IdentificationError, match="no sessions that swap single positions"):
        tr.propensity.joint_swap(counts)
    absolute = PropensityEstimate("given", "", 0.9 * THETA, np.zeros((5, 5)), tr.Independent(THETA))
    with pytest.raises(InputError, match=r"the estimate has θ_1 = 0.9.*Hint: pass its examination model"):
        tr.propensity.joint_swap(counts, absolute)
    with pytest.raises(InputError, match="fill is 'guess'"):
        tr.propensity.joint_swap(arms_of(truth_of(tr.Continuous(THETA)), SOME), tr.Independent(THETA), fill="guess")
    with pytest.raises(InputError, match="does not measure pairs"):
        absolute.psi_interval()
    with pytest.raises(IdentificationError, match="no measured pair tells how two positions go together"):
        tr.propensity.joint_swap(
            arms_of(truth_of(tr.Continuous(THETA)), [(1, 3)]), tr.Independent(THETA), fill="smooth"
        )


def test_a_model_that_is_known_is_taken_relative_to_position_1():
    counts = arms_of(truth_of(tr.Continuous(THETA)), PAIRS)
    found = tr.propensity.joint_swap(counts, tr.Independent(0.5 * THETA))
    np.testing.assert_allclose(found.theta, THETA)

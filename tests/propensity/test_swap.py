"""Single swaps: the estimate is consistent, its intervals cover, and what the log does not tell is refused."""

import json

import numpy as np
import pytest

import truerank as tr
from truerank.errors import FileFormatError, IdentificationError, InputError
from truerank.propensity import PropensityEstimate
from truerank.propensity.ratio import PairedArms, swap_ratio
from truerank.propensity.swap import paired_arms
from truerank.types import SwapArms

TOP, TARGET = 0.45, 0.2  # chances of a click at position 1 on the items of positions 1 and k


def ratios_of(theta, n_sessions, replicates, draw, rng, both=0.02):
    """The ratio of one and the same experiment, drawn again and again."""
    counts = draw(np.full(replicates, theta), TOP, TARGET, both, n_sessions, rng)
    return swap_ratio(paired_arms(counts, joint=False).arms)


@pytest.mark.parametrize("theta", [0.9, 0.4, 0.1])
@pytest.mark.parametrize("both", [0.001, 0.08])
def test_intervals_cover_at_their_level(draw_swap_arms, rng, theta, both):
    replicates = 10_000
    if both > 0.9 * theta * TARGET:
        both = 0.9 * theta * TARGET
    ratio = ratios_of(theta, 4_000, replicates, draw_swap_arms, rng, both)
    apart = np.abs(np.log(ratio.value / theta)) / ratio.log_error
    for level, quantile in ((0.95, 1.95996), (0.8, 1.28155)):
        covered = np.mean(apart <= quantile)  # of θ, and of 1/θ: on the log scale they are the same event
        assert abs(covered - level) <= 4 * np.sqrt(level * (1 - level) / replicates) + 0.002


def test_the_error_shrinks_like_one_over_root_n(draw_swap_arms, rng):
    sizes, replicates = np.array([2_000, 32_000, 512_000]), 4_000
    spread = []
    for n in sizes:
        ratio = ratios_of(0.4, n, replicates, draw_swap_arms, rng)
        error = ratio.value - 0.4
        spread.append(np.sqrt(np.mean(error**2)))
        assert abs(error.mean()) <= 4 * error.std() / np.sqrt(replicates) + 1 / n  # the bias of a ratio is O(1/n)
        np.testing.assert_allclose(ratio.value.std(), np.mean(ratio.value * ratio.log_error), rtol=0.05)
    np.testing.assert_allclose(spread * np.sqrt(sizes), spread[-1] * np.sqrt(sizes[-1]), rtol=0.08)


def test_two_directions_are_worth_more_than_either_and_than_their_mean(draw_swap_arms, rng):
    theta = np.full(20_000, 0.3)
    counts = draw_swap_arms(theta, 0.6, 0.1, 0.01, 4_000, rng)
    arms = paired_arms(counts, joint=False).arms
    both = swap_ratio(arms).value
    forward = (arms.target / arms.sessions) / (arms.swapped_top / arms.swapped_sessions)
    backward = (arms.swapped_target / arms.swapped_sessions) / (arms.top / arms.sessions)
    for other in (forward, backward, np.sqrt(forward * backward)):
        assert np.var(np.log(both)) < 0.97 * np.var(np.log(other))  # each known to 1 %


def test_the_least_variance_is_that_of_the_multinomial_likelihood(draw_swap_arms, rng):
    """Fisher's information of the three free cells of either arm, in (R, a, b, q), by central differences."""
    ratio, a, b, q, n, m = 0.3, 0.6, 0.35, 0.05, 6_000, 2_000

    def cells(parameters):
        ratio, a, b, q = parameters
        control, swapped = [a - q, ratio * b - q, q], [b - q, ratio * a - q, q]
        return [np.append(arm, 1 - sum(arm)) for arm in (control, swapped)]

    truth, information = np.array([ratio, a, b, q]), np.zeros((4, 4))
    steps = [
        [(x - y) / 2e-6 for x, y in zip(cells(truth + h), cells(truth - h), strict=True)] for h in 1e-6 * np.eye(4)
    ]
    for arm, size in enumerate((n, m)):
        slope = np.array([step[arm] for step in steps])
        information += size * (slope / cells(truth)[arm]) @ slope.T
    bound = np.sqrt(np.linalg.inv(information)[0, 0]) / ratio
    control, swapped = (np.round(size * p) for size, p in zip((n, m), cells(truth), strict=True))
    sums = [c[i] + c[2] if i < 2 else c[2] for c in (control, swapped) for i in range(3)]
    arms = PairedArms(*map(np.atleast_1d, [n, *sums[:3], m, *sums[3:]]), np.array([True]))
    found = swap_ratio(arms)
    np.testing.assert_allclose(found.value, ratio, rtol=1e-3)
    assert bound <= found.log_error[0] * 1.001
    assert found.log_error[0] <= 1.02 * bound  # what using click rates instead of all cells costs


@pytest.mark.parametrize(
    "model",
    [
        tr.Independent(tr.inverse_rank(6)),
        tr.Continuous(tr.inverse_rank(6)),
        tr.RowSkipping(0.3, 0.8, [3, 3]),
        tr.Independent([0.5, 0.4, 0.3, 0.2, 0.4, 0.1]),
    ],
    ids=lambda model: model.kind,
)
def test_sessions_of_any_browsing_give_the_ratios_of_their_theta(model, draw_sessions, rng):
    relevance = rng.beta(1, 2, size=(50, 6))
    log = draw_sessions(model, relevance, [(k, 0) for k in range(2, 7)], 200_000, rng)
    found = tr.propensity.swap(log)
    truth = model.marginal(range(1, 7)) / model.marginal(1)
    apart = (found.theta - truth)[1:] / found.standard_errors[1:]
    assert np.all(np.abs(apart) <= 4)
    assert np.all(found.standard_errors[1:] <= 0.1 * truth[1:])
    assert found.notes == ()


def test_the_bootstrap_and_the_delta_method_agree(draw_swap_arms, rng):
    counts = draw_swap_arms(np.array([0.8, 0.5, 0.1]), TOP, TARGET, 0.015, 20_000, rng)
    delta = tr.propensity.swap(counts)
    bootstrap = tr.propensity.swap(counts, errors="bootstrap", replicates=4_000)
    np.testing.assert_array_equal(delta.theta, bootstrap.theta)
    # the error of a bootstrap error is 1/√(2·4000) = 1.1 %
    np.testing.assert_allclose(bootstrap.standard_errors, delta.standard_errors, rtol=0.05)
    again = tr.propensity.swap(counts, errors="bootstrap", replicates=4_000)
    np.testing.assert_array_equal(again.log_covariance, bootstrap.log_covariance)


def test_trust_in_the_top_shows_as_two_directions_that_disagree(rng):
    """A click at position 1 comes also from what is not relevant: then R is not one number."""
    n, theta = 200_000, 0.4
    relevant, other = 0.3, 0.1

    def top(r):
        return r + 0.2 * (1 - r)

    drawn = [rng.binomial(n, p) for p in (top(relevant), theta * other, top(other), theta * relevant)]
    counts = SwapArms([2, 2], [0, 0], [0, 1], [n, n], drawn[::2], drawn[1::2], [0, 0])
    found = tr.propensity.swap(counts)
    assert any("the two directions disagree by" in note for note in found.notes)


def test_the_disagreement_of_honest_directions_is_standard_normal(draw_swap_arms, rng):
    from scipy.stats import kstest

    assert kstest(ratios_of(0.4, 50_000, 3_000, draw_swap_arms, rng).disagreement, "norm").pvalue > 0.001


# what is refused, filled and capped


def counts_at(*positions, target=100, top=400):
    n = len(positions)
    columns = [np.repeat(c, 2 * n) for c in (1_000, top, target, 20)]
    return SwapArms(np.repeat(positions, 2), np.zeros(2 * n), np.tile([0, 1], n), *columns)


def test_positions_outside_the_experiment_are_refused_or_filled_on_request():
    with pytest.raises(IdentificationError, match=r"θ at positions 2, 4–5 cannot be told: the experiment did not swap"):
        tr.propensity.swap(counts_at(3, 6))
    found = tr.propensity.swap(counts_at(3, 6), fill="interpolate")
    assert found.measured.tolist() == [True, False, True, False, False, True]
    np.testing.assert_allclose(found.theta[[2, 5]], 0.25)
    np.testing.assert_allclose(found.examination.marginal([2, 4]), [0.25 ** (np.log(2) / np.log(3)), 0.25])
    assert "positions 2, 4–5 is not measured but interpolated" in found.notes[0]
    assert "not measured  (training uses θ = 0.2500)" in found.summary()


def test_a_position_without_a_click_is_refused():
    with pytest.raises(IdentificationError, match=r"3 with 1 has no click at its own place in 2000 sessions.*plan"):
        tr.propensity.swap(SwapArms([3, 3], [0, 0], [0, 1], [1000] * 2, [9, 9], [0, 0], [0, 0]))


def test_an_arm_that_is_missing_is_refused():
    with pytest.raises(IdentificationError, match="3 with 1 has no swapped session"):
        tr.propensity.swap(SwapArms([3], [0], [0], [1000], [9], [3], [0]))
    with pytest.raises(IdentificationError, match="no sessions that swap single positions"):
        tr.propensity.swap(SwapArms([3, 3], [4, 4], [0, 1], [1000] * 2, [9] * 2, [3] * 2, [0] * 2))


def test_a_ratio_above_one_is_kept_in_the_estimate_and_capped_for_training():
    found = tr.propensity.swap(counts_at(2, target=450))
    np.testing.assert_allclose(found.theta[1], 1.125)
    assert found.examination.marginal(2) == 1
    assert "θ is above θ_1 = 1 at position 2 (the most at 2: 1.125 ±" in found.notes[0]


def test_few_clicks_are_said():
    counts = SwapArms([2, 2], [0, 0], [0, 1], [1000] * 2, [90, 80], [3, 4], [0, 0])
    assert "2 with 1: only 7 clicks; its error is rough" in tr.propensity.swap(counts).notes


def test_entries_of_the_same_arm_are_added_up():
    once, parts = counts_at(2), counts_at(2)
    half = {name: getattr(parts, name) // 2 for name in ("sessions", "top_clicks", "target_clicks", "both_clicks")}
    twice = SwapArms(
        *(np.tile(getattr(parts, n), 2) for n in ("k1", "k2", "swapped")), *(np.tile(h, 2) for h in half.values())
    )
    np.testing.assert_array_equal(tr.propensity.swap(once).standard_errors, tr.propensity.swap(twice).standard_errors)


def test_choices_that_do_not_exist_are_refused():
    with pytest.raises(InputError, match="errors is 'jackknife'"):
        tr.propensity.swap(counts_at(2), errors="jackknife")
    with pytest.raises(InputError, match="a bootstrap needs at least 2"):
        tr.propensity.swap(counts_at(2), errors="bootstrap", replicates=1)
    with pytest.raises(InputError, match="fill is 'guess'"):
        tr.propensity.swap(counts_at(3), fill="guess")
    with pytest.raises(InputError, match="level is 95"):
        tr.propensity.swap(counts_at(2)).interval(95)


# the estimate


def test_intervals_of_theta_and_of_its_inverse_mirror_each_other():
    found = tr.propensity.swap(counts_at(2, 3, target=200))
    (low, high), (inverse_low, inverse_high) = found.interval(0.9), found.inverse_interval(0.9)
    np.testing.assert_allclose(inverse_low, 1 / high)
    np.testing.assert_allclose(inverse_high, 1 / low)
    assert np.all(low[1:] < found.theta[1:])
    assert low[0] == high[0] == 1
    np.testing.assert_allclose(found.inverse_standard_errors, found.standard_errors / found.theta**2)


@pytest.mark.parametrize("fill", [None, "interpolate"])
def test_an_estimate_saved_is_the_estimate_loaded(tmp_path, fill):
    found = tr.propensity.swap(counts_at(2, 5) if fill else counts_at(2, 3), fill=fill)
    found.save(tmp_path / "theta.json")
    loaded = PropensityEstimate.load(tmp_path / "theta.json")
    assert loaded.summary() == found.summary()
    np.testing.assert_array_equal(loaded.log_covariance, found.log_covariance)
    assert loaded.to_dict() == found.to_dict() == json.loads((tmp_path / "theta.json").read_text())
    assert tr.load_examination(tmp_path / "theta.json") == found.examination


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "model.json"
    tr.Independent([1, 0.5]).save(path)
    with pytest.raises(FileFormatError, match=r"has format 'truerank.examination'"):
        PropensityEstimate.load(path)
    document = tr.propensity.swap(counts_at(2)).to_dict()
    del document["theta"]
    path.write_text(json.dumps(document))
    with pytest.raises(FileFormatError, match="cannot be used"):
        PropensityEstimate.load(path)


def test_the_summary_is_a_table_to_read():
    lines = tr.propensity.swap(counts_at(2)).summary().splitlines()
    assert lines[0] == "swap: θ_1 = 1: all θ are relative to position 1; 95% intervals, " + (
        "delta method on binomial counts, sessions independent"
    )
    assert lines[2].split()[:2] == ["1", "1.0000"]
    assert lines[3].split()[:2] == ["2", "0.2500"]

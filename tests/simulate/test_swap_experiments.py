"""Swap experiments: what is swapped, how often, how it is marked, and that it tells θ and ψ."""

from __future__ import annotations

import numpy as np
import pytest
from enumerated import MODELS, OnlySample, fit, label_patterns, with_a_click

import truerank as tr
from truerank import Continuous, Independent, JointSwapExperiment, SwapExperiment, inverse_rank, simulate_clicks
from truerank.errors import InputError
from truerank.simulate.swaps import read_arms

STANDARD_ERRORS = 4.5
SINGLE = SwapExperiment([2, 3, 6], share=0.5, allocation=[1, 2, 1])
JOINT = JointSwapExperiment([(1, 3), (2, 5), (3, 6), (4, 5)], share=0.3)
LABELS = [1, 4, 0, 2, 3, 1]
models = pytest.mark.parametrize(
    "model", [Continuous(inverse_rank(6)), OnlySample(Continuous(inverse_rank(6)))], ids=["by walk", "through sample"]
)


def experiment(model, swap, n=100_000, labels=LABELS, seed=2, require_click=False, **options):
    sessions = simulate_clicks(
        labels, model, n, seed, group=[len(labels)], swap=swap, require_click=require_click, **options
    )
    return sessions, sessions.clicks.reshape(n, -1), sessions.item.reshape(n, -1)


def in_arm(sessions, *marker):
    return np.all(sessions.swap == marker, axis=1)


ALL_PAIRS = [(a, b) for b in range(2, 9) for a in range(1, b) if (a, b) != (1, 2)]


@pytest.mark.parametrize("pair", ALL_PAIRS)
def test_a_joint_swap_is_a_permutation_that_brings_both_items_to_the_top(pair):
    arms = read_arms(JointSwapExperiment([pair]), longest=8)
    none, control, swapped = (order + 1 for order in arms.order)
    assert none.tolist() == control.tolist() == list(range(1, 9))
    assert sorted(swapped) == list(range(1, 9))
    assert tuple(swapped[:2]) == pair
    moved = set(np.flatnonzero(swapped != none) + 1)
    assert moved <= {1, 2, *pair}
    pushed_out = [k for k in (1, 2) if k not in pair]
    assert [item for item in swapped if item in pushed_out] == pushed_out  # they keep their order


@pytest.mark.parametrize("k", range(2, 9))
def test_a_single_swap_exchanges_two_items_and_leaves_the_others(k):
    order = read_arms(SwapExperiment([k]), longest=8).order[2] + 1
    expected = np.arange(1, 9)
    expected[[0, k - 1]] = k, 1
    np.testing.assert_array_equal(order, expected)


@models
@pytest.mark.parametrize("require_click", [False, True])
def test_the_items_of_the_swapped_arm_really_stand_at_the_top(model, require_click):
    sessions, _, item = experiment(model, [SINGLE, JOINT], 20_000, require_click=require_click)
    for k1, k2, swapped in np.unique(sessions.swap, axis=0):
        shown = item[in_arm(sessions, k1, k2, swapped)]
        assert (shown == shown[0]).all()
        if not swapped:
            assert shown[0].tolist() == [0, 1, 2, 3, 4, 5]
        elif k2:
            assert shown[0, :2].tolist() == [k1 - 1, k2 - 1]
        else:
            assert shown[0, [0, k1 - 1]].tolist() == [k1 - 1, 0]
        assert sorted(shown[0]) == [0, 1, 2, 3, 4, 5]


@models
def test_traffic_is_shared_out_as_asked(model):
    sessions, _, _ = experiment(model, [SINGLE, JOINT])
    expected = {(0, 0, 0): 0.2}
    for k, share in ((2, 0.125), (3, 0.25), (6, 0.125)):
        expected |= {(k, 0, 0): share / 2, (k, 0, 1): share / 2}
    for pair in JOINT.pairs:
        expected |= {(*pair, 0): 0.3 / 8, (*pair, 1): 0.3 / 8}
    assert {tuple(marker) for marker in np.unique(sessions.swap, axis=0).tolist()} == expected.keys()
    for marker, share in expected.items():
        error = abs(in_arm(sessions, *marker).mean() - share)
        assert error <= STANDARD_ERRORS * np.sqrt(share * (1 - share) / sessions.n_sessions)


@pytest.mark.parametrize("name", ["independent", "continuous", "row skipping", "all or nothing"])
@pytest.mark.parametrize("require_click", [False, True])
def test_each_arm_has_the_distribution_that_enumeration_gives(name, require_click):
    """Redrawing redraws the arm as well, so arms with more clicks are kept more often."""
    labels, relevance = [0, 1, 4], np.array([0, 1, 15])[:, None] / 15
    swap = [SwapExperiment([2, 3], share=0.6), JointSwapExperiment([(2, 3)], share=0.3)]
    arms = read_arms(swap, 3)
    patterns = {}
    for marker, chance, order in zip(arms.marker.tolist(), arms.chance, arms.order, strict=True):
        for labels_shown, p in label_patterns(MODELS[name], relevance, order.tolist()).items():
            key = (*labels_shown, *(marker if any(labels_shown) or not require_click else (0, 0, 0)))
            patterns[key] = patterns.get(key, 0) + chance * p
    if require_click:
        patterns = with_a_click({key: p for key, p in patterns.items() if any(key[:3])})
    sessions, clicks, _ = experiment(MODELS[name], swap, labels=labels, require_click=require_click, max_grade=4)
    assert fit(np.hstack([clicks, sessions.swap]), patterns) > 1e-4


@models
@pytest.mark.parametrize("require_click", [False, True])
def test_the_clicks_of_the_two_arms_are_in_the_ratio_of_theta(model, require_click):
    """By counts, for an arm is drawn for half of the traffic; what is redrawn is lost to both in the same way."""
    n = 400_000
    swap = SwapExperiment([3], share=1.0)
    sessions, clicks, _ = experiment(model, swap, n, [1, 3, 2, 0], require_click=require_click)
    control, swapped = (int((clicks[in_arm(sessions, 3, 0, s)][:, [2, 0][s]] > 0).sum()) for s in (0, 1))
    ratio, truth = control / swapped, (model.model if isinstance(model, OnlySample) else model).marginal(3)
    assert abs(ratio - truth) <= STANDARD_ERRORS * ratio * np.sqrt(1 / control + 1 / swapped)


@models
@pytest.mark.parametrize("pair", [(1, 4), (2, 4), (4, 5)])
def test_the_joint_clicks_of_the_two_arms_are_in_the_ratio_of_psi(model, pair):
    n = 400_000
    sessions, clicks, _ = experiment(model, JointSwapExperiment([pair], share=1.0), n, [3, 4, 2, 4, 4, 0])
    at = [[k - 1 for k in pair], [0, 1]]
    control, swapped = (int((clicks[in_arm(sessions, *pair, s)][:, at[s]] > 0).all(axis=1).sum()) for s in (0, 1))
    truth = 1 / pair[1] / (1 / 2)  # ψ(k1, k2) / ψ(1, 2), people reading from the top
    assert abs(control / swapped - truth) <= STANDARD_ERRORS * truth * np.sqrt(1 / control + 1 / swapped)


def test_the_estimators_find_the_propensities_that_made_the_clicks():
    """Within STANDARD_ERRORS of their own errors, which are small enough to tell."""
    rng = np.random.default_rng(0)
    swap = [SwapExperiment(range(2, 5), share=0.5), JointSwapExperiment([(2, 3), (3, 4)], share=0.5)]
    looks = Independent(inverse_rank(4))
    log = simulate_clicks(rng.integers(2, 5, 400), looks, 2_000, group=[4] * 100, require_click=False, swap=swap)
    theta = tr.propensity.swap(log)
    psi = tr.propensity.joint_swap(log, fill="independent")
    for found, truth, errors in (
        (theta.theta[1:], [1 / 2, 1 / 3, 1 / 4], theta.log_standard_errors[1:]),
        (psi.psi[[1, 2], [2, 3]], [1 / 6, 1 / 12], psi.psi_log_errors[[1, 2], [2, 3]]),
    ):
        assert np.all(errors < 0.1)
        assert np.all(np.abs(np.log(found) - np.log(truth)) <= STANDARD_ERRORS * errors)


@models
def test_a_list_too_short_for_a_swap_is_in_no_experiment(model):
    labels, group = [1, 1, 1, 1, 1, 1, 1, 1], [2, 6]
    swap = [SwapExperiment([2, 6], share=0.6), JointSwapExperiment([(1, 6)], share=0.4)]
    sessions = simulate_clicks(labels, model, 10_000, 0, group=group, swap=swap)
    short, long = (sessions.swap[sessions.query == q] for q in (0, 1))
    assert {tuple(row) for row in short.tolist()} == {(0, 0, 0), (2, 0, 0), (2, 0, 1)}
    assert abs((short[:, 0] == 2).mean() - 0.3) < 0.03
    assert not np.any(np.all(long == 0, axis=1))


def test_markers_are_text_in_a_log():
    arms = read_arms([SwapExperiment([5]), JointSwapExperiment([(3, 7)])], 10)
    assert arms.texts() == [None, "5:control", "5:swapped", "3,7:control", "3,7:swapped"]
    assert arms.marker.tolist() == [[0, 0, 0], [5, 0, 0], [5, 0, 1], [3, 7, 0], [3, 7, 1]]


REFUSED = {
    "no position": (lambda: SwapExperiment([]), "positions is empty"),
    "position 1": (lambda: SwapExperiment([1]), "positions is 1; it must be a whole number above 1"),
    "half a position": (lambda: SwapExperiment([2.5]), "positions is 2.5"),
    "a position past all lists": (lambda: read_arms(SwapExperiment([10**6]), 9), "names position 1000000"),
    "one number for a list": (lambda: SwapExperiment(3), "positions is 3; it needs a list"),
    "a position twice": (lambda: SwapExperiment([2, 2]), r"positions is \(2, 2\); each may be named once"),
    "no share": (lambda: SwapExperiment([2], share=0), "share is 0"),
    "a share above 1": (lambda: SwapExperiment([2], share=1.5), "share is 1.5"),
    "allocation of another length": (lambda: SwapExperiment([2, 3], allocation=[1]), "allocation has 1 numbers for 2"),
    "allocation of nothing": (lambda: SwapExperiment([2, 3], allocation=[1, 0]), "allocation is 0"),
    "the top pair": (lambda: JointSwapExperiment([(1, 2)]), r"\(1, 2\), which is compared with itself"),
    "a pair upside down": (lambda: JointSwapExperiment([(4, 3)]), r"\(4, 3\); k1 must be below k2"),
    "a pair of three": (lambda: JointSwapExperiment([(1, 2, 3)]), "two positions"),
    "a pair from 0": (lambda: JointSwapExperiment([(0, 3)]), "pairs is 0"),
    "no experiment": (lambda: read_arms("all", 10), "swap is 'all'; it needs a SwapExperiment"),
    "a list of something": (lambda: read_arms([SINGLE, 3], 10), "it needs a SwapExperiment"),
    "shares above 1": (lambda: read_arms([SINGLE, JointSwapExperiment([(1, 3)], share=0.6)], 10), "take 1.1 of the"),
    "an arm twice": (lambda: read_arms([SINGLE, SwapExperiment([6])], 10), "two experiments of swap compare 6"),
    "longer than every list": (lambda: read_arms(SINGLE, 5), "names position 6, and the longest list has 5 items"),
}


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_experiments_that_make_no_sense_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()

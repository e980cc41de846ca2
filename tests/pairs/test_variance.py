"""`complete` with its variance tamed: formula, consistency, bounds, and falling back to `robust`."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from click_logs import EXAMINATIONS, N_POSITIONS, Log, assert_same, dense, random_log

import truerank as tr
from truerank.losses.gains import gain_table
from truerank.pairs import reference

every_examination = pytest.mark.parametrize("examination", EXAMINATIONS.values(), ids=EXAMINATIONS.keys())


def same_items(grades, seed, sizes=(1, 2, 5, 30), n_items=6):
    """Lists of so many sessions each, mixed: the same items in about the same order, with gaps, and clicked a lot."""
    rng = np.random.default_rng(seed)
    query = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    shape = (len(query), n_items)
    item = np.argsort(np.arange(n_items) + 2 * rng.normal(size=shape), axis=1)
    positions = np.array([np.sort(rng.permutation(N_POSITIONS)[:n_items]) + 1 for _ in query])
    labels = rng.integers(1, grades + 1, shape) * (rng.random(shape) < 0.5)
    return Log(labels.ravel(), positions.ravel(), np.full(len(query), n_items), query, item.ravel())


def simulated(examination, rho, sessions, seed):
    """Each list of `rho` shown in its order, the same in every session; relevance drawn independently."""
    n_lists, n_items = rho.shape
    rng = np.random.default_rng(seed)
    query = np.repeat(np.arange(n_lists), sessions)
    relevant = rng.random((len(query), n_items)) < rho[query]
    clicks = relevant & examination.sample(len(query), n_items, rng)
    item = np.tile(np.arange(n_items), len(query))
    positions = np.tile(np.arange(1, n_items + 1), len(query))
    return Log(clicks.ravel().astype(int), positions, np.full(len(query), n_items), query, item)


def by_reference(log, pairs, examination, gains):
    """The sums of each list of `pairs`, from its sessions one by one."""
    n_items = log.group[0]
    columns = (np.asarray(a).reshape(-1, n_items) for a in (log.labels, log.positions, log.item))
    labels, positions, item = columns
    for q, query in enumerate(pairs.query):
        mine = np.asarray(log.query) == query
        places = np.argsort(pairs.item[pairs.row_offsets[q] : pairs.row_offsets[q + 1]])
        order = np.argsort(item[mine], axis=1)[:, np.argsort(places)]
        shown = np.take_along_axis(positions[mine], order, axis=1)
        yield reference.list_sums(
            np.take_along_axis(labels[mine], order, axis=1),
            examination.marginal(shown),
            examination.joint(shown[:, :, None], shown[:, None, :]),
            gains,
        )


@every_examination
@pytest.mark.parametrize("grades", [1, 3], ids=["binary", "graded"])
@pytest.mark.parametrize("gain", ["linear", "exp2"])
def test_shrunken_weights_are_those_of_the_reference(examination, grades, gain):
    log = same_items(grades, seed=3)
    pairs = log.pairs(examination=examination, variance="shrink", gain=gain)
    sums = list(by_reference(log, pairs, examination, gain_table(grades, gain)))
    strength = reference.strength(sums)
    assert 0 < strength < np.inf
    for q, of_list in enumerate(sums):
        expected = reference.shrunken_weights(of_list, strength)
        np.testing.assert_allclose(dense(pairs, q), expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())


@every_examination
@pytest.mark.parametrize("grades", [1, 3], ids=["binary", "graded"])
def test_clipped_weights_are_those_of_the_reference(examination, grades):
    log = same_items(grades, seed=4)
    pairs = log.pairs(examination=examination, variance="clip")
    for q, sums in enumerate(by_reference(log, pairs, examination, gain_table(grades, "linear"))):
        expected = reference.bounded(sums.complete) / sums.best_expected
        np.testing.assert_allclose(dense(pairs, q), expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())


@every_examination
@pytest.mark.parametrize("variance", ["clip", "shrink"])
def test_many_sessions_give_how_often_i_is_relevant_and_j_is_not(examination, variance):
    rho = np.random.default_rng(5).uniform(0.1, 0.9, (1, 4))
    sessions, draws = 20_000, 12
    means = []
    for seed in range(draws):
        log = simulated(examination, rho, sessions, seed)
        pairs = log.pairs(examination=examination, variance=variance, normalize="none")
        means.append(dense(pairs, 0) / sessions)
    expected = rho[0][:, None] * (1 - rho[0][None, :])
    np.fill_diagonal(expected, 0)
    # What is left of robust's bias at this many sessions, n0 / N of it, adds to five standard errors of the mean.
    error = np.std(means, axis=0, ddof=1) / np.sqrt(draws)
    left = 0 if variance == "clip" else 0.01
    assert np.all(np.abs(np.mean(means, axis=0) - expected) <= 5 * error + left)
    robust = log.pairs("robust", examination=examination, normalize="none")
    assert np.abs(dense(robust, 0) / sessions - expected).max() > 0.05


@every_examination
@pytest.mark.parametrize("grades", [1, 3], ids=["binary", "graded"])
def test_clipping_keeps_preferences_and_leaves_nothing_negative(examination, grades):
    log = random_log(6, grades=grades)
    raw = log.pairs(examination=examination, normalize="none")
    assert (raw.weight < 0).any()
    clipped = log.pairs(examination=examination, variance="clip", normalize="none")
    for q in range(raw.n_lists):
        before, after = dense(raw, q), dense(clipped, q)
        np.testing.assert_allclose(after - after.T, before - before.T, atol=1e-9)
        assert after.min() >= 0
        untouched = (before >= 0) & (before.T >= 0)
        np.testing.assert_array_equal(after[untouched], before[untouched])


@pytest.mark.parametrize("merge", ["exact", "query"])
@pytest.mark.parametrize("normalize", ["session", "list", "none"])
def test_shrunken_weights_lie_between_robust_and_clipped(merge, normalize):
    log = random_log(7, grades=1, n_sessions=200)
    options = {"merge": merge, "normalize": normalize}
    complete = log.pairs(variance="clip", **options)
    shrunken = log.pairs(variance="shrink", **options)
    robust = log.pairs("robust", **options)
    tolerance = 1e-9 * complete.weight.max()
    strictly = 0
    for q in range(complete.n_lists):
        low = np.minimum(dense(robust, q), dense(complete, q))
        high = np.maximum(dense(robust, q), dense(complete, q))
        weight = dense(shrunken, q)
        assert np.all((weight >= low - tolerance) & (weight <= high + tolerance))
        strictly += int(((weight > low + tolerance) & (weight < high - tolerance)).sum())
    assert strictly > 0


@pytest.mark.parametrize("grades", [1, 3], ids=["binary", "graded"])
def test_lists_of_one_session_are_robust(grades):
    log = same_items(grades, seed=8, sizes=[1] * 40)
    robust = log.unmerged("robust")
    assert_same(log.unmerged(variance="shrink"), robust)
    merged, expected = log.pairs(variance="shrink"), log.pairs("robust")
    for q in range(merged.n_lists):
        np.testing.assert_allclose(dense(merged, q), dense(expected, q), rtol=1e-12, atol=1e-12)


def test_the_fewer_sessions_the_closer_to_robust():
    rho = np.random.default_rng(9).uniform(0.1, 0.9, (150, 6))
    examination = tr.Independent(tr.inverse_rank(6))
    distance = []
    for sessions in (2, 16, 128):
        log = simulated(examination, rho, sessions, seed=1)
        weights = {
            name: log.pairs(method, examination=examination, normalize="none", **options)
            for name, method, options in (
                ("robust", "robust", {}),
                ("clip", "complete", {"variance": "clip"}),
                ("shrink", "complete", {"variance": "shrink"}),
            )
        }
        total = {
            name: np.concatenate([dense(pairs, q).ravel() for q in range(pairs.n_lists)])
            for name, pairs in weights.items()
        }
        distance.append(np.abs(total["shrink"] - total["robust"]).sum() / np.abs(total["clip"] - total["robust"]).sum())
    assert distance[0] < 0.5 < 0.9 < distance[2]
    assert distance == sorted(distance)


def test_relevance_of_one_item_a_session_leaves_robust_alone():
    """No two clicks together: robust has no bias that anything could tell."""
    examination = tr.Independent(tr.inverse_rank(6))
    rng = np.random.default_rng(10)
    clicks = np.eye(6, dtype=int)[rng.integers(0, 6, 400)]
    log = Log(clicks.ravel(), np.tile(np.arange(1, 7), 400), np.full(400, 6), np.repeat(np.arange(4), 100), None)
    log = Log(log.labels, log.positions, log.group, log.query, np.tile(np.arange(6), 400))
    shrunken = log.pairs(examination=examination, variance="shrink")
    assert_same(shrunken, log.pairs("robust", examination=examination, normalize="list"))


@pytest.mark.parametrize("variance", ["clip", "shrink"])
def test_the_same_bits_for_any_number_of_threads(variance):
    import numba

    log = random_log(11, n_sessions=300, grades=2)
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        alone = log.pairs(variance=variance)
    finally:
        numba.set_num_threads(before)
    assert_same(alone, log.pairs(variance=variance))


def test_the_order_of_sessions_makes_no_difference_but_to_rounding():
    log = same_items(2, seed=12)
    order = np.random.default_rng(13).permutation(len(log.group))
    columns = (np.asarray(a).reshape(len(log.group), -1)[order].ravel() for a in (log.labels, log.positions, log.item))
    labels, positions, item = columns
    again = Log(labels, positions, log.group, np.asarray(log.query)[order], item)
    one, other = (
        {
            (pairs.query[q], pairs.item[pairs.row_offsets[q] + i], pairs.item[pairs.row_offsets[q] + j]): w
            for q in range(pairs.n_lists)
            for i, j, w in zip(
                *(getattr(pairs, n)[pairs.offsets[q] : pairs.offsets[q + 1]] for n in ("i", "j", "weight")), strict=True
            )
        }
        for pairs in (log.pairs(variance="shrink"), again.pairs(variance="shrink"))
    )
    assert one.keys() == other.keys()
    np.testing.assert_allclose([other[k] for k in one], list(one.values()), rtol=1e-9, atol=1e-9)


def test_only_complete_has_a_variance_to_tame():
    log = random_log(14, grades=2)
    for method in ("none", "ratio", "robust"):
        assert_same(log.pairs(method, variance="shrink"), log.pairs(method, variance="none"))


def test_empty_input_and_no_clicks():
    for labels, positions, group in (([], [], []), ([0, 0], [1, 2], [2])):
        for variance in ("clip", "shrink"):
            ids = {"query": np.arange(len(group)), "item": np.arange(len(labels))}
            pairs = tr.pair_weights(
                labels, positions, group, "complete", EXAMINATIONS["continuous"], variance=variance, **ids
            )
            assert (pairs.n_lists, pairs.n_pairs) == (len(group), 0)


def test_the_ranker_takes_it_and_has_nothing_to_clip():
    log = same_items(1, seed=15, sizes=[20] * 30)
    X = np.random.default_rng(16).normal(size=(30 * 6, 3))[np.repeat(log.query, 6) * 6 + log.item]
    fit = {
        "group": log.group,
        "position": log.positions,
        "query": log.query,
        "item": np.repeat(log.query, 6) * 6 + log.item,
    }
    options = {"examination": EXAMINATIONS["continuous"], "n_estimators": 3, "min_child_samples": 2, "verbose": -1}
    clipped = {
        variance: tr.LambdaMARTRanker("complete", variance=variance, **options)
        .fit(X, log.labels, **fit)
        .n_clipped_pairs_
        for variance in ("none", "clip", "shrink")
    }
    assert clipped["none"] > 0
    assert clipped["clip"] == clipped["shrink"] == 0


def enumerated(examination, rho, method, normalize):
    """The expected weights of one session: every relevance and everything that people may look at, by its chance."""
    n = len(rho)
    positions = np.arange(1, n + 1)
    p, joint = examination.marginal(positions), examination.joint(positions[:, None], positions[None, :])
    outcomes = np.array(list(itertools.product([0, 1], repeat=n)))
    if isinstance(examination, tr.Continuous):
        looks = np.tri(n, dtype=int)
        chances = p - np.append(p[1:], 0)
    else:
        looks, chances = outcomes, np.where(outcomes, p, 1 - p).prod(axis=1)
    mean = np.zeros((n, n))
    for relevant in outcomes:
        chance = np.where(relevant, rho, 1 - rho).prod()
        for look, chance_of_look in zip(looks, chances, strict=True):
            weight = reference.session_weights(relevant * look, p, joint, method, np.array([0.0, 1.0]), normalize)
            mean += chance * chance_of_look * weight
    return mean


def test_dividing_by_session_favours_the_top_only_where_depth_and_clicks_go_together():
    """Equal items, so that each direction should weigh the same; complete says so, unless divided by session."""
    rho, theta = np.full(4, 0.3), tr.inverse_rank(4)
    favour = {}
    for name, model in (("independent", tr.Independent(theta)), ("continuous", tr.Continuous(theta))):
        for method in ("robust", "complete"):
            for normalize in (False, True):
                weight = enumerated(model, rho, method, normalize)
                favour[name, method, normalize] = weight[0, 3] / weight[3, 0]
    for name in ("independent", "continuous"):
        # ρ_i − ρ_ij p_ij / p_i of the first, over that of the last; p_ij = p_j as the first is always looked at
        assert favour[name, "robust", False] == pytest.approx((0.3 - 0.09 / 4) / (0.3 - 0.09))
        assert favour[name, "complete", False] == pytest.approx(1)
    assert favour["independent", "robust", True] == pytest.approx(favour["independent", "robust", False])
    assert favour["continuous", "robust", True] > 1.1 * favour["continuous", "robust", False]

"""Hu et al.'s Unbiased LambdaMART, against its formulas."""

from __future__ import annotations

import numpy as np
import pytest
from generated import EXAMINATION, N_ITEMS, world

import truerank as tr
from truerank.errors import InputError
from truerank.rankers import LambdaObjective, RatioObjective
from truerank.rankers.reference import list_lambdas

SHUFFLED = world(n_lists=12, sessions_per_list=6, same_order=False)


def _plain_ratios(world_, scores_by_iteration, power, fixed):
    """THEORY's recursion, session by session: gradients under the ratios so far, then new ratios."""
    clicks = world_.clicks.reshape(-1, N_ITEMS)
    examined = np.ones(N_ITEMS) if fixed is None else fixed / fixed[0]
    unclicked = np.ones(N_ITEMS)
    gradients, curves = [], [(examined, unclicked)]
    for scores in scores_by_iteration:
        by_examined, by_unclicked = np.zeros(N_ITEMS), np.zeros(N_ITEMS)
        gradient = np.zeros(len(world_.X))
        for labels, items in zip(clicks, world_.item.reshape(-1, N_ITEMS), strict=True):
            if not labels.any():
                continue
            best = np.sum(np.sort(labels)[::-1] / np.log2(2 + np.arange(N_ITEMS)))
            base = (labels[:, None] > labels[None, :]) / best
            s = scores[items]
            gradient[items] += list_lambdas(base / (examined[:, None] * unclicked[None, :]), s)[0]
            ranks = np.empty(N_ITEMS)
            ranks[np.argsort(-s, kind="stable")] = np.arange(1, N_ITEMS + 1)
            swap = np.abs(1 / np.log2(1 + ranks)[:, None] - 1 / np.log2(1 + ranks)[None, :])
            loss = base * swap * np.logaddexp(0, -(s[:, None] - s[None, :]))
            by_examined += (loss / unclicked[None, :]).sum(1)
            by_unclicked += (loss / examined[:, None]).sum(0)
        if fixed is None:
            examined = (by_examined / by_examined[0]) ** (1 / (1 + power))
        unclicked = (by_unclicked / by_unclicked[0]) ** (1 / (1 + power))
        gradients.append(gradient)
        curves.append((examined, unclicked))
    return gradients, curves


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("fixed", [None, tr.inverse_rank(N_ITEMS)])
@pytest.mark.parametrize("merge", [None, "exact", "query"])
def test_three_iterations_equal_the_formulas(power, fixed, merge):
    ids = {} if merge is None else {**SHUFFLED.ids, "merge": merge}
    pairs = tr.pair_weights(SHUFFLED.clicks, SHUFFLED.position, SHUFFLED.group, "ratio", **ids)
    items = SHUFFLED.item if merge is None else pairs.item
    objective = RatioObjective(LambdaObjective(pairs), power, fixed)
    rng = np.random.default_rng(5)
    scorings = [rng.normal(size=len(SHUFFLED.X)) for _ in range(3)]
    gradients, curves = _plain_ratios(SHUFFLED, scorings, power, fixed)
    for scores, expected in zip(scorings, gradients, strict=True):
        found = np.zeros(len(SHUFFLED.X))
        np.add.at(found, items, objective(scores[items])[0])
        np.testing.assert_allclose(found, expected, atol=1e-9)
    np.testing.assert_allclose(objective.ratios.examined, [c[0] for c in curves], rtol=1e-9)
    np.testing.assert_allclose(objective.ratios.unclicked, [c[1] for c in curves], rtol=1e-9)


def test_the_bits_do_not_depend_on_the_number_of_threads():
    data = world(n_lists=300, sessions_per_list=3)
    pairs = tr.pair_weights(data.clicks, data.position, data.group, "ratio")
    curves = []
    for threads in (1, 2):
        objective = RatioObjective(LambdaObjective(pairs, threads=threads))
        objective(np.random.default_rng(0).normal(size=pairs.n_rows))
        curves.append(objective.ratios.unclicked)
    np.testing.assert_array_equal(*curves)


def test_a_position_without_clicks_keeps_its_ratio():
    pairs = tr.pair_weights([1, 0, 0], [1, 2, 3], [3], "ratio")
    objective = RatioObjective(LambdaObjective(pairs))
    objective(np.zeros(3))
    np.testing.assert_array_equal(objective.ratios.examined[-1], [1, 1, 1])
    assert np.isfinite(objective.ratios.unclicked).all()


def test_the_curves_are_kept_for_every_tree_and_t_plus_can_be_fixed(shop):
    ranker = tr.LambdaMARTRanker("ratio", EXAMINATION, n_estimators=7).fit(shop.rows, shop.clicks, **shop.log)
    ratios = ranker.position_ratios_
    assert ratios.unclicked.shape == ratios.examined.shape == (8, N_ITEMS)
    np.testing.assert_allclose(ratios.examined, np.tile(tr.inverse_rank(N_ITEMS), (8, 1)))
    np.testing.assert_array_equal(ratios.unclicked[0], np.ones(N_ITEMS))
    assert not np.array_equal(ratios.unclicked[1], ratios.unclicked[7])


def test_strong_regularisation_turns_it_into_robust(shop):
    options = {"n_estimators": 5, "min_child_samples": 5}
    ratio = tr.LambdaMARTRanker("ratio", EXAMINATION, ratio_regularization=1e9, **options)
    robust = tr.LambdaMARTRanker("robust", EXAMINATION, **options)
    scores = [r.fit(shop.rows, shop.clicks, **shop.log).predict(shop.X) for r in (ratio, robust)]
    np.testing.assert_allclose(*scores, atol=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda o: RatioObjective(o, -1), "ratio_regularization is -1"),
        (lambda o: RatioObjective(o, fixed=[1.0]), "cover 1 positions and pairs reach position 3"),
        (lambda o: RatioObjective(o, fixed=[1.0, 0.0, 0.1]), "above 0"),
    ],
)
def test_bad_arguments_are_refused(make, message):
    pairs = tr.pair_weights([1, 0, 0], [1, 2, 3], [3], "ratio")
    with pytest.raises(InputError, match=message):
        make(LambdaObjective(pairs))


def test_pairs_without_positions_are_refused():
    pairs = tr.pair_weights([1, 0], [1, 2], [2], "none")
    with pytest.raises(InputError, match="no positions"):
        RatioObjective(LambdaObjective(pairs))

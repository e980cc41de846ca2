"""The ranking that is logged: that of a linear ranker which has seen few labels."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

import truerank as tr
from truerank.errors import InputError
from truerank.experiment import initial_ranking as module
from truerank.experiment.initial_ranking import initial_ranking
from truerank.types import JudgedLists


@pytest.fixture(scope="module")
def judged():
    """Lists whose relevance is linear in two of five features of different scale, in random order."""
    rng = np.random.default_rng(3)
    group = rng.integers(1, 12, 400)
    X = rng.normal(size=(group.sum(), 5)) * [1, 100, 1e-3, 1, 0]
    labels = np.clip(np.round(X[:, 0] + X[:, 1] / 100 + 0.3 * rng.normal(size=len(X)) + 1), 0, 4).astype(np.int32)
    return JudgedLists(X, labels, group, np.arange(400))


def ndcg_as_shown(judged):
    return np.nanmean(tr.ndcg(-np.arange(len(judged.labels)), judged.labels, judged.group))


def test_few_labels_are_enough_for_a_better_ranking(judged):
    ranked = initial_ranking(judged, share=0.05)
    assert ndcg_as_shown(ranked) > 0.9 > 0.8 > ndcg_as_shown(judged)


def test_every_list_keeps_its_items_and_those_it_learned_from_stay(judged):
    ranked = initial_ranking(judged, share=0.05)
    assert np.array_equal(ranked.group, judged.group)
    assert np.array_equal(ranked.query, judged.query)
    for before, after in zip(*(np.split(j.X, np.cumsum(j.group)[:-1]) for j in (judged, ranked)), strict=True):
        assert sorted(map(tuple, before)) == sorted(map(tuple, after))


def test_the_seed_draws_the_lists_it_learns_from(judged):
    one, same, another = (initial_ranking(judged, 0.02, seed).labels for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, another)


def test_it_is_a_ranking_svm(judged):
    """Against the objective written as a loop, minimised without its gradient."""
    few = JudgedLists(judged.X[:30, :2], judged.labels[:30], np.full(3, 10), np.arange(3))
    X = (few.X - few.X.mean(axis=0)) / few.X.std(axis=0)

    def objective(w):
        s, total = X @ w, 0.0
        for start in (0, 10, 20):
            for i in range(start, start + 10):
                for j in range(start, start + 10):
                    if few.labels[i] > few.labels[j]:
                        total += 2 * max(0.0, 1 - (s[i] - s[j])) ** 2  # (i, j) and (j, i) both count
        return total / len(X) + 0.01 / 2 * w @ w

    w = minimize(objective, np.zeros(2)).x
    wanted = np.concatenate([start + np.argsort(-(X @ w)[start : start + 10]) for start in (0, 10, 20)])
    assert np.array_equal(initial_ranking(few, share=1.0).X, few.X[wanted])


def scores_without_missing_values(judged, share, seed):
    """The formula for features that are all there, as it was before missing ones were thought of."""
    few = module.take_lists(judged, module._some_lists(judged.n_lists, share, seed))
    X = np.asarray(few.X, dtype=np.float64)
    centre, spread = X.mean(axis=0), X.std(axis=0)
    scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
    return module._product(judged.X, module._fit((X - centre) * scale, few) * scale)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
def test_without_missing_values_scores_stay_what_they_were_to_the_bit(judged, dtype):
    whole = replace(judged, X=judged.X.astype(dtype))
    scores = module.weak_scores(whole, 0.05, 3)
    assert scores.tobytes() == scores_without_missing_values(whole, 0.05, 3).tobytes()
    assert len(np.unique(scores)) > 100


def with_missing_values(judged, share=0.2):
    X = judged.X.copy()
    X[np.random.default_rng(5).random(X.shape) < share] = np.nan
    return replace(judged, X=X)


def test_a_missing_value_counts_as_the_mean_of_what_is_there(judged):
    """Learning from all lists, filling in the means beforehand is the same but for a spread that is too small."""
    lacking = with_missing_values(judged)
    filled = np.where(np.isnan(lacking.X), np.nanmean(lacking.X, axis=0), lacking.X)
    spread = np.nanstd(lacking.X, axis=0)
    scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
    standard = (filled - np.nanmean(lacking.X, axis=0)) * scale
    wanted = standard @ module._fit(standard, judged)
    scores = module.weak_scores(lacking, 1.0, 0)
    assert np.allclose(scores - scores.mean(), wanted - wanted.mean(), atol=1e-9)
    assert ndcg_as_shown(initial_ranking(lacking, 0.5)) > 0.8


def test_missing_values_are_the_same_in_sparse_features(judged):
    lacking = with_missing_values(judged)
    dense = module.weak_scores(lacking, 0.5, 0)
    assert np.allclose(module.weak_scores(replace(lacking, X=sparse.csr_matrix(lacking.X)), 0.5, 0), dense)


def test_a_feature_that_is_missing_wherever_it_learns_from_tells_nothing(judged):
    few = np.repeat(module._some_lists(judged.n_lists, 0.05, 0), judged.group)
    lacking, without = judged.X.copy(), judged.X.copy()
    lacking[few, 1], without[:, 1] = np.nan, 0
    assert np.array_equal(
        module.weak_scores(replace(judged, X=lacking), 0.05, 0), module.weak_scores(replace(judged, X=without), 0.05, 0)
    )


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_the_largest_values_of_single_precision_do_not_overflow(judged, form):
    X = judged.X.astype(np.float32)
    X[::7, 4] = np.finfo(np.float32).max
    assert ndcg_as_shown(initial_ranking(replace(judged, X=form(X)), share=0.5)) > 0.9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"share": 0}, "share is 0; it must be a number above 0"),
        ({"share": 1.5}, "share is 1.5; it is a part of the lists"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_impossible_arguments_are_refused(judged, options, message):
    with pytest.raises(InputError, match=message):
        initial_ranking(judged, **options)


def test_lists_that_teach_nothing_are_refused():
    flat = JudgedLists(np.ones((4, 1)), np.ones(4, dtype=np.int32), np.array([2, 2]), np.arange(2))
    with pytest.raises(InputError, match="none of the 2 lists that the initial ranker was to learn from has items of"):
        initial_ranking(flat, share=1.0)

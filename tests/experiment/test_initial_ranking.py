"""The ranking that is logged: that of a linear ranker which has seen few labels."""

import numpy as np
import pytest
from scipy.optimize import minimize

import truerank as tr
from truerank.errors import InputError
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

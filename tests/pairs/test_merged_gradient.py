"""The property that lets the waist be thin: merged lists have the gradient of their sessions."""

from __future__ import annotations

import numpy as np
import pytest
from click_logs import added_up, dense, log_of, random_log
from hypothesis import given, settings, strategies as st


def gradient_and_hessian(weight, scores):
    """LambdaMART's, with σ = 1 and the discounts of NDCG: minimising pushes i up where weight[i, j] > 0."""
    rank = np.empty(len(scores))
    rank[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    discount = 1 / np.log2(1 + rank)
    delta = weight * np.abs(discount[:, None] - discount[None, :])
    rho = 1 / (1 + np.exp(scores[:, None] - scores[None, :]))
    slope, curve = delta * rho, delta * rho * (1 - rho)
    return np.stack([slope.sum(axis=0) - slope.sum(axis=1), curve.sum(axis=0) + curve.sum(axis=1)])


def per_item(pairs, queries, items, scores):
    """The gradient and Hessian summed over the lists, for each (query, item)."""
    total = {}
    for q in range(pairs.n_lists):
        rows = slice(pairs.row_offsets[q], pairs.row_offsets[q + 1])
        keys = [(queries[q], item) for item in items[rows]]
        for key, values in zip(
            keys, gradient_and_hessian(dense(pairs, q), np.array([scores[k] for k in keys])).T, strict=True
        ):
            total[key] = total.get(key, 0) + values
    return total


def assert_same_gradient(log, scores, **options):
    queries, items = np.asarray(log.query).tolist(), np.asarray(log.item).tolist()
    alone = per_item(log.unmerged(**options), queries, items, scores)
    merged = log.pairs(**options)
    together = per_item(merged, merged.query.tolist(), merged.item.tolist(), scores)
    assert alone.keys() == together.keys()
    for key in alone:
        np.testing.assert_allclose(together[key], alone[key], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", ["none", "robust", "complete"])
@pytest.mark.parametrize("seed", range(3))
def test_merged_lists_have_the_gradient_and_hessian_of_their_sessions(method, seed):
    rng = np.random.default_rng(seed)
    log = random_log(seed)
    scores = {(q, i): rng.normal(scale=3) for q in range(4) for i in range(12)}
    assert_same_gradient(log, scores, method=method)


ITEMS = "abcde"


@st.composite
def sessions(draw):
    items = draw(st.lists(st.sampled_from(ITEMS), min_size=1, max_size=5, unique=True))
    labels = draw(st.lists(st.integers(0, 3), min_size=len(items), max_size=len(items)))
    return draw(st.sampled_from("qr")), items, labels


@settings(max_examples=80, deadline=None)
@given(
    st.lists(sessions(), min_size=1, max_size=12),
    st.lists(st.floats(-20, 20, width=32), min_size=10, max_size=10, unique=True),
    st.sampled_from(["none", "robust", "complete"]),
    st.sampled_from(["session", "none"]),
)
def test_whatever_is_shown_clicked_and_scored_the_gradient_is_the_same(shown, numbers, method, normalize):
    scores = dict(zip([(q, i) for q in "qr" for i in ITEMS], numbers, strict=True))
    assert_same_gradient(log_of(*shown), scores, method=method, normalize=normalize)


def test_merged_by_query_the_ranking_runs_over_all_candidates():
    rng = np.random.default_rng(7)
    log = random_log(7, n_queries=1)
    pairs = log.pairs(merge="query")
    scores = dict(zip(pairs.item.tolist(), rng.normal(size=pairs.n_rows), strict=True))
    best_first = sorted(scores, key=scores.get, reverse=True)
    discount = {item: 1 / np.log2(2 + k) for k, item in enumerate(best_first)}

    expected = dict.fromkeys(scores, 0.0)
    for (_, _, i, j), weight in added_up(log, log.unmerged(), "query").items():
        push = weight * abs(discount[i] - discount[j]) / (1 + np.exp(scores[i] - scores[j]))
        expected[i] -= push
        expected[j] += push

    gradient, _ = gradient_and_hessian(dense(pairs, 0), np.array(list(scores.values())))
    np.testing.assert_allclose(gradient, list(expected.values()), rtol=1e-9, atol=1e-9)


def test_merged_by_query_differs_from_exact_only_in_the_ranking():
    log = log_of(("q", ["a", "b"], [1, 0]), ("q", ["c", "b"], [1, 0]))
    scores = {("q", "a"): 1.0, ("q", "b"): 0.0, ("q", "c"): 2.0}
    exact, query = log.pairs("none"), log.pairs("none", merge="query")
    apart = per_item(exact, exact.query, exact.item, scores)
    united = per_item(query, query.query, query.item, scores)
    d = 1 / np.log2(1 + np.arange(1, 4))
    assert apart["q", "a"][0] == pytest.approx(-(d[0] - d[1]) / (1 + np.e))
    assert united["q", "a"][0] == pytest.approx(-(d[1] - d[2]) / (1 + np.e))

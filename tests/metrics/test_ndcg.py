"""NDCG of judged lists, and its inverse-propensity estimate from clicks."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

import truerank as tr
from truerank.errors import ExaminationError, InputError

RNG = np.random.default_rng(4)
SIZES = RNG.integers(2, 60, 50)
LABELS = RNG.integers(0, 5, SIZES.sum()) * (RNG.random(SIZES.sum()) < 0.4)
SCORES = RNG.normal(size=SIZES.sum())


@pytest.mark.parametrize("at", [1, 3, 10, 100])
@pytest.mark.parametrize(("gain", "of"), [("exp2", lambda y: 2.0**y - 1), ("linear", lambda y: y)])
def test_ndcg_equals_scikit_learn(at, gain, of):
    found = tr.ndcg(SCORES, LABELS, SIZES, at, gain)
    ends = np.cumsum(SIZES)
    for value, start, end in zip(found, ends - SIZES, ends, strict=True):
        y = of(LABELS[start:end])
        if y.any():
            assert value == pytest.approx(ndcg_score([y], [SCORES[start:end]], k=at), abs=1e-12)
        else:
            assert np.isnan(value)


def test_equal_scores_keep_the_order_of_the_rows():
    np.testing.assert_allclose(tr.ndcg([0, 0, 0], [0, 1, 0], [3]), [1 / np.log2(3)])


def test_no_lists_have_no_ndcg():
    assert tr.ndcg([], [], []).shape == (0,)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"at": 0}, "at is 0"),
        ({"gain": "cubic"}, "gain is 'cubic'"),
        ({"scores": [np.nan, 0]}, r"scores\[0\] is nan"),
        ({"group": [3]}, "group sizes sum to 3 and there are 2 rows"),
        ({"labels": [-1, 0]}, r"labels\[0\] is -1"),
    ],
)
def test_bad_input_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        tr.ndcg(**{"scores": [0.0, 1.0], "labels": [0, 1], "group": [2], **change})


# --- from clicks ------------------------------------------------------------------------------------------------------

N = 6
MODELS = {
    "independent": tr.Independent(tr.inverse_rank(N)),
    "continuous": tr.Continuous(tr.inverse_rank(N)),
    "row skipping": tr.RowSkipping(0.3, 0.8, [3, 3]),
}


@pytest.mark.parametrize("name", MODELS)
def test_weighted_clicks_give_the_dcg_of_the_relevances_on_average(name):
    """The numerator, session by session, has the mean of the full-information DCG: within 4 standard errors."""
    model, rng, sessions = MODELS[name], np.random.default_rng(1), 60_000
    relevance = np.array([0, 1, 0, 1, 1, 0])
    scores = np.array([0.1, 0.5, 0.9, 0.2, 0.7, 0.3])
    discount = 1 / np.log2(2 + np.argsort(np.argsort(-scores)))
    clicks = model.sample(sessions, N, rng) & (relevance > 0)
    positions = np.arange(1, N + 1)
    estimates = (clicks / model.marginal(positions)) @ discount
    truth, error = relevance @ discount, estimates.std() / np.sqrt(sessions)
    assert abs(estimates.mean() - truth) < 4 * error
    assert abs((clicks @ discount).mean() - truth) > 20 * error

    found = tr.unbiased_ndcg(
        np.tile(scores, sessions), clicks.ravel(), np.tile(positions, sessions), [N] * sessions, model
    )
    best = np.sort(clicks / model.marginal(positions), axis=1)[:, ::-1] @ (1 / np.log2(2 + np.arange(N)))
    assert found.value == pytest.approx(estimates.sum() / best.sum())


def test_it_prefers_the_better_ranking_where_clicks_prefer_the_logged_one():
    rng, sessions = np.random.default_rng(0), 20_000
    chance = np.array([0.2, 0.2, 0.2, 0.2, 0.2, 0.6])  # the best item was shown last
    model = MODELS["continuous"]
    clicks = ((rng.random((sessions, N)) < chance) & model.sample(sessions, N, rng)).ravel()
    positions, group = np.tile(np.arange(1, N + 1), sessions), [N] * sessions
    logged, better = np.tile(-np.arange(N), sessions), np.tile([-1, -2, -3, -4, -5, 0], sessions)
    naive = [tr.unbiased_ndcg(s, clicks, positions, group, None).value for s in (logged, better)]
    unbiased = [tr.unbiased_ndcg(s, clicks, positions, group, model).value for s in (logged, better)]
    assert naive[0] > naive[1]
    assert unbiased[0] < unbiased[1]


def test_the_best_ranking_of_the_weights_reaches_one():
    weights = np.array([0, 3.0, 0, 1.5])
    found = tr.unbiased_ndcg(weights, [0, 1, 0, 1], [1, 2, 3, 4], [4], tr.Independent([1, 1 / 3, 1, 1 / 1.5]))
    assert found.value == pytest.approx(1)


def test_effective_sample_size_counts_equal_sessions_and_shrinks_with_unequal_ones():
    even = tr.unbiased_ndcg(np.zeros(6), [1, 0] * 3, [1, 2] * 3, [2] * 3, tr.Independent([0.5, 0.5]))
    assert (even.effective_sample_size, even.sessions) == (3, 3)
    uneven = tr.unbiased_ndcg(np.zeros(4), [1, 0, 0, 1], [1, 2] * 2, [2] * 2, tr.Independent([1, 0.01]))
    assert uneven.effective_sample_size == pytest.approx((1 + 100) ** 2 / (1 + 100**2))


def test_without_clicks_there_is_no_value():
    empty = tr.unbiased_ndcg([1.0, 2.0], [0, 0], [1, 2], [2], MODELS["continuous"])
    assert np.isnan(empty.value)
    assert empty.effective_sample_size == 0


def test_positions_past_the_model_are_refused():
    with pytest.raises(ExaminationError, match="position 9 is past the end"):
        tr.unbiased_ndcg([1.0, 2.0], [1, 0], [1, 9], [2], MODELS["continuous"])

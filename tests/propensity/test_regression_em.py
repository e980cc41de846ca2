"""Regression-EM: relevance learned from features takes the ranking's bias out of click rates."""

import numpy as np
import pytest

import truerank as tr
from truerank.errors import IdentificationError, InputError
from truerank.types import ItemPositionCounts

THETA = tr.inverse_rank(6)


def draw(n_lists, rng):
    """Items that are each shown at one position only, three times, by a ranker that knows their relevance somewhat."""
    features = rng.normal(size=(n_lists, 6, 4))
    relevance = 1 / (1 + np.exp(1.5 - 1.2 * features[..., 0] - np.sin(2 * features[..., 1])))
    order = np.argsort(-(np.log(relevance) + rng.gumbel(size=relevance.shape)), axis=1)
    place = np.argsort(order, axis=1)
    clicks = rng.binomial(3, relevance * THETA[place])
    columns = [np.repeat(np.arange(n_lists), 6), np.arange(6 * n_lists), place.ravel() + 1]
    return ItemPositionCounts(*columns, np.full(6 * n_lists, 3), clicks.ravel()), features.reshape(-1, 4)


@pytest.fixture(scope="module")
def log():
    return draw(2_000, np.random.default_rng(1))


def test_theta_is_found_where_no_item_is_ever_seen_twice(log):
    counts, features = log
    with pytest.raises(IdentificationError):
        tr.propensity.em(counts)
    found = tr.propensity.em(counts, features=features, replicates=6)
    clicks, shown = (np.bincount(counts.position - 1, c) for c in (counts.clicks, counts.impressions))
    naive = np.abs(np.log(clicks / shown / (clicks[0] / shown[0]) / THETA))[1:]
    off = np.abs(np.log(found.theta / THETA))[1:]
    assert np.all(off <= 0.08 + 4 * found.log_standard_errors[1:])
    assert off.mean() < 0.3 * naive.mean()
    assert found.errors == "bootstrap over 2000 lists, 6 replicates"
    assert found.details["trees"] > 10


def test_features_that_say_nothing_leave_the_click_rates_about_as_they_are(log, rng):
    counts, features = log
    found = tr.propensity.em(
        counts, features=rng.normal(size=features.shape), replicates=2, lightgbm={"n_estimators": 5}
    )
    clicks, shown = (np.bincount(counts.position - 1, c) for c in (counts.clicks, counts.impressions))
    np.testing.assert_allclose(found.theta, clicks / shown / (clicks[0] / shown[0]), rtol=0.03)


def test_the_likelihood_rises_with_every_tree(log):
    from truerank.propensity.cells import cells_of
    from truerank.propensity.lightgbm_relevance import _Boosting

    counts, features = log
    cells = cells_of(counts)
    fit = _Boosting(cells, features, {}, np.ones(cells.n_items))
    values = []
    for _ in range(30):
        fit.step()
        values.append(fit.log_likelihood(np.ones(cells.n_items, dtype=bool)))
    assert np.all(np.diff(values) > 0)


def test_one_seed_gives_the_same_bits_and_features_may_be_a_function(log):
    counts, features = log
    few = {"replicates": 2, "lightgbm": {"n_estimators": 10}}
    once = tr.propensity.em(counts, features=features, **few)
    named = ItemPositionCounts(counts.list, counts.item.astype(str), counts.position, counts.impressions, counts.clicks)
    again = tr.propensity.em(named, features=lambda _, items: features[items.astype(int)], **few)
    np.testing.assert_allclose(again.theta, once.theta, rtol=1e-9)
    same = tr.propensity.em(counts, features=features, **few)
    np.testing.assert_array_equal(same.log_covariance, once.log_covariance)


def test_wrong_features_are_refused(log):
    counts, features = log
    with pytest.raises(InputError, match="features has 10 rows and items go from 0 to 11999"):
        tr.propensity.em(counts, features=features[:10])
    with pytest.raises(InputError, match=r"features gave shape \(3, 2\) for 12000 items"):
        tr.propensity.em(counts, features=lambda *_: np.zeros((3, 2)))
    with pytest.raises(InputError, match="features are the same for all items"):
        tr.propensity.em(counts, features=np.zeros_like(features))
    text = ItemPositionCounts([0], ["a"], [1], [2], [1])
    with pytest.raises(InputError, match="Hint: pass a function"):
        tr.propensity.em(text, features=features)
    with pytest.raises(InputError, match="replicates is 1"):
        tr.propensity.em(counts, features=features, replicates=1)
    with pytest.raises(InputError, match="errors is 'session'; with features"):
        tr.propensity.em(counts, features=features, errors="session")
    silent = ItemPositionCounts([0, 0], [0, 1], [1, 2], [5, 5], [2, 0])
    with pytest.raises(IdentificationError, match=r"position 2 was never clicked.*n_positions=1"):
        tr.propensity.em(silent, features=features)

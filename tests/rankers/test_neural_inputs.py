"""What features become before they reach the network: heavy tails, constants, gaps, and values never seen."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed", exc_type=ImportError)

from truerank.rankers.torch_network import learn_inputs, read_features  # noqa: E402

RNG = np.random.default_rng(0)
ROWS = 2_000
KINDS = ["quantile", "standard"]


def scaled(kind, X, rows=None):
    """What rows become, learned on X."""
    inputs = learn_inputs(kind, read_features(X), 0)
    return inputs(torch.from_numpy(read_features(X if rows is None else rows))).numpy()


@pytest.mark.parametrize("kind", KINDS)
def test_training_rows_have_mean_zero_and_unit_spread(kind):
    Z = scaled(kind, RNG.normal(5, 100, size=(ROWS, 3)))
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(Z.std(axis=0), 1, atol=1e-5)


def test_quantiles_see_only_the_order_of_values():
    x = RNG.normal(size=(ROWS, 1))
    np.testing.assert_allclose(scaled("quantile", np.exp(10 * x)), scaled("quantile", x), atol=0.02)
    assert abs(scaled("standard", np.exp(10 * x))).max() > 20 > 10 * abs(scaled("quantile", np.exp(10 * x))).max()


def test_quantiles_are_places_in_the_distribution():
    x = np.arange(101.0).reshape(-1, 1)
    Z = scaled("quantile", x, np.array([[0], [25], [25.5], [50], [100]]))
    places = Z[:, 0] * (x / 100).std() + 0.5
    np.testing.assert_allclose(places, [0, 0.25, 0.255, 0.5, 1], atol=1e-6)


def test_equal_values_share_the_middle_of_their_places():
    x = np.repeat([0.0, 1.0, 7.0], [600, 200, 200]).reshape(-1, 1)
    Z = scaled("quantile", x, np.array([[0], [1], [7]]))[:, 0]
    assert (Z[2] - Z[1]) / (Z[1] - Z[0]) == pytest.approx((0.9 - 0.7) / (0.7 - 0.3), rel=0.02)


def test_values_beyond_those_of_training_stay_at_the_ends():
    x = RNG.normal(size=(ROWS, 1))
    ends = scaled("quantile", x, np.array([[x.min()], [x.max()]]))
    beyond = scaled("quantile", x, np.array([[-1e9], [1e9], [-np.inf], [np.inf]]))
    np.testing.assert_allclose(beyond, np.tile(ends, (2, 1)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_constant_feature_is_zero_then_and_later(kind):
    for value in (0.0, 3.7, 1e20):
        assert not scaled(kind, np.full((ROWS, 1), value), np.array([[value], [5.0], [-1e30]])).any()


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_value_is_the_mean_and_gets_a_column_that_says_so(kind):
    X = RNG.normal(size=(ROWS, 3))
    X[::4, 1] = np.nan
    Z = scaled(kind, X)
    assert Z.shape == (ROWS, 4)
    assert not Z[::4, 1].any()
    np.testing.assert_array_equal(Z[:, 3], np.arange(ROWS) % 4 == 0)
    assert not scaled(kind, X, np.full((1, 3), np.nan))[0, :3].any()
    all_missing = scaled(kind, np.full((ROWS, 1), np.nan))
    np.testing.assert_array_equal(all_missing, np.tile([0.0, 1.0], (ROWS, 1)))


def test_a_feature_that_hardly_ever_moves_is_not_blown_up():
    x = np.zeros((100_000, 1))
    x[7] = 1
    assert 0 < abs(scaled("quantile", x)).max() <= 20
    assert abs(scaled("standard", x)).max() > 100


def test_many_rows_are_learned_from_by_a_sample():
    x = RNG.normal(size=(250_000, 1))
    np.testing.assert_allclose(scaled("quantile", x)[:1000], scaled("quantile", x[:99_999], x[:1000]), atol=0.02)


def test_without_normalisation_features_stay_as_they_are():
    X = RNG.normal(size=(5, 2)).astype(np.float32)
    np.testing.assert_array_equal(scaled(None, X), X)

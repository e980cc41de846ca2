"""Clipping: what it changes, what it leaves alone, and that it says so."""

import numpy as np
import pytest

from truerank import Continuous, Independent, RowSkipping, Tabulated, load_examination
from truerank.errors import ClippedPropensityWarning

LOW = 0.3
THETA = [1.0, 0.5, 0.2, 0.1]

BUILDERS = {
    "independent": lambda low: Independent(THETA, min_propensity=low),
    "continuous": lambda low: Continuous(THETA, min_propensity=low),
    "row_skipping": lambda low: RowSkipping(0.2, 0.5, [2, 2], min_propensity=low),
    "tabulated": lambda low: Tabulated(THETA, np.minimum.outer(THETA, THETA), min_propensity=low),
}


@pytest.fixture(params=BUILDERS.values(), ids=BUILDERS.keys())
def build(request):
    return request.param


@pytest.fixture
def raw(build):
    return build(None)


@pytest.fixture
def clipped(build):
    with pytest.warns(ClippedPropensityWarning):
        return build(LOW)


def tables(model):
    k = np.arange(1, model.n_positions + 1)
    return model.marginal(k), model.joint(k[:, None], k)


def test_clipping_raises_marginals_and_pairs_to_min_propensity(raw, clipped):
    for before, after in zip(tables(raw), tables(clipped), strict=True):
        np.testing.assert_array_equal(after, np.maximum(before, LOW))
        assert np.any(after > before)


def test_clipping_warns_with_the_number_of_positions_it_raises(build, raw):
    theta, _ = tables(raw)
    low = theta < LOW
    first = np.argmax(low)
    message = (
        rf"min_propensity=0\.3 raises θ at {low.sum()} of 4 positions .*first is position {first + 1}\) .* of 6 pairs"
    )
    with pytest.warns(ClippedPropensityWarning, match=message):
        build(LOW)


def test_clipping_records_the_positions_it_raised(raw, clipped):
    theta, _ = tables(raw)
    assert clipped.clipped_positions == tuple(np.flatnonzero(theta < LOW) + 1)
    assert raw.clipped_positions == ()


def test_clipping_keeps_the_bounds_of_pairs(clipped):
    theta, psi = tables(clipped)
    assert np.all(psi <= np.minimum.outer(theta, theta))
    assert np.all(psi >= np.add.outer(theta, theta) - 1 - 1e-12)
    np.testing.assert_array_equal(np.diagonal(psi), theta)


def test_clipping_leaves_the_sampler_alone(raw, clipped):
    draws = [model.sample(500, 4, np.random.default_rng(0)) for model in (raw, clipped)]
    np.testing.assert_array_equal(*draws)


def test_clipping_is_saved_and_loaded(clipped, tmp_path):
    clipped.save(tmp_path / "model.json")
    with pytest.warns(ClippedPropensityWarning):
        loaded = load_examination(tmp_path / "model.json")
    assert loaded == clipped
    assert loaded.min_propensity == LOW
    assert loaded.clipped_positions == clipped.clipped_positions


def test_clipped_model_is_not_equal_to_the_raw_one(raw, clipped):
    assert clipped != raw
    assert f"min_propensity={LOW}" in repr(clipped)


def test_warning_points_at_the_line_that_built_the_model(build):
    with pytest.warns(ClippedPropensityWarning) as caught:
        build(LOW)
    assert caught[0].filename == __file__


def test_clipping_that_changes_nothing_does_not_warn():
    model = Continuous([1.0, 0.5], min_propensity=0.5)  # a TruerankWarning would be an error here
    assert model.clipped_positions == ()
    np.testing.assert_array_equal(model.marginal([1, 2]), [1.0, 0.5])


def test_clipping_that_raises_only_pairs_warns_too():
    with pytest.warns(ClippedPropensityWarning):
        model = Independent([0.4, 0.4], min_propensity=0.3)
    assert model.joint(1, 2) == 0.3 > 0.4 * 0.4


@pytest.mark.parametrize(
    "build",
    [
        lambda: Independent([1, 0], min_propensity=0.01),
        lambda: Continuous([1, 0], min_propensity=0.01),
        lambda: Tabulated([1, 0], [[1, 0], [0, 0]], min_propensity=0.01),
    ],
    ids=["independent", "continuous", "tabulated"],
)
def test_clipping_lets_a_position_that_is_never_examined_through(build):
    with pytest.warns(ClippedPropensityWarning, match="1 of 2 positions"):
        model = build()
    assert model.marginal(2) == model.joint(1, 2) == 0.01
    assert not model.sample(100, 2, np.random.default_rng(0))[:, 1].any()


def test_clipping_pairs_to_one_makes_every_weight_one():
    with pytest.warns(ClippedPropensityWarning, match="3 of 4 positions"):
        model = Independent(THETA, min_propensity=1)
    assert np.all(tables(model)[1] == 1)

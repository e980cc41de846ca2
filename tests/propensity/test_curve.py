"""Curves from elsewhere: accepted as they are, smoothed only on request, and warned about."""

import numpy as np
import pytest

import truerank as tr
from truerank.errors import ExaminationError, IdentificationError, InputError, PropensityWarning

NAN = np.nan


def test_a_clean_curve_is_taken_without_a_word():
    assert tr.propensity.curve([1, 0.5, 0.2]) == tr.Independent([1, 0.5, 0.2])
    assert tr.propensity.curve([1, 0.5, 0.2], browsing="continuous") == tr.Continuous([1, 0.5, 0.2])


def test_a_curve_that_rises_is_kept_and_warned_about():
    with pytest.warns(PropensityWarning, match=r"rises at positions 3, 5. Hint: smooth='isotonic'"):
        model = tr.propensity.curve([1, 0.3, 0.5, 0.2, 0.25])
    np.testing.assert_array_equal(model.marginal(range(1, 6)), [1, 0.3, 0.5, 0.2, 0.25])


def test_smoothing_is_the_weighted_isotonic_regression_of_the_logarithm():
    theta, errors = np.array([1, 0.3, 0.5, 0.2]), np.array([0.01, 0.06, 0.05, 0.02])
    with pytest.warns(PropensityWarning, match="smoothed to be non-increasing: θ was changed at positions 2–3"):
        model = tr.propensity.curve(theta, smooth="isotonic", standard_errors=errors)
    weights = (theta / errors)[1:3] ** 2
    pooled = np.exp(np.average(np.log(theta[1:3]), weights=weights))
    np.testing.assert_allclose(model.marginal([1, 2, 3, 4]), [1, pooled, pooled, 0.2])


def test_gaps_are_filled_along_a_power_law_and_warned_about():
    with pytest.warns(PropensityWarning, match="positions 2, 4–5 is not measured but interpolated"):
        model = tr.propensity.curve([1, NAN, 3**-0.7, NAN, NAN, 6**-0.7])
    np.testing.assert_allclose(model.marginal(range(1, 7)), tr.inverse_rank(6, 0.7))


@pytest.mark.parametrize("theta", [[NAN, 0.5, 0.2], [1.0, 0.5, NAN]])
def test_nothing_is_made_up_outside_what_is_known(theta):
    with pytest.raises(IdentificationError, match=r"lies outside what is known.*Hint: cut the curve"):
        tr.propensity.curve(theta)


def test_a_rising_curve_has_no_continuous_reader():
    with (
        pytest.raises(ExaminationError, match="theta rises"),
        pytest.warns(PropensityWarning, match="rises at position 3"),
    ):
        tr.propensity.curve([1, 0.3, 0.5], browsing="continuous")


@pytest.mark.parametrize(
    ("theta", "message"),
    [
        ([1, 2, 4], r"at position 2 is 2.0.*are these inverse propensities"),
        ([1, 0], r"at position 2 is 0.0; it must lie in \(0, 1\] or be NaN"),
        ([1, -np.inf], "position 2 is -inf"),
        ([NAN, NAN], "not all of them NaN"),
        ([[1.0]], r"shape \(1, 1\)"),
        ("steep", "must be numbers"),
    ],
)
def test_what_is_no_curve_is_refused(theta, message):
    with pytest.raises(ExaminationError, match=message):
        tr.propensity.curve(theta)


def test_choices_that_do_not_exist_are_refused():
    with pytest.raises(InputError, match="smooth is 'spline'; it must be 'isotonic' or None"):
        tr.propensity.curve([1, 0.5], smooth="spline")
    with pytest.raises(InputError, match="browsing is 'cascade'; it must be one of 'independent', 'continuous'"):
        tr.propensity.curve([1, 0.5], browsing="cascade")
    with pytest.raises(InputError, match=r"standard_errors has shape \(3,\) and theta \(2,\)"):
        tr.propensity.curve([1, 0.5], smooth="isotonic", standard_errors=[1, 2, 3])

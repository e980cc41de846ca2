"""Every refusal when a model is built, with the message that the user sees."""

import re

import numpy as np
import pytest

from truerank import Continuous, Independent, RowSkipping, Tabulated, geometric, inverse_rank
from truerank.errors import ExaminationError, InputError

BAD_THETA = {
    "zero": ([1, 0], r"theta at position 2 is 0\.0.*Zero breaks positivity.*min_propensity"),
    "negative": ([0.5, -0.1], r"theta at position 2 is -0\.1; it must lie in \(0, 1\]$"),
    "above one": ([1.5, 0.5], r"theta at position 1 is 1\.5; it must lie in \(0, 1\]$"),
    "nan": ([0.5, 0.4, float("nan")], r"theta at position 3 is nan"),
    "infinite": ([float("inf")], r"theta at position 1 is inf"),
    "missing": ([0.5, None], r"theta at position 2 is nan"),
    "empty": ([], r"theta has shape \(0,\).*at least one"),
    "a number": (0.5, r"theta has shape \(\)"),
    "two-dimensional": ([[0.5, 0.4]], r"theta has shape \(1, 2\)"),
    "ragged": ([[0.5], [0.4, 0.3]], r"theta must be numbers"),
    "words": (["high", "low"], r"theta must be numbers"),
    "complex": ([1j], r"theta must be numbers"),
    "none": (None, r"theta has shape \(\)"),
}


def independent(theta, **options):
    return Independent(theta, **options)


def continuous(theta, **options):
    return Continuous(theta, **options)


def tabulated(theta, **options):
    return Tabulated(theta, [[0.5]], **options)


@pytest.mark.parametrize("build", [independent, continuous, tabulated])
@pytest.mark.parametrize(("theta", "message"), BAD_THETA.values(), ids=BAD_THETA.keys())
def test_theta_that_is_not_a_list_of_probabilities_is_refused(build, theta, message):
    with pytest.raises(ExaminationError, match=message):
        build(theta)


@pytest.mark.parametrize("theta", [[1, -0.1], [1, 1.1], [1, float("nan")]], ids=str)
def test_min_propensity_excuses_zero_and_nothing_else(theta):
    with pytest.raises(ExaminationError, match=r"theta at position 2 is .*; it must lie in \(0, 1\]"):
        Independent(theta, min_propensity=0.1)


def test_continuous_refuses_theta_that_rises_and_names_both_positions():
    with pytest.raises(ExaminationError, match=r"rises from 0\.5 at position 2 to 0\.6 at position 3.*Hint"):
        Continuous([1, 0.5, 0.6, 0.7])


THETA = [0.9, 0.8, 0.3]
PSI = [[0.9, 0.75, 0.25], [0.75, 0.8, 0.2], [0.25, 0.2, 0.3]]


def psi_with(*changes):
    psi = np.array(PSI)
    for i, j, value in changes:
        psi[i - 1, j - 1] = value
    return psi


BAD_PSI = {
    "diagonal": (psi_with((2, 2, 0.7)), r"diagonal at position 2 is 0\.7 and theta there is 0\.8"),
    "asymmetric": (psi_with((1, 3, 0.28)), r"not symmetric: at positions \(1, 3\) it is 0\.28, .* 0\.25"),
    "above a marginal": (
        psi_with((2, 3, 0.31), (3, 2, 0.31)),
        r"positions \(2, 3\) is 0\.31, above theta .*0\.8, 0\.3",
    ),
    "below the bound": (psi_with((1, 2, 0.69), (2, 1, 0.69)), r"positions \(1, 2\) is 0\.69, below .* 0\.7:"),
    "zero": (psi_with((1, 3, 0), (3, 1, 0)), r"psi at positions \(1, 3\) is 0\.0.*positivity"),
    "negative": (psi_with((1, 3, -0.1), (3, 1, -0.1)), r"psi at positions \(1, 3\) is -0\.1; it must lie in"),
    "nan": (psi_with((1, 3, np.nan), (3, 1, np.nan)), r"psi at positions \(1, 3\) is nan"),
    "above one": (psi_with((1, 3, 1.2), (3, 1, 1.2)), r"psi at positions \(1, 3\) is 1\.2"),
    "too small": (psi_with()[:2, :2], r"psi has shape \(2, 2\); it needs \(3, 3\)"),
    "not square": (psi_with()[:2], r"psi has shape \(2, 3\); it needs \(3, 3\)"),
    "flat": (THETA, r"psi has shape \(3,\); it needs \(3, 3\)"),
    "words": ([["a"]], r"psi must be numbers"),
}


def test_table_that_the_refused_ones_are_made_from_is_accepted():
    assert Tabulated(THETA, PSI).joint(1, 2) == 0.75


@pytest.mark.parametrize(("psi", "message"), BAD_PSI.values(), ids=BAD_PSI.keys())
def test_table_that_is_not_a_set_of_pair_probabilities_is_refused(psi, message):
    with pytest.raises(ExaminationError, match=message):
        Tabulated(THETA, psi)


BAD_ROWS = {
    "gamma one": ({"gamma": 1}, r"gamma is 1; it must lie in \[0, 1\) \(.*every row is skipped"),
    "gamma above one": ({"gamma": 1.5}, r"gamma is 1\.5; it must lie in \[0, 1\)$"),
    "gamma negative": ({"gamma": -0.1}, r"gamma is -0\.1"),
    "gamma nan": ({"gamma": float("nan")}, r"gamma is nan"),
    "gamma a word": ({"gamma": "often"}, r"gamma"),
    "gamma missing": ({"gamma": None}, r"gamma"),
    "gamma a list": ({"gamma": [0.1, 0.2]}, r"gamma"),
    "continuation too short": ({"continuation": [0.5] * 3}, r"shape \(3,\).*each of the 4 positions"),
    "continuation too long": ({"continuation": [0.5] * 5}, r"shape \(5,\).*each of the 4 positions"),
    "continuation per row": ({"continuation": [[0.5] * 2] * 2}, r"shape \(2, 2\)"),
    "continuation zero": ({"continuation": [0.5, 0.5, 0, 1]}, r"continuation at position 3 is 0\.0; .*\(0, 1\]"),
    "continuation zero for all": ({"continuation": 0}, r"continuation at position 1 is 0\.0"),
    "continuation above one": ({"continuation": 1.01}, r"continuation at position 1 is 1\.01"),
    "continuation negative": ({"continuation": -0.5}, r"continuation at position 1 is -0\.5"),
    "continuation nan": ({"continuation": [0.5, float("nan"), 1, 1]}, r"continuation at position 2 is nan"),
    "continuation a word": ({"continuation": "often"}, r"continuation"),
    "rows with zero": ({"row_lengths": [2, 0, 2]}, r"row_lengths is \[2, 0, 2\]; it needs one whole number ≥ 1 a row"),
    "rows negative": ({"row_lengths": [2, -2]}, r"row_lengths is \[2, -2\]"),
    "rows of floats": ({"row_lengths": [2.0, 2.0]}, r"row_lengths is \[2\.0, 2\.0\]"),
    "rows empty": ({"row_lengths": []}, r"row_lengths is \[\]"),
    "rows a number": ({"row_lengths": 4}, r"row_lengths is 4"),
    "rows nested": ({"row_lengths": [[2, 2]]}, r"row_lengths is \[\[2, 2\]\]"),
    "rows ragged": ({"row_lengths": [[2], [1, 1]]}, r"row_lengths"),
    "rows of words": ({"row_lengths": ["two"]}, r"row_lengths is \['two'\]"),
    "rows missing": ({"row_lengths": None}, r"row_lengths is None"),
}


@pytest.mark.parametrize(("wrong", "message"), BAD_ROWS.values(), ids=BAD_ROWS.keys())
def test_row_skipping_refuses_arguments_that_make_no_process(wrong, message):
    with pytest.raises(ExaminationError, match=message):
        RowSkipping(**({"gamma": 0.2, "continuation": 0.5, "row_lengths": [2, 2]} | wrong))


def test_row_skipping_refuses_a_page_so_long_that_probabilities_underflow():
    with pytest.raises(ExaminationError, match=r"position 1076 is examined with probability 0 \(it underflows\).*Hint"):
        RowSkipping(gamma=0, continuation=0.5, row_lengths=[1] * 2_000)


def test_row_skipping_refuses_a_pair_whose_probability_underflows():
    with pytest.raises(ExaminationError, match=r"positions 1 and 3 are .*together with probability 0\.0"):
        RowSkipping(gamma=0.5, continuation=1e-200, row_lengths=[2, 2]).joint(1, 3)


@pytest.mark.parametrize("value", [0, -0.1, 1.1, float("nan"), float("inf")])
@pytest.mark.parametrize(
    "build",
    [
        lambda low: Independent([1, 0.5], min_propensity=low),
        lambda low: Continuous([1, 0.5], min_propensity=low),
        lambda low: RowSkipping(0.2, 0.5, [2], min_propensity=low),
        lambda low: Tabulated([1, 0.5], [[1, 0.5], [0.5, 0.5]], min_propensity=low),
    ],
    ids=["independent", "continuous", "row_skipping", "tabulated"],
)
def test_min_propensity_outside_zero_to_one_is_refused(build, value):
    with pytest.raises(ExaminationError, match=rf"min_propensity is {value}; it must lie in \(0, 1\], or be None"):
        build(value)


def test_inverse_rank_is_one_over_rank_to_a_power():
    np.testing.assert_array_equal(inverse_rank(4), 1 / np.arange(1, 5))
    np.testing.assert_allclose(inverse_rank(4, power=0.5), [1 / np.sqrt(k) for k in (1, 2, 3, 4)])
    np.testing.assert_array_equal(inverse_rank(3, power=0), [1, 1, 1])


def test_geometric_stops_with_the_same_chance_after_each_item():
    np.testing.assert_allclose(geometric(4, stop=0.3), [(1 - 0.3) ** (k - 1) for k in (1, 2, 3, 4)])
    np.testing.assert_array_equal(geometric(3, stop=0), [1, 1, 1])


@pytest.mark.parametrize("curve", [inverse_rank, lambda n: geometric(n, 0.5)], ids=["inverse_rank", "geometric"])
@pytest.mark.parametrize("n", [0, -1, 2.5, float("nan"), float("inf"), "3", None], ids=str)
def test_curves_refuse_what_is_not_a_number_of_positions(curve, n):
    with pytest.raises(InputError, match=rf"n is {re.escape(str(n))}; it must be a whole number of positions"):
        curve(n)


@pytest.mark.parametrize("power", [-1, float("nan"), float("inf")])
def test_inverse_rank_refuses_a_power_below_zero(power):
    with pytest.raises(ExaminationError, match=rf"power is {power}; it must be 0 or more"):
        inverse_rank(3, power)


@pytest.mark.parametrize("stop", [1, -0.1, 1.5, float("nan")])
def test_geometric_refuses_a_chance_outside_zero_to_one(stop):
    with pytest.raises(ExaminationError, match=rf"stop is {stop}; it must lie in \[0, 1\)"):
        geometric(3, stop)


@pytest.mark.parametrize("position", [1e19, 1e30])
def test_position_too_large_for_an_integer_is_past_the_table(position):
    with pytest.raises(ExaminationError, match=r"past the end of this Independent model, which knows 2 positions"):
        Independent([1, 0.5]).marginal([position])

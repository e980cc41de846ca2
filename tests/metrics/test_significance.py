"""The paired t-test against SciPy; corrections against the closed testing procedure and by simulation."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import ttest_rel

from truerank.errors import InputError
from truerank.metrics.significance import adjust_p_values, paired_t_test

p_values = st.lists(st.floats(0, 1) | st.sampled_from([0.0, 0.01, 0.02, 1.0]), min_size=1, max_size=7)


@pytest.mark.parametrize("n", [2, 3, 30, 5_000])
@pytest.mark.parametrize("shift", [0.0, 0.02, 1.0, 30.0])
def test_the_t_test_equals_that_of_scipy(n, shift):
    rng = np.random.default_rng(n)
    one, other = rng.normal(shift, 1, n), rng.normal(0, 1, n)
    expected = ttest_rel(one, other)
    p_value, effect_size = paired_t_test(one - other)
    assert p_value == pytest.approx(expected.pvalue, rel=1e-9)
    assert effect_size * np.sqrt(n) == pytest.approx(expected.statistic)


def test_many_tests_at_once_are_those_one_by_one():
    differences = np.random.default_rng(0).normal(0.1, 1, (2, 3, 50))
    p_value, effect_size = paired_t_test(differences)
    assert p_value.shape == effect_size.shape == (2, 3)
    assert p_value[1, 2] == pytest.approx(ttest_rel(differences[1, 2], np.zeros(50)).pvalue)


def test_equal_models_differ_by_nothing_and_a_constant_difference_is_certain():
    p_value, effect_size = paired_t_test(np.array([[0.0, 0.0, 0.0], [0.5, 0.5, 0.5], [-0.5, -0.5, -0.5]]))
    assert p_value.tolist() == [1, 0, 0]
    assert effect_size.tolist() == [0, np.inf, -np.inf]


@given(p_values)
def test_holm_is_the_closure_of_bonferroni(p):
    """A hypothesis is rejected if Bonferroni rejects every intersection it belongs to (Marcus et al. 1976)."""
    tests = range(len(p))
    subsets = [s for size in range(1, len(p) + 1) for s in combinations(tests, size)]
    closed = [max(min(1.0, len(s) * min(p[j] for j in s)) for s in subsets if i in s) for i in tests]
    np.testing.assert_allclose(adjust_p_values(p, "holm"), closed, rtol=1e-12)


@given(p_values)
def test_bonferroni_is_the_number_of_tests_times_p(p):
    np.testing.assert_allclose(adjust_p_values(p, "bonferroni"), [min(1, len(p) * x) for x in p])
    np.testing.assert_allclose(adjust_p_values(p, "bonferroni", 100), [min(1, 100 * x) for x in p])


@given(p_values)
def test_without_a_correction_p_values_stay(p):
    assert adjust_p_values(p, None).tolist() == p


@given(p_values, st.integers(0, 6))
def test_part_of_a_family_never_gets_smaller_p_values_than_in_the_whole(p, n_left_out):
    part = p[: max(1, len(p) - n_left_out)]
    for correction in ("bonferroni", "holm"):
        whole = adjust_p_values(p, correction)[: len(part)]
        assert (adjust_p_values(part, correction, len(p)) >= whole - 1e-12).all()
    assert (adjust_p_values(p, "holm") <= adjust_p_values(p, "bonferroni")).all()


def test_no_tests_have_no_p_values():
    assert adjust_p_values([], "holm").shape == (0,)


@pytest.mark.parametrize("correction", ["bonferroni", "holm"])
def test_false_alarms_are_as_rare_as_promised(correction):
    """4,000 families of 10 tests, none of which has anything to find: a false alarm in at most 5 % of them.

    The standard error of the share is √(.05 · .95 / 4000) = .0034; uncorrected, about 40 % have one.
    """
    p_value, _ = paired_t_test(np.random.default_rng(5).normal(size=(4_000, 10, 20)))
    alarms = np.mean([adjust_p_values(family, correction).min() < 0.05 for family in p_value])
    assert 0.05 - 5 * 0.0034 < alarms < 0.05 + 4 * 0.0034
    assert np.mean(p_value.min(axis=1) < 0.05) > 0.35


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"correction": "sidak"}, "correction is 'sidak'; it must be one of 'bonferroni', 'holm', None"),
        ({"n_comparisons": 1}, "n_comparisons is 1 and 2 comparisons are made here"),
        ({"n_comparisons": 2.5}, "n_comparisons is 2.5; it must be a whole number"),
        ({"n_comparisons": "all"}, "n_comparisons is 'all'"),
    ],
)
def test_what_is_no_family_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        adjust_p_values([0.1, 0.2], **{"correction": "holm", **options})

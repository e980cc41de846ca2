"""Is a difference more than chance: the paired t-test, and corrections for asking many times."""

from __future__ import annotations

from typing import Any

import numpy as np

from truerank.errors import InputError
from truerank.ragged import check_number
from truerank.types import FloatArray

CORRECTIONS = ("bonferroni", "holm", None)


def paired_t_test(differences: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Student's two-sided paired t-test along the last axis: p-values, and Cohen's d = mean / standard deviation.

    t = d √n has n − 1 degrees of freedom. Differences that are all 0 have d = 0 and p = 1.

    >>> p_value, effect_size = paired_t_test(np.array([1.0, 2.0, 3.0]))
    >>> round(float(p_value), 4), float(effect_size)
    (0.0742, 2.0)
    """
    from scipy.special import stdtr

    n = differences.shape[-1]
    mean, spread = differences.mean(axis=-1), differences.std(axis=-1, ddof=1)
    without_spread = np.where(mean == 0, 0.0, np.copysign(np.inf, mean))
    effect_size = np.divide(mean, spread, out=without_spread, where=spread > 0)
    p_value: FloatArray = 2 * stdtr(n - 1, -np.abs(effect_size) * np.sqrt(n))
    return p_value, effect_size


def adjust_p_values(p_values: Any, correction: str | None, n_comparisons: int | None = None) -> FloatArray:
    """P-values that hold for the whole family of m tests: below α for any true hypothesis with probability at most α.

    `bonferroni`: m p. `holm`: max_{j ≤ i} (m − j + 1) p_(j) for the i-th smallest, never larger than Bonferroni's and
    just as safe. If the family is larger than the tests given, `n_comparisons` is m; Holm then takes the tests not
    given to have larger p-values, which is safe too: its p-values are never below those of the whole family.

    >>> adjust_p_values([0.01, 0.04, 0.03], "holm").round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    check_correction(correction)
    given: FloatArray = np.asarray(p_values, dtype=np.float64)
    if correction is None:
        return given
    family = read_family(n_comparisons, len(given))
    if correction == "bonferroni":
        return np.minimum(1.0, family * given)
    order = np.argsort(given, kind="stable")
    steps = np.maximum.accumulate((family - np.arange(len(given))) * given[order])
    adjusted = np.empty(len(given))
    adjusted[order] = np.minimum(1.0, steps)
    return adjusted


def check_correction(correction: Any) -> None:
    """Refuse a correction that is not known."""
    if correction not in CORRECTIONS:
        raise InputError(f"correction is {correction!r}; it must be one of {', '.join(map(repr, CORRECTIONS))}")


def read_family(n_comparisons: Any, n_given: int) -> int:
    """Check the size of the family of tests; None is the tests given."""
    if n_comparisons is None:
        return n_given
    check_number(n_comparisons, "n_comparisons", 0, whole=True)
    if n_comparisons < n_given:
        raise InputError(
            f"n_comparisons is {n_comparisons} and {n_given} comparisons are made here; it counts all comparisons "
            "of all tables, these included"
        )
    return int(n_comparisons)

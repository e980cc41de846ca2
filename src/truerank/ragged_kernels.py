"""Compiled loops over ragged lists."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

SHORT = 32
"""Up to this length a quadratic check beats sorting."""


@njit(parallel=True, cache=True)
def first_repeat(values: Any, offsets: Any) -> Any:
    """The first row whose value stands earlier in the same list, or -1."""
    n_lists = len(offsets) - 1
    found = np.full(n_lists, -1, dtype=np.int64)
    for q in prange(n_lists):
        found[q] = _first_repeat_in(values[offsets[q] : offsets[q + 1]])
    for q in range(n_lists):
        if found[q] >= 0:
            return offsets[q] + found[q]
    return -1


@njit(cache=True)
def _first_repeat_in(values: Any) -> Any:
    n = len(values)
    ascending = True
    for i in range(1, n):
        if values[i] <= values[i - 1]:
            ascending = False
            break
    if ascending:
        return -1
    if n <= SHORT:
        for i in range(1, n):
            for j in range(i):
                if values[i] == values[j]:
                    return i
        return -1
    order = np.argsort(values, kind="mergesort")
    first = n
    for k in range(1, n):
        if values[order[k]] == values[order[k - 1]]:
            first = min(first, order[k])
    return first if first < n else -1

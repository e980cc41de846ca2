"""The likelihood of the position-based model with every item's relevance profiled out, compiled.

`propensity.reference` reads like the formulas. Items are walked in blocks whose number does not depend on the threads,
so the sums have the same bits on any machine.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import prange

from truerank.compiled_kernels import compiled

BLOCKS = 64
INNER_ROUNDS = 60
FAINT = 1e-4
"""Misses added to every cell, and to a cell at position 1 that every item has: they keep the maximum inside."""


@compiled()
def best_relevance(theta: Any, start: int, end: int, place: Any, impressions: Any, clicks: Any) -> float:
    """The r in (0, 1) that makes the clicks of one item most likely, given θ; θ_k r stays below 1.

    It is the root of the decreasing, concave Σ C − Σ (misses) θ r / (1 − θ r): Newton, kept inside its bracket.
    """
    total, exposure, largest = 0.0, FAINT, 1.0
    for m in range(start, end):
        total += clicks[m]
        exposure += impressions[m] * theta[place[m]]
        largest = max(largest, theta[place[m]])
    if total == 0.0:
        return 0.0
    low, high = 0.0, 1.0 / largest
    r = min(total / exposure, 0.9 * high)
    for _ in range(INNER_ROUNDS):
        value = total - FAINT * r / (1.0 - r)
        slope = -FAINT / (1.0 - r) ** 2
        for m in range(start, end):
            misses, chance = impressions[m] - clicks[m] + FAINT, theta[place[m]] * r
            value -= misses * chance / (1.0 - chance)
            slope -= misses * theta[place[m]] / (1.0 - chance) ** 2
        if value > 0.0:
            low = r
        else:
            high = r
        step = r - value / slope
        if not low < step < high:
            step = 0.5 * (low + high)
        if abs(step - r) <= 1e-13 * r:
            return step
        r = step
    return r


@compiled(parallel=True)
def relevances(theta: Any, offsets: Any, place: Any, impressions: Any, clicks: Any) -> Any:
    """The most likely r of every item, given θ."""
    n_items = len(offsets) - 1
    relevance_out = np.empty(n_items)
    for g in prange(n_items):
        relevance_out[g] = best_relevance(theta, offsets[g], offsets[g + 1], place, impressions, clicks)
    return relevance_out


@compiled(parallel=True)
def profile_sums(theta: Any, offsets: Any, place: Any, impressions: Any, clicks: Any) -> Any:
    """Per block: profile log-likelihood, and its gradient and negative Hessian in log θ."""
    n_items, n = len(offsets) - 1, len(theta)
    value_out = np.zeros(BLOCKS)
    gradient_out = np.zeros((BLOCKS, n))
    information_out = np.zeros((BLOCKS, n, n))
    for block in prange(BLOCKS):
        curvature = np.empty(n)
        for g in range(n_items * block // BLOCKS, n_items * (block + 1) // BLOCKS):
            start, end = offsets[g], offsets[g + 1]
            r = best_relevance(theta, start, end, place, impressions, clicks)
            if r == 0.0:
                continue
            value_out[block] += FAINT * math.log1p(-r)
            total = FAINT * r / (1.0 - r) ** 2
            for m in range(start, end):
                chance = theta[place[m]] * r
                misses = impressions[m] - clicks[m] + FAINT
                value_out[block] += clicks[m] * math.log(chance) + misses * math.log1p(-chance)
                gradient_out[block, place[m]] += clicks[m] - misses * chance / (1.0 - chance)
                curvature[m - start] = misses * chance / (1.0 - chance) ** 2
                total += curvature[m - start]
            for m in range(start, end):
                information_out[block, place[m], place[m]] += curvature[m - start]
                for other in range(start, end):
                    both = curvature[m - start] * curvature[other - start] / total
                    information_out[block, place[m], place[other]] -= both
    return value_out, gradient_out, information_out


@compiled(parallel=True)
def profile_spread(theta: Any, offsets: Any, list_offsets: Any, place: Any, impressions: Any, clicks: Any) -> Any:
    """Per block of lists: Σ s s', s the profile gradient's share of one list."""
    n_lists, n = len(list_offsets) - 1, len(theta)
    spread_out = np.zeros((BLOCKS, n, n))
    for block in prange(BLOCKS):
        score = np.zeros(n)
        for q in range(n_lists * block // BLOCKS, n_lists * (block + 1) // BLOCKS):
            score[:] = 0.0
            for g in range(list_offsets[q], list_offsets[q + 1]):
                start, end = offsets[g], offsets[g + 1]
                r = best_relevance(theta, start, end, place, impressions, clicks)
                for m in range(start, end):
                    chance = theta[place[m]] * r
                    misses = impressions[m] - clicks[m] + FAINT
                    score[place[m]] += clicks[m] - misses * chance / (1.0 - chance)
            for k in range(n):
                for j in range(n):
                    spread_out[block, k, j] += score[k] * score[j]
    return spread_out

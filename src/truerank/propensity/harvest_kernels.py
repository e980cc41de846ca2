"""Sums over the items of a log for intervention harvesting, compiled. `propensity.reference` reads like the formulas.

Items are walked in blocks whose number does not depend on the threads, so the sums have the same bits on any machine.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import prange

from truerank.compiled_kernels import compiled

BLOCKS = 64


@compiled(parallel=True)
def conditional_sums(theta: Any, offsets: Any, place: Any, impressions: Any, clicks: Any) -> Any:
    """Per block: log-likelihood, gradient and negative Hessian in log θ of clicks given each item's total."""
    n_items, n = len(offsets) - 1, len(theta)
    value_out = np.zeros(BLOCKS)
    gradient_out = np.zeros((BLOCKS, n))
    information_out = np.zeros((BLOCKS, n, n))
    for block in prange(BLOCKS):
        for g in range(n_items * block // BLOCKS, n_items * (block + 1) // BLOCKS):
            start, end = offsets[g], offsets[g + 1]
            total, exposure = 0.0, 0.0
            for m in range(start, end):
                total += clicks[m]
                exposure += impressions[m] * theta[place[m]]
            if total == 0.0:
                continue
            for m in range(start, end):
                k = place[m]
                share = impressions[m] * theta[k] / exposure
                if clicks[m] > 0:
                    value_out[block] += clicks[m] * math.log(share)
                gradient_out[block, k] += clicks[m] - total * share
                information_out[block, k, k] += total * share
                for other in range(start, end):
                    there = place[other]
                    information_out[block, k, there] -= total * share * (impressions[other] * theta[there] / exposure)
    return value_out, gradient_out, information_out


@compiled(parallel=True)
def conditional_spread(theta: Any, offsets: Any, list_offsets: Any, place: Any, impressions: Any, clicks: Any) -> Any:
    """Per block of lists: Σ s s', s the gradient's share of one list."""
    n_lists, n = len(list_offsets) - 1, len(theta)
    spread_out = np.zeros((BLOCKS, n, n))
    for block in prange(BLOCKS):
        score = np.zeros(n)
        for q in range(n_lists * block // BLOCKS, n_lists * (block + 1) // BLOCKS):
            score[:] = 0.0
            for g in range(list_offsets[q], list_offsets[q + 1]):
                start, end = offsets[g], offsets[g + 1]
                total, exposure = 0.0, 0.0
                for m in range(start, end):
                    total += clicks[m]
                    exposure += impressions[m] * theta[place[m]]
                if total == 0.0:
                    continue
                for m in range(start, end):
                    score[place[m]] += clicks[m] - total * impressions[m] * theta[place[m]] / exposure
            for k in range(n):
                for j in range(n):
                    spread_out[block, k, j] += score[k] * score[j]
    return spread_out


@compiled(parallel=True)
def pair_table(n: int, offsets: Any, place: Any, impressions: Any, clicks: Any, equal: bool) -> Any:
    """Per block: the weight of the items shown at both of two positions, and their weighted click rate at the first."""
    n_items = len(offsets) - 1
    weight_out = np.zeros((BLOCKS, n, n))
    clicks_out = np.zeros((BLOCKS, n, n))
    for block in prange(BLOCKS):
        for g in range(n_items * block // BLOCKS, n_items * (block + 1) // BLOCKS):
            for m in range(offsets[g], offsets[g + 1]):
                for other in range(offsets[g], offsets[g + 1]):
                    k, j = place[m], place[other]
                    if k == j:
                        continue
                    weight = 1.0
                    if not equal:
                        weight = impressions[m] * impressions[other] / (impressions[m] + impressions[other])
                    weight_out[block, k, j] += weight
                    clicks_out[block, k, j] += weight * clicks[m] / impressions[m]
    return weight_out, clicks_out


@compiled(parallel=True)
def pair_spread(
    rate: Any, lever: Any, offsets: Any, list_offsets: Any, place: Any, impressions: Any, clicks: Any, equal: bool
) -> Any:
    """Per block of lists: Σ s s', s the share of one list in the gradient of the profile all-pairs likelihood.

    For positions k and j, s_k gains lever[k, j] (c_kj − w rate[k, j]) − lever[j, k] (c_jk − w rate[j, k]).
    """
    n_lists, n = len(list_offsets) - 1, len(rate)
    spread_out = np.zeros((BLOCKS, n, n))
    for block in prange(BLOCKS):
        score = np.zeros(n)
        for q in range(n_lists * block // BLOCKS, n_lists * (block + 1) // BLOCKS):
            score[:] = 0.0
            for g in range(list_offsets[q], list_offsets[q + 1]):
                for m in range(offsets[g], offsets[g + 1]):
                    for other in range(offsets[g], offsets[g + 1]):
                        k, j = place[m], place[other]
                        if k == j:
                            continue
                        weight = 1.0
                        if not equal:
                            weight = impressions[m] * impressions[other] / (impressions[m] + impressions[other])
                        part = lever[k, j] * weight * (clicks[m] / impressions[m] - rate[k, j])
                        score[k] += part
                        score[j] -= part
            for k in range(n):
                for j in range(n):
                    spread_out[block, k, j] += score[k] * score[j]
    return spread_out


@compiled(parallel=True)
def session_spread(
    session_offsets: Any,
    cell: Any,
    clicked: Any,
    expected: Any,
    weight: Any,
    place: Any,
    cell_item: Any,
    share: Any,
    offsets: Any,
    n: int,
) -> Any:
    """Per block of sessions: Σ s s', s one session's share in the gradient, Σ w (c − E c) (e_k − share of its item).

    `cell` is the cell of each row or −1 for a row that tells nothing; `expected` is E c for a row of the cell, and
    `weight` is w.
    """
    n_sessions = len(session_offsets) - 1
    spread_out = np.zeros((BLOCKS, n, n))
    for block in prange(BLOCKS):
        score = np.zeros(n)
        for s in range(n_sessions * block // BLOCKS, n_sessions * (block + 1) // BLOCKS):
            score[:] = 0.0
            for row in range(session_offsets[s], session_offsets[s + 1]):
                m = cell[row]
                if m < 0:
                    continue
                residual = weight[m] * (clicked[row] - expected[m])
                score[place[m]] += residual
                g = cell_item[m]
                for other in range(offsets[g], offsets[g + 1]):
                    score[place[other]] -= residual * share[other]
            for k in range(n):
                for j in range(n):
                    spread_out[block, k, j] += score[k] * score[j]
    return spread_out

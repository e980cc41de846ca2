"""λ and Hessian of weighted pairs, compiled; see `rankers.reference` for the formulas."""

from __future__ import annotations

import math
from typing import Any

import numba
from numba import prange

from truerank.compiled_kernels import compiled
from truerank.ragged_kernels import rank_by_score

_FLAT = 300.0
"""Score gaps (times σ) up to this have exponentials far from overflow; beyond it a pair is settled to any precision."""


@compiled(parallel=True, error_model="numpy")
def lambdas_and_hessians(
    scores: Any,
    row_offsets: Any,
    pair_offsets: Any,
    pair_i: Any,
    pair_j: Any,
    weight: Any,
    discounts: Any,
    sigma: float,
    truncation: int,
    distance_norm: bool,
    list_norm: bool,
    order: Any,
    spare: Any,
    power: Any,
    rank_out: Any,
    lambda_out: Any,
    hessian_out: Any,
) -> None:
    """Fill λ and Hessian of every row, and each row's rank (from 0) under the scores.

    Lists share nothing and each belongs to one thread, so the bits do not depend on the number of threads. `order`,
    `spare` and `power` are workspaces, one place a row: nothing is allocated.
    """
    for q in prange(len(row_offsets) - 1):
        start, end = row_offsets[q], row_offsets[q + 1]
        for row in range(start, end):
            lambda_out[row] = 0.0
            hessian_out[row] = 0.0
        if pair_offsets[q] == pair_offsets[q + 1]:
            continue
        rank_by_score(scores, start, end, order, spare, rank_out)
        highest, lowest = scores[start], scores[start]
        for row in range(start + 1, end):
            highest, lowest = max(highest, scores[row]), min(lowest, scores[row])
        divide = distance_norm and highest > lowest
        # 1 / (1 + e^{s_i − s_j}) = e^{s_j} / (e^{s_i} + e^{s_j}): an exponential a row instead of one a pair.
        near = sigma * (highest - lowest) < _FLAT
        if near:
            for row in range(start, end):
                power[row] = math.exp(sigma * (scores[row] - highest))
        total = 0.0
        for k in range(pair_offsets[q], pair_offsets[q + 1]):
            i, j = start + pair_i[k], start + pair_j[k]
            rank_i, rank_j = rank_out[i], rank_out[j]
            if rank_i >= truncation and rank_j >= truncation:
                continue
            gap = scores[i] - scores[j]
            change = weight[k] * abs(discounts[rank_i] - discounts[rank_j])
            if divide:
                change /= 0.01 + abs(gap)
            power_i = power[i] if near else math.exp(min(max(sigma * gap, -_FLAT), _FLAT))
            power_j = power[j] if near else 1.0
            share = 1.0 / (power_i + power_j)
            slope = sigma * change * power_j * share
            curvature = sigma * sigma * abs(change) * (power_i * share) * (power_j * share)
            lambda_out[i] -= slope
            lambda_out[j] += slope
            hessian_out[i] += curvature
            hessian_out[j] += curvature
            total += 2.0 * abs(slope)
        if list_norm and total > 0.0:
            factor = math.log2(1.0 + total) / total
            for row in range(start, end):
                lambda_out[row] *= factor
                hessian_out[row] *= factor


@compiled(parallel=True, error_model="numpy")
def position_losses(
    scores: Any,
    row_offsets: Any,
    pair_offsets: Any,
    pair_i: Any,
    pair_j: Any,
    position_i: Any,
    position_j: Any,
    weight: Any,
    rank: Any,
    discounts: Any,
    sigma: float,
    truncation: int,
    examined_ratio: Any,
    unclicked_ratio: Any,
    block_offsets: Any,
    examined_out: Any,
    unclicked_out: Any,
) -> None:
    """S⁺_k and S⁻_k of Hu et al.: the pairs' losses by the position of the clicked and of the other item.

    Lists go in blocks, a row of the outputs each, to be added in order: the bits do not depend on the threads.
    """
    for block in prange(len(block_offsets) - 1):
        for q in range(block_offsets[block], block_offsets[block + 1]):
            start = row_offsets[q]
            for k in range(pair_offsets[q], pair_offsets[q + 1]):
                i, j = start + pair_i[k], start + pair_j[k]
                if rank[i] >= truncation and rank[j] >= truncation:
                    continue
                gap = sigma * (scores[i] - scores[j])
                cost = math.log1p(math.exp(-abs(gap))) + max(-gap, 0.0)
                loss = weight[k] * abs(discounts[rank[i]] - discounts[rank[j]]) * cost
                examined_out[block, position_i[k]] += loss / unclicked_ratio[position_j[k]]
                unclicked_out[block, position_j[k]] += loss / examined_ratio[position_i[k]]


def limit_threads(n: int) -> int:
    """Let kernels called from this thread use at most `n` threads; returns what it was."""
    before = int(numba.get_num_threads())
    numba.set_num_threads(max(1, min(n, numba.config.NUMBA_NUM_THREADS)))
    return before

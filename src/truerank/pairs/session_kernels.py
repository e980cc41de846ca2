"""From sessions to weighted pairs, compiled: one list a session, pairs in the order (i, j)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import prange

from truerank.compiled_kernels import compiled

NONE, ROBUST, COMPLETE = range(3)


@compiled(parallel=True)
def count_pairs(labels: Any, offsets: Any, method: int) -> Any:
    """How many pairs each session gives."""
    n_sessions = len(offsets) - 1
    counts = np.empty(n_sessions, dtype=np.int64)
    for q in prange(n_sessions):
        start, end = offsets[q], offsets[q + 1]
        count = 0
        for i in range(start, end):
            if labels[i] > 0:
                for j in range(start, end):
                    if labels[j] < labels[i] or (method == COMPLETE and labels[j] > 0 and i != j):
                        count += 1
        counts[q] = count
    return counts


@compiled(parallel=True)
def max_dcg(labels: Any, offsets: Any, gains: Any) -> Any:
    """The DCG of the best order of each session's labels, all of them: Σ_k gain of the k-th best / log2(1 + k)."""
    n_sessions = len(offsets) - 1
    best_out = np.zeros(n_sessions)
    for q in prange(n_sessions):
        start, end = offsets[q], offsets[q + 1]
        clicks = 0
        for row in range(start, end):
            if labels[row] > 0:
                clicks += 1
        if clicks == 0:
            continue
        clicked = np.empty(clicks, dtype=labels.dtype)
        k = 0
        for row in range(start, end):
            if labels[row] > 0:
                clicked[k] = labels[row]
                k += 1
        if clicks > 1:
            clicked.sort()
        total = 0.0
        for k in range(clicks):
            total += gains[clicked[clicks - 1 - k]] / math.log2(2.0 + k)
        best_out[q] = total
    return best_out


@compiled(parallel=True)
def fill_pairs(
    labels: Any,
    offsets: Any,
    method: int,
    gains: Any,
    inverse: Any,
    inverse_joint: Any,
    joint_offsets: Any,
    scale: Any,
    pair_offsets: Any,
    i_out: Any,
    j_out: Any,
    weight_out: Any,
) -> None:
    """The pairs of each session, times the session's scale. See `pairs.reference` for the formulas."""
    for q in prange(len(offsets) - 1):
        k = pair_offsets[q]
        if k == pair_offsets[q + 1]:
            continue
        start, end = offsets[q], offsets[q + 1]
        clicks = 0
        for row in range(start, end):
            if labels[row] > 0:
                clicks += 1
        click_i = -1
        for i in range(start, end):
            a = labels[i]
            if a == 0:
                continue
            click_i += 1
            click_j = -1
            for j in range(start, end):
                b = labels[j]
                a_ij = 0.0
                if b > 0:
                    click_j += 1
                    if method != NONE and i != j:
                        first, second = min(click_i, click_j), max(click_i, click_j)
                        before = first * clicks - first * (first + 1) // 2
                        a_ij = inverse_joint[joint_offsets[q] + before + second - first - 1]
                if b < a:
                    if b == 0:
                        weight = inverse[i] * gains[a]
                    elif method == NONE:
                        weight = gains[a] - gains[b]
                    else:
                        weight = a_ij * (gains[a] - gains[b])
                elif method == COMPLETE and i != j:
                    weight = 0.0
                else:
                    continue
                if method == COMPLETE and b > 0:
                    weight += (inverse[i] - a_ij) * gains[a]
                i_out[k] = i - start
                j_out[k] = j - start
                weight_out[k] = scale[q] * weight
                k += 1


@compiled(parallel=True)
def take_positions(positions: Any, offsets: Any, pair_offsets: Any, places: Any, positions_out: Any) -> None:
    """The position at which each pair's item was shown."""
    for q in prange(len(offsets) - 1):
        for k in range(pair_offsets[q], pair_offsets[q + 1]):
            positions_out[k] = positions[offsets[q] + places[k]]


@compiled(parallel=True)
def first_impossible_pair(group: Any, offsets: Any, i: Any, j: Any) -> Any:
    """The first pair that names the same item twice or one past the end of its list, or -1."""
    n_lists = len(group)
    found = np.full(n_lists, -1, dtype=np.int64)
    for q in prange(n_lists):
        for k in range(offsets[q], offsets[q + 1]):
            if i[k] >= group[q] or j[k] >= group[q] or i[k] == j[k]:
                found[q] = k
                break
    for q in range(n_lists):
        if found[q] >= 0:
            return found[q]
    return -1

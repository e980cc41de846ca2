"""Compiled loops over ragged lists."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from truerank.compiled_kernels import compiled

SHORT = 32
"""Up to this length comparing all pairs beats sorting."""


@compiled(parallel=True)
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


@compiled()
def rank_by_score(scores: Any, start: int, end: int, order: Any, spare: Any, rank_out: Any) -> None:
    """The ranks of rows `start` to `end`, from 0 for the highest score; equal scores keep their order.

    Short lists count who is ahead, which has no branch to guess wrong; longer ones are sorted in the two workspaces.
    Nothing is allocated, and short lists are not even sliced: slices count references, which threads fight over.
    """
    if end - start > SHORT:
        _sort_descending(scores[start:end], order[start:end], spare[start:end])
        for rank in range(end - start):
            rank_out[start + order[start + rank]] = rank
        return
    for i in range(start, end):
        score = scores[i]
        ahead = 0
        for j in range(start, i):
            ahead += scores[j] >= score
        for j in range(i + 1, end):
            ahead += scores[j] > score
        rank_out[i] = ahead


@compiled()
def _sort_descending(scores: Any, order_out: Any, spare: Any) -> None:
    """A stable sort: runs of `SHORT` by insertion, then merged bottom up."""
    n = len(scores)
    for start in range(0, n, SHORT):
        for k in range(start, min(start + SHORT, n)):
            score = scores[k]
            slot = k
            while slot > start and scores[order_out[slot - 1]] < score:
                order_out[slot] = order_out[slot - 1]
                slot -= 1
            order_out[slot] = k
    width = SHORT
    while width < n:
        for start in range(0, n, 2 * width):
            middle, end = min(start + width, n), min(start + 2 * width, n)
            left, right = start, middle
            for k in range(start, end):
                if right >= end or (left < middle and scores[order_out[left]] >= scores[order_out[right]]):
                    spare[k] = order_out[left]
                    left += 1
                else:
                    spare[k] = order_out[right]
                    right += 1
        order_out[:] = spare
        width *= 2


@compiled(parallel=True)
def ranks_by_score(scores: Any, offsets: Any, order: Any, spare: Any, rank_out: Any) -> None:
    """The rank of each row in its list; see `rank_by_score`."""
    for q in prange(len(offsets) - 1):
        rank_by_score(scores, offsets[q], offsets[q + 1], order, spare, rank_out)


@compiled(parallel=True)
def mean_by_rank(scores: Any, offsets: Any, summed: Any, order: Any, spare: Any, mean_out: Any) -> None:
    """What each row gets if rank r earns summed[r + 1] − summed[r], rows of equal score sharing what their ranks earn.

    The order of the rows plays no part.
    """
    for q in prange(len(offsets) - 1):
        start, n = offsets[q], offsets[q + 1] - offsets[q]
        end = start + n
        _sort_descending(scores[start:end], order[start:end], spare[start:end])
        first = 0
        for rank in range(1, n + 1):
            score = scores[start + order[start + first]]
            if rank == n or scores[start + order[start + rank]] != score:
                share = (summed[rank] - summed[first]) / (rank - first)
                for tied in range(first, rank):
                    mean_out[start + order[start + tied]] = share
                first = rank


@compiled()
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

"""NDCG on ragged lists."""

from __future__ import annotations

from typing import Any

import numpy as np

from truerank.errors import InputError
from truerank.losses.gains import gain_table
from truerank.metrics.ranks import rank_rows
from truerank.ragged import read_scores, read_sessions
from truerank.types import FloatArray


def ndcg(scores: Any, labels: Any, group: Any, at: int = 10, gain: str = "exp2") -> FloatArray:
    """NDCG@k of each list, k = `at`: Σ_i gain_i D_k(π_i) over its largest value, D_k(π) = 1 / log2(1 + π) for π ≤ k.

    Equal scores keep the order of the rows. A list without a relevant item has no NDCG: NaN.

    Args:
        scores: one number a row, the higher the better.
        labels: one number a row, 0 for irrelevant.
        group: the size of each list.
        at: how many ranks count.
        gain: `exp2`, 2^label − 1, or `linear`, the label itself.

    >>> ndcg([0.1, 0.9, 0.3, 0.2], [1, 0, 0, 0], [2, 2]).round(4).tolist()
    [0.6309, nan]
    """
    sessions = read_sessions(labels, None, group, needs_positions=False)
    checked = read_scores(scores, sessions.n_rows)
    if sessions.n_sessions == 0:
        return np.empty(0)
    gains = gain_table(int(sessions.labels.max(initial=1)), gain)[sessions.labels]
    discounts = rank_discounts(int(sessions.sizes.max()), at)
    starts = sessions.offsets[:-1]
    reached = np.add.reduceat(gains * discounts[rank_rows(checked, sessions.offsets)], starts)
    best = np.add.reduceat(gains * discounts[rank_rows(gains, sessions.offsets)], starts)
    value: FloatArray = np.divide(reached, best, out=np.full(len(best), np.nan), where=best > 0)
    return value


def rank_discounts(longest: int, at: int) -> FloatArray:
    """1 / log2(1 + π) for ranks π = 1 … `longest`, 0 beyond `at`."""
    if at != int(at) or at < 1:
        raise InputError(f"at is {at}; it must be a whole number of ranks, at least 1")
    ranks = np.arange(1, longest + 1)
    return np.where(ranks <= at, 1 / np.log2(1.0 + ranks), 0.0)

"""NDCG on ragged lists."""

from __future__ import annotations

from typing import Any

import numpy as np

from truerank.losses.gains import gain_table
from truerank.metrics.ranking import Judged, Ranking, read_cutoff, read_judged
from truerank.types import FloatArray


def ndcg(scores: Any, labels: Any, group: Any, at: int | None = 10, gain: str = "exp2") -> FloatArray:
    """NDCG@k of each list, k = `at`: Σ_i gain_i D_k(π_i) over its largest value, D_k(π) = 1 / log2(1 + π) for π ≤ k.

    Equal scores keep the order of the rows. A list without a relevant item has no NDCG: NaN.

    Args:
        scores: one number a row, the higher the better.
        labels: one number a row, 0 for irrelevant.
        group: the size of each list.
        at: how many ranks count; None for all.
        gain: `exp2`, 2^label − 1, or `linear`, the label itself.

    >>> ndcg([0.1, 0.9, 0.3, 0.2], [1, 0, 0, 0], [2, 2]).round(4).tolist()
    [0.6309, nan]
    """
    return ndcg_of(read_judged(labels, group).ranked_by(scores), at, gain)


def ndcg_of(ranking: Ranking, at: int | None, gain: str) -> FloatArray:
    """NDCG@k of lists already ranked; the ideal ranking is summed in the same order, so that it gets 1 exactly."""
    judged = ranking.judged
    gains = gain_table(judged.highest, gain)
    discounts = rank_discounts(judged.longest, at)[judged.ranks - 1]
    return judged.share(_dcg(ranking, judged, gains, discounts), _dcg(judged.ideal, judged, gains, discounts))


def rank_discounts(longest: int, at: int | None) -> FloatArray:
    """1 / log2(1 + π) for ranks π = 1 … `longest`, 0 beyond `at`."""
    ranks = np.arange(1, longest + 1)
    return np.where(ranks <= read_cutoff(at, longest), 1 / np.log2(1.0 + ranks), 0.0)


def _dcg(ranking: Ranking, judged: Judged, gains: FloatArray, discounts: FloatArray) -> Any:
    return judged.total(gains[ranking.labels] * discounts)

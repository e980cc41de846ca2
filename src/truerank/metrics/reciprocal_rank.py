"""Reciprocal rank on ragged lists; its mean is MRR."""

from __future__ import annotations

from typing import Any

import numpy as np

from truerank.metrics.ranking import Ranking, read_cutoff, read_judged
from truerank.types import FloatArray


def reciprocal_rank(scores: Any, labels: Any, group: Any, at: int | None = None) -> FloatArray:
    """Reciprocal rank of each list: RR@k = 1/r for the first relevant rank r, 0 if r > k.

    An item is relevant if its label is above 0. Equal scores keep the order of the rows. A list without a relevant item
    has no value: NaN.

    Args:
        scores: one number a row, the higher the better.
        labels: one number a row, 0 for irrelevant.
        group: the size of each list.
        at: k, how many ranks count; None for all.

    >>> reciprocal_rank([0.9, 0.8, 0.7, 0.6], [0, 1, 0, 2], [4]).tolist()
    [0.5]
    """
    return reciprocal_rank_of(read_judged(labels, group).ranked_by(scores), at)


def reciprocal_rank_of(ranking: Ranking, at: int | None) -> FloatArray:
    """RR@k of lists already ranked."""
    judged = ranking.judged
    relevant = ranking.labels > 0
    first = relevant & (judged.running_total(relevant) == 1)
    rank = judged.total(np.where(first, judged.ranks, 0))
    return judged.share(rank <= read_cutoff(at, judged.longest), rank)

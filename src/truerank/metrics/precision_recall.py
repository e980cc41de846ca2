"""Precision and recall on ragged lists."""

from __future__ import annotations

from typing import Any

import numpy as np

from truerank.metrics.ranking import Ranking, read_judged
from truerank.ragged import check_number
from truerank.types import FloatArray, IntArray


def precision(scores: Any, labels: Any, group: Any, at: int = 10) -> FloatArray:
    """Precision of each list: P@k = (relevant items of the first k ranks) / k, also where the list is shorter than k.

    An item is relevant if its label is above 0. Equal scores keep the order of the rows. A list without a relevant item
    has no value: NaN.

    Args:
        scores: one number a row, the higher the better.
        labels: one number a row, 0 for irrelevant.
        group: the size of each list.
        at: k, how many ranks count.

    >>> precision([0.9, 0.8, 0.7], [1, 0, 2], [3], at=2).tolist()
    [0.5]
    """
    return precision_of(read_judged(labels, group).ranked_by(scores), at)


def recall(scores: Any, labels: Any, group: Any, at: int = 10) -> FloatArray:
    """Recall of each list: R@k = (relevant items of the first k ranks) / (relevant items).

    An item is relevant if its label is above 0. Equal scores keep the order of the rows. A list without a relevant item
    has no value: NaN.

    Args:
        scores: one number a row, the higher the better.
        labels: one number a row, 0 for irrelevant.
        group: the size of each list.
        at: k, how many ranks count.

    >>> recall([0.9, 0.8, 0.7, 0.6], [1, 0, 2, 1], [4], at=3).round(4).tolist()
    [0.6667]
    """
    return recall_of(read_judged(labels, group).ranked_by(scores), at)


def precision_of(ranking: Ranking, at: int) -> FloatArray:
    """P@k of lists already ranked."""
    return ranking.judged.share(_found(ranking, at), float(at))


def recall_of(ranking: Ranking, at: int) -> FloatArray:
    """R@k of lists already ranked."""
    return ranking.judged.share(_found(ranking, at), ranking.judged.relevant)


def _found(ranking: Ranking, at: int) -> IntArray:
    """How many relevant items stand in the first `at` ranks of each list."""
    check_number(at, "at", 1, whole=True)
    counts = (ranking.labels > 0) & (ranking.judged.ranks <= at)
    found: IntArray = ranking.judged.total(counts.astype(np.int64))
    return found

"""Average precision on ragged lists; its mean is MAP."""

from __future__ import annotations

from typing import Any

import numpy as np

from truerank.metrics.ranking import Ranking, read_cutoff, read_judged
from truerank.types import FloatArray


def average_precision(scores: Any, labels: Any, group: Any, at: int | None = None) -> FloatArray:
    """Average precision of each list: AP@k = 1/R Σ_{r ≤ k, r relevant} (relevant items down to rank r) / r.

    R counts the relevant items of the list, found or not, and an item is relevant if its label is above 0. Equal scores
    keep the order of the rows. A list without a relevant item has no value: NaN.

    Args:
        scores: one number a row, the higher the better.
        labels: one number a row, 0 for irrelevant.
        group: the size of each list.
        at: k, how many ranks count; None for all.

    >>> average_precision([0.9, 0.8, 0.7], [1, 0, 2], [3]).round(4).tolist()  # (1/1 + 2/3) / 2
    [0.8333]
    """
    return average_precision_of(read_judged(labels, group).ranked_by(scores), at)


def average_precision_of(ranking: Ranking, at: int | None) -> FloatArray:
    """AP@k of lists already ranked."""
    judged = ranking.judged
    relevant = ranking.labels > 0
    precision = judged.running_total(relevant) / judged.ranks
    counts = relevant & (judged.ranks <= read_cutoff(at, judged.longest))
    return judged.share(judged.total(np.where(counts, precision, 0.0)), judged.relevant)

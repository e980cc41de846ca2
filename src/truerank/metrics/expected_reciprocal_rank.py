"""Expected reciprocal rank (Chapelle et al. 2009) on ragged lists."""

from __future__ import annotations

from typing import Any

import numpy as np

from truerank.errors import InputError
from truerank.losses.gains import gain_table
from truerank.metrics.ranking import Ranking, read_cutoff, read_judged
from truerank.ragged import check_number
from truerank.types import FloatArray


def expected_reciprocal_rank(
    scores: Any, labels: Any, group: Any, at: int | None = None, highest: int | None = None
) -> FloatArray:
    """ERR@k of each list: Σ_{r ≤ k} 1/r · s_r Π_{t < r} (1 − s_t), s = (2^y − 1) / 2^{y_max} (Chapelle et al. 2009).

    A reader goes down the list and stops at rank r, satisfied, with probability s_r. Equal scores keep the order of the
    rows. A list without a relevant item has no value: NaN.

    Args:
        scores: one number a row, the higher the better.
        labels: one number a row, the grade y, 0 for irrelevant.
        group: the size of each list.
        at: k, how many ranks count; None for all.
        highest: y_max, the best grade there is; by default the largest label given.

    >>> expected_reciprocal_rank([0.9, 0.8], [1, 2], [2]).tolist()  # s = 1/4, 3/4: 1/4 + 1/2 · 3/4 · 3/4
    [0.53125]
    """
    return expected_reciprocal_rank_of(read_judged(labels, group).ranked_by(scores), at, highest)


def expected_reciprocal_rank_of(ranking: Ranking, at: int | None, highest: int | None = None) -> FloatArray:
    """ERR@k of lists already ranked."""
    from truerank.metrics.ranking_kernels import cascade

    judged = ranking.judged
    best = _best_grade(highest, judged.highest)
    stops = gain_table(best, "exp2") / 2.0**best
    value = np.empty(judged.n_lists)
    cascade(stops[ranking.labels], judged.offsets, read_cutoff(at, judged.longest), value)
    return judged.share(value, 1.0)


def _best_grade(highest: int | None, seen: int) -> int:
    if highest is None:
        return seen
    check_number(highest, "highest", 1, whole=True)
    if highest < seen:
        raise InputError(f"highest is {highest} and a label is {seen}; highest is the best grade that a label can be")
    return int(highest)

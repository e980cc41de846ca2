"""Ranks of rows inside their lists."""

from __future__ import annotations

import numpy as np

from truerank.types import FloatArray, IntArray, Labels


def rank_rows(scores: FloatArray, offsets: IntArray) -> Labels:
    """The rank of each row in its list, from 0 for the highest score; equal scores keep their order."""
    from truerank.ragged_kernels import ranks_by_score

    order, spare, ranks = np.empty((3, len(scores)), dtype=np.int32)
    ranks_by_score(scores, offsets, order, spare, ranks)
    return ranks

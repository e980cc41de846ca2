"""Which pairs of rows were both clicked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from truerank.compiled_kernels import compiled


@compiled(parallel=True)
def count_clicked_pairs(labels: Any, offsets: Any) -> Any:
    """C_q (C_q − 1) / 2 for each session."""
    n_sessions = len(offsets) - 1
    counts = np.empty(n_sessions, dtype=np.int64)
    for q in prange(n_sessions):
        clicks = 0
        for row in range(offsets[q], offsets[q + 1]):
            if labels[row] > 0:
                clicks += 1
        counts[q] = clicks * (clicks - 1) // 2
    return counts


@compiled(parallel=True)
def clicked_pair_rows(labels: Any, offsets: Any, pair_offsets: Any) -> Any:
    """The rows i < j of every pair of clicks, session by session."""
    row_i_out = np.empty(pair_offsets[-1], dtype=np.int64)
    row_j_out = np.empty(pair_offsets[-1], dtype=np.int64)
    for q in prange(len(offsets) - 1):
        k = pair_offsets[q]
        if k == pair_offsets[q + 1]:
            continue
        for i in range(offsets[q], offsets[q + 1]):
            if labels[i] == 0:
                continue
            for j in range(i + 1, offsets[q + 1]):
                if labels[j] > 0:
                    row_i_out[k] = i
                    row_j_out[k] = j
                    k += 1
    return row_i_out, row_j_out

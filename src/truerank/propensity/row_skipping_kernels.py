"""The likelihood of sessions under row skipping, forwards and backwards through the grid, compiled.

`propensity.reference` adds up all ways of looking instead. Everything is handed out session by session and row by row,
so the bits do not depend on the threads.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import prange

from truerank.compiled_kernels import compiled

BLOCKS = 256


@compiled(parallel=True)
def session_scores(
    gamma: float,
    continuation: Any,
    parameter: Any,
    n_parameters: int,
    grid_row: Any,
    row_ends: Any,
    relevance: Any,
    clicked: Any,
    row_of_place: Any,
    last_place: Any,
) -> Any:
    """Per session: log-likelihood and its gradient in logit γ and the logits of C; per row: P(examined | clicks).

    `row_of_place[s, v]` is the row of session s at place v (from 0) or −1, `last_place[s]` its last. `relevance` and
    `clicked` are of rows. `grid_row[v]` is the row of the grid that place v is in, `row_ends[m]` the place past grid
    row m, `parameter[v]` which of the C belongs to v.
    """
    n_sessions, longest = row_of_place.shape
    value_out = np.empty(n_sessions)
    score_out = np.zeros((n_sessions, 1 + n_parameters))
    examined_out = np.zeros(len(clicked))
    for block in prange(BLOCKS):
        lit, dark = np.empty(longest), np.empty(longest)  # what was seen at v if it was examined, and if not
        silent, after = np.empty(longest + 1), np.empty(longest)  # nothing was clicked from v on; see below
        below = np.empty(len(row_ends) + 1)
        for s in range(n_sessions * block // BLOCKS, n_sessions * (block + 1) // BLOCKS):
            last = last_place[s]
            for v in range(last + 1):
                row = row_of_place[s, v]
                lit[v] = dark[v] = 1.0
                if row >= 0:
                    lit[v] = relevance[row] if clicked[row] else 1.0 - relevance[row]
                    dark[v] = 0.0 if clicked[row] else 1.0
            silent[last + 1] = 1.0
            for v in range(last, -1, -1):
                silent[v] = silent[v + 1] * dark[v]
            # backwards: after[v] given that v is examined, below[m] given that the user gets to the start of grid row m
            last_row = grid_row[last]
            after[last] = below[last_row + 1] = 1.0
            for m in range(last_row, -1, -1):
                start, end = 0 if m == 0 else row_ends[m - 1], min(row_ends[m], last + 1)
                skipped = below[m + 1]
                for v in range(end - 1, start - 1, -1):
                    if v < last:
                        on = lit[v + 1] * after[v + 1] if v + 1 < row_ends[m] else below[m + 1]
                        after[v] = (1.0 - continuation[v]) * silent[v + 1] + continuation[v] * on
                    skipped *= dark[v]
                below[m] = gamma * skipped + (1.0 - gamma) * lit[start] * after[start]
            total = below[0]
            value_out[s] = math.log(total)
            # forwards: how likely it is to get there with what was seen so far
            reach = 1.0
            for m in range(last_row + 1):
                start, end = 0 if m == 0 else row_ends[m - 1], min(row_ends[m], last + 1)
                skipped = gamma * reach
                for v in range(start, end):
                    skipped *= dark[v]
                score_out[s, 0] += (skipped * below[m + 1] - gamma * reach * below[m]) / total
                here = (1.0 - gamma) * reach
                for v in range(start, end):
                    here *= lit[v]
                    seen = here * after[v] / total
                    row = row_of_place[s, v]
                    if row >= 0:
                        examined_out[row] = seen
                    if v < last:
                        on = lit[v + 1] * after[v + 1] if v + 1 < row_ends[m] else below[m + 1]
                        went_on = here * continuation[v] * on / total
                        score_out[s, 1 + parameter[v]] += went_on - continuation[v] * seen
                        here *= continuation[v]
                reach = skipped + here
    return value_out, score_out, examined_out

"""Pairs of rows of one session: how likely their clicks are together, compiled. `propensity.reference` is the formula.

Sessions are walked in blocks whose number does not depend on the threads, so sums have the same bits on any machine.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import prange

from truerank.compiled_kernels import compiled

BLOCKS = 64
SURPRISE = 0.02
"""No outcome of a pair is held less likely than this share of what it would be if the two had nothing to do with each
other: relevances are estimates, and one that is off would otherwise rule out what happens."""


@compiled()
def together(first: float, second: float, association: float) -> float:
    """P(both clicked) = ρ p_i p_j, kept where all four outcomes have some chance."""
    apart = first * second
    least = apart - (1.0 - SURPRISE) * min(apart, (1.0 - first) * (1.0 - second))
    most = apart + (1.0 - SURPRISE) * min(first * (1.0 - second), second * (1.0 - first))
    return max(least, min(association * apart, most))


@compiled(parallel=True)
def session_values(chance: Any, association: Any, clicked: Any, row_of_place: Any, last_place: Any) -> Any:
    """Per session: Σ_{i<j} log P(c_i, c_j) / (n − 1); a session of one row has its own log P(c).

    `chance` is P(click) of each row, `association[k, l]` = ψ_kl / (θ_k θ_l) for places k < l.
    """
    n_sessions = len(last_place)
    value_out = np.zeros(n_sessions)
    for s in prange(n_sessions):
        shown = 0
        for k in range(last_place[s] + 1):
            i = row_of_place[s, k]
            if i < 0:
                continue
            shown += 1
            for m in range(k + 1, last_place[s] + 1):
                j = row_of_place[s, m]
                if j < 0:
                    continue
                both = together(chance[i], chance[j], association[k, m])
                if clicked[i] and clicked[j]:
                    value_out[s] += math.log(both)
                elif clicked[i]:
                    value_out[s] += math.log(chance[i] - both)
                elif clicked[j]:
                    value_out[s] += math.log(chance[j] - both)
                else:
                    value_out[s] += math.log(1.0 - chance[i] - chance[j] + both)
        if shown > 1:
            value_out[s] /= shown - 1
        else:
            i = row_of_place[s, last_place[s]]
            value_out[s] = math.log(chance[i] if clicked[i] else 1.0 - chance[i])
    return value_out


@compiled(parallel=True)
def association_slopes(
    chance: Any, association: Any, clicked: Any, weight: Any, row_of_place: Any, last_place: Any
) -> Any:
    """Per block, for each two places: gradient, negative curvature and squared scores of Σ log P in log ρ."""
    n_sessions, n = row_of_place.shape
    out = np.zeros((BLOCKS, 3, n, n))
    for block in prange(BLOCKS):
        for s in range(n_sessions * block // BLOCKS, n_sessions * (block + 1) // BLOCKS):
            for k in range(last_place[s] + 1):
                i = row_of_place[s, k]
                if i < 0:
                    continue
                for m in range(k + 1, last_place[s] + 1):
                    j = row_of_place[s, m]
                    if j < 0:
                        continue
                    both = together(chance[i], chance[j], association[k, m])
                    if both != association[k, m] * (chance[i] * chance[j]):
                        continue  # kept in bounds: does not move with ρ
                    if clicked[i] and clicked[j]:
                        score, bend = 1.0, 0.0
                    elif clicked[i] or clicked[j]:
                        rest = (chance[i] if clicked[i] else chance[j]) - both
                        score = -both / rest
                        bend = both / rest + (both / rest) ** 2
                    else:
                        rest = 1.0 - chance[i] - chance[j] + both
                        score = both / rest
                        bend = (both / rest) ** 2 - both / rest
                    out[block, 0, k, m] += weight[s] * score
                    out[block, 1, k, m] += weight[s] * bend
                    out[block, 2, k, m] += weight[s] * score * score
    return out

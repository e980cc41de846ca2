"""Draw yes/no sequences that have given probabilities for each place and each pair of places.

Pairs do not determine the whole distribution, so any answer is a choice. The choice here:

1. The conditional linear chain (Qaqish 2003): P(e_j = 1 | e_1 … e_{j−1}) = θ_j + Σ_k b_jk (e_k − θ_k), with b_j
   the regression of e_j on what came before. It has the wanted pairs exactly whenever these stay within [0, 1]; for
   independent and for continuous examination it is the process itself.
2. Otherwise, up to 12 places, a distribution over all 2^n patterns that has the wanted pairs, found by linear
   programming; if there is none, no sampler could exist, and the error says so.
"""

from __future__ import annotations

import numpy as np

from truerank.errors import ExaminationError
from truerank.types import BoolArray, FloatArray

MOST_PLACES_FOR_PATTERNS = 12
_TOLERANCE = 1e-9


def sample_with_pairs(theta: FloatArray, psi: FloatArray, n: int, rng: np.random.Generator) -> BoolArray:
    """`n` sequences with P(e_i) = theta[i] and P(e_i e_j) = psi[i, j]."""
    uniform = rng.random((n, len(theta)))
    chain = _chain(theta, psi, uniform)
    if chain is not None:
        return chain
    if len(theta) > MOST_PLACES_FOR_PATTERNS:
        raise ExaminationError(
            f"no process was found that draws {len(theta)} positions with these pair probabilities (the search "
            f"is complete only up to {MOST_PLACES_FOR_PATTERNS} positions). Hint: sample from the model that the "
            "table came from, or fewer positions"
        )
    return _patterns(theta, psi, uniform[:, 0])


def _chain(theta: FloatArray, psi: FloatArray, uniform: FloatArray) -> BoolArray | None:
    covariance = psi - np.outer(theta, theta)
    examined = np.zeros(uniform.shape, dtype=np.bool_)
    for j in range(len(theta)):
        slope = np.linalg.lstsq(covariance[:j, :j], covariance[:j, j], rcond=1e-12)[0]
        chance = theta[j] + (examined[:, :j] - theta[:j]) @ slope
        if chance.size and (chance.min() < -_TOLERANCE or chance.max() > 1 + _TOLERANCE):
            return None
        examined[:, j] = uniform[:, j] < chance
    return examined


def _patterns(theta: FloatArray, psi: FloatArray, uniform: FloatArray) -> BoolArray:
    from scipy.optimize import linprog

    n = len(theta)
    patterns = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    i, j = np.triu_indices(n, 1)
    has = np.vstack([np.ones(2**n), patterns.T, (patterns[:, i] * patterns[:, j]).T])
    found = linprog(np.zeros(2**n), A_eq=has, b_eq=np.r_[1.0, theta, psi[i, j]], method="highs")
    if not found.success:
        raise ExaminationError(
            "no way of examining positions has these pair probabilities: each pair alone is possible, all together "
            "are not. Hint: estimate them jointly, or check the table"
        )
    chance = np.maximum(found.x, 0)
    chosen = np.searchsorted(np.cumsum(chance / chance.sum()), uniform, side="right")
    drawn: BoolArray = patterns[np.minimum(chosen, 2**n - 1)].astype(np.bool_)
    return drawn

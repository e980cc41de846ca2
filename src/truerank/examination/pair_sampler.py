"""Draw yes/no sequences that have given probabilities for each place and each pair of places.

Pairs do not determine the whole distribution, so any answer is a choice. The choice here depends on the tables alone:

1. The conditional linear chain (Qaqish 2003): P(e_j = 1 | e_1 … e_{j−1}) = θ_j + Σ_k b_jk (e_k − θ_k), with b_j
   the regression of e_j on what came before. It has the wanted pairs whenever these are chances, whatever came
   before; for independent and for continuous examination it is the process itself.
2. Otherwise, up to 12 places, a distribution over all 2^n patterns that has the wanted pairs, found by linear
   programming; if there is none, no sampler could exist, and the error says so.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from truerank.errors import ExaminationError
from truerank.types import BoolArray, FloatArray

MOST_PLACES_FOR_PATTERNS = 12
_TOLERANCE = 1e-9

Sampler = Callable[[int, np.random.Generator], BoolArray]


def pair_sampler(theta: FloatArray, psi: FloatArray) -> Sampler:
    """A function that draws n sequences with P(e_i) = theta[i] and P(e_i e_j) = psi[i, j]."""
    slopes = _chain_slopes(theta, psi)
    if _always_a_chance(theta, slopes):
        return lambda n, rng: _draw_chain(theta, slopes, n, rng)
    if len(theta) > MOST_PLACES_FOR_PATTERNS:
        raise ExaminationError(
            f"no process was found that draws {len(theta)} positions with these pair probabilities (the search "
            f"is complete only up to {MOST_PLACES_FOR_PATTERNS} positions). Hint: sample from the model that the "
            "table came from, or fewer positions"
        )
    patterns, chances = _pattern_chances(theta, psi)
    return lambda n, rng: patterns[rng.choice(len(patterns), size=n, p=chances)]


def _chain_slopes(theta: FloatArray, psi: FloatArray) -> list[FloatArray]:
    covariance = psi - np.outer(theta, theta)
    fits = (np.linalg.lstsq(covariance[:j, :j], covariance[:j, j], rcond=1e-12) for j in range(len(theta)))
    return [fit[0].astype(np.float64) for fit in fits]


def _always_a_chance(theta: FloatArray, slopes: list[FloatArray]) -> bool:
    """Whether every conditional probability is within [0, 1], even for histories that never come up."""
    for j, slope in enumerate(slopes):
        base = theta[j] - slope @ theta[:j]
        lowest, highest = base + slope[slope < 0].sum(), base + slope[slope > 0].sum()
        if lowest < -_TOLERANCE or highest > 1 + _TOLERANCE:
            return False
    return True


def _draw_chain(theta: FloatArray, slopes: list[FloatArray], n: int, rng: np.random.Generator) -> BoolArray:
    uniform = rng.random((n, len(theta)))
    examined = np.zeros(uniform.shape, dtype=np.bool_)
    for j, slope in enumerate(slopes):
        examined[:, j] = uniform[:, j] < theta[j] + (examined[:, :j] - theta[:j]) @ slope
    return examined


def _pattern_chances(theta: FloatArray, psi: FloatArray) -> tuple[BoolArray, FloatArray]:
    from scipy.optimize import linprog

    n = len(theta)
    patterns = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    i, j = np.triu_indices(n, 1)
    has = np.vstack([np.ones(2**n), patterns.T, (patterns[:, i] * patterns[:, j]).T])
    found = linprog(np.zeros(2**n), A_eq=has, b_eq=np.concatenate([[1.0], theta, psi[i, j]]), method="highs")
    if not found.success:
        raise ExaminationError(
            "no way of examining positions has these pair probabilities: each pair alone is possible, all together "
            "are not. Hint: estimate them jointly, or check the table"
        )
    chance = np.maximum(found.x, 0)
    return patterns.astype(np.bool_), chance / chance.sum()

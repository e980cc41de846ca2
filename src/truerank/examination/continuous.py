"""Continuous examination: people read from the top and stop somewhere, without skipping."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from truerank.errors import ExaminationError
from truerank.examination.base import ExaminationModel, read_probabilities
from truerank.types import BoolArray, FloatArray, IntArray


class Continuous(ExaminationModel):
    """Continuous examination: p_ij = min(θ_i, θ_j), θ non-increasing (the paper, Section 4).

    Args:
        theta: P(examined) at positions 1, 2, 3, …; it may not increase.
        min_propensity: the smallest probability handed out; None for no clipping.

    >>> Continuous([1, 0.5, 0.25]).joint(2, 3).item()
    0.25
    """

    kind = "continuous"

    def __init__(self, theta: npt.ArrayLike, *, min_propensity: float | None = None) -> None:
        table = read_probabilities(theta, "theta", None, min_propensity)
        rises = np.flatnonzero(np.diff(table) > 0)
        if rises.size:
            k = int(rises[0])
            raise ExaminationError(
                f"theta rises from {table[k]} at position {k + 1} to {table[k + 1]} at position {k + 2}; someone "
                "who reads from the top without skipping sees no lower position more often. Hint: smooth theta "
                "to be non-increasing, or use Independent or Tabulated"
            )
        super().__init__(table, min_propensity)

    def parameters(self) -> dict[str, Any]:
        """θ as a list."""
        return {"theta": self._theta.tolist()}

    def _pair(self, i: IntArray, j: IntArray) -> FloatArray:
        return self._theta[np.maximum(i, j)]

    def _sample(self, n_sessions: int, n_positions: int, rng: np.random.Generator) -> BoolArray:
        return rng.random((n_sessions, 1)) < self._theta[:n_positions]

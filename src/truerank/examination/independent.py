"""Independent examination: looking at one position says nothing about another."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from truerank.examination.base import ExaminationModel, read_probabilities
from truerank.types import BoolArray, FloatArray, IntArray


class Independent(ExaminationModel):
    """Independent examination: p_ij = θ_i θ_j for i ≠ j (the paper, Section 4).

    Args:
        theta: P(examined) at positions 1, 2, 3, …
        min_propensity: the smallest probability handed out; None for no clipping.

    >>> Independent([1, 0.5, 0.25]).joint(2, 3).item()
    0.125
    """

    kind = "independent"

    def __init__(self, theta: npt.ArrayLike, *, min_propensity: float | None = None) -> None:
        super().__init__(read_probabilities(theta, "theta", None, min_propensity), min_propensity)

    def parameters(self) -> dict[str, Any]:
        """θ as a list."""
        return {"theta": self._theta.tolist()}

    def _pair(self, i: IntArray, j: IntArray) -> FloatArray:
        return self._theta[i] * self._theta[j]

    def _sample(self, n_sessions: int, n_positions: int, rng: np.random.Generator) -> BoolArray:
        return rng.random((n_sessions, n_positions)) < self._theta[:n_positions]

"""Examination given as tables: θ for positions and ψ for pairs of positions."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from truerank.errors import ExaminationError
from truerank.examination.base import ExaminationModel, read_probabilities
from truerank.examination.pair_sampler import Sampler, pair_sampler
from truerank.types import BoolArray, FloatArray, IntArray

_TOLERANCE = 1e-9


class Tabulated(ExaminationModel):
    """Any examination at all: p_i = θ[i], p_ij = ψ[i, j].

    The tables must be probabilities of something: ψ symmetric, its diagonal θ, and
    max(0, p_i + p_j − 1) ≤ p_ij ≤ min(p_i, p_j), all of it above 0.

    Two-way tables do not fix who looks at three positions at once. `sample` draws from one process with these θ and
    ψ; see `truerank.examination.pair_sampler` for which, and when none is found.

    Args:
        theta: P(examined) at positions 1, 2, 3, …
        psi: P(both examined), a square table.
        min_propensity: the smallest probability handed out; None for no clipping.
    """

    kind = "tabulated"

    def __init__(self, theta: npt.ArrayLike, psi: npt.ArrayLike, *, min_propensity: float | None = None) -> None:
        marginals = read_probabilities(theta, "theta", None, min_propensity)
        n = len(marginals)
        self._psi = read_probabilities(psi, "psi", (n, n), min_propensity)
        _check_consistency(marginals, self._psi)
        self._psi.flags.writeable = False
        super().__init__(marginals, min_propensity)

    def parameters(self) -> dict[str, Any]:
        """θ and ψ as lists."""
        return {"theta": self._theta.tolist(), "psi": self._psi.tolist()}

    def _pair(self, i: IntArray, j: IntArray) -> FloatArray:
        return self._psi[i, j]

    def _sample(self, n_sessions: int, n_positions: int, rng: np.random.Generator) -> BoolArray:
        return self._sampler(n_positions)(n_sessions, rng)

    def _sampler(self, n: int) -> Sampler:
        return pair_sampler(self._theta[:n], self._psi[:n, :n])


def _check_consistency(theta: FloatArray, psi: FloatArray) -> None:
    diagonal = np.diagonal(psi)
    _refuse_where(
        np.diag(np.abs(diagonal - theta) > _TOLERANCE),
        lambda i, _: (
            f"psi on the diagonal at position {i + 1} is {psi[i, i]} and theta there is {theta[i]}; "
            "they are the same probability and must be equal"
        ),
    )
    _refuse_where(
        np.abs(psi - psi.T) > _TOLERANCE,
        lambda i, j: (
            f"psi is not symmetric: at positions ({i + 1}, {j + 1}) it is {psi[i, j]}, the other way round {psi[j, i]}"
        ),
    )
    _refuse_where(
        psi > np.minimum.outer(theta, theta) + _TOLERANCE,
        lambda i, j: (
            f"psi at positions ({i + 1}, {j + 1}) is {psi[i, j]}, above theta at one of them "
            f"({theta[i]}, {theta[j]}): both can't be seen more often than either"
        ),
    )
    _refuse_where(
        psi < np.add.outer(theta, theta) - 1 - _TOLERANCE,
        lambda i, j: (
            f"psi at positions ({i + 1}, {j + 1}) is {psi[i, j]}, below θ_i + θ_j − 1 = "
            f"{theta[i] + theta[j] - 1:.6g}: positions seen that often are seen together more often"
        ),
    )


def _refuse_where(wrong: npt.NDArray[np.bool_], message: Any) -> None:
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        raise ExaminationError(message(int(i), int(j)))

"""Row skipping: people walk through a grid row by row, may skip a row, and may stop after any item."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from truerank.errors import ExaminationError
from truerank.examination.base import ExaminationModel, read_numbers
from truerank.types import BoolArray, FloatArray, IntArray


class RowSkipping(ExaminationModel):
    """Row skipping on a grid (Xie et al. 2019; the paper, Section 4).

    Before each row the user skips it with probability γ, otherwise looks at its items one after another; after the
    item at position v the user goes on with probability C_v and leaves for good otherwise.

    Args:
        gamma: γ, the chance to skip a row, in [0, 1).
        continuation: C_v, one for all positions or one for each, in (0, 1].
        row_lengths: how many items each row holds, from the top; rows may differ, the last may be ragged.
        min_propensity: the smallest probability handed out; None for no clipping.

    >>> RowSkipping(gamma=0.2, continuation=0.5, row_lengths=[2, 2]).marginal([1, 2, 3]).round(6).tolist()
    [0.8, 0.4, 0.32]
    """

    kind = "row_skipping"

    def __init__(
        self,
        gamma: float,
        continuation: npt.ArrayLike,
        row_lengths: npt.ArrayLike,
        *,
        min_propensity: float | None = None,
    ) -> None:
        self.gamma = _read_gamma(gamma)
        self.row_lengths = read_row_lengths(row_lengths)
        self._continuation = _read_continuation(continuation, int(self.row_lengths.sum()))

        self._row = np.repeat(np.arange(len(self.row_lengths)), self.row_lengths)
        ends = np.cumsum(self.row_lengths)
        rows = np.split(self._continuation, ends[:-1])
        # Π C_v over the row up to but without this position, and from this position to the end of the row.
        self._before = np.concatenate([np.cumprod(np.r_[1.0, c[:-1]]) for c in rows])
        self._rest = np.concatenate([np.cumprod(c[::-1])[::-1] for c in rows])
        passed = (1 - self.gamma) * np.array([c.prod() for c in rows]) + self.gamma
        self._reach = np.cumprod(np.r_[1.0, passed])
        theta = self._reach[self._row] * (1 - self.gamma) * self._before
        if min_propensity is None and not theta.all():
            raise ExaminationError(
                f"position {int(np.argmin(theta)) + 1} is examined with probability 0 (it underflows). "
                "Hint: use fewer rows or a larger continuation"
            )
        super().__init__(theta, min_propensity)

    @property
    def continuation(self) -> FloatArray:
        """C_v at positions 1, 2, 3, …"""
        return self._continuation

    def parameters(self) -> dict[str, Any]:
        """γ, C_v and the row lengths."""
        values: list[float] = self._continuation.tolist()
        return {
            "gamma": self.gamma,
            "continuation": values[0] if len(set(values)) == 1 else values,
            "row_lengths": self.row_lengths.tolist(),
        }

    def _pair(self, i: IntArray, j: IntArray) -> FloatArray:
        high, low = np.minimum(i, j), np.maximum(i, j)
        row_high, row_low = self._row[high], self._row[low]
        same_row = _ratio(self._before[low], self._before[high])
        between = _ratio(self._reach[row_low], self._reach[np.minimum(row_high + 1, row_low)])
        other_row = self._rest[high] * between * (1 - self.gamma) * self._before[low]
        both: FloatArray = self._theta[high] * np.where(row_high == row_low, same_row, other_row)
        return both

    def _sample(self, n_sessions: int, n_positions: int, rng: np.random.Generator) -> BoolArray:
        examined = np.zeros((n_sessions, n_positions), dtype=np.bool_)
        present = np.ones(n_sessions, dtype=np.bool_)
        in_row = present
        for v in range(n_positions):
            if v == 0 or self._row[v] != self._row[v - 1]:
                in_row = present & (rng.random(n_sessions) >= self.gamma)
            examined[:, v] = in_row
            leaves = in_row & (rng.random(n_sessions) >= self._continuation[v])
            present = present & ~leaves
            in_row = in_row & ~leaves
        return examined


def _ratio(part: npt.NDArray[Any], whole: npt.NDArray[Any]) -> FloatArray:
    """part / whole, 0 where the whole has underflowed to 0."""
    ratio: FloatArray = np.divide(part, whole, out=np.zeros(np.shape(part)), where=whole > 0)
    return ratio


def _read_gamma(gamma: float) -> float:
    numbers = read_numbers(gamma, "gamma")
    value = float(numbers) if numbers.ndim == 0 else np.nan
    if not 0 <= value < 1:
        why = " (with γ = 1 every row is skipped and nothing is ever examined)" if value == 1 else ""
        raise ExaminationError(f"gamma is {gamma}; it must lie in [0, 1){why}")
    return value


def read_row_lengths(row_lengths: npt.ArrayLike) -> IntArray:
    """Check the layout of a grid: one whole number ≥ 1 a row."""
    try:
        lengths = np.asarray(row_lengths)
    except ValueError as error:
        raise ExaminationError(f"row_lengths must be one flat list: {error}") from None
    if lengths.ndim != 1 or lengths.size == 0 or lengths.dtype.kind not in "iu" or lengths.min() < 1:
        raise ExaminationError(
            f"row_lengths is {lengths.tolist()}; it needs one whole number ≥ 1 a row, such as [4, 4, 2]"
        )
    whole = lengths.astype(np.int64)
    whole.flags.writeable = False
    return whole


def _read_continuation(continuation: npt.ArrayLike, n_positions: int) -> FloatArray:
    values = read_numbers(continuation, "continuation")
    if values.ndim == 0:
        values = np.full(n_positions, float(values))
    if values.shape != (n_positions,):
        raise ExaminationError(
            f"continuation has shape {values.shape}; it needs one number, or one for each of the "
            f"{n_positions} positions in the rows"
        )
    wrong = ~((values > 0) & (values <= 1))
    if wrong.any():
        v = int(np.argmax(wrong))
        raise ExaminationError(f"continuation at position {v + 1} is {values[v]}; it must lie in (0, 1]")
    values.flags.writeable = False
    return values

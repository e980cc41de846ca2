"""Frozen dataclasses that travel between stages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
Labels: TypeAlias = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Sessions:
    """Shown collections of items, one after another, checked.

    Rows `offsets[q]:offsets[q + 1]` are session q. `labels` holds what the user did with each row (0: nothing,
    1: click, higher grades: more), `positions` where it was shown, from 1, or None where positions play no part.
    """

    labels: Labels
    positions: Labels | None
    offsets: IntArray

    @property
    def n_sessions(self) -> int:
        """How many sessions there are."""
        return len(self.offsets) - 1

    @property
    def n_rows(self) -> int:
        """How many items were shown in all."""
        return len(self.labels)

    @property
    def sizes(self) -> IntArray:
        """How many items each session has."""
        return np.diff(self.offsets)

"""Usual shapes of θ."""

from __future__ import annotations

import numpy as np

from truerank.errors import ExaminationError
from truerank.types import FloatArray


def inverse_rank(n: int, power: float = 1.0) -> FloatArray:
    """θ(k) = 1 / k^power for k = 1 … n (Joachims et al. 2017); a power of 0 means everyone sees everything.

    >>> inverse_rank(3, power=2).round(3).tolist()
    [1.0, 0.25, 0.111]
    """
    if not (np.isfinite(power) and power >= 0):
        raise ExaminationError(f"power is {power}; it must be 0 or more")
    return 1.0 / _positions(n) ** power


def geometric(n: int, stop: float) -> FloatArray:
    """θ(k) = (1 − stop)^(k−1) for k = 1 … n: after each item the reader stops with probability `stop`.

    >>> geometric(3, stop=0.5).tolist()
    [1.0, 0.5, 0.25]
    """
    if not 0 <= stop < 1:
        raise ExaminationError(f"stop is {stop}; it must lie in [0, 1)")
    return (1.0 - stop) ** (_positions(n) - 1)


def _positions(n: int) -> FloatArray:
    if not isinstance(n, int | float | np.number) or not np.isfinite(n) or n != int(n) or n < 1:
        raise ExaminationError(f"n is {n}; it must be a whole number of positions, at least 1")
    return np.arange(1, int(n) + 1, dtype=np.float64)

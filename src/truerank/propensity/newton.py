"""Newton's method for log θ with log θ_1 held at 0."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from truerank.errors import TruerankError
from truerank.types import FloatArray

Sums = Callable[[FloatArray], tuple[float, FloatArray, FloatArray]]
_ROUNDS = 100
_HALVINGS = 40
_TOLERANCE = 1e-9
_ROUNDING = 1e-12


def maximize(sums: Sums, start: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The maximum of a likelihood, and its negative Hessian there.

    `sums` gives the value, the gradient and a positive definite negative Hessian (all entries; the first row and column
    are left alone). Steps are halved until the likelihood does not fall, so it only ever rises.
    """
    x = start
    value, gradient, information = sums(x)
    for _ in range(_ROUNDS):
        step = np.zeros_like(x)
        step[1:] = np.linalg.solve(information[1:, 1:], gradient[1:])
        gain = gradient @ step
        if gain <= _TOLERANCE and np.abs(step).max() <= _TOLERANCE:
            return x + step, information
        for _ in range(_HALVINGS):
            trial = sums(x + step)
            if trial[0] >= value - _ROUNDING * abs(value) or np.abs(step).max() <= _TOLERANCE:
                break
            step /= 2
        x = x + step
        value, gradient, information = trial
    raise TruerankError(f"the likelihood has no maximum within {_ROUNDS} steps of Newton; the last step was {step}")

"""How much a grade is worth: the gain of NDCG, and what a pair of unequal grades weighs."""

from __future__ import annotations

import numpy as np

from truerank.errors import InputError
from truerank.types import FloatArray

GAINS = ("linear", "exp2")
_LARGEST_EXP2_LABEL = 50


def gain_table(largest_label: int, gain: str) -> FloatArray:
    """The gain of labels 0 … `largest_label`: the label itself (`linear`) or 2^label − 1 (`exp2`)."""
    labels = np.arange(largest_label + 1, dtype=np.float64)
    if gain == "linear":
        return labels
    if gain == "exp2":
        if largest_label > _LARGEST_EXP2_LABEL:
            raise InputError(
                f"a label is {largest_label} and gain='exp2' makes 2^{largest_label} − 1 of it; labels must be "
                f"at most {_LARGEST_EXP2_LABEL}. Hint: use gain='linear', or grades such as 0 to 4"
            )
        return np.exp2(labels) - 1
    raise InputError(f"gain is {gain!r}; it must be one of {', '.join(map(repr, GAINS))}")


def grade_weights(largest_label: int, gain: str | None) -> FloatArray:
    """What multiplies ℓ_ab for grades a and b: |gain_a − gain_b|, and 1 if a = b or if `gain` is None."""
    if gain is None:
        return np.ones((largest_label + 1, largest_label + 1))
    gains = gain_table(largest_label, gain)
    weight: FloatArray = np.abs(np.subtract.outer(gains, gains))
    np.fill_diagonal(weight, 1.0)
    return weight

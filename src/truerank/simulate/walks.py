"""Our examination models as one and the same walk through a page.

Before each row the reader enters it with some chance or passes it by; inside, looks at one item after another, and
after each goes on with some chance or leaves for good.

| model | rows | enters | goes on |
| --- | --- | --- | --- |
| `Independent` | each item is a row | θ_v | 1 |
| `Continuous` | one row | θ_1 | θ_{v+1} / θ_v |
| `RowSkipping` | as laid out | 1 − γ | C_v |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from truerank.examination import Continuous, Independent, RowSkipping
from truerank.types import FloatArray, IntArray


class Walk(NamedTuple):
    """The walk over places 0, 1, 2, …: `enter` counts at the first place of a row, `row_end` is the place after it."""

    enter: FloatArray
    go_on: FloatArray
    row_end: IntArray


def walk_of(examination: Any, n: int) -> Walk | None:
    """The walk over the first `n` places, or None if the model is not one of ours or is no walk.

    It takes the unclipped probabilities: `min_propensity` tames weights, it does not change people.
    """
    build = _WALKS.get(type(examination))
    return build(examination, n) if build else None


def _independent(model: Independent, n: int) -> Walk:
    return Walk(_theta(model, n), np.ones(n), np.arange(1, n + 1))


def _continuous(model: Continuous, n: int) -> Walk:
    theta = _theta(model, n)
    go_on = np.divide(theta[1:], theta[:-1], out=np.zeros(n - 1), where=theta[:-1] > 0)
    return Walk(np.full(n, theta[0]), np.append(go_on, 1.0), np.full(n, n))


def _row_skipping(model: RowSkipping, n: int) -> Walk:
    row_end = np.repeat(np.cumsum(model.row_lengths), model.row_lengths)
    return Walk(np.full(n, 1 - model.gamma), model.continuation[:n].copy(), row_end[:n])


def _theta(model: Independent | Continuous, n: int) -> FloatArray:
    return np.array(model.parameters()["theta"][:n])


_WALKS: dict[type, Callable[[Any, int], Walk]] = {
    Independent: _independent,
    Continuous: _continuous,
    RowSkipping: _row_skipping,
}

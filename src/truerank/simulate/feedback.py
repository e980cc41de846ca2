"""What an examined item gets: relevance from judgments, graded feedback, click noise and trust."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from truerank.errors import InputError
from truerank.losses.gains import GAINS, gain_table
from truerank.ragged import check_number
from truerank.types import FloatArray, Labels

MOST_LEVELS = 127


class Feedback(NamedTuple):
    """P(label ≥ l | examined) of an item at a place, for l = 1, 2, …

    `chance[row, l − 1]` is P(relevant at level l or above). An irrelevant item is clicked (l = 1) with probability
    `if_irrelevant[place]`, a relevant one keeps its label with probability `if_relevant[place]` and loses it otherwise.
    """

    chance: FloatArray
    if_relevant: FloatArray
    if_irrelevant: FloatArray

    def at(self, rows: npt.NDArray[Any], places: npt.NDArray[Any], level: int) -> FloatArray:
        """P(label ≥ level | examined) for items at places."""
        chance: FloatArray = self.if_relevant[places] * self.chance[rows, level - 1]
        if level == 1:
            chance += self.if_irrelevant[places] * (1 - self.chance[rows, 0])
        return chance

    @property
    def levels(self) -> int:
        """The strongest label."""
        return int(self.chance.shape[1])


def relevance_chances(labels: Labels, relevance: Any, max_grade: int | None, feedback: Any) -> FloatArray:
    """P(relevant at level l or above) for each row and l = 1, 2, …; see `simulate_clicks`."""
    if feedback is not None:
        if not _is_name(relevance, "exp2"):
            raise InputError("relevance and feedback both say what is relevant; give one of them")
        return _from_table(labels, feedback)
    if not isinstance(relevance, str):
        given = _read_chances(relevance, "relevance")
        if given.shape != labels.shape:
            raise InputError(f"relevance has shape {given.shape}; it needs one probability a row: {labels.shape}")
        return given[:, None]
    top = int(labels.max(initial=0)) if max_grade is None else max_grade
    check_number(top, "max_grade", 0, whole=True)
    if labels.size and labels.max() > top:
        raise InputError(f"max_grade is {top} and the labels go up to {labels.max()}")
    if relevance not in GAINS:
        raise InputError(f"relevance is {relevance!r}; it must be 'exp2', 'linear' or one probability a row")
    gains = gain_table(max(int(top), 1), relevance)
    chances: FloatArray = (gains / gains[-1])[labels][:, None]
    return chances


def read_feedback(chance: FloatArray, noise: Any, trust: Any, longest: int) -> Feedback:
    """Relevance, and what becomes of it at each of `longest` places."""
    if trust is None:
        check_number(noise, "noise", 0)
        return Feedback(chance, np.ones(longest), _read_curve(noise, "noise", longest))
    if noise != 0:
        raise InputError("noise is the same at every position and trust has its own at each; give one of them")
    if not isinstance(trust, tuple | list) or len(trust) != 2:
        raise InputError(
            f"trust is {trust!r}; it needs two curves: P(click | examined, relevant) and P(click | examined, "
            "irrelevant), each a number or one for each position"
        )
    relevant, irrelevant = (_read_curve(curve, "trust", longest) for curve in trust)
    return Feedback(chance, relevant, irrelevant)


def _from_table(labels: Labels, feedback: Any) -> FloatArray:
    table = _read_chances(feedback, "feedback")
    if table.ndim != 2 or not 1 <= table.shape[1] <= MOST_LEVELS:
        raise InputError(
            f"feedback has shape {table.shape}; it needs a row for each grade and a column for each level of feedback, "
            f"1 to {MOST_LEVELS} of them"
        )
    if labels.size and labels.max() >= len(table):
        raise InputError(f"feedback has rows for grades 0 to {len(table) - 1} and the labels go up to {labels.max()}")
    rises = np.argwhere(np.diff(table, axis=1) > 0)
    if len(rises):
        grade, level = rises[0]
        raise InputError(
            f"feedback of grade {grade} rises from {table[grade, level]} at level {level + 1} to "
            f"{table[grade, level + 1]} at level {level + 2}; P(at least this level) can't rise"
        )
    return table[labels]


def _read_curve(values: Any, name: str, longest: int) -> FloatArray:
    curve = _read_chances(values, name)
    if curve.ndim == 0:
        return np.full(longest, float(curve))
    if curve.ndim != 1 or len(curve) < longest:
        raise InputError(f"{name} has a curve of shape {curve.shape}; the longest list needs {longest} positions")
    return curve[:longest]


def _read_chances(values: Any, name: str) -> FloatArray:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be probabilities: {error}") from None
    wrong = ~((array >= 0) & (array <= 1))
    if wrong.any():
        place = tuple(int(k) for k in np.argwhere(wrong)[0])
        where = f" at {place if len(place) > 1 else place[0]}" if place else ""
        raise InputError(f"{name} is {array[place]}{where}; it must be a probability, in [0, 1]")
    return array


def _is_name(value: Any, name: str) -> bool:
    return isinstance(value, str) and value == name

"""What every examination model has in common: the checks at the door, look-ups, clipping, saving."""

from __future__ import annotations

import abc
import json
import os
import warnings
from collections.abc import Iterator
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from truerank.atomic import replace_whole
from truerank.errors import ClippedPropensityWarning, ExaminationError, InputError
from truerank.types import BoolArray, FloatArray, IntArray

FORMAT = "truerank.examination"
FORMAT_VERSION = 1
_SMALLEST = np.finfo(np.float64).tiny
"""Below this 1/p is not a finite number."""
_MOST_POSITIONS_TO_CHECK = 2_000


@runtime_checkable
class Examination(Protocol):
    """Anything that says how people look at a page; users may bring their own."""

    def marginal(self, positions: npt.ArrayLike) -> FloatArray:
        """P(examined) at each position."""
        ...

    def joint(self, positions_i: npt.ArrayLike, positions_j: npt.ArrayLike) -> FloatArray:
        """P(both examined) for each pair of positions."""
        ...

    def sample(self, n_sessions: int, n_positions: int, rng: np.random.Generator) -> BoolArray:
        """Who looked at what: one row a session, one column a position."""
        ...


def check_examination(examination: Any) -> None:
    """Refuse what is neither None nor an object that says how people look at a page."""
    if examination is None or (isinstance(examination, Examination) and not isinstance(examination, type)):
        return
    raise InputError(
        f"examination is {examination!r}; it needs the methods marginal, joint and sample, or must be None. "
        "Hint: truerank.Independent(theta), truerank.Continuous(theta), …"
    )


class ExaminationModel(abc.ABC):
    """How people look at a page, for positions 1 to `n_positions`.

    A subclass gives θ as a table and says how two different positions go together (`_pair`) and how to draw
    sessions (`_sample`). Everything a user can get wrong is checked here.
    """

    kind: ClassVar[str]

    def __init__(self, theta: FloatArray, min_propensity: float | None) -> None:
        self._theta = theta
        self._theta.flags.writeable = False
        self.min_propensity = _check_min_propensity(min_propensity)
        self.clipped_positions: tuple[int, ...] = ()
        self.clipped_pairs = 0
        if self.min_propensity is not None:
            self._report_clipping(self.min_propensity)
        elif self.n_positions <= _MOST_POSITIONS_TO_CHECK:
            self._refuse_impossible_pairs()

    @property
    def n_positions(self) -> int:
        """The last position the model covers."""
        return len(self._theta)

    def marginal(self, positions: npt.ArrayLike) -> FloatArray:
        """P(examined) at each position, in the shape of `positions`; positions count from 1."""
        return self._clip(self._theta[self._index(positions)])

    def joint(self, positions_i: npt.ArrayLike, positions_j: npt.ArrayLike) -> FloatArray:
        """P(both examined), the two arrays broadcast against each other; p_ii = p_i."""
        i, j = np.broadcast_arrays(self._index(positions_i), self._index(positions_j))
        return self._clip(np.where(i == j, self._theta[i], self._pair(i, j))[()])

    def sample(self, n_sessions: int, n_positions: int, rng: np.random.Generator) -> BoolArray:
        """Draw who looked at what: booleans, one row a session and one column a position.

        Draws follow the unclipped probabilities: `min_propensity` tames weights, it does not change people.
        """
        if n_sessions < 0 or n_positions < 0:
            raise InputError(f"cannot draw {n_sessions} sessions of {n_positions} positions")
        self._refuse_past_table(n_positions)
        return self._sample(n_sessions, n_positions, np.random.default_rng(rng))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as readable JSON; `truerank.load_examination` reads it."""
        with replace_whole(path) as temporary:
            temporary.write_text(json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n", encoding="utf-8")

    def to_dict(self) -> dict[str, Any]:
        """The model as plain numbers, lists and text: what `save` writes."""
        return {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "model": self.kind,
            "min_propensity": self.min_propensity,
            **self.parameters(),
        }

    @abc.abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments as plain numbers and lists."""

    @abc.abstractmethod
    def _pair(self, i: IntArray, j: IntArray) -> FloatArray:
        """P(both examined) for 0-based places; what it says where i = j is not used."""

    @abc.abstractmethod
    def _sample(self, n_sessions: int, n_positions: int, rng: np.random.Generator) -> BoolArray:
        """Draw sessions; arguments are checked."""

    def __eq__(self, other: object) -> bool:
        """Two models are equal when their class, parameters and clipping are."""
        if type(self) is not type(other):
            return NotImplemented
        same: ExaminationModel = other
        return self.min_propensity == same.min_propensity and self.parameters() == same.parameters()

    def __hash__(self) -> int:
        """Equal models have equal hashes."""
        return hash((self.kind, self.min_propensity, self._theta.tobytes()))

    def __repr__(self) -> str:
        """Name, number of positions and the ends of θ."""
        clip = f", min_propensity={self.min_propensity}" if self.min_propensity else ""
        return (
            f"{type(self).__name__}({self.n_positions} positions, "
            f"θ from {self._theta[0]:.3g} to {self._theta[-1]:.3g}{clip})"
        )

    def _report_clipping(self, floor: float) -> None:
        n = self.n_positions
        self.clipped_positions = tuple((np.flatnonzero(self._theta < floor) + 1).tolist())
        self.clipped_pairs = sum(int((pairs[:k] < floor).sum()) for k, pairs in self._pairs_with_earlier())
        if self.clipped_positions or self.clipped_pairs:
            where = f" (the first is position {self.clipped_positions[0]})" if self.clipped_positions else ""
            warnings.warn(
                f"min_propensity={floor} raises θ at {len(self.clipped_positions)} of {n} positions{where} and the "
                f"joint probability of {self.clipped_pairs} of {n * (n - 1) // 2} pairs: weights there vary less and "
                "are biased towards the clicks",
                ClippedPropensityWarning,
                stacklevel=4,
            )

    def _refuse_impossible_pairs(self) -> None:
        for k, pairs in self._pairs_with_earlier():
            if pairs.size and not pairs.min() > 0:
                raise ExaminationError(
                    f"positions {int(np.argmin(pairs)) + 1} and {k + 1} are examined together with probability "
                    f"{pairs.min()}; it must be above 0 (positivity). Hint: leave a position out, or pass "
                    "min_propensity"
                )

    def _pairs_with_earlier(self) -> Iterator[tuple[int, FloatArray]]:
        """P(both examined) of each place with all earlier ones, a row at a time."""
        for k in range(1, self.n_positions):
            yield k, self._pair(np.arange(k), np.full(k, k))

    def _clip(self, probabilities: FloatArray) -> FloatArray:
        if self.min_propensity is None:
            return probabilities
        return np.maximum(probabilities, self.min_propensity)

    def _index(self, positions: npt.ArrayLike) -> IntArray:
        array = np.asarray(positions)
        if array.dtype.kind not in "iu" and not _is_whole(array):
            raise ExaminationError(f"positions must be whole numbers from 1; got {_sketch(array)}")
        if array.size:
            if array.min() < 1:
                raise ExaminationError(f"positions count from 1; got {array.min()}")
            self._refuse_past_table(array.max())
        return np.asarray(array, dtype=np.int64) - 1

    def _refuse_past_table(self, position: float | np.integer[Any]) -> None:
        if position > self.n_positions:
            raise ExaminationError(
                f"position {position:.0f} is past the end of this {type(self).__name__} model, which knows "
                f"{self.n_positions} positions. Hint: give it a longer table, or cut the lists"
            )


def read_probabilities(
    values: npt.ArrayLike, name: str, shape: tuple[int, ...] | None, min_propensity: float | None
) -> FloatArray:
    """Check a table of examination probabilities: the shape, no NaN, in (0, 1]; 0 only if it will be clipped."""
    array = read_numbers(values, name)
    if shape is None:
        if array.ndim != 1 or array.size == 0:
            raise ExaminationError(f"{name} has shape {array.shape}; it needs one probability a position, at least one")
    elif array.shape != shape:
        raise ExaminationError(f"{name} has shape {array.shape}; it needs {shape}")
    wrong = ~((array >= (_SMALLEST if min_propensity is None else 0)) & (array <= 1))
    if wrong.any():
        place = tuple(int(k) for k in np.argwhere(wrong)[0])
        where = f"position {place[0] + 1}" if len(place) == 1 else f"positions {tuple(k + 1 for k in place)}"
        value = array[place]
        hint = ""
        if value == 0:
            hint = (
                ". Zero breaks positivity: what is never examined can't be corrected. "
                "Hint: leave the position out, or pass min_propensity"
            )
        raise ExaminationError(f"{name} at {where} is {value}; it must lie in (0, 1]{hint}")
    return array


def read_numbers(values: npt.ArrayLike, name: str) -> FloatArray:
    """Numbers as an array of their own; text and nested lists of unequal length are refused."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "iufbO":
            raise TypeError(f"got {_sketch(array)}")
        return np.array(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ExaminationError(f"{name} must be numbers: {error}") from None


def _check_min_propensity(value: float | None) -> float | None:
    if value is None:
        return None
    if not (isinstance(value, int | float | np.number) and 0 < value <= 1):
        raise ExaminationError(f"min_propensity is {value}; it must lie in (0, 1], or be None for no clipping")
    return float(value)


def _is_whole(array: npt.NDArray[Any]) -> bool:
    return array.dtype.kind == "f" and bool(np.all(np.isfinite(array) & (array == np.floor(array))))


def _sketch(array: npt.NDArray[Any]) -> str:
    return str(array) if array.size <= 6 else f"{array.ravel()[:5]} … ({array.dtype})"

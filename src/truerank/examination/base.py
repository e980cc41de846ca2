"""What every examination model has in common: the checks at the door, look-ups, clipping, saving."""

from __future__ import annotations

import abc
import json
import os
import warnings
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from truerank.atomic import replace_whole
from truerank.errors import ClippedPropensityWarning, ExaminationError, InputError
from truerank.types import BoolArray, FloatArray, IntArray

FORMAT = "truerank.examination"
FORMAT_VERSION = 1


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
        low = theta < (self.min_propensity or 0.0)
        self.clipped_positions: tuple[int, ...] = tuple((np.flatnonzero(low) + 1).tolist())
        if self.clipped_positions:
            warnings.warn(
                f"min_propensity={self.min_propensity} raises θ at {len(self.clipped_positions)} of {len(theta)} "
                f"positions (the first is position {self.clipped_positions[0]}, "
                f"θ = {theta[self.clipped_positions[0] - 1]:.3g}): "
                "weights there vary less and are biased towards the clicks",
                ClippedPropensityWarning,
                stacklevel=3,
            )

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
        return self._clip(np.where(i == j, self._theta[i], self._pair(i, j)))

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
        document = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "model": self.kind,
            "min_propensity": self.min_propensity,
            **self.parameters(),
        }
        with replace_whole(path) as temporary:
            temporary.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")

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

    def _clip(self, probabilities: FloatArray) -> FloatArray:
        if self.min_propensity is None:
            return probabilities
        return np.maximum(probabilities, self.min_propensity)

    def _index(self, positions: npt.ArrayLike) -> IntArray:
        array = np.asarray(positions)
        if array.dtype.kind not in "iu":
            if array.dtype.kind != "f" or not np.all(np.isfinite(array)) or np.any(array != np.floor(array)):
                raise ExaminationError(f"positions must be whole numbers from 1; got {_sketch(array)}")
            array = array.astype(np.int64)
        if array.size:
            if array.min() < 1:
                raise ExaminationError(f"positions count from 1; got {array.min()}")
            self._refuse_past_table(int(array.max()))
        return np.asarray(array, dtype=np.int64) - 1

    def _refuse_past_table(self, position: int) -> None:
        if position > self.n_positions:
            raise ExaminationError(
                f"position {position} is past the end of this {type(self).__name__} model, which knows "
                f"{self.n_positions} positions. Hint: give it a longer table, or cut the lists"
            )


def read_probabilities(
    values: npt.ArrayLike, name: str, shape: tuple[int, ...] | None, min_propensity: float | None
) -> FloatArray:
    """Check a table of examination probabilities: the shape, no NaN, in (0, 1]; 0 only if it will be clipped."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ExaminationError(f"{name} must be numbers: {error}") from None
    if shape is None:
        if array.ndim != 1 or array.size == 0:
            raise ExaminationError(f"{name} has shape {array.shape}; it needs one probability a position, at least one")
    elif array.shape != shape:
        raise ExaminationError(f"{name} has shape {array.shape}; it needs {shape}")
    low_enough = array > 0 if min_propensity is None else array >= 0
    wrong = ~(low_enough & (array <= 1))
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


def _check_min_propensity(value: float | None) -> float | None:
    if value is None:
        return None
    if not 0 < value <= 1:
        raise ExaminationError(f"min_propensity is {value}; it must lie in (0, 1], or be None for no clipping")
    return float(value)


def _sketch(array: npt.NDArray[Any]) -> str:
    return str(array) if array.size <= 6 else f"{array.ravel()[:5]} … ({array.dtype})"

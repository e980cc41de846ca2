"""What is to be simulated, checked: which lists are shown how often, and how people answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from truerank.errors import InputError
from truerank.examination import ExaminationModel
from truerank.ragged import check_number, offsets_from_sizes, read_group, read_whole_numbers
from truerank.simulate.feedback import Feedback, read_feedback, relevance_chances
from truerank.simulate.swaps import Arms, read_arms
from truerank.types import IntArray, JudgedLists, Labels

ROWS_PER_PORTION = 2**20
_LARGEST_GRADE = 1_000
_INT16_MAX, _INT32_MAX = np.iinfo(np.int16).max, np.iinfo(np.int32).max


class Lists(NamedTuple):
    """The lists that are shown: number and first row among the judged ones, size after cutting.

    The sessions of list q are those from `session_offsets[q]` on, and its rows those from `row_offsets[q]` on.
    """

    number: IntArray
    start: IntArray
    size: IntArray
    session_offsets: IntArray
    row_offsets: IntArray

    @property
    def longest(self) -> int:
        """The size of the longest list."""
        return int(self.size.max())

    def of_sessions(self, first: int, last: int) -> IntArray:
        """The list of each of the sessions `first` to `last` − 1."""
        start, end = np.searchsorted(self.session_offsets, (first, last - 1), side="right") - 1
        cuts = np.clip(self.session_offsets[start : end + 2], first, last)
        return np.repeat(np.arange(start, end + 1), np.diff(cuts))

    def rows_before(self, session: int) -> int:
        """How many rows the sessions before this one have."""
        q = min(int(np.searchsorted(self.session_offsets, session, side="right")) - 1, len(self.size) - 1)
        return int(self.row_offsets[q] + (session - self.session_offsets[q]) * self.size[q])


@dataclass(frozen=True, slots=True)
class Portion:
    """Some sessions in a row, `first` to `last` − 1, drawn in one go."""

    number: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Drawn:
    """What was shown and done, a number a row, and the arm of the experiments, a number a session."""

    clicks: npt.NDArray[np.int8]
    positions: npt.NDArray[np.int16]
    item: npt.NDArray[np.int32]
    arm: npt.NDArray[np.int16]

    @classmethod
    def room_for(cls, n_sessions: int, n_rows: int) -> Drawn:
        """Arrays to be filled."""
        return cls(
            np.empty(n_rows, np.int8),
            np.empty(n_rows, np.int16),
            np.empty(n_rows, np.int32),
            np.empty(n_sessions, np.int16),
        )

    def part(self, sessions: slice, rows: slice) -> Drawn:
        """Some of the sessions, sharing memory."""
        return Drawn(self.clicks[rows], self.positions[rows], self.item[rows], self.arm[sessions])


@dataclass(frozen=True, slots=True)
class Plan:
    """A simulation: everything that decides which sessions are drawn."""

    lists: Lists
    query: npt.NDArray[Any]
    feedback: Feedback
    examination: Any
    arms: Arms
    require_click: bool
    seed: Any
    lists_dropped: int

    @property
    def n_sessions(self) -> int:
        """How many sessions there will be."""
        return int(self.lists.session_offsets[-1])

    @property
    def n_rows(self) -> int:
        """How many rows they have in all."""
        return int(self.lists.row_offsets[-1])

    def place_of(self, portion: Portion) -> tuple[slice, slice]:
        """Which of all sessions, and which of all rows, a portion is."""
        rows = (self.lists.rows_before(session) for session in (portion.first, portion.last))
        return slice(portion.first, portion.last), slice(*rows)

    def portions(self) -> Iterator[Portion]:
        """The sessions in portions of a fixed size, about a million rows, which bounds memory."""
        size = max(1, ROWS_PER_PORTION // self.lists.longest)
        for number, first in enumerate(range(0, self.n_sessions, size)):
            yield Portion(number, first, min(first + size, self.n_sessions))


def plan_sessions(
    judged: Any,
    examination: Any,
    sessions_per_list: Any,
    seed: Any,
    *,
    group: Any = None,
    require_click: bool = True,
    drop_irrelevant: bool = True,
    at: int | None = None,
    relevance: Any = "exp2",
    max_grade: int | None = None,
    feedback: Any = None,
    noise: float = 0.0,
    trust: Any = None,
    swap: Any = None,
) -> Plan:
    """Check all that a simulation needs; see `simulate_clicks` for the arguments."""
    _check_seed(seed)
    labels, offsets, query = _read_judged(judged, group)
    sessions = _read_sessions_per_list(sessions_per_list, len(query))
    chance = relevance_chances(labels, relevance, max_grade, feedback)
    sizes = np.diff(offsets)
    if at is not None:
        check_number(at, "at", 1, whole=True)
        sizes = np.minimum(sizes, int(at))
    relevant = _has_relevant_item(chance[:, 0], offsets[:-1], sizes)
    shown = np.flatnonzero((relevant | (not drop_irrelevant)) & (sessions > 0))
    if not len(shown):
        raise InputError(
            f"none of the {len(sizes)} lists has an item that can be relevant, so there is nothing to simulate. "
            "Hint: drop_irrelevant=False shows them all the same"
        )
    lists = Lists(
        number=shown,
        start=offsets[shown],
        size=sizes[shown],
        session_offsets=offsets_from_sizes(sessions[shown]),
        row_offsets=offsets_from_sizes(sessions[shown] * sizes[shown]),
    )
    _check_examination(examination, lists.longest)
    return Plan(
        lists=lists,
        query=query[shown],
        feedback=read_feedback(chance, noise, trust, lists.longest),
        examination=examination,
        arms=read_arms(swap, lists.longest),
        require_click=bool(require_click),
        seed=seed,
        lists_dropped=int(np.sum(~relevant & (sessions > 0))) if drop_irrelevant else 0,
    )


def no_click_in_sight(plan: Plan, q: int) -> InputError:
    """The error for a list whose sessions can't all have a click."""
    return InputError(
        f"list {plan.lists.number[q]} must have a click in each session (require_click) and next to none of its "
        "sessions has one: what is relevant there stands where hardly anyone looks. Hint: require_click=False keeps "
        "sessions as they come; or leave the list out, or cut lists with at="
    )


def _read_judged(judged: Any, group: Any) -> tuple[Labels, IntArray, npt.NDArray[Any]]:
    query = None
    if isinstance(judged, JudgedLists) != (group is None):
        given = f"judged is a {type(judged).__name__} and group is {'missing' if group is None else 'given'}"
        raise InputError(f"{given}; it needs JudgedLists, or labels together with group=")
    if isinstance(judged, JudgedLists):
        judged, group, query = judged.labels, judged.group, judged.query
    labels = read_whole_numbers(judged, "labels", smallest=0, largest=_LARGEST_GRADE)
    if len(labels) > _INT32_MAX:
        raise InputError(f"there are {len(labels)} judged rows; {_INT32_MAX} can be told apart")
    offsets = read_group(group, len(labels))
    ids = np.arange(len(offsets) - 1) if query is None else np.asarray(query)
    if len(ids) != len(offsets) - 1:
        raise InputError(f"query has {len(ids)} ids for {len(offsets) - 1} lists; it needs one each")
    return labels, offsets, ids


def _read_sessions_per_list(sessions_per_list: Any, n_lists: int) -> IntArray:
    if np.ndim(sessions_per_list) == 0:
        check_number(sessions_per_list, "sessions_per_list", 1, whole=True)
        return np.full(n_lists, int(sessions_per_list))
    counts = read_whole_numbers(sessions_per_list, "sessions_per_list", smallest=0, largest=_INT32_MAX)
    if len(counts) != n_lists:
        raise InputError(f"sessions_per_list has {len(counts)} numbers for {n_lists} lists; it needs one, or one each")
    if len(counts) and not counts.any():
        raise InputError("sessions_per_list is 0 for every list, so there is nothing to simulate")
    return counts.astype(np.int64)


def _has_relevant_item(chance: Any, starts: IntArray, sizes: IntArray) -> npt.NDArray[np.bool_]:
    """Whether any of the first `sizes` rows of each list can be relevant."""
    counts = offsets_from_sizes(chance > 0)
    found: npt.NDArray[np.bool_] = counts[starts + sizes] > counts[starts]
    return found


def _check_seed(seed: Any) -> None:
    if seed is None:
        raise InputError("seed is None; give a number, so that the same sessions can be drawn again")
    try:
        np.random.SeedSequence(seed)
    except (TypeError, ValueError) as error:
        raise InputError(f"seed is {seed!r}; it must be a whole number from 0, or several: {error}") from None


def _check_examination(examination: Any, longest: int) -> None:
    if longest > _INT16_MAX:
        raise InputError(f"the longest list has {longest} items; {_INT16_MAX} can be shown. Hint: cut lists with at=")
    if isinstance(examination, type) or not callable(getattr(examination, "sample", None)):
        raise InputError(
            f"examination is {examination!r}; it needs a method sample(n_sessions, n_positions, rng). "
            "Hint: truerank.Independent(theta), truerank.Continuous(theta), …"
        )
    if isinstance(examination, ExaminationModel):
        examination.marginal(longest)  # refuses a position past the table

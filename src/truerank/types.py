"""Frozen dataclasses that travel between stages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
Labels: TypeAlias = npt.NDArray[np.int32]
SmallInts: TypeAlias = npt.NDArray[np.signedinteger[Any]]
"""Whole numbers in whatever size holds them: a log of a hundred million rows is kept in a gigabyte."""


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


@dataclass(frozen=True, slots=True)
class JudgedLists:
    """Lists of items with judged relevance, one after another, each in the order in which it would be shown.

    `X` has a row of features an item, `labels` its grade (0: irrelevant), `group` the size of each list and `query` the
    id of each list.
    """

    X: Any
    labels: Labels
    group: IntArray
    query: npt.NDArray[Any]

    @property
    def n_lists(self) -> int:
        """How many lists there are."""
        return len(self.group)

    @property
    def n_rows(self) -> int:
        """How many items there are in all."""
        return len(self.labels)


@dataclass(frozen=True, slots=True)
class Splits:
    """Judged lists to train on, to tune on (if the data set has some), and to test on."""

    train: JudgedLists
    valid: JudgedLists | None
    test: JudgedLists


@dataclass(frozen=True, slots=True)
class ClickSessions:
    """A click log over judged lists: session after session, each row an item that was shown, in the order shown.

    `item` is the row of the judged lists, `query` the number of the list (one a session), `positions` where the item
    was shown, from 1, `clicks` what the user did: 0 for nothing, 1 for a click, more for stronger feedback.

    `swap` marks the sessions of swap experiments, if there are any, with three columns (k1, k2, swapped) a session:
    (0, 0, 0) is in no experiment; (k, 0, s) is in the experiment that swaps position k with 1; (k1, k2, s) in the one
    that swaps (k1, k2) with (1, 2); s = 1 if this session was swapped, 0 if it was shown as ranked.
    """

    clicks: SmallInts
    positions: SmallInts
    group: SmallInts
    query: SmallInts
    item: SmallInts
    swap: SmallInts | None = None
    lists_dropped: int = 0
    """How many judged lists are not shown, since nothing in them is relevant."""

    @property
    def n_sessions(self) -> int:
        """How many sessions there are."""
        return len(self.group)

    @property
    def n_rows(self) -> int:
        """How many items were shown in all."""
        return len(self.clicks)


@dataclass(frozen=True, slots=True)
class SessionCounts:
    """A click log with equal sessions counted: what was shown for a query, in what order, and what was clicked.

    Nothing that weighted pairs, propensities or losses are made of is lost: all that is gone is which session was
    which, and when. Entry s stands for `sessions[s]` sessions of `query[s]`, each of which showed the items of its
    `group[s]` rows. Queries, and rows by position, are in ascending order, whatever the order of the log was.
    """

    query: npt.NDArray[Any]
    group: IntArray
    sessions: IntArray
    item: npt.NDArray[Any]
    position: IntArray
    label: Labels

    @property
    def n_sessions(self) -> int:
        """How many sessions were counted."""
        return int(self.sessions.sum())

    @property
    def n_rows(self) -> int:
        """How many impressions were counted."""
        return int(self.sessions @ self.group)


@dataclass(frozen=True, slots=True)
class PositionCounts:
    """How often each position was shown, and clicked; one entry a position, in ascending order."""

    position: IntArray
    impressions: IntArray
    clicks: IntArray


@dataclass(frozen=True, slots=True)
class ItemPositionCounts:
    """How often an item of a list was shown at a position, and clicked there; one entry for each of the three.

    `list` and `item` are the ids of the log: whole numbers or text.
    """

    list: npt.NDArray[Any]
    item: npt.NDArray[Any]
    position: IntArray
    impressions: IntArray
    clicks: IntArray


@dataclass(frozen=True, slots=True)
class SwapArms:
    """The arms of swap experiments, one entry an arm: its sessions, and where they clicked.

    Entry m counts the sessions whose marker is (`k1[m]`, `k2[m]`, `swapped[m]`), see `ClickSessions.swap`, and which
    showed every position of the experiment. `top_clicks` counts those with a click at position 1 (joint experiment: at
    1 and at 2), `target_clicks` at k1 (at k1 and at k2), `both_clicks` those that have both of these.
    """

    k1: IntArray
    k2: IntArray
    swapped: IntArray
    sessions: IntArray
    top_clicks: IntArray
    target_clicks: IntArray
    both_clicks: IntArray

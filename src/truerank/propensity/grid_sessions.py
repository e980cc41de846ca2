"""Click sessions laid out on a grid, as the likelihood of row skipping walks through them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank.errors import IdentificationError, InputError
from truerank.ragged import as_flat_array, read_sessions
from truerank.types import BoolArray, ClickSessions, FloatArray, IntArray, SessionCounts


@dataclass(frozen=True, eq=False)
class GridSessions:
    """Sessions whose rows know their place (from 0) and their item of a list.

    `row_of_place` is the row of each session at each place or −1, `item` the number of the item (of a list) of each
    row, `list_of_session` the number of the list, `weight` how many equal sessions a session stands for, and
    `row_weight` the same a row. `item_clicks` counts the clicks of each item.
    """

    row_of_place: npt.NDArray[np.int32]
    last_place: IntArray
    clicked: BoolArray
    place: IntArray
    item: IntArray
    list_of_session: IntArray
    weight: FloatArray
    row_weight: FloatArray
    item_clicks: FloatArray

    @property
    def n_sessions(self) -> int:
        """How many sessions there are, equal ones counted each."""
        return int(self.weight.sum())

    @property
    def session_of_row(self) -> IntArray:
        """Which session each row belongs to."""
        found = np.empty(len(self.clicked), dtype=np.int64)
        session, place = np.nonzero(self.row_of_place >= 0)
        found[self.row_of_place[session, place]] = session
        return found

    def reweighted(self, weight: FloatArray) -> GridSessions:
        """The same sessions, each counting as often as said."""
        row_weight = weight[self.session_of_row]
        clicks = np.bincount(self.item, self.clicked * row_weight).astype(np.float64)
        return replace(self, weight=weight, row_weight=row_weight, item_clicks=clicks)

    def halves(self) -> tuple[GridSessions, GridSessions]:
        """The sessions dealt out at random in two; equal sessions are alike, so the order of a log plays no part."""
        there = self.row_of_place >= 0
        shown = np.where(there, self.item[self.row_of_place], -1)
        clicked = np.where(there, self.clicked[self.row_of_place], False)
        looks = np.column_stack([self.list_of_session, shown, clicked])
        _, kind = np.unique(looks, axis=0, return_inverse=True)
        kind = kind.ravel()
        how_many = np.bincount(kind, self.weight).astype(np.int64)
        in_first = np.random.default_rng(0).binomial(how_many, 0.5)
        order = np.argsort(kind, kind="stable")
        earlier = np.cumsum(self.weight[order]) - self.weight[order] - (np.cumsum(how_many) - how_many)[kind[order]]
        first = np.empty_like(self.weight)
        first[order] = np.clip(in_first[kind[order]] - earlier, 0, self.weight[order])
        return self.reweighted(first).that_count(), self.reweighted(self.weight - first).that_count()

    def that_count(self) -> GridSessions:
        """Without the sessions whose weight is 0; their rows stay, and count for nothing."""
        use = self.weight > 0
        return replace(
            self,
            row_of_place=self.row_of_place[use],
            last_place=self.last_place[use],
            list_of_session=self.list_of_session[use],
            weight=self.weight[use],
        )


def sessions_of(source: Any) -> SessionCounts:
    """Whole sessions: counted, one by one, or those of a click log."""
    if isinstance(source, SessionCounts):
        return source
    if isinstance(source, ClickSessions):
        one = np.ones(source.n_sessions, dtype=np.int64)
        return SessionCounts(source.query, source.group, one, source.item, source.positions, source.clicks)
    own = getattr(source, "session_counts", None)
    if not callable(own):
        raise InputError(
            f"got a {type(source).__name__}; this needs whole sessions, for it is about what is clicked together: "
            "ClickSessions, SessionCounts, or a click log"
        )
    found: SessionCounts = own()
    return found


def on_grid(source: Any, n_places: int | None = None) -> GridSessions:
    """Lay sessions out by position; rows past `n_places` are left out, sessions with none are, too."""
    sessions = sessions_of(source)
    rows = read_sessions(sessions.label, sessions.position, sessions.group)
    query, item = as_flat_array(sessions.query, "query"), as_flat_array(sessions.item, "item")
    weight = as_flat_array(sessions.sessions, "sessions").astype(np.float64)
    if not len(query) == len(weight) == rows.n_sessions or len(item) != rows.n_rows:
        raise InputError(f"query has {len(query)} values for {rows.n_sessions} sessions, item {len(item)} for its rows")
    if rows.positions is None or not rows.n_rows:
        raise IdentificationError("the log shows nothing at any position")
    place = rows.positions.astype(np.int64) - 1
    n = int(place.max()) + 1 if n_places is None else n_places
    session = np.repeat(np.arange(rows.n_sessions), rows.sizes)
    use = np.flatnonzero(place < n)
    kept, session = np.unique(session[use], return_inverse=True)
    if not len(kept):
        raise IdentificationError(f"the log shows nothing at positions 1 to {n}")
    place, clicked = place[use], rows.labels[use] > 0
    _, list_of_session = np.unique(query[kept], return_inverse=True)
    items, item_code = np.unique(item[use], return_inverse=True)
    _, item_of_list = np.unique(list_of_session[session].astype(np.int64) * len(items) + item_code, return_inverse=True)
    row_of_place = np.full((len(kept), n), -1, dtype=np.int32)
    row_of_place[session, place] = np.arange(len(use))
    last = np.zeros(len(kept), dtype=np.int64)
    np.maximum.at(last, session, place)
    return GridSessions(
        row_of_place=row_of_place,
        last_place=last,
        clicked=clicked,
        place=place,
        item=item_of_list,
        list_of_session=list_of_session,
        weight=weight[kept],
        row_weight=weight[kept][session],
        item_clicks=np.bincount(item_of_list, clicked * weight[kept][session]).astype(np.float64),
    )

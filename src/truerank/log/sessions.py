"""Count equal sessions: the log with nothing said twice, from which everything else is made.

Two sessions are equal if they showed the same items for the same query at the same positions, and the same was clicked.
Weighted pairs of any method, normalisation and merge, ratios, and the sums that estimates of relevance need are all
functions of these counts; so new propensities or another method need no second pass over the log.

Counts by pairs of items, (list, i, j, their positions and labels, the labels of the session), would do for most of
these, but not be smaller. One million sessions of ten items with half a click each, in megabytes, at 16 bytes a row of
a session and 44 a counted pair:

    sessions per list   rankings       sessions   pairs   pairs without the keys that `normalize="session"` needs
                  100   stable               24      78      40
                 1000   stable               10      20       6
                  100   each different      145     143     117
                 1000   each different      103      77      44
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
from ibis import _

from truerank.errors import InputError
from truerank.log.counts import ids_of
from truerank.log.engines import Engine, exclusive_or
from truerank.ragged import offsets_from_sizes
from truerank.types import SessionCounts

_LABEL_BITS = 10
LABELS = 2**_LABEL_BITS
"""More than the largest label: position and label of a row are kept as one number."""
_ORDER = ("query", "places", "items")

Progress = Callable[[int, int], None]
"""Called with the impressions done and those in all."""


@dataclass(frozen=True)
class CountedSessions:
    """Equal sessions, not brought together yet.

    Attributes:
        parts: opens a table with the columns query, rows and sessions: for some session of that query how many rows it
            has, and how many sessions are equal to it.
        together: the Arrow table of query, places, items and sessions, sorted, of some of these parts, which have so
            many rows.
        engine: what evaluates them.
    """

    parts: Callable[[], AbstractContextManager[Any]]
    together: Callable[[Any, int], Any]
    engine: Engine

    def in_portions(self, portion: int | None = None, progress: Progress | None = None) -> Iterator[SessionCounts]:
        """The counts of some queries after the other, each of about `portion` rows, in ascending order.

        By default as many as the memory of the engine holds.
        """
        return map(_as_arrays, self.tables(portion, progress))

    def tables(self, portion: int | None = None, progress: Progress | None = None) -> Iterator[Any]:
        """The same as Arrow tables: query, places (of the rows, position × 1024 + label), items, sessions."""
        if portion is None:
            portion = self.engine.rows_at_once()
        if type(portion) is not int or portion < 1:
            raise InputError(f"portion is {portion!r}; it must be a whole number of impressions from 1")
        with self.parts() as parts:
            done, ranges = 0, self._ranges(parts, portion)
            total = sum(part["impressions"] for part in ranges)
            for part in ranges:
                some = parts
                if len(ranges) > 1:
                    first, last = (ibis.literal(part[end], parts.query.type()) for end in ("first", "last"))
                    some = parts.filter(parts.query.between(first, last))
                yield self.together(some, int(part["rows"]))
                done += int(part["impressions"])
                if progress is not None:
                    progress(done, int(total))

    def _ranges(self, parts: Any, portion: int) -> list[dict[str, Any]]:
        """The first and last query of each portion, its rows and its impressions; a query is never split."""
        queries = parts.group_by("query").aggregate(rows=_["rows"].sum(), impressions=(_["rows"] * _.sessions).sum())
        up_to = queries["rows"].sum().over(order_by=queries.query, rows=(None, 0))
        queries = queries.mutate(portion=(up_to - queries["rows"]) // portion)
        ranges = queries.group_by("portion").aggregate(
            first=_.query.min(), last=_.query.max(), rows=_["rows"].sum(), impressions=_.impressions.sum()
        )
        found: list[dict[str, Any]] = self.engine.collect(ranges.order_by("portion")).to_pylist()
        return found or [{"rows": 0, "impressions": 0}]


def sessions_of_log(table: Any, engine: Engine) -> CountedSessions:
    """The sessions of impressions, their labels below 1024; rows of a session with another query are one of their own.

    The log is read twice. First each session becomes one number of 64 bits, the same for equal sessions whatever the
    order of their rows, and for two others by a chance of 2^−64: so equal ones are found without keeping their rows.
    Then the rows of one session of each kind are collected. (Rows that stand twice cancel out; they are refused.)
    """
    place = table.position.cast("int64") * LABELS + table.label
    shown = table.select("session", query=_wide(table.query), item=_wide(table["item"]), place=place)
    first_of_each = _first_of_each(shown, engine)

    def together(some: Any, n_rows: int) -> Any:
        found = engine.collect(_rows_together(shown, some).order_by(*_ORDER))
        _refuse_other_rows(found, n_rows)
        _refuse_repeats(found)
        return found.drop_columns(["rows"])

    return CountedSessions(lambda: engine.kept(first_of_each), together, engine)


def sessions_counted_before(table: Any, engine: Engine) -> CountedSessions:
    """The sum of counts that were written, of several days for example."""
    parts = table.mutate(rows=table.places.length())
    return CountedSessions(
        lambda: nullcontext(parts), lambda some, _rows: engine.collect(_add_counts(some).order_by(*_ORDER)), engine
    )


def _first_of_each(shown: Any, engine: Engine) -> Any:
    """Of equal sessions the one with the smallest id: query, session, its rows, and how many are equal to it."""
    # Drawn twice: where an engine only XORs the hashes of two columns, swapped items would cancel out.
    drawn = engine.fingerprint(engine.fingerprint(shown["item"], shown.place), ibis.literal(1))
    rows = shown.select("session", "query", drawn=drawn)
    sessions = rows.group_by(["session", "query"]).aggregate(rows=rows.count(), drawn=exclusive_or(rows.drawn))
    equal = sessions.group_by(["query", "rows", "drawn"])
    return equal.aggregate(session=_.session.min(), sessions=_.count()).drop("drawn")


def _rows_together(shown: Any, some: Any) -> Any:
    """The rows of sessions as lists, in the order of their places.

    The two lists of a session are collected side by side, so that their rows stand in one order, whichever it is, and
    sorted together only where it is another one; a list of pairs takes longer.
    """
    rows = shown.semi_join(some, "session")  # by one key, which is quicker; what else the session asked goes below
    lists = rows.group_by(["session", "query"]).aggregate(items=rows["item"].collect(), places=rows.place.collect())
    lists = lists.join(some, ["session", "query"])
    places = lists.places.sort()
    by_place = lists.places.zip(lists["items"]).sort().map(lambda pair: pair["f2"])
    return lists.select(
        "query", "sessions", "rows", places=places, items=ibis.ifelse(places == lists.places, lists["items"], by_place)
    )


def _refuse_other_rows(found: Any, n_rows: int) -> None:
    """Refuse a log that held other rows when it was read again, as one that is drawn at random would."""
    sizes = found["places"].combine_chunks().value_lengths().to_numpy(zero_copy_only=False)
    if sizes.sum() != n_rows or (sizes != found["rows"].to_numpy()).any():
        raise InputError(
            "the log held other rows when it was read a second time. Hint: log.save('log.parquet') keeps what it holds "
            "and opens that"
        )


def _refuse_repeats(found: Any) -> None:
    """Refuse sessions in which a position or an item stands twice: nobody can say what was seen where."""
    from truerank.ragged_kernels import first_repeat

    places, items = (found[name].combine_chunks() for name in ("places", "items"))
    offsets = offsets_from_sizes(places.value_lengths().to_numpy(zero_copy_only=False))
    position = places.flatten().to_numpy(zero_copy_only=False) >> _LABEL_BITS
    item = items.flatten()
    codes = item if pa.types.is_integer(item.type) else item.dictionary_encode().indices
    for name, values, repair in (
        ("position", position, "repeated_positions='drop_sessions'"),
        ("item", codes.to_numpy(zero_copy_only=False), "repeated_items='first'"),
    ):
        row = first_repeat(values, offsets)
        if row >= 0:
            query = found["query"][int(np.searchsorted(offsets, row, side="right")) - 1].as_py()
            value = item[row].as_py() if name == "item" else int(position[row])
            raise InputError(
                f"{name} {value!r} stands twice in a session of query {query!r}. Hint: log.validate() counts such "
                f"sessions, log.repair({repair}) mends them"
            )


def _add_counts(table: Any) -> Any:
    return table.group_by(["query", "places", "items"]).aggregate(sessions=table.sessions.sum().cast("int64"))


def _wide(column: Any) -> Any:
    """Ids of one width, so that the counts of files with different ones can be added."""
    kind = column.type()
    return column.cast("int64") if kind.is_integer() and kind != ibis.dtype("uint64") else column


def _as_arrays(counted: Any) -> SessionCounts:
    places = counted["places"].combine_chunks()
    place = places.flatten().to_numpy(zero_copy_only=False)
    return SessionCounts(
        query=ids_of(counted["query"]),
        group=places.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64),
        sessions=counted["sessions"].to_numpy().astype(np.int64),
        item=ids_of(counted["items"].combine_chunks().flatten()),
        position=place >> _LABEL_BITS,
        label=(place & (LABELS - 1)).astype(np.int32),
    )

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
from dataclasses import dataclass
from typing import Any

import ibis
import numpy as np
from ibis import _

from truerank.errors import InputError
from truerank.log.counts import ids_of
from truerank.log.engines import Engine
from truerank.log.rules import LARGEST_LABEL
from truerank.types import SessionCounts

LABELS = 1024
"""More than the largest label: position and label of a row are kept as one number."""

Progress = Callable[[int, int], None]
"""Called with the impressions done and those in all."""


@dataclass(frozen=True)
class CountedSessions:
    """Equal sessions of `rows`, not counted yet.

    Attributes:
        rows: a table with a column `query`: impressions, or sessions counted before.
        size: how many impressions such a table holds, or how many it stands for in memory.
        count: the expression that counts the sessions of such a table: query, places, items, sessions.
        engine: what evaluates it.
    """

    rows: Any
    size: Callable[[Any], Any]
    count: Callable[[Any], Any]
    engine: Engine

    def in_portions(self, portion: int | None = None, progress: Progress | None = None) -> Iterator[SessionCounts]:
        """The counts of some queries after the other, each of about `portion` impressions, in ascending order.

        By default as many as the memory of the engine holds.
        """
        return map(_as_arrays, self.tables(portion, progress))

    def tables(self, portion: int | None = None, progress: Progress | None = None) -> Iterator[Any]:
        """The same as Arrow tables: query, places (of the rows, position × 1024 + label), items, sessions."""
        if portion is None:
            portion = self.engine.rows_at_once()
        if type(portion) is not int or portion < 1:
            raise InputError(f"portion is {portion!r}; it must be a whole number of impressions from 1")
        done, ranges = 0, self._ranges(portion)
        total = sum(size for *_, size in ranges)
        for first, last, size in ranges:
            rows = self.rows
            if len(ranges) > 1:
                rows = rows.filter(rows.query.between(first, last))
            yield self.engine.collect(self.count(rows).order_by("query", "places", "items"))
            done += size
            if progress is not None:
                progress(done, total)

    def _ranges(self, portion: int) -> list[tuple[Any, Any, int]]:
        """The first and last query of each portion, and its impressions; a query is never split."""
        whole = self.engine.collect(
            self.rows.aggregate(first=self.rows.query.min(), last=self.rows.query.max(), size=self.size(self.rows))
        ).to_pylist()[0]
        if whole["size"] is None or whole["size"] <= portion:
            return [(whole["first"], whole["last"], whole["size"] or 0)]
        queries = self.rows.group_by("query").aggregate(size=self.size(self.rows))
        up_to = queries["size"].sum().over(order_by=queries.query, rows=(None, 0))
        queries = queries.mutate(portion=(up_to - queries["size"]) // portion)
        ranges = queries.group_by("portion").aggregate(first=_.query.min(), last=_.query.max(), size=_["size"].sum())
        found = self.engine.collect(ranges.order_by("portion"))
        return [(row["first"], row["last"], int(row["size"])) for row in found.to_pylist()]


def sessions_of_log(table: Any, engine: Engine) -> CountedSessions:
    """The sessions of impressions; rows of a session with another query are a session of their own."""
    largest = engine.collect(table.aggregate(label=table.label.max()))["label"][0].as_py()
    if largest is not None and largest > LARGEST_LABEL:
        raise InputError(
            f"label is {largest} in some rows; it must be a whole number from 0 to {LARGEST_LABEL}. "
            "Hint: log.repair(bad_labels='clip')"
        )
    return CountedSessions(table, lambda rows: rows.count(), _count_impressions, engine)


def sessions_counted_before(table: Any, engine: Engine) -> CountedSessions:
    """The sum of counts that were written, of several days for example."""
    return CountedSessions(table, lambda rows: rows.places.length().sum(), _add_counts, engine)


def _count_impressions(table: Any) -> Any:
    """Sessions are compared as lists of rows in the order in which they were read, sorted only then.

    Where the rows of a session follow each other in the log, that leaves few lists to sort. The two lists of a session
    are collected side by side, so that their rows stand in one order, whichever it is; a list of pairs takes longer.
    """
    place = table.position.cast("int64") * LABELS + table.label
    rows = table.select("session", query=_wide(table.query), item=_wide(table["item"]), place=place)
    sessions = rows.group_by(["session", "query"]).aggregate(items=rows["item"].collect(), places=rows.place.collect())
    as_read = sessions.group_by(["query", "places", "items"]).aggregate(sessions=_.count())
    pairs = as_read.places.zip(as_read["items"])
    in_order = as_read.mutate(pairs=ibis.ifelse(as_read.places.sort() == as_read.places, pairs, pairs.sort()))
    return _add_counts(
        in_order.select(
            "query",
            "sessions",
            places=in_order.pairs.map(lambda pair: pair["f1"]),
            items=in_order.pairs.map(lambda pair: pair["f2"]),
        )
    )


def _add_counts(table: Any) -> Any:
    return table.group_by(["query", "places", "items"]).aggregate(sessions=table.sessions.sum().cast("int64"))


def _wide(column: Any) -> Any:
    """Ids of one width, so that the counts of files with different ones can be added."""
    kind = column.type()
    return column.cast("int64") if kind.is_integer() and not kind.is_unsigned_integer() else column


def _as_arrays(counted: Any) -> SessionCounts:
    places = counted["places"].combine_chunks()
    place = places.flatten().to_numpy(zero_copy_only=False)
    return SessionCounts(
        query=ids_of(counted["query"]),
        group=places.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64),
        sessions=counted["sessions"].to_numpy().astype(np.int64),
        item=ids_of(counted["items"].combine_chunks().flatten()),
        position=place // LABELS,
        label=(place % LABELS).astype(np.int32),
    )

"""Open User Behavior Insights: the queries that a search engine logs, and the events that pages send."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

import ibis
from ibis import _

from truerank.errors import InputError
from truerank.log.click_log import ClickLog
from truerank.log.engines import Engine, open_engine
from truerank.log.naming import check_grades, require_columns
from truerank.log.pages import as_list
from truerank.log.schema import has_id, whole_number
from truerank.log.sources import read_source

GRADES: Mapping[str, int] = MappingProxyType({"click": 1, "add_to_cart": 2, "purchase": 3})
"""What the actions are worth unless told otherwise."""

_QUERIES = ibis.schema(
    {"query_id": "string", "user_query": "string", "query_response_hit_ids": "array<string>", "timestamp": "string"}
)
_EVENTS = ibis.schema(
    {
        "action_name": "string",
        "query_id": "string",
        "user_query": "string",
        "timestamp": "string",
        "event_attributes": "struct<object: struct<object_id: string>, position: struct<ordinal: string>>",
    }
)
_OBJECT = "event_attributes.object.object_id"
_ORDINAL = "event_attributes.position.ordinal"


def open_ubi(
    queries: Any,
    events: Any,
    engine: Any = "duckdb",
    *,
    grades: Mapping[str, int] = GRADES,
    impression: str = "impression",
    impressions: Literal["events", "hits"] | None = None,
    first_ordinal: int = 0,
    memory_limit: str | None = None,
    threads: int | None = None,
    temp_directory: str | os.PathLike[str] | None = None,
) -> ClickLog:
    """Open the two indexes of User Behavior Insights as a log: a session is a query_id, a list what users typed.

    Fields are those of the schema (o19s/ubi, versions 1.0 to 1.3): of queries query_id, user_query,
    query_response_hit_ids and timestamp; of events action_name, query_id, event_attributes.object.object_id and
    event_attributes.position.ordinal, a number or {"index": number}. They may be nested, or columns with dots in their
    names. An event sent twice is one; a label is the largest grade of the events of an item. An impression without an
    ordinal takes its place among the hits of its query. What `validate` shows: graded events on items that were not
    shown, which have no position; and events that are neither impressions nor graded, which are left out.

    Args:
        queries: files, a frame or a table, as for `truerank.open_log`; JSON has one object a line.
        events: likewise.
        engine: what evaluates the log.
        grades: the label of each action.
        impression: the action that says an item was shown.
        impressions: whether what was shown is what impression "events" say, or all "hits" of a query, in their order;
            by default events if there are any.
        first_ordinal: what ordinals call the first position: 0, or 1.
        memory_limit, threads, temp_directory: as for `truerank.open_log`.
    """
    check_grades(grades)
    if first_ordinal not in (0, 1):
        raise InputError(f"first_ordinal is {first_ordinal!r}; it must be 0 or 1")
    if impressions not in (None, "events", "hits"):
        raise InputError(f"impressions is {impressions!r}; it must be 'events', 'hits' or None")
    ready = open_engine(engine, events, memory_limit=memory_limit, threads=threads, temp_directory=temp_directory)
    asked = _queries(read_source(queries, ready, schema=_QUERIES))
    seen = _events(read_source(events, ready, schema=_EVENTS), first_ordinal)
    if impressions is None:
        impressions = "events" if _has_any(seen.filter(seen.action == impression), ready) else "hits"
    known = has_id(seen.session) & has_id(seen["item"])
    graded = _grades_of(seen.filter(known & seen.action.isin(list(grades))), grades)
    hits = _hits(asked)
    shown = hits
    if impressions == "events":
        shown = _shown(seen.filter(known & (seen.action == impression)), hits)
    rows = _with_query(_labelled(shown, graded), asked, seen)
    wanted = seen.action.isin([*grades, impression]).fill_null(False)
    left_out = {
        "a query of which nothing was shown": asked.anti_join(rows, "session"),
        "an event that is neither an impression nor graded": seen.filter(~wanted),
        "an impression or graded event without a query or an object": seen.filter(wanted & ~known),
    }
    return ClickLog(rows, ready, left_out)


def field(table: Any, path: str) -> Any:
    """A field by its path: a column with dots in its name, or one inside structures; None if there is none."""
    if path in table.columns:
        return table[path]
    first, *rest = path.split(".")
    if first not in table.columns:
        return None
    value = table[first]
    for name in rest:
        if not value.type().is_struct() or name not in value.type().names:
            return None
        value = value[name]
    return value


def _queries(table: Any) -> Any:
    """Sessions with what was typed, what was found, and when."""
    require_columns(table, {"query_id": "query_id", "user_query": "user_query"})
    hits, when = field(table, "query_response_hit_ids"), field(table, "timestamp")
    return table.select(
        session=table.query_id.cast("string"),
        query=table.user_query.cast("string"),
        hits=ibis.null("array<string>") if hits is None else as_list(hits).cast("array<string>"),
        timestamp=ibis.null("string") if when is None else _time(when),
    )


def _events(table: Any, first_ordinal: int) -> Any:
    """What happened to which item of which session, and where it stood, from 1."""
    require_columns(table, {"action_name": "action_name", "query_id": "query_id"})
    item, ordinal, typed = field(table, _OBJECT), field(table, _ORDINAL), field(table, "user_query")
    if item is None:
        raise InputError(f"the events have no field {_OBJECT}; there are {', '.join(table.columns)}")
    return table.select(
        action=table.action_name,
        session=table.query_id.cast("string"),
        item=item.cast("string"),
        position=ibis.null("int64") if ordinal is None else _ordinal(ordinal) + (1 - first_ordinal),
        query=ibis.null("string") if typed is None else typed.cast("string"),
    )


def _ordinal(value: Any) -> Any:
    """A number, the text of one, or a structure or its text with an index."""
    if value.type().is_struct():
        return whole_number(value["index"]).cast("int64")
    if not value.type().is_string():
        return whole_number(value).cast("int64")
    index = value.re_extract(r'"index"\s*:\s*"?(-?[0-9]+)', 1)
    return whole_number(ibis.ifelse(value.contains("{"), index, value))


def _time(value: Any) -> Any:
    """Text of a point in time; numbers count milliseconds from 1970."""
    text = value.cast("string")
    if value.type().is_timestamp():
        return text
    counted = text.re_search("^[0-9]+$")
    milliseconds = ibis.ifelse(counted, text, ibis.null("string")).try_cast("int64").as_timestamp("ms")
    return ibis.ifelse(counted, milliseconds.cast("string"), text)


def _hits(asked: Any) -> Any:
    """What each query found, in order: session, item, position."""
    rows = asked.select("session", item=asked.hits).unnest("item", offset="place")
    return rows.filter(has_id(rows.session)).select("session", "item", position=rows.place.cast("int64") + 1)


def _shown(events: Any, hits: Any) -> Any:
    """What impression events say was shown; without an ordinal the place among the hits."""
    places = hits.group_by(["session", "item"]).aggregate(hit_position=hits.position.min())
    placed = events.left_join(places, ["session", "item"])
    return placed.select("session", "item", position=ibis.coalesce(placed.position, placed.hit_position)).distinct()


def _grades_of(events: Any, grades: Mapping[str, int]) -> Any:
    """The largest grade of the events of each item of a session."""
    grade = ibis.cases(*((events.action == action, grade) for action, grade in grades.items()))
    return events.mutate(grade=grade.cast("int64")).group_by(["session", "item"]).aggregate(label=_.grade.max())


def _labelled(shown: Any, graded: Any) -> Any:
    """What was shown with its label, and what was graded without having been shown, which has no position."""
    rows = shown.left_join(graded, ["session", "item"])
    rows = rows.select("session", "item", "position", label=rows.label.fill_null(0))
    unseen = graded.filter(graded.label > 0).anti_join(shown, ["session", "item"])
    return rows.union(unseen.select("session", "item", position=ibis.null("int64"), label=unseen.label))


def _with_query(rows: Any, asked: Any, seen: Any) -> Any:
    """Each row with what was typed, according to the query or else to the events, and when."""
    typed = asked.group_by(["session", "query"]).aggregate(timestamp=_.timestamp.min())
    told = seen.filter(has_id(seen.session)).group_by("session").aggregate(told=_.query.max())
    rows = rows.left_join(typed, "session").drop("session_right").left_join(told, "session")
    query = ibis.coalesce(rows.query, rows.told)
    return rows.select("session", "item", "position", "label", "timestamp", query=query)


def _has_any(rows: Any, engine: Engine) -> bool:
    return bool(len(engine.collect(rows.limit(1))))

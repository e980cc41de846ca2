"""Open a log with one result page a row: a query, the list of its items, and what was clicked."""

from __future__ import annotations

import os
from typing import Any, Literal

import ibis

from truerank.errors import InputError
from truerank.log.click_log import ClickLog
from truerank.log.engines import open_engine
from truerank.log.naming import Columns, name_columns, text_columns
from truerank.log.schema import FILE, whole_number
from truerank.log.sources import read_source

Clicked = Literal["positions", "items", "labels"]
_REQUIRED = ("session", "query", "items", "clicks")
_COLUMNS = (*_REQUIRED, "timestamp", "device", "swap")


def open_pages(
    source: Any,
    engine: Any = "duckdb",
    columns: Columns | None = None,
    *,
    clicked: Clicked = "positions",
    first_position: int = 1,
    separator: str = ",",
    memory_limit: str | None = None,
    threads: int | None = None,
    temp_directory: str | os.PathLike[str] | None = None,
) -> ClickLog:
    """Open a log of result pages, one a row; nothing is read until something is asked of it.

    Clicks on what was not on the page are kept, for `validate` to count; pages without items are left out, and counted
    as such.

    >>> import pyarrow as pa
    >>> pages = pa.table({"session": [1, 2], "query": ["a", "a"], "items": ["x,y,z", "y,x"], "clicks": ["1,3", None]})
    >>> log = open_pages(pages)
    >>> log.position_counts().clicks.tolist()
    [1, 0, 1]

    Args:
        source: as for `truerank.open_log`.
        engine: what evaluates the log.
        columns: what `source` calls session, query, items and clicks, and if there are any timestamp, device and swap.
            Items and clicks are lists, or text with a separator between.
        clicked: what clicks holds: the "positions" that were clicked, the "items", or "labels", one for each item.
        first_position: what clicks calls the first position, 1 or 0.
        separator: what stands between the parts of lists that are text.
        memory_limit, threads, temp_directory: as for `truerank.open_log`.
    """
    if clicked not in ("positions", "items", "labels"):
        raise InputError(f"clicked is {clicked!r}; it must be 'positions', 'items' or 'labels'")
    if first_position not in (0, 1):
        raise InputError(f"first_position is {first_position!r}; it must be 1 or 0")
    columns = columns or {}
    as_text = text_columns(columns, _COLUMNS)
    ready = open_engine(engine, source, memory_limit=memory_limit, threads=threads, temp_directory=temp_directory)
    pages = name_columns(read_source(source, ready, as_text=as_text), columns, _COLUMNS, _REQUIRED)
    pages = pages.mutate(items=as_list(pages["items"], separator), clicks=as_list(pages.clicks, separator))
    has_items = (pages["items"].length() > 0).fill_null(False)
    full = pages.filter(has_items)
    rows = _shown(full, clicked, first_position).union(_unseen(full, clicked, first_position))
    return ClickLog(rows, ready, {"a page without items": pages.filter(~has_items)})


def _shown(pages: Any, clicked: Clicked, first: int) -> Any:
    """A row an item of a page, with its place and what clicks say about it."""
    rows = pages.mutate(item=pages["items"]).unnest("item", offset="place")
    rows = rows.mutate(place=rows.place.cast("int64"))
    if clicked == "labels":
        label = rows.clicks[rows.place]
    else:
        clicks, sought = rows.clicks, rows.item
        if clicked == "positions":
            clicks, sought = clicks.map(lambda click: whole_number(click).cast("int64")), rows.place + first
        label = clicks.contains(_as(sought, clicks)).fill_null(False).cast("int64")
    return _impressions(rows, item=rows.item, position=rows.place + 1, label=label)


def _unseen(pages: Any, clicked: Clicked, first: int) -> Any:
    """A row a click on what is not on the page."""
    clicks = pages.clicks if clicked == "labels" else pages.clicks.unique()
    rows = pages.mutate(click=clicks).unnest("click", offset="place")
    rows = rows.mutate(place=rows.place.cast("int64"))
    nothing = ibis.null(pages["items"].type().value_type)
    if clicked == "items":
        rows = rows.filter(~rows["items"].contains(_as(rows.click, rows["items"])))
        return _impressions(
            rows, item=rows.click.cast(nothing.type()), position=ibis.null("int64"), label=ibis.literal(1, "int64")
        )
    if clicked == "labels":
        rows = rows.filter((rows.place >= rows["items"].length()) & (whole_number(rows.click) > 0))
        return _impressions(rows, item=nothing, position=rows.place + 1, label=rows.click)
    position = whole_number(rows.click).cast("int64") - first + 1
    rows = rows.filter(~position.between(1, rows["items"].length()).fill_null(False))
    return _impressions(rows, item=nothing, position=position, label=ibis.literal(1, "int64"))


def _impressions(rows: Any, **columns: Any) -> Any:
    kept = [name for name in (*_COLUMNS, FILE) if name in rows.columns and name not in ("items", "clicks")]
    return rows.select(*kept, **columns)


def _as(value: Any, items: Any) -> Any:
    """A value in the type of the items of a list."""
    return value.cast(items.type().value_type)


def as_list(column: Any, separator: str = ",") -> Any:
    """A column of lists, or of text with a separator between, as lists without empty text."""
    kind = column.type()
    if kind.is_array():
        return column
    if not kind.is_string() and not kind.is_numeric():
        raise InputError(f"{column.get_name()} is of type {kind}; it must hold lists, or text with a separator between")
    return column.cast("string").split(separator).map(lambda part: part.strip()).filter(lambda part: part != "")

"""What a click log is: one impression a row, under these names and of these types."""

from __future__ import annotations

from typing import Any

import ibis

IDS = ("session", "query", "item")
REQUIRED = (*IDS, "position", "label")
OPTIONAL = ("timestamp", "row", "column", "device", "swap", "features")
COLUMNS = (*REQUIRED, *OPTIONAL)
FILE = "truerank_file"
"""Beside the columns of a log that was read from files: where each row comes from."""


def canonical(raw: Any) -> Any:
    """The columns of a log in their own types; what cannot be read as such becomes null.

    Ids are whole numbers or text, `position`, `label`, `row` and `column` whole numbers, `timestamp` a point in time,
    `device` and `swap` text.
    """
    return raw.select(**{name: read_column(raw, name) for name in COLUMNS if name in raw.columns})


def read_column(raw: Any, name: str) -> Any:
    """One column of a log in its own type."""
    return _READ[name](raw[name])


def whole_number(column: Any) -> Any:
    """A column of numbers or text as whole numbers; null where it is none."""
    kind = column.type()
    if kind.is_integer():
        return column
    if kind.is_boolean() or kind.is_null():
        return column.cast("int32")
    number = column if kind.is_numeric() else column.strip().try_cast("float64")
    whole = number.try_cast("int64")
    return ibis.ifelse(whole.cast("float64") == number.cast("float64"), whole, ibis.null("int64"))


def usable(table: Any) -> Any:
    """Whether a row of a log can be counted: it has all its ids, a position from 1 and a label from 0.

    Empty text is no id.
    """
    there = (table.position >= 1) & (table.label >= 0)
    for name in IDS:
        there &= has_id(table[name])
    return there.fill_null(False)


def has_id(column: Any) -> Any:
    """Whether a row has an id."""
    return (column.notnull() & (column != "")) if column.type().is_string() else column.notnull()


def _identifier(column: Any) -> Any:
    kind = column.type()
    if kind.is_floating() or kind.is_decimal():
        return whole_number(column)
    return column if kind.is_integer() else _text(column)


def _point_in_time(column: Any) -> Any:
    """Points in time, in UTC; text that names no offset is taken to be in UTC."""
    kind = column.type()
    if kind.is_timestamp() and kind.timezone is None:
        return column
    there = column.strip().try_cast("timestamp('UTC')") if kind.is_string() else column
    return there.cast("timestamp")


def _text(column: Any) -> Any:
    return column if column.type().is_string() else column.cast("string")


_READ = {
    "session": _identifier,
    "query": _identifier,
    "item": _identifier,
    "position": whole_number,
    "label": whole_number,
    "timestamp": _point_in_time,
    "row": whole_number,
    "column": whole_number,
    "device": _text,
    "swap": _text,
    "features": _identifier,
}

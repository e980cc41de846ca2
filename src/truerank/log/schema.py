"""What a click log is: one impression a row, under these names and of these types."""

from __future__ import annotations

from typing import Any

import ibis

IDS = ("session", "query", "item")
NUMBERS = ("position", "label")
REQUIRED = (*IDS, *NUMBERS)
OPTIONAL = ("timestamp", "row", "column", "device", "swap", "features")
COLUMNS = (*REQUIRED, *OPTIONAL)
FILE = "file"
"""Kept beside the columns of a log read from files: where a row comes from."""


def canonical(raw: Any) -> Any:
    """The columns of a log in their own types; what cannot be read as such becomes null.

    Ids are whole numbers or text, `position`, `label`, `row` and `column` whole numbers, `timestamp` a point in time,
    `device` and `swap` text.
    """
    return raw.select(**{name: _READ[name](raw[name]) for name in COLUMNS if name in raw.columns})


def whole_number(column: Any) -> Any:
    """A column of numbers or text as whole numbers; null where it is none."""
    if column.type().is_integer():
        return column
    if column.type().is_boolean():
        return column.cast("int32")
    number = column.cast("float64") if column.type().is_numeric() else column.try_cast("float64")
    return ibis.ifelse(number == number.floor(), number.try_cast("int64"), ibis.null("int64"))


def _id(column: Any) -> Any:
    return whole_number(column) if column.type().is_floating() else column


def _point_in_time(column: Any) -> Any:
    return column if column.type().is_timestamp() else column.try_cast("timestamp")


def _text(column: Any) -> Any:
    return column if column.type().is_string() else column.cast("string")


_READ = {
    "session": _id,
    "query": _id,
    "item": _id,
    "position": whole_number,
    "label": whole_number,
    "timestamp": _point_in_time,
    "row": whole_number,
    "column": whole_number,
    "device": _text,
    "swap": _text,
    "features": _id,
}

"""What a source calls the columns of a log, and what its values mean."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import ibis

from truerank.errors import InputError
from truerank.log.schema import COLUMNS, FILE, IDS, REQUIRED

Columns: TypeAlias = Mapping[str, "str | Mapping[str, Any]"]
"""For a column of a log, its name in the source, or a mapping: `from` its name, and how to read it: `grades`, `unit`
or `as_text`."""

_SETTINGS = {"label": ("grades",), "timestamp": ("unit",)} | dict.fromkeys((*IDS, "features"), ("as_text",))
_GUESSED = (*IDS, "features")
_UNITS = ("s", "ms", "us", "ns")


def name_columns(
    table: Any, columns: Columns, known: Sequence[str] = COLUMNS, required: Sequence[str] = REQUIRED
) -> Any:
    """The `known` columns out of `table`, under their own names, with what is not theirs left behind."""
    names = source_names(columns, known)
    require_columns(table, {name: names[name] for name in (*required, *columns)})
    kept = {name: table[source] for name, source in names.items() if source in table.columns}
    for name, column in kept.items():
        kept[name] = _as_said(name, column, settings_of(columns, name))
        if name in COLUMNS:
            _check_type(name, names[name], kept[name])
    return table.select(**kept, **({FILE: table[FILE]} if FILE in table.columns else {}))


def source_names(columns: Columns, known: Sequence[str] = COLUMNS) -> dict[str, str]:
    """What the source calls each column: as `columns` says, otherwise its own name."""
    for name, said in columns.items():
        if name not in known:
            raise InputError(f"columns names {name!r}, which is none of {', '.join(known)}{_near(name, known)}")
        if not isinstance(said, str) and not (isinstance(said, Mapping) and isinstance(said.get("from", name), str)):
            raise InputError(f"columns[{name!r}] is {said!r}; it must be a name, or a mapping with 'from'")
        settings = [key for key in settings_of(columns, name) if key not in _SETTINGS.get(name, ())]
        if settings:
            possible = ", ".join(repr(key) for key in ("from", *_SETTINGS.get(name, ())))
            raise InputError(f"columns[{name!r}] has {settings[0]!r}; it can have {possible}")
    named = {name: said if isinstance(said, str) else said.get("from", name) for name, said in columns.items()}
    return {name: named.get(name, name) for name in known}


def settings_of(columns: Columns, name: str) -> dict[str, Any]:
    """How a column is to be read, beside its name."""
    said = columns.get(name, name)
    return {} if isinstance(said, str) else {key: value for key, value in said.items() if key != "from"}


def text_columns(columns: Columns, known: Sequence[str] = COLUMNS) -> set[str]:
    """The columns of the source that a reader must not guess the type of: one bad value would stop it."""
    names = source_names(columns, known)
    return {names[n] for n in known if n not in _GUESSED or settings_of(columns, n).get("as_text")}


def require_columns(table: Any, wanted: Mapping[str, str]) -> None:
    """Refuse a source without a column that is needed: say which, and what there is."""
    there = [name for name in table.columns if name != FILE]
    for name, source in wanted.items():
        if source not in there:
            says = f"there is no column {source!r}" + (f" for {name!r}" if name != source else "")
            how = "" if name != source else f". Hint: columns={{{name!r}: ...}} says what {name} is called"
            raise InputError(f"{says}; there are {', '.join(there)}{_near(source, there) or how}")


def graded(column: Any, grades: Mapping[Any, int]) -> Any:
    """Labels out of the names of events: the grade of each, 0 where there is none; unknown names stay as they are."""
    check_grades(grades)
    event = column if column.type().is_string() else column.cast("string")
    cases = [(event == str(name), ibis.literal(str(grade))) for name, grade in grades.items()]
    return ibis.cases((event.isnull(), ibis.literal("0")), *cases, else_=event)


def check_grades(grades: Any) -> None:
    """Refuse grades that are not whole numbers from 0, by the name of the event."""
    if not isinstance(grades, Mapping) or not grades or not all(type(g) is int and g >= 0 for g in grades.values()):
        raise InputError(f"grades is {grades!r}; it must give each event a whole number from 0")


def _as_said(name: str, column: Any, settings: Mapping[str, Any]) -> Any:
    if "grades" in settings:
        return graded(column, settings["grades"])
    if "unit" in settings:
        return in_time(column, settings["unit"])
    return column.cast("string") if settings.get("as_text") else column


def in_time(column: Any, unit: str) -> Any:
    """Points in time out of numbers that count from 1970, in UTC."""
    if unit not in _UNITS:
        raise InputError(f"unit is {unit!r}; it must be one of {', '.join(_UNITS)}")
    number = column if column.type().is_integer() else column.try_cast("int64")
    return number.as_timestamp(unit)


def _check_type(name: str, source: str, column: Any) -> None:
    kind = column.type()
    if kind.is_null():
        return
    if name == "timestamp":
        if kind.is_numeric():
            raise InputError(
                f"{_called(name, source)} holds numbers ({kind}). Hint: columns={{'timestamp': "
                f"{{'from': {source!r}, 'unit': 's'}}}} if they count seconds since 1970; also 'ms', 'us', 'ns'"
            )
        fits, wanted = kind.is_timestamp() or kind.is_date() or kind.is_string(), "points in time"
    elif name in _GUESSED:
        fits, wanted = kind.is_numeric() or kind.is_string() or kind.is_uuid(), "whole numbers or text"
    elif name in ("device", "swap"):
        fits, wanted = kind.is_string() or kind.is_integer(), "text"
    else:
        fits, wanted = kind.is_numeric() or kind.is_string() or kind.is_boolean(), "whole numbers"
    if not fits:
        as_text = f". Hint: columns={{{name!r}: {{'from': {source!r}, 'as_text': True}}}} takes it as text"
        hint = as_text if name in _GUESSED else ""
        raise InputError(f"{_called(name, source)} is of type {kind}; it must hold {wanted}{hint}")


def _called(name: str, source: str) -> str:
    return name if name == source else f"{name} (column {source!r})"


def _near(name: str, there: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(there), n=1)
    return f". Hint: did you mean {close[0]!r}?" if close else ""

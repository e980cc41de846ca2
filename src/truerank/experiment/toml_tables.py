"""Settings taken from TOML tables one by one: what is wrong is refused by its name, and so is what nobody asked for."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from truerank.errors import InputError
from truerank.ragged import check_number

_MISSING = object()


class Settings:
    """A table whose entries are taken by name; `done` refuses the names that are left."""

    def __init__(self, table: Any, where: str) -> None:
        if not isinstance(table, Mapping):
            raise InputError(f"{where} is {table!r}; it must be a table")
        self.where = where
        self._left = dict(table)
        self._asked: list[str] = []

    def take(self, name: str, default: Any = _MISSING) -> Any:
        """The value of a name, whatever it is."""
        self._asked.append(name)
        if name not in self._left and default is _MISSING:
            raise InputError(f"{self.name_of(name)} is missing")
        return self._left.pop(name, default)

    def text(self, name: str, default: Any = _MISSING) -> Any:
        """A string."""
        value = self.take(name, default)
        if value is not default and not isinstance(value, str):
            raise InputError(f"{self.name_of(name)} is {value!r}; it must be text")
        return value

    def choice(self, name: str, known: tuple[str, ...], default: Any = _MISSING) -> Any:
        """One of some words."""
        value = self.take(name, default)
        if value not in known:
            raise InputError(f"{self.name_of(name)} is {value!r}; it must be one of {', '.join(map(repr, known))}")
        return value

    def number(self, name: str, smallest: float, default: Any = _MISSING, **rules: bool) -> Any:
        """A number from `smallest`; `above` and `whole` as in `truerank.ragged.check_number`."""
        value = self.take(name, default)
        check_number(value, self.name_of(name), smallest, **rules)
        return value

    def several(self, name: str, default: Any = _MISSING) -> tuple[Any, ...]:
        """A list that is not empty and repeats nothing."""
        values = self.take(name, default)
        if not isinstance(values, list | tuple) or not values:
            raise InputError(f"{self.name_of(name)} is {values!r}; it must be a list, and not an empty one")
        if len(set(map(repr, values))) < len(values):
            raise InputError(f"{self.name_of(name)} is {list(values)}; each may be named once")
        return tuple(values)

    def whole_numbers(self, name: str, smallest: int, default: Any = _MISSING) -> tuple[int, ...]:
        """A list of whole numbers."""
        values = self.several(name, default)
        for value in values:
            check_number(value, f"an entry of {self.name_of(name)}", smallest, whole=True)
        return tuple(int(value) for value in values)

    def done(self) -> None:
        """Refuse what was not asked for."""
        for name in self._left:
            close = difflib.get_close_matches(str(name), self._asked, n=1)
            hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(self._asked)}"
            raise InputError(f"{self.name_of(name)} is not a setting; {hint}")

    def name_of(self, name: str) -> str:
        """How messages name an entry."""
        return f"{self.where}.{name}" if self.where else name

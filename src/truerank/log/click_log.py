"""A click log: an expression that an engine evaluates, however large the log."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from truerank.log.engines import Engine
from truerank.log.schema import canonical


@dataclass(frozen=True, eq=False)
class ClickLog:
    """Impressions, one a row: who was shown what, where, and what they did with it.

    Nothing is read until something is asked for.

    Attributes:
        raw: the log as an Ibis table, its columns named as in `truerank.log.schema` but not yet read as their types.
        engine: what evaluates it.
    """

    raw: Any
    engine: Engine

    @cached_property
    def table(self) -> Any:
        """The log as an Ibis table with the columns of `truerank.log.schema` in their own types."""
        return canonical(self.raw)

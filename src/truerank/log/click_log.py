"""A click log: an expression that an engine evaluates, however large the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from truerank.log import counts
from truerank.log.engines import Engine
from truerank.log.schema import canonical
from truerank.types import ItemPositionCounts, PositionCounts, SwapArms

if TYPE_CHECKING:
    from truerank.log.summary import LogSummary


@dataclass(frozen=True, eq=False)
class ClickLog:
    """Impressions, one a row: who was shown what, where, and what they did with it.

    Nothing is read until something is asked for; then the engine reads what it needs, and spills what does not fit.

    Attributes:
        raw: the log as an Ibis table, its columns named as in `truerank.log.schema` but not yet read as their types.
        engine: what evaluates it.
        left_out: what the source held and the log does not: for each reason, the rows.
    """

    raw: Any
    engine: Engine
    left_out: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def table(self) -> Any:
        """The log as an Ibis table with the columns of `truerank.log.schema` in their own types."""
        return canonical(self.raw)

    @cached_property
    def checked(self) -> Any:
        """`table`, once it is known that all its rows can be counted; otherwise refused."""
        counts.refuse_unusable(counts.count_unusable(self.table, self.engine))
        return self.table

    def summary(self) -> LogSummary:
        """The log in a few numbers: sessions, lists, clicks by position, and what summing sessions would save."""
        from truerank.log.summary import summarize

        return summarize(self.checked, self.engine)

    def position_counts(self) -> PositionCounts:
        """How often each position was shown and clicked."""
        return counts.position_counts(self.checked, self.engine)

    def item_position_counts(self) -> ItemPositionCounts:
        """How often each item of each list was shown at each position, and clicked there."""
        return counts.item_position_counts(self.checked, self.engine)

    def swap_arms(self) -> SwapArms:
        """Sessions and clicks of each arm of each swap experiment."""
        return counts.swap_arms(self.checked, self.engine)

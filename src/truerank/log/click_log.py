"""A click log: an expression that an engine evaluates, however large the log."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from truerank.atomic import replace_whole
from truerank.errors import InputError
from truerank.log import counts
from truerank.log.engines import Engine
from truerank.log.rules import LARGEST_LABEL
from truerank.log.schema import FILE, canonical
from truerank.log.sessions import CountedSessions, Progress, sessions_of_log
from truerank.types import ItemPositionCounts, PositionCounts, SessionCounts, SwapArms

if TYPE_CHECKING:
    from truerank.examination import Examination
    from truerank.log.repair import RepairReport, Step
    from truerank.log.summary import LogSummary
    from truerank.log.validation import ValidationReport
    from truerank.pairs import PairWeights


@dataclass(frozen=True, eq=False)
class ClickLog:
    """Impressions, one a row: who was shown what, where, and what they did with it.

    Nothing is read until something is asked for; then the engine reads what it needs, and spills what does not fit.

    Attributes:
        raw: the log as an Ibis table, its columns named as in `truerank.log.schema` but not yet read as their types.
        engine: what evaluates it.
        left_out: what the source held and the log does not: for each reason, the rows.
        steps: the repairs that made this log out of that in the source.
    """

    raw: Any
    engine: Engine
    left_out: Mapping[str, Any] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()

    @cached_property
    def table(self) -> Any:
        """The log as an Ibis table with the columns of `truerank.log.schema` in their own types."""
        return canonical(self.raw)

    @cached_property
    def _extent(self) -> counts.Extent:
        return counts.Extent.of(self.table, self.engine)

    @property
    def checked(self) -> Any:
        """`table`, once it is known that all its rows can be counted; otherwise refused."""
        self._extent.refuse_unusable()
        return self.table

    def validate(self, *, largest_label: int = LARGEST_LABEL, examples: int = 3) -> ValidationReport:
        """Count what is wrong, rule by rule, with the first few `examples` of each; nothing is changed.

        A row can break several rules. Labels may go up to `largest_label`.
        """
        from truerank.log.validation import validate

        return validate(self.raw, self.engine, self.left_out, largest_label=largest_label, examples=examples)

    def repair(
        self,
        *,
        zero_based_positions: bool | Literal["sessions"] = False,
        clicks_without_impression: Literal["drop"] | None = None,
        drop_missing_ids: bool = False,
        bad_positions: Literal["drop"] | None = None,
        bad_labels: Literal["drop", "zero", "clip"] | None = None,
        several_queries: Literal["split", "drop"] | None = None,
        repeated_items: Literal["first", "max_label"] | None = None,
        repeated_positions: Literal["drop_sessions"] | None = None,
        swap_markers: Literal["clear"] | None = None,
        bad_timestamps: Literal["clear"] | None = None,
        largest_label: int = LARGEST_LABEL,
    ) -> ClickLog:
        """The log with what is wrong mended as asked, in the order of the arguments; `.repairs` counts what each did.

        Args:
            zero_based_positions: add 1 to every position, or with "sessions" to those of sessions that have a 0.
            clicks_without_impression: drop clicks that have no position or no item.
            drop_missing_ids: drop rows without session, query or item, or with one that cannot be read.
            bad_positions: drop rows whose position is missing, unreadable, below 1 or beyond any page.
            bad_labels: labels that are missing, unreadable or out of range: drop their rows, or set them to 0; or
                move those out of range to the end of the range, and leave the others.
            several_queries: make a session for each query of a session (its ids become text), or drop such sessions.
            repeated_items: of an item that stands in a session more than once keep the row with the smallest position
                (and of these the one with the largest label), with its own label, or with the largest of all.
            repeated_positions: drop sessions that have two rows at one position.
            swap_markers: clear markers that are none, and those of sessions that have several.
            bad_timestamps: clear timestamps that cannot be read.
            largest_label: the end of the range of labels.
        """
        from truerank.log.repair import repair

        asked = {name: value for name, value in locals().items() if name not in ("self", "largest_label", "repair")}
        raw, steps = repair(self.raw, asked, largest_label)
        return replace(self, raw=raw, steps=self.steps + steps)

    @cached_property
    def repairs(self) -> RepairReport:
        """What the repairs that made this log did: how many rows and sessions each of them touched."""
        from truerank.log.repair import RepairReport

        return RepairReport(tuple(step.count(self.engine) for step in self.steps))

    def save(self, path: str | os.PathLike[str]) -> ClickLog:
        """Write the log to one Parquet file, whole or not at all, and open that.

        What is read more than once and is not Parquet, or was repaired, is then read much faster.
        """
        if Path(path).suffix != ".parquet":
            raise InputError(f"{path} must end in .parquet")
        with replace_whole(path) as temporary:
            self.engine.write_parquet(self.raw.drop(FILE) if FILE in self.raw.columns else self.raw, temporary)
        return replace(self, raw=self.engine.read_parquet([os.fspath(path)]), left_out={}, steps=())

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

    @property
    def has_swaps(self) -> bool:
        """Whether the log has a column that marks the sessions of swap experiments."""
        return "swap" in self.raw.columns

    def swap_arms(self) -> SwapArms:
        """Sessions and clicks of each arm of each swap experiment."""
        return counts.swap_arms(self.checked, self.engine)

    @property
    def has_rows(self) -> bool:
        """Whether the log has a column that says in which row of the page a position is."""
        return "row" in self.raw.columns

    def row_lengths(self) -> list[int]:
        """How many positions each row of the result page holds, from the columns `row` and `position`."""
        from truerank.log.layout import row_lengths

        return row_lengths(self.checked, self.engine)

    @property
    def counted(self) -> CountedSessions:
        """Equal sessions, to be counted by the engine: what `compact` and `SessionStore` work with."""
        table = self.checked
        self._extent.refuse_large_numbers()
        return sessions_of_log(table, self.engine)

    def session_counts(self) -> SessionCounts:
        """The whole log with equal sessions counted."""
        return next(self.counted.in_portions(sys.maxsize))

    def compact(
        self,
        examination: Examination | None = None,
        method: str = "robust",
        *,
        merge: str = "exact",
        normalize: str | None = "auto",
        gain: str = "linear",
        variance: str = "shrink",
        portion: int | None = None,
        progress: Progress | None = None,
    ) -> PairWeights:
        """The weighted pairs of the log, as `truerank.pair_weights` makes them of one that fits in memory.

        The engine counts equal sessions, for some queries after the other; these are made pairs. The order of the rows
        and how they are split into files make no difference. `.query` and `.item` name the rows of the pairs, and
        `pairs.features(...)` finds their features. A session is the rows with one session and one query.

        >>> import pyarrow as pa
        >>> from truerank import Independent, open_log
        >>> shown = {"session": [1, 1, 2, 2], "query": ["a"] * 4, "item": [7, 8, 8, 7], "position": [1, 2, 1, 2]}
        >>> log = open_log(pa.table({**shown, "label": [0, 1, 0, 1]}))
        >>> pairs = log.compact(Independent([1, 0.5]))
        >>> pairs.item.tolist(), pairs.i.tolist(), pairs.j.tolist(), pairs.weight.tolist()
        ([7, 8], [0, 1], [1, 0], [2.0, 2.0])

        Args:
            examination: how people look at the page; needed by the methods `robust` and `complete`.
            method, merge, normalize, gain, variance: as for `truerank.pair_weights`.
            portion: about how many impressions to count at a time: less takes less memory, and more passes. By default
                as many as the memory of the engine holds.
            progress: called with the impressions done and those in all, after each portion.
        """
        from truerank.pairs.compaction import compact

        portions = self.counted.in_portions(portion, progress)
        return compact(portions, method, examination, merge=merge, normalize=normalize, gain=gain, variance=variance)

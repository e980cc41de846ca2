"""Impressions and clicks, counted by what the estimators of propensities need."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import ibis
import numpy as np
import numpy.typing as npt
from ibis import _

from truerank.errors import InputError
from truerank.log.engines import Engine
from truerank.log.rules import LARGEST_LABEL, LARGEST_POSITION
from truerank.log.schema import usable
from truerank.log.swap_markers import has_marker, is_marker, read_marker
from truerank.types import IntArray, ItemPositionCounts, PositionCounts, SwapArms


@dataclass(frozen=True)
class Extent:
    """What one look at all rows tells: how many cannot be counted, and the largest position and label."""

    unusable: int
    largest_position: int
    largest_label: int

    @classmethod
    def of(cls, table: Any, engine: Engine) -> Extent:
        """Look at all rows; without an id, a position from 1 or a label from 0 one cannot be counted."""
        found = engine.collect(
            table.aggregate(unusable=(~usable(table)).sum(), position=table.position.max(), label=table.label.max())
        )
        return cls(*(found[name][0].as_py() or 0 for name in ("unusable", "position", "label")))

    def refuse_unusable(self) -> None:
        """Refuse to count a log some of whose rows would be left out."""
        if self.unusable:
            raise InputError(
                f"{self.unusable:,} rows of the log have no session, query, item, position from 1 or label from 0. "
                "Hint: log.validate() says what is wrong, log.repair(...) mends it"
            )

    def refuse_large_numbers(self) -> None:
        """Refuse positions that are none, and labels that are no grades."""
        if self.largest_position > LARGEST_POSITION:
            raise InputError(
                f"position is {self.largest_position} in some rows; it must be a whole number from 1 to "
                f"{LARGEST_POSITION}. Hint: log.repair(bad_positions='drop')"
            )
        if self.largest_label > LARGEST_LABEL:
            raise InputError(
                f"label is {self.largest_label} in some rows; it must be a whole number from 0 to {LARGEST_LABEL}. "
                "Hint: log.repair(bad_labels='clip')"
            )


def position_counts(table: Any, engine: Engine) -> PositionCounts:
    """How often each position was shown and clicked."""
    found = engine.collect(_counted(table, ["position"]))
    return PositionCounts(*(_whole(found, name) for name in ("position", "impressions", "clicks")))


def item_position_counts(table: Any, engine: Engine) -> ItemPositionCounts:
    """How often each item of each list was shown at each position, and clicked there."""
    found = engine.collect(_counted(table, ["query", "item", "position"]))
    return ItemPositionCounts(
        list=ids_of(found["query"]),
        item=ids_of(found["item"]),
        position=_whole(found, "position"),
        impressions=_whole(found, "impressions"),
        clicks=_whole(found, "clicks"),
    )


def swap_arms(table: Any, engine: Engine) -> SwapArms:
    """Sessions and clicks of each arm of each swap experiment.

    Sessions that did not show every position of their experiment are left out: nothing could be swapped there.
    """
    marked, markers = _in_experiments(table, engine)
    if not markers:
        return SwapArms(*(np.empty(0, dtype=np.int64) for _ in fields(SwapArms)))
    places = {"first": 1, "second": 2, "k1": _named(marked, markers, 0), "k2": _named(marked, markers, 1)}
    flags = {name: marked.position == place for name, place in places.items()}
    clicked = {f"{name}_click": flag & (marked.label > 0) for name, flag in flags.items()}
    sessions = marked.group_by(["session", "swap"]).aggregate(
        **{name: flag.any() for name, flag in (flags | clicked).items()}
    )
    s, joint = sessions, sessions.swap.contains(",")
    sessions = sessions.filter(s.first & s.k1 & ((s.second & s.k2) | ~joint)).select(
        "swap",
        top=s.first_click & (s.second_click | ~joint),
        target=s.k1_click & (s.k2_click | ~joint),
    )
    arms = sessions.group_by("swap").aggregate(
        sessions=_.count(), top=_.top.sum(), target=_.target.sum(), both=(_.top & _.target).sum()
    )
    found = engine.collect(arms)
    counts = zip(*(found[name].to_pylist() for name in arms.columns), strict=True)
    rows = sorted((*read_marker(marker), *numbers) for marker, *numbers in counts)
    return SwapArms(*np.array(rows, dtype=np.int64).reshape(-1, len(fields(SwapArms))).T)


def _counted(table: Any, keys: list[str]) -> Any:
    counts = table.group_by(keys).aggregate(impressions=table.count(), clicks=(table.label > 0).sum())
    return counts.order_by(keys)


def _in_experiments(table: Any, engine: Engine) -> tuple[Any, list[str]]:
    """The rows of swap experiments, and their markers; markers that are none are refused."""
    if "swap" not in table.columns:
        raise InputError(
            "the log has no column swap, which marks the sessions of swap experiments. "
            "Hint: columns={'swap': ...} says what it is called; its values are like '5:swapped' and '5:control'"
        )
    marked = table.filter(has_marker(table.swap))
    markers = marked.select("swap").distinct()
    wrong = engine.collect(markers.filter(~is_marker(markers.swap)).order_by("swap").limit(3))["swap"].to_pylist()
    if wrong:
        raise InputError(
            f"swap is {', '.join(map(repr, wrong))} in some rows; it must be empty or like '5:swapped', '5:control', "
            "'3,7:swapped'. Hint: log.repair(swap_markers='clear') takes such sessions out of their experiments"
        )
    return marked, engine.collect(markers.order_by("swap"))["swap"].to_pylist()


def _named(table: Any, markers: list[str], which: int) -> Any:
    """The first or the second position that the marker of a row names, as a column."""
    return ibis.cases(*((table.swap == marker, read_marker(marker)[which]) for marker in markers))


def _whole(found: Any, name: str) -> IntArray:
    return found[name].to_numpy().astype(np.int64)  # type: ignore[no-any-return]


def ids_of(column: Any) -> npt.NDArray[Any]:
    """An Arrow column of ids as whole numbers or as NumPy text."""
    values: npt.NDArray[Any] = np.asarray(column)
    return values.astype(str) if values.dtype == object else values

"""Impressions and clicks, counted by what the estimators of propensities need."""

from __future__ import annotations

from typing import Any

import ibis
import numpy as np
import numpy.typing as npt

from truerank.errors import InputError
from truerank.log.engines import Engine
from truerank.log.schema import usable
from truerank.log.swap_markers import has_marker, is_marker, read_marker
from truerank.types import IntArray, ItemPositionCounts, JointSwapCounts, PositionCounts, SwapCounts


def count_unusable(table: Any, engine: Engine) -> int:
    """How many rows cannot be counted: without an id, a position from 1 or a label from 0."""
    found = engine.collect(table.aggregate(rows=(~usable(table)).sum()))
    return found["rows"][0].as_py() or 0


def refuse_unusable(rows: int) -> None:
    """Refuse to count a log some of whose rows would be left out."""
    if rows:
        raise InputError(
            f"{rows:,} rows of the log have no session, query, item, position from 1 or label from 0. "
            "Hint: log.validate() says what is wrong, log.repair(...) mends it"
        )


def position_counts(table: Any, engine: Engine) -> PositionCounts:
    """How often each position was shown and clicked."""
    found = engine.collect(_counted(table, ["position"]))
    return PositionCounts(*(_whole(found, name) for name in ("position", "impressions", "clicks")))


def item_position_counts(table: Any, engine: Engine) -> ItemPositionCounts:
    """How often each item of each list was shown at each position, and clicked there."""
    found = engine.collect(_counted(table, ["query", "item", "position"]))
    return ItemPositionCounts(
        list=_ids(found, "query"),
        item=_ids(found, "item"),
        position=_whole(found, "position"),
        impressions=_whole(found, "impressions"),
        clicks=_whole(found, "clicks"),
    )


def swap_counts(table: Any, engine: Engine) -> SwapCounts:
    """Impressions and clicks by position in each arm of each swap experiment."""
    marked = _in_experiments(table, engine)
    found = engine.collect(_counted(marked, ["swap", "position"]))
    k1, k2, swapped = _read_markers(found["swap"].to_pylist())
    order = np.lexsort((_whole(found, "position"), swapped, k2, k1))
    columns = (k1, k2, swapped, *(_whole(found, name) for name in ("position", "impressions", "clicks")))
    return SwapCounts(*(column[order] for column in columns))


def joint_swap_counts(table: Any, engine: Engine) -> JointSwapCounts:
    """Sessions that showed and that clicked both positions of (k1, k2), and of (1, 2), in each arm."""
    marked = _in_experiments(table, engine)
    joint = marked.filter(marked.swap.contains(","))
    markers = engine.collect(joint.select("swap").distinct())["swap"].to_pylist()
    if not markers:
        return JointSwapCounts(*(np.empty(0, dtype=np.int64) for _ in range(7)))
    rows = []
    for pair, k1, k2 in (("own", _place(joint, markers, 0), _place(joint, markers, 1)), ("top", 1, 2)):
        found = engine.collect(_both(joint, k1, k2))
        for marker, shown, clicked in zip(*(found[n].to_pylist() for n in ("swap", "shown", "clicked")), strict=True):
            first, second, swapped = read_marker(marker)
            i, j = (first, second) if pair == "own" else (1, 2)
            rows.append((first, second, swapped, i, j, shown, clicked))
    return JointSwapCounts(*np.array(sorted(rows), dtype=np.int64).T)


def _counted(table: Any, keys: list[str]) -> Any:
    counts = table.group_by(keys).aggregate(impressions=table.count(), clicks=(table.label > 0).sum())
    return counts.order_by(keys)


def _in_experiments(table: Any, engine: Engine) -> Any:
    """The rows of swap experiments; markers that are none are refused."""
    if "swap" not in table.columns:
        raise InputError(
            "the log has no column swap, which marks the sessions of swap experiments. "
            "Hint: columns={'swap': ...} says what it is called; its values are like '5:swapped' and '5:control'"
        )
    marked = table.filter(has_marker(table.swap))
    wrong = marked.filter(~is_marker(marked.swap)).select("swap").distinct().order_by("swap").limit(3)
    found = engine.collect(wrong)["swap"].to_pylist()
    if found:
        raise InputError(
            f"swap is {', '.join(map(repr, found))} in some rows; it must be empty or like '5:swapped', '5:control', "
            "'3,7:swapped'. Hint: log.repair(swap_markers='clear') takes such sessions out of their experiments"
        )
    return marked


def _both(joint: Any, k1: Any, k2: Any) -> Any:
    """By marker, the sessions in which positions k1 and k2 were shown, and in which both were clicked."""
    at = (joint.position == k1) | (joint.position == k2)
    sessions = (
        joint.filter(at)
        .group_by(["session", "swap"])
        .aggregate(places=lambda t: t.position.nunique(), clicked=lambda t: t.position.nunique(where=t.label > 0))
        .filter(ibis._.places == 2)
    )
    return sessions.group_by("swap").aggregate(shown=sessions.count(), clicked=(sessions.clicked == 2).sum())


def _place(table: Any, markers: list[str], which: int) -> Any:
    """The position that a marker names, as a column."""
    return ibis.cases(*((table.swap == marker, read_marker(marker)[which]) for marker in markers))


def _read_markers(markers: list[str]) -> tuple[IntArray, ...]:
    known = {marker: read_marker(marker) for marker in set(markers)}
    return tuple(np.array([known[m] for m in markers], dtype=np.int64).reshape(-1, 3).T)


def _whole(found: Any, name: str) -> IntArray:
    return found[name].to_numpy().astype(np.int64)  # type: ignore[no-any-return]


def _ids(found: Any, name: str) -> npt.NDArray[Any]:
    """Ids as whole numbers or as NumPy text."""
    values: npt.NDArray[Any] = found[name].to_numpy()
    return values.astype(str) if values.dtype == object else values

"""What the estimators read: integer counts, from a log's engine or from click sessions in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from truerank.errors import InputError
from truerank.ragged import as_flat_array, read_sessions
from truerank.types import BoolArray, ClickSessions, IntArray, ItemPositionCounts, PositionCounts, Sessions, SwapArms

Counts = TypeVar("Counts", PositionCounts, ItemPositionCounts, SwapArms)
_IDS = ("list", "item")


def position_counts(sessions: ClickSessions) -> PositionCounts:
    """Impressions and clicks of every position.

    >>> log = ClickSessions([1, 0, 0, 1], [1, 2, 1, 3], [2, 2], [0, 0], [0, 1, 1, 2])
    >>> position_counts(log).impressions.tolist()
    [2, 1, 1]
    """
    rows = _rows(sessions)
    positions = _positions(rows)
    shown = np.bincount(positions)
    clicked = np.bincount(positions[rows.labels > 0], minlength=len(shown))
    position = np.flatnonzero(shown)
    return PositionCounts(position, shown[position], clicked[position])


def item_position_counts(sessions: ClickSessions) -> ItemPositionCounts:
    """Impressions and clicks of every item of every list at every position, sorted by the three."""
    rows = _rows(sessions)
    query, item = as_flat_array(sessions.query, "query"), as_flat_array(sessions.item, "item")
    if len(query) != rows.n_sessions or len(item) != rows.n_rows:
        raise InputError(
            f"query has {len(query)} values and item {len(item)}; they need one a session ({rows.n_sessions}) and one "
            f"a row ({rows.n_rows})"
        )
    lists, list_code = np.unique(query, return_inverse=True)
    items, item_code = _codes(item)
    positions = _positions(rows)
    n_positions = int(positions.max(initial=0)) + 1
    if len(lists) * len(items) * n_positions >= 2**62:
        raise InputError(f"{len(lists)} lists × {len(items)} items × {n_positions - 1} positions are too many to count")
    # one sort of one number a row: list, item, position, and the click as the last bit
    key = np.repeat(list_code.astype(np.int64), rows.sizes)
    key = ((key * len(items) + item_code) * n_positions + positions) * 2 + (rows.labels > 0)
    key.sort()
    cell = key >> 1
    starts = np.flatnonzero(np.concatenate([[True], cell[1:] != cell[:-1]])) if len(cell) else np.empty(0, np.int64)
    impressions = np.diff(np.append(starts, len(cell)))
    clicks = np.add.reduceat(key & 1, starts) if len(cell) else np.empty(0, np.int64)
    pair, position = np.divmod(cell[starts], n_positions)
    list_of_cell, item_of_cell = np.divmod(pair, max(len(items), 1))
    return ItemPositionCounts(lists[list_of_cell], items[item_of_cell], position, impressions, clicks)


def swap_arms(sessions: ClickSessions) -> SwapArms:
    """Sessions and clicks of each arm of each swap experiment.

    Sessions that did not show every position of their experiment are left out: nothing could be swapped there.
    """
    if sessions.swap is None:
        raise InputError("these sessions have no swap experiment in them: swap is None")
    rows = _rows(sessions)
    marker = read_swap(sessions.swap, rows.n_sessions)
    taking_part = marker[:, 0] > 0
    session_of_row = np.repeat(np.arange(rows.n_sessions), rows.sizes)
    chosen = taking_part[session_of_row]
    session_of_row, positions, clicked = session_of_row[chosen], _positions(rows)[chosen], rows.labels[chosen] > 0
    k1, k2 = marker[:, 0], marker[:, 1]

    def at(position: IntArray) -> tuple[BoolArray, BoolArray]:
        """Which sessions showed their `position`, and which clicked it."""
        here = positions == position[session_of_row]
        shown, click = np.zeros((2, rows.n_sessions), dtype=np.bool_)
        shown[session_of_row[here]] = True
        click[session_of_row[here & clicked]] = True
        return shown, click

    joint = k2 > 0
    shown_1, click_1 = at(np.ones_like(k1))
    shown_2, click_2 = at(np.full_like(k1, 2))
    shown_k1, click_k1 = at(k1)
    shown_k2, click_k2 = at(k2)
    top, target = click_1 & (click_2 | ~joint), click_k1 & (click_k2 | ~joint)
    use = taking_part & shown_1 & shown_k1 & ((shown_2 & shown_k2) | ~joint)
    arms, arm = np.unique(marker[use], axis=0, return_inverse=True)

    def count(which: BoolArray) -> IntArray:
        return np.bincount(arm.ravel()[which[use]], minlength=len(arms))

    return SwapArms(arms[:, 0], arms[:, 1], arms[:, 2], count(use), count(top), count(target), count(top & target))


def read_swap(swap: npt.ArrayLike, n_sessions: int) -> IntArray:
    """Check the markers of a swap experiment: one row (k1, k2, swapped) a session."""
    marker = np.asarray(swap)
    if marker.shape != (n_sessions, 3) or marker.dtype.kind not in "iu":
        raise InputError(
            f"swap has shape {marker.shape} and dtype {marker.dtype}; it needs three whole numbers a session "
            f"(k1, k2, swapped), so ({n_sessions}, 3)"
        )
    k1, k2, swapped = marker.T.astype(np.int64)
    _refuse_markers(k1, k2, swapped, (k1 == 0) & (k2 == 0) & (swapped == 0))
    return marker.astype(np.int64)


def counts_of(source: Any, kind: type[Counts]) -> Counts:
    """Counts of one kind from counts, click sessions, or anything with the method that gives them (a click log)."""
    count: Callable[[ClickSessions], Any] = _COUNTERS[kind]
    if isinstance(source, ClickSessions):
        return count(source)  # type: ignore[no-any-return]
    own = getattr(source, count.__name__, None)
    found = own() if callable(own) else source
    if not isinstance(found, kind):
        raise InputError(
            f"got a {type(source).__name__}; this needs {kind.__name__}, ClickSessions, or an object with the method "
            f"{count.__name__}"
        )
    return _checked(found)


def arms_of(source: Any) -> SwapArms | None:
    """The arms of the swap experiments in counts, click sessions or a click log; None if there are none in it."""
    if isinstance(source, SwapArms):
        arms = _checked(source)
    elif getattr(source, "has_swaps", False) or (isinstance(source, ClickSessions) and source.swap is not None):
        arms = counts_of(source, SwapArms)
    else:
        return None
    return arms if len(arms.k1) and arms.k1.max() > 0 else None


def _checked(counts: Counts) -> Counts:
    """The same counts with every field a flat array, whole numbers where they must be, clicks ≤ impressions."""
    read = {f.name: _column(getattr(counts, f.name), f.name) for f in fields(counts)}
    sizes = {name: len(values) for name, values in read.items()}
    if len(set(sizes.values())) > 1:
        raise InputError(f"the columns of {type(counts).__name__} differ in length: {sizes}")
    if "position" in read and len(read["position"]) and read["position"].min() < 1:
        raise InputError(f"positions count from 1; got {read['position'].min()}")
    shown = read["sessions" if "sessions" in read else "impressions"]
    for name in ("clicks", "top_clicks", "target_clicks"):
        if name in read and (wrong := read[name] > shown).any():
            m = int(np.argmax(wrong))
            raise InputError(f"{name}[{m}] is {read[name][m]}, more than the {shown[m]} times it was shown")
    if isinstance(counts, SwapArms):
        _refuse_markers(read["k1"], read["k2"], read["swapped"], np.zeros(len(read["k1"]), dtype=np.bool_))
        _refuse_impossible_overlap(read)
    return type(counts)(**read)


def _column(values: Any, name: str) -> npt.NDArray[Any]:
    array = as_flat_array(values, name)
    if name in _IDS:
        return array
    if array.dtype.kind not in "iu" and not (array.dtype.kind == "f" and bool(np.all(array == np.floor(array)))):
        raise InputError(f"{name} has dtype {array.dtype}; it needs whole numbers")
    if len(array) and array.min() < 0:
        raise InputError(f"{name}[{int(np.argmin(array))}] is {array.min()}; it cannot be negative")
    return array.astype(np.int64)


def _refuse_impossible_overlap(read: dict[str, IntArray]) -> None:
    top, target, both, sessions = (read[n] for n in ("top_clicks", "target_clicks", "both_clicks", "sessions"))
    wrong = (both > np.minimum(top, target)) | (top + target - both > sessions)
    if wrong.any():
        m = int(np.argmax(wrong))
        raise InputError(
            f"both_clicks[{m}] is {both[m]} where {top[m]} and {target[m]} of {sessions[m]} sessions have either; it "
            f"must lie between {max(0, top[m] + target[m] - sessions[m])} and {min(top[m], target[m])}"
        )


def _refuse_markers(k1: IntArray, k2: IntArray, swapped: IntArray, fine: BoolArray) -> None:
    single = (k2 == 0) & (k1 >= 2)
    joint = (k1 >= 1) & (k2 > k1) & (k2 > 2)
    wrong = ~(fine | ((single | joint) & ((swapped == 0) | (swapped == 1))))
    if wrong.any():
        m = int(np.argmax(wrong))
        raise InputError(
            f"swap marker {m} is ({k1[m]}, {k2[m]}, {swapped[m]}); it must be (k, 0, s) with k ≥ 2, or (k1, k2, s) "
            "with 1 ≤ k1 < k2 other than (1, 2), s is 1 for swapped and 0 for control; (0, 0, 0) for no experiment"
        )


def _rows(sessions: ClickSessions) -> Sessions:
    return read_sessions(sessions.clicks, sessions.positions, sessions.group)


def _positions(rows: Sessions) -> npt.NDArray[Any]:
    if rows.positions is None:
        raise InputError("positions are missing")
    return rows.positions


def _codes(values: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Distinct values and the code of each; small whole numbers are their own code, which spares a sort."""
    if values.dtype.kind in "iu" and len(values) and values.min() >= 0 and values.max() < 2**31:
        return np.arange(int(values.max()) + 1), values
    distinct, code = np.unique(values, return_inverse=True)
    return distinct, code


_COUNTERS: dict[type, Callable[[ClickSessions], Any]] = {
    PositionCounts: position_counts,
    ItemPositionCounts: item_position_counts,
    SwapArms: swap_arms,
}

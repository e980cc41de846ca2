"""Lists of unequal length, end to end in flat arrays: the door where they are checked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank.errors import InputError
from truerank.types import FloatArray, IntArray, Labels, Sessions

_LARGEST_LABEL = 1_000
_INT32_MAX = np.iinfo(np.int32).max


def read_sessions(labels: Any, positions: Any, group: Any, *, needs_positions: bool = True) -> Sessions:
    """Check labels, positions and group sizes, and lay them out as `Sessions`.

    Args:
        labels: one number a row: 0 for nothing, 1 for a click, whole numbers above for stronger feedback.
        positions: one number a row: where the item was shown, from 1; gaps are fine, repeats are not.
        group: the size of each session, in order.
        needs_positions: whether the caller cannot do without positions.
    """
    label_values = read_whole_numbers(labels, "labels", smallest=0, largest=_LARGEST_LABEL)
    offsets = read_group(group, len(label_values))
    if positions is None:
        if needs_positions:
            raise InputError(
                "positions are missing: they say where each row was shown, from 1. "
                "Hint: if the rows stand in the order shown, pass positions=truerank.list_order(group)"
            )
        return Sessions(label_values, None, offsets)
    position_values = read_whole_numbers(positions, "positions", smallest=1, largest=_INT32_MAX)
    if len(position_values) != len(label_values):
        raise InputError(
            f"positions has {len(position_values)} rows and labels has {len(label_values)}; both need one value a row"
        )
    _refuse_repeated_positions(position_values, offsets)
    return Sessions(label_values, position_values, offsets)


def read_group(group: Any, n_rows: int) -> IntArray:
    """Check the sizes of the sessions against the number of rows, and turn them into offsets."""
    hint = "Hint: group holds the number of rows of each session, in order (not an id a row)"
    try:
        sizes = read_whole_numbers(group, "group", smallest=1, largest=_INT32_MAX)
    except InputError as error:
        raise InputError(f"{error}. {hint}") from None
    offsets = offsets_from_sizes(sizes)
    if offsets[-1] != n_rows:
        raise InputError(f"group sizes sum to {offsets[-1]} and there are {n_rows} rows; they must be equal. {hint}")
    return offsets


def read_scores(scores: Any, n_rows: int) -> FloatArray:
    """Check that there is one finite score a row."""
    array = as_flat_array(scores, "scores")
    if array.dtype.kind not in "iufbO":
        raise InputError(f"scores has dtype {array.dtype}; it needs numbers")
    try:
        values = np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"scores must be numbers: {error}") from None
    if values.shape != (n_rows,):
        raise InputError(f"scores has shape {values.shape}; it needs one score a row: ({n_rows},)")
    with np.errstate(invalid="ignore", over="ignore"):
        if np.isfinite(values.sum()):  # quicker than looking at each; false only if one is not finite, or huge
            return values
    finite = np.isfinite(values)
    if not finite.all():
        row = int(np.argmin(finite))
        raise InputError(
            f"scores[{row}] is {values[row]}; every score must be finite. Hint: a learning rate that is too "
            "high, or missing features, can make scores overflow"
        )
    return values


def read_whole_numbers(values: Any, name: str, *, smallest: int, largest: int) -> Labels:
    """Check a flat array of whole numbers in [smallest, largest]; the message names the first row that is not."""
    array = as_flat_array(values, name)
    if array.dtype == np.bool_:
        array = array.astype(np.int32)
    if array.dtype == object and not any(isinstance(value, str | bytes) for value in array):
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise InputError(f"{name} has dtype {array.dtype}; it needs whole numbers") from None
    if array.dtype.kind not in "iuf":
        raise InputError(f"{name} has dtype {array.dtype}; it needs whole numbers")
    if array.size == 0:
        return np.empty(0, dtype=np.int32)
    if array.dtype.kind == "f":
        whole = np.isfinite(array)
        whole &= array == np.floor(array, where=whole, out=np.zeros_like(array))
        if not whole.all():
            _refuse(array, ~whole, name, "every value must be a whole number")
    if array.min() < smallest or array.max() > largest:
        outside = (array < smallest) | (array > largest)
        _refuse(array, outside, name, f"every value must be a whole number from {smallest} to {largest}")
    return np.ascontiguousarray(array, dtype=np.int32)


def check_number(value: Any, name: str, smallest: float, *, above: bool = False, whole: bool = False) -> None:
    """Refuse what is not a finite number from `smallest` (or above it), or not a whole one."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool) and bool(np.isfinite(value))
    if number and (value > smallest if above else value >= smallest) and (not whole or value == int(value)):
        return
    kind = "whole number" if whole else "number"
    raise InputError(f"{name} is {value!r}; it must be a {kind} {'above' if above else 'from'} {smallest:g}")


def as_flat_array(values: Any, name: str) -> npt.NDArray[Any]:
    """Read a list, array, or column of a frame as a one-dimensional NumPy array."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InputError(f"{name} needs one value a row: {error}") from None
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(f"{name} has shape {array.shape}; it needs one value a row")
    return array


def offsets_from_sizes(sizes: npt.ArrayLike) -> IntArray:
    """Where each list begins, and the end of the last: sizes 3, 2 become 0, 3, 5."""
    size_array = np.asarray(sizes)
    offsets = np.zeros(len(size_array) + 1, dtype=np.int64)
    np.cumsum(size_array, out=offsets[1:])
    return offsets


def blocks(offsets: IntArray, most: int) -> Iterator[tuple[int, int]]:
    """Lists first:last, some at a time: as many as hold at most `most` rows together, and at least one."""
    first, n_lists = 0, len(offsets) - 1
    while first < n_lists:
        last = max(first + 1, int(np.searchsorted(offsets, offsets[first] + most, side="right")) - 1)
        yield first, last
        first = last


def list_order(group: npt.ArrayLike) -> Labels:
    """Positions 1, 2, 3, … inside each list: for rows that stand in the order they were shown.

    >>> list_order([3, 2]).tolist()
    [1, 2, 3, 1, 2]
    """
    sizes = read_whole_numbers(group, "group", smallest=1, largest=_INT32_MAX)
    starts = offsets_from_sizes(sizes)[:-1]
    return (np.arange(sizes.sum(dtype=np.int64)) - np.repeat(starts, sizes) + 1).astype(np.int32)


def _refuse_repeated_positions(positions: Labels, offsets: IntArray) -> None:
    from truerank.ragged_kernels import first_repeat

    row = first_repeat(positions, offsets)
    if row >= 0:
        session = int(np.searchsorted(offsets, row, side="right")) - 1
        raise InputError(
            f"position {positions[row]} is given twice in session {session} (rows {offsets[session]} to "
            f"{offsets[session + 1] - 1}); each position of a session shows one item"
        )


def _refuse(array: npt.NDArray[Any], wrong: npt.NDArray[np.bool_], name: str, rule: str) -> None:
    row = int(np.argmax(wrong))
    more = int(wrong.sum()) - 1
    also = f" (and {more} more rows)" if more else ""
    raise InputError(f"{name}[{row}] is {array[row]}{also}; {rule}")

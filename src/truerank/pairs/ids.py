"""Ids of queries and items: whole numbers or text, told apart exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from truerank.errors import InputError
from truerank.ragged import as_flat_array
from truerank.types import IntArray

_EXACT = 2.0**53
"""Whole numbers below this are told apart as floats."""


def read_ids(values: Any, name: str) -> npt.NDArray[Any]:
    """Ids as int64 or uint64 if they are whole numbers, as text otherwise; anything else, or a gap, is refused."""
    array = as_flat_array(values, name)
    if array.dtype.kind == "i":
        return np.ascontiguousarray(array, dtype=np.int64)
    if array.dtype.kind == "u":
        fits = array.size == 0 or array.max() <= np.iinfo(np.int64).max
        return np.ascontiguousarray(array, dtype=np.int64 if fits else np.uint64)
    if array.dtype.kind == "f" and np.all(array == np.floor(array)) and np.all(np.abs(array) < _EXACT):
        return np.ascontiguousarray(array, dtype=np.int64)
    if array.dtype.kind == "U":
        return np.ascontiguousarray(array)
    return _read_objects(array, name)


def join_ids(a: npt.NDArray[Any], b: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """The ids of `a`, then those of `b`; numbers and text don't mix."""
    numbers = [ids.dtype.kind in "iu" for ids in (a, b)]
    if numbers[0] != numbers[1] and len(a) and len(b):
        raise InputError(f"{name} ids are {a.dtype} on one side and {b.dtype} on the other; they must be alike")
    if a.dtype.kind != b.dtype.kind and all(numbers):
        if min(a.min(initial=0), b.min(initial=0)) < 0:
            raise InputError(f"{name} ids go from below 0 to beyond 2^63; no one type of whole numbers holds both")
        return read_ids(np.concatenate([a.astype(np.uint64), b.astype(np.uint64)]), name)
    return np.concatenate([a, b])


def codes_of(ids: npt.NDArray[Any]) -> IntArray:
    """Equal ids get equal integers; whole numbers are their own codes."""
    if ids.dtype.kind in "iu":
        return ids.view(np.int64)
    import pyarrow as pa

    return np.asarray(pa.array(ids).dictionary_encode().indices, dtype=np.int64)


def _read_objects(array: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    import pyarrow as pa

    try:
        column = pa.array(array, from_pandas=True)
    except (pa.ArrowException, OverflowError) as error:
        raise InputError(f"{name} ids must be all whole numbers or all text: {error}") from None
    if column.null_count:
        first = int(np.argmax(np.asarray(column.is_null())))
        raise InputError(f"{name}[{first}] is missing; each needs an id ({column.null_count} are missing)")
    if pa.types.is_integer(column.type):
        return read_ids(column.to_numpy(zero_copy_only=False), name)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type) or len(array) == 0:
        return np.ascontiguousarray(array.astype(str))
    raise InputError(f"{name} ids are {column.type}; they must be whole numbers or text")

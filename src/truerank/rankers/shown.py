"""The door of the rankers: features, clicks and positions, brought into one list after another."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from truerank.errors import DefaultPositionWarning, InputError
from truerank.pairs.ids import read_ids
from truerank.ragged import as_flat_array, list_order, read_group
from truerank.rankers.features import table_shape, take_rows
from truerank.types import IntArray


@dataclass(frozen=True, slots=True)
class Shown:
    """Feature rows and what happened to them, session after session; `query` and `item` may be None."""

    X: Any
    labels: Any
    positions: Any
    group: IntArray
    query: Any
    item: Any


def read_shown(
    X: Any,
    labels: Any,
    group: Any = None,
    *,
    qid: Any = None,
    position: Any = None,
    query: Any = None,
    item: Any = None,
    warn_without_position: bool = False,
) -> Shown:
    """Bring rows into session order, from `group` sizes (already in order) or a `qid` a row (in any order)."""
    label_array = as_flat_array(labels, "clicks")
    rows, _ = table_shape(X)
    if rows != len(label_array):
        raise InputError(f"X has {rows} rows and clicks has {len(label_array)}; both need one a row")
    if (group is None) == (qid is None):
        raise InputError(
            "exactly one of group= and qid= is needed to tell sessions apart: group holds the size of each session, "
            "in order; qid an id a row"
        )
    columns = {"position": position, "item": item}
    arrays = {name: None if v is None else _per_row(v, name, rows) for name, v in columns.items()}
    query_array = None if query is None else as_flat_array(query, "query")
    if qid is not None:
        order, sizes = _order_by_id(read_ids(_per_row(qid, "qid", rows), "qid"), arrays["position"])
        if query_array is not None and len(query_array) != rows:
            raise InputError(
                f"query has {len(query_array)} ids and X has {rows} rows; with qid=, which may stand in any order, "
                "query needs one a row too"
            )
        X, label_array = take_rows(X, order), label_array[order]
        arrays = {name: None if a is None else a[order] for name, a in arrays.items()}
        query_array = None if query_array is None else query_array[order]
    else:
        sizes = np.diff(read_group(group, rows))
    if query_array is not None:
        query_array = _per_session(query_array, sizes, rows)
    if arrays["position"] is None:
        arrays["position"] = list_order(sizes)
        if warn_without_position:
            warnings.warn(
                "no position= was given, so each session's rows are taken to stand in the order shown "
                "(first row at position 1). Hint: pass position=, with gaps where items are missing",
                DefaultPositionWarning,
                stacklevel=3,
            )
    return Shown(X, label_array, arrays["position"], sizes, query_array, arrays["item"])


def _per_row(values: Any, name: str, rows: int) -> Any:
    array = as_flat_array(values, name)
    if len(array) != rows:
        raise InputError(f"{name} has {len(array)} values and X has {rows} rows; it needs one a row")
    return array


def _order_by_id(ids: Any, position: Any) -> tuple[IntArray, IntArray]:
    """Rows grouped by id, ids in the order they first appear, rows of an id by position or in theirs; and the sizes."""
    _, first, codes = np.unique(ids, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    sessions = rank[codes]
    keys = (sessions,) if position is None else (position, sessions)
    return np.lexsort(keys), np.bincount(sessions)


def _per_session(query: Any, sizes: Any, rows: int) -> Any:
    """One query id a session; an id a row is fine if it is the same throughout each session."""
    if len(query) == len(sizes) or len(query) != rows:
        return query
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    by_session = query[starts]
    mixed = query != np.repeat(by_session, sizes)
    if np.any(mixed):
        row = int(np.argmax(mixed))
        raise InputError(f"query[{row}] is {query[row]!r}, another than at the start of its session; a session has one")
    return by_session

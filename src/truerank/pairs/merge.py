"""Add up sessions that show the same items.

Sessions of the same items share their scores, so their ranking and every ΔZ; the weights of a pair can be summed
before training, and the gradient stays what it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank.errors import InputError
from truerank.pairs.ids import codes_of, join_ids, read_ids
from truerank.pairs.pair_weights import PairWeights, place_dtype
from truerank.ragged import offsets_from_sizes
from truerank.types import IntArray

MERGES = ("exact", "query")


@dataclass(frozen=True, slots=True)
class Matching:
    """Which list each session goes to, and where its rows stand there."""

    list_of_session: IntArray
    place: npt.NDArray[np.int32]
    group: IntArray
    source_row: IntArray
    first_session: IntArray


def match_sessions(query: Any, item: Any, offsets: IntArray, merge: str) -> Matching:
    """Find the lists that sessions make up.

    Args:
        query: one id a session.
        item: one id a row.
        offsets: where the rows of each session begin.
        merge: `exact`, one list for each query and set of items; `query`, one list a query with all its items.
    """
    from truerank.pairs.merge_kernels import match_exact, match_query

    if merge not in MERGES:
        raise InputError(f"merge is {merge!r}; it must be 'exact' or 'query'")
    n_sessions, n_rows = len(offsets) - 1, int(offsets[-1])
    query_ids, item_ids = _ids(query, "query", n_sessions, "session"), _ids(item, "item", n_rows, "row")
    if not n_sessions:
        none = np.empty(0, dtype=np.int64)
        return Matching(none, none.astype(np.int32), none, none, none)
    _, queries = np.unique(codes_of(query_ids), return_inverse=True)
    items = codes_of(item_ids)
    query_offsets = offsets_from_sizes(np.bincount(queries))
    query_sessions = np.argsort(queries, kind="stable")

    first_session = np.empty(n_sessions, dtype=np.int64)
    place = np.empty(n_rows, dtype=np.int32)
    is_first = np.empty(n_rows, dtype=np.bool_)
    match = match_exact if merge == "exact" else match_query
    repeated = match(query_offsets, query_sessions, offsets, items, first_session, place, is_first)
    if repeated >= 0:
        session = int(np.searchsorted(offsets, repeated, side="right")) - 1
        item_id, query_id = item_ids[repeated].item(), query_ids[session].item()
        raise InputError(
            f"item {item_id!r} stands twice in session {session} (query {query_id!r}); each item of a session may "
            "stand there once"
        )

    firsts, list_of_session = np.unique(first_session, return_inverse=True)
    first_rows = np.flatnonzero(is_first)
    list_of_row = np.repeat(list_of_session, np.diff(offsets))[first_rows]
    group = np.bincount(list_of_row, minlength=len(firsts))
    source_row = np.empty(len(first_rows), dtype=np.int64)
    source_row[offsets_from_sizes(group)[list_of_row] + place[first_rows]] = first_rows
    return Matching(list_of_session, place, group, source_row, firsts)


def merge_lists(pairs: PairWeights, query: Any, item: Any, merge: str) -> PairWeights:
    """Add up the lists of `pairs` that the ids say are the same."""
    return sum_matched(pairs, match_sessions(query, item, pairs.row_offsets, merge), query, item, merge)


def sum_matched(pairs: PairWeights, matching: Matching, query: Any, item: Any, merge: str) -> PairWeights:
    """Add up the lists of `pairs` as `matching` says; sums run in the order of the lists."""
    from truerank.pairs.merge_kernels import sum_pairs, unpack_pairs

    place_dtype(int(matching.group.max(initial=1)))
    n_lists = len(matching.group)
    sources = np.argsort(matching.list_of_session, kind="stable")
    source_offsets = offsets_from_sizes(np.bincount(matching.list_of_session, minlength=n_lists))
    capacity = np.bincount(matching.list_of_session, weights=np.diff(pairs.offsets), minlength=n_lists)
    no_positions = np.empty(0, dtype=np.uint16)
    position_i = no_positions if pairs.position_i is None else pairs.position_i
    position_j = no_positions if pairs.position_j is None else pairs.position_j
    if pairs.position_i is None:
        capacity = np.minimum(capacity, matching.group * (matching.group - 1))
    capacity_offsets = offsets_from_sizes(capacity.astype(np.int64))
    keys = np.empty(capacity_offsets[-1], dtype=np.uint64)
    sums = np.empty(capacity_offsets[-1])
    counts = sum_pairs(
        source_offsets,
        sources,
        pairs.row_offsets,
        matching.place,
        pairs.offsets,
        pairs.i,
        pairs.j,
        position_i,
        position_j,
        pairs.weight,
        capacity_offsets,
        keys,
        sums,
    )
    offsets = offsets_from_sizes(counts)
    dtype = place_dtype(int(matching.group.max(initial=1)))
    i, j = np.empty(offsets[-1], dtype), np.empty(offsets[-1], dtype)
    kept_i, kept_j = (np.empty(offsets[-1] if len(p) else 0, np.uint16) for p in (position_i, position_j))
    weight = np.empty(offsets[-1])
    unpack_pairs(capacity_offsets, keys, sums, offsets, i, j, kept_i, kept_j, weight)
    sessions = np.bincount(matching.list_of_session, weights=pairs.sessions, minlength=n_lists)
    return PairWeights(
        group=matching.group,
        offsets=offsets,
        i=i,
        j=j,
        weight=weight,
        query=read_ids(query, "query")[matching.first_session],
        item=read_ids(item, "item")[matching.source_row],
        position_i=None if pairs.position_i is None else kept_i,
        position_j=None if pairs.position_j is None else kept_j,
        sessions=sessions.astype(np.int64),
        sessions_without_pairs=pairs.sessions_without_pairs,
        source_row=matching.source_row,
        merge=merge,
    )


def add(a: PairWeights, b: PairWeights) -> PairWeights:
    """`a + b`: see `PairWeights.__add__`."""
    if (a.position_i is None) != (b.position_i is None):
        raise InputError("one of the two has positions and the other has none; both must be made by one method")
    if a.merge != b.merge:
        raise InputError(
            f"cannot add pairs merged by {a.merge!r} to pairs merged by {b.merge!r}. Hint: give both the same "
            "query=, item= and merge= when they are made"
        )
    if a.merge is None or a.query is None or a.item is None or b.query is None or b.item is None:
        return _add_row_by_row(a, b)
    both = side_by_side([a, b])
    return without_source(merge_lists(both, both.query, both.item, a.merge))


def _add_row_by_row(a: PairWeights, b: PairWeights) -> PairWeights:
    for name in ("query", "item"):
        first, second = getattr(a, name), getattr(b, name)
        if first is not None and second is not None and not np.array_equal(first, second):
            raise InputError(
                f"the two have different {name} ids and do not say how sessions became lists, so they can't be added "
                "row by row. Hint: make both with query=, item= and merge="
            )
    if not np.array_equal(a.group, b.group):
        raise InputError(
            "without ids, only pairs over the same lists can be added, and these have different list sizes. "
            "Hint: make both with query= and item="
        )
    lists, rows = np.arange(a.n_lists), np.arange(a.n_rows)
    places = (rows - np.repeat(a.row_offsets[:-1], a.group)).astype(np.int32)
    matching = Matching(np.tile(lists, 2), np.tile(places, 2), a.group, rows, lists)
    both = side_by_side([a, b])
    summed = sum_matched(both, matching, np.tile(lists, 2), np.tile(rows, 2), "exact")
    return without_source(summed, query=a.query, item=a.item, merge=None)


def side_by_side(parts: Sequence[PairWeights], merge: str | None = None) -> PairWeights:
    """The lists of all parts, one after the other; ids stay if all have them."""

    def joined(name: str) -> Any:
        arrays = [getattr(part, name) for part in parts]
        if any(array is None for array in arrays):
            return None
        if name in ("query", "item"):
            return reduce(lambda a, b: join_ids(a, b, name), arrays)
        return np.concatenate(arrays)

    names = ("group", "i", "j", "weight", "query", "item", "position_i", "position_j", "sessions")
    starts = np.cumsum([0, *(part.n_pairs for part in parts)])
    return PairWeights(
        **{name: joined(name) for name in names},
        offsets=np.concatenate([[0], *(p.offsets[1:] + start for p, start in zip(parts, starts, strict=False))]),
        sessions_without_pairs=sum(part.sessions_without_pairs for part in parts),
        merge=merge,
    )


def without_source(pairs: PairWeights, **changes: Any) -> PairWeights:
    """The rows of a sum come from two inputs, so no single input row can be named."""
    return replace(pairs, source_row=None, **changes)


def _ids(values: Any, name: str, n: int, unit: str) -> npt.NDArray[Any]:
    ids = read_ids(values, name)
    if len(ids) != n:
        raise InputError(f"{name} has {len(ids)} ids; it needs one a {unit}: {n}")
    return ids

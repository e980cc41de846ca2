"""Which sessions show the same items, and the sum of their pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from truerank.compiled_kernels import compiled

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
_SHORT = 32


@compiled()
def _sorted_places(codes: Any, codes_out: Any, places_out: Any) -> None:
    """Sort a session's items by code, keeping where each stood."""
    n = len(codes)
    if n > _SHORT:
        order = np.argsort(codes)
        for k in range(n):
            codes_out[k] = codes[order[k]]
            places_out[k] = order[k]
        return
    for k in range(n):
        code = codes[k]
        slot = k
        while slot > 0 and codes_out[slot - 1] > code:
            codes_out[slot] = codes_out[slot - 1]
            places_out[slot] = places_out[slot - 1]
            slot -= 1
        codes_out[slot] = code
        places_out[slot] = k


@compiled()
def _hash(codes: Any) -> Any:
    value = np.uint64(len(codes))
    for k in range(len(codes)):
        value = (value ^ np.uint64(codes[k])) * _MULTIPLIER
        value ^= value >> np.uint64(29)
    return value


@compiled()
def _equal(a: Any, b: Any) -> bool:
    if len(a) != len(b):
        return False
    for k in range(len(a)):  # noqa: SIM110 (compiled)
        if a[k] != b[k]:
            return False
    return True


@compiled(parallel=True)
def match_exact(
    query_offsets: Any,
    query_sessions: Any,
    offsets: Any,
    items: Any,
    first_session_out: Any,
    place_out: Any,
    is_first_out: Any,
) -> Any:
    """Find, for each session, the first of its query with the same set of items, and each item's place there.

    Hashes only bring candidates together; equality is checked item by item. Returns a row whose item repeats within
    its session, or -1.
    """
    n_rows = len(items)
    codes = np.empty(n_rows, dtype=np.int64)
    places = np.empty(n_rows, dtype=np.int32)
    n_queries = len(query_offsets) - 1
    repeated = np.full(n_queries, -1, dtype=np.int64)
    for query in prange(n_queries):
        sessions = query_sessions[query_offsets[query] : query_offsets[query + 1]]
        n = len(sessions)
        hashes = np.empty(n, dtype=np.uint64)
        for k in range(n):
            start, end = offsets[sessions[k]], offsets[sessions[k] + 1]
            _sorted_places(items[start:end], codes[start:end], places[start:end])
            for row in range(start + 1, end):
                if codes[row] == codes[row - 1]:
                    repeated[query] = start + max(places[row], places[row - 1])
            hashes[k] = _hash(codes[start:end])
        order = np.argsort(hashes, kind="mergesort")
        for k in range(n):
            session = sessions[order[k]]
            start, end = offsets[session], offsets[session + 1]
            first = session
            other = k - 1
            while other >= 0 and hashes[order[other]] == hashes[order[k]]:
                candidate = first_session_out[sessions[order[other]]]
                if _equal(codes[start:end], codes[offsets[candidate] : offsets[candidate + 1]]):
                    first = candidate
                    break
                other -= 1
            first_session_out[session] = first
            base = offsets[first]
            for row in range(start, end):
                place_out[start + places[row]] = places[base + row - start]
                is_first_out[row] = first == session
    for query in range(n_queries):
        if repeated[query] >= 0:
            return repeated[query]
    return -1


@compiled(parallel=True)
def match_query(
    query_offsets: Any,
    query_sessions: Any,
    offsets: Any,
    items: Any,
    first_session_out: Any,
    place_out: Any,
    is_first_out: Any,
) -> Any:
    """One list a query, of all items its sessions ever show, in the order of their first appearance."""
    n_queries = len(query_offsets) - 1
    repeated = np.full(n_queries, -1, dtype=np.int64)
    for query in prange(n_queries):
        sessions = query_sessions[query_offsets[query] : query_offsets[query + 1]]
        total = 0
        for session in sessions:
            total += offsets[session + 1] - offsets[session]
        rows = np.empty(total, dtype=np.int64)
        owner = np.empty(total, dtype=np.int64)
        codes = np.empty(total, dtype=np.int64)
        k = 0
        for session in sessions:
            first_session_out[session] = sessions[0]
            for row in range(offsets[session], offsets[session + 1]):
                rows[k] = row
                owner[k] = session
                codes[k] = items[row]
                k += 1
        order = np.argsort(codes, kind="mergesort")
        earliest = np.empty(total, dtype=np.int64)
        for k in range(total):
            here = order[k]
            new = k == 0 or codes[here] != codes[order[k - 1]]
            if not new and owner[here] == owner[order[k - 1]]:
                repeated[query] = rows[here]
            earliest[here] = here if new else earliest[order[k - 1]]
            is_first_out[rows[here]] = new
        count = 0
        for k in range(total):
            if earliest[k] == k:
                place_out[rows[k]] = count
                count += 1
            else:
                place_out[rows[k]] = place_out[rows[earliest[k]]]
    for query in range(n_queries):
        if repeated[query] >= 0:
            return repeated[query]
    return -1


@compiled()
def _slot(keys: Any, key: Any, shift: Any) -> Any:
    """Where `key` is in an open-addressing table, or the empty slot where it belongs."""
    slot = np.int64((key * _MULTIPLIER) >> shift)
    while keys[slot] != _EMPTY and keys[slot] != key:
        slot = (slot + 1) & (len(keys) - 1)
    return slot


@compiled(parallel=True)
def sum_pairs(
    source_offsets: Any,
    sources: Any,
    row_offsets: Any,
    place: Any,
    pair_offsets: Any,
    i: Any,
    j: Any,
    position_i: Any,
    position_j: Any,
    weight: Any,
    capacity_offsets: Any,
    key_out: Any,
    weight_out: Any,
) -> Any:
    """Add up the pairs of each list's sources, in the order of the sources; returns how many distinct there are.

    Keys hold (i, j, position i, position j) in 16 bits each; without positions those bits are 0. Each list belongs to
    one thread and its sums run in a fixed order, so the bits do not depend on the number of threads.
    """
    n_lists = len(source_offsets) - 1
    counts = np.zeros(n_lists, dtype=np.int64)
    with_positions = len(position_i) > 0
    for q in prange(n_lists):
        capacity = capacity_offsets[q + 1] - capacity_offsets[q]
        if capacity == 0:
            continue
        bits = 1
        while (1 << bits) < 2 * capacity:
            bits += 1
        keys = np.full(1 << bits, _EMPTY, dtype=np.uint64)
        sums = np.zeros(1 << bits)
        shift = np.uint64(64 - bits)
        for s in range(source_offsets[q], source_offsets[q + 1]):
            source = sources[s]
            base = row_offsets[source]
            for k in range(pair_offsets[source], pair_offsets[source + 1]):
                place_i, place_j = place[base + i[k]], place[base + j[k]]
                key = (np.uint64(place_i) << np.uint64(48)) | (np.uint64(place_j) << np.uint64(32))
                if with_positions:
                    key |= (np.uint64(position_i[k]) << np.uint64(16)) | np.uint64(position_j[k])
                slot = _slot(keys, key, shift)
                keys[slot] = key
                sums[slot] += weight[k]
        count = 0
        for slot in range(1 << bits):
            if keys[slot] != _EMPTY:
                keys[count] = keys[slot]
                sums[count] = sums[slot]
                count += 1
        order = np.argsort(keys[:count])
        start = capacity_offsets[q]
        for k in range(count):
            key_out[start + k] = keys[order[k]]
            weight_out[start + k] = sums[order[k]]
        counts[q] = count
    return counts


@compiled(parallel=True)
def unpack_pairs(
    capacity_offsets: Any,
    keys: Any,
    sums: Any,
    pair_offsets: Any,
    i_out: Any,
    j_out: Any,
    position_i_out: Any,
    position_j_out: Any,
    weight_out: Any,
) -> None:
    """Close the gaps that `sum_pairs` leaves, and take the keys apart."""
    low = np.uint64(0xFFFF)
    for q in prange(len(pair_offsets) - 1):
        source = capacity_offsets[q]
        for k in range(pair_offsets[q], pair_offsets[q + 1]):
            key = keys[source]
            i_out[k] = key >> np.uint64(48)
            j_out[k] = (key >> np.uint64(32)) & low
            if len(position_i_out) > 0:
                position_i_out[k] = (key >> np.uint64(16)) & low
                position_j_out[k] = key & low
            weight_out[k] = sums[source]
            source += 1

"""Merging sessions that show the same items: the sums are those of a dictionary."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click_logs import Log, added_up, by_name, log_of, random_log

from truerank.errors import InputError
from truerank.pairs import merge_kernels

MERGES = ("exact", "query")


def renamed(log, query_name, item_name):
    query = [query_name(q) for q in np.asarray(log.query).tolist()]
    return Log(log.labels, log.positions, log.group, query, [item_name(i) for i in np.asarray(log.item).tolist()])


def assert_added_up(log, merge, **options):
    merged = log.pairs(merge=merge, **options)
    expected = added_up(log, log.unmerged(**options), merge)
    assert by_name(merged) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    return merged


@pytest.mark.parametrize("merge", MERGES)
@pytest.mark.parametrize("method", ["none", "ratio", "robust", "complete"])
@pytest.mark.parametrize("normalize", ["session", "none"])
@pytest.mark.parametrize("seed", [0, 1])
def test_merged_weights_are_those_of_a_dictionary(merge, method, normalize, seed):
    assert_added_up(random_log(seed), merge, method=method, normalize=normalize)


ID_KINDS = {
    "strings": (lambda q: f"query {q}", lambda i: f"sku-{i}"),
    "the empty string": (lambda q: "q" * q, lambda i: "x" * i),
    "negative integers": (lambda q: -q, lambda i: 5 - i),
    "huge integers": (lambda q: 2**63 - 1 - q, lambda i: -(2**63) + i),
    "integers a float cannot tell apart": (lambda q: 2**53 + q, lambda i: 2**62 + i),
}


@pytest.mark.parametrize("merge", MERGES)
@pytest.mark.parametrize("kind", ID_KINDS)
def test_ids_may_be(kind, merge):
    assert_added_up(renamed(random_log(2), *ID_KINDS[kind]), merge)


COLUMNS = {
    "pandas": pd.Series,
    "pandas nullable": lambda v: pd.Series(v).convert_dtypes(),
    "pandas category": lambda v: pd.Series(v, dtype="category"),
    "polars": pl.Series,
    "arrow": pa.array,
    "arrow chunks": lambda v: pa.chunked_array([v[:7], v[7:]]),
    "numpy objects": lambda v: np.array(v, dtype=object),
}


@pytest.mark.parametrize("merge", MERGES)
@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS.keys())
@pytest.mark.parametrize("kind", ["strings", "huge integers"])
def test_ids_may_be_columns_of_any_frame(column, kind, merge):
    log = renamed(random_log(3), *ID_KINDS[kind])
    expected = log.pairs(merge=merge)
    pairs = log.pairs(merge=merge, query=column(log.query), item=column(log.item))
    np.testing.assert_array_equal(pairs.weight, expected.weight)
    assert pairs.query.tolist() == expected.query.tolist()
    assert pairs.item.tolist() == expected.item.tolist()


def test_unsigned_ids_past_int64_stay_apart():
    top = np.iinfo(np.uint64).max
    log = log_of((np.uint64(top), [top, top - 1], [1, 0]), (np.uint64(top), [top, top - 2], [1, 0]))
    pairs = log.pairs("none", query=np.array(log.query), item=np.array(log.item, dtype=np.uint64))
    assert (pairs.n_lists, pairs.item.tolist()) == (2, [top, top - 1, top, top - 2])


@pytest.mark.parametrize("merge", MERGES)
def test_source_rows_name_the_rows_where_items_were_first_seen(merge):
    log = random_log(4)
    pairs = log.pairs(merge=merge)
    session = log.session_of_row()[pairs.source_row]
    np.testing.assert_array_equal(np.asarray(log.item)[pairs.source_row], pairs.item)
    np.testing.assert_array_equal(np.repeat(pairs.query, pairs.group), np.asarray(log.query)[session])
    first = {}
    for row, (s, item) in enumerate(zip(log.session_of_row(), log.item, strict=True)):
        page = frozenset(np.asarray(log.item)[log.session_of_row() == s].tolist()) if merge == "exact" else None
        first.setdefault((log.query[s], page, item), row)
    assert sorted(pairs.source_row.tolist()) == sorted(first.values())


@pytest.mark.parametrize("merge", MERGES)
def test_lists_and_rows_stand_in_the_order_they_first_appear(merge):
    pairs = random_log(5).pairs(merge=merge)
    starts = pairs.source_row[pairs.row_offsets[:-1]]
    assert (np.diff(starts) > 0).all()
    for start, end in itertools.pairwise(pairs.row_offsets):
        assert (np.diff(pairs.source_row[start:end]) > 0).all()


def test_exact_keeps_different_item_sets_apart_and_query_unites_them():
    log = log_of(
        ("q", ["a", "b"], [1, 0]), ("q", ["b", "a"], [1, 0]), ("q", ["c", "a"], [1, 0]), ("r", ["a", "b"], [1, 0])
    )
    exact, query = log.pairs("none"), log.pairs("none", merge="query")
    assert (exact.query.tolist(), exact.item.tolist()) == (["q", "q", "r"], ["a", "b", "c", "a", "a", "b"])
    assert (exact.group.tolist(), exact.sessions.tolist()) == ([2, 2, 2], [2, 1, 1])
    assert (query.query.tolist(), query.item.tolist()) == (["q", "r"], ["a", "b", "c", "a", "b"])
    assert (query.group.tolist(), query.sessions.tolist()) == ([3, 2], [3, 1])


def test_a_list_whose_sessions_have_no_click_stays_with_its_rows():
    pairs = log_of(("q", ["a", "b"], [0, 0]), ("r", ["c", "d"], [0, 1])).pairs("none")
    assert (pairs.group.tolist(), pairs.offsets.tolist(), pairs.item.tolist()) == ([2, 2], [0, 0, 1], list("abcd"))
    assert pairs.sessions_without_pairs == 1


def test_ratio_merges_by_items_and_positions():
    once = [("q", ["a", "b"], [1, 0]), ("q", ["b", "a"], [0, 1]), ("q", ["a", "b"], [1, 0])]
    pairs = log_of(*once).pairs("ratio")
    found = sorted(zip(pairs.position_i.tolist(), pairs.position_j.tolist(), pairs.weight.tolist(), strict=True))
    assert found == [(1, 2, 2.0), (2, 1, 1.0)]


@pytest.mark.parametrize("merge", MERGES)
def test_pairs_stand_in_the_order_of_their_places(merge):
    pairs = random_log(6).pairs(merge=merge)
    for start, end in itertools.pairwise(pairs.offsets):
        places = list(zip(pairs.i[start:end], pairs.j[start:end], strict=True))
        assert places == sorted(set(places))


@pytest.mark.parametrize("merge", MERGES)
def test_long_lists_merge_like_short_ones(merge):
    assert_added_up(random_log(7, n_sessions=12, n_queries=2, n_items=20), merge)
    rng = np.random.default_rng(8)
    shown = np.concatenate([rng.permutation(300) for _ in range(4)])
    clicks = (np.arange(1200) % 300 < 3).astype(int)
    log = Log(clicks, None, np.full(4, 300), np.zeros(4, int), shown)
    assert_added_up(log, merge, method="none")


def similar_item_sets():
    """Sets that a careless hash confuses: shifted, scaled, permuted, cut, grown, and with equal sums or xors."""
    base = [0, 1, 2, 3, 5, 8]
    shifts = [[i + shift for i in base] for shift in (0, 1, -1, 2**32, -(2**32), 2**61)]
    scales = [[i * scale for i in base] for scale in (-1, 2, 2**29, 2**32, 2**35, 2**58)]
    cuts = [base[:k] for k in range(1, 6)] + [base[k:] for k in range(1, 6)] + [[*base, k] for k in (-1, 4, 6, 7, 9)]
    swaps = [[0, 1, 2, 4, 4 + 2**k, 8] for k in range(1, 60) if 2**k != 4]
    pairs = [[a, 15 - a] for a in range(16) if a != 15 - a] + [[a, a ^ 0x5555] for a in range(16)]
    return list({frozenset(s): s for s in shifts + scales + cuts + swaps + pairs}.values())


def test_similar_item_sets_are_never_confused():
    rng = np.random.default_rng(9)
    sets = [rng.permutation(np.array(s, dtype=np.int64)) for s in similar_item_sets() for _ in range(3)]
    sets = [sets[k] for k in rng.permutation(len(sets))]
    group = np.array([len(s) for s in sets])
    labels = (rng.random(group.sum()) < 0.5).astype(int)
    log = Log(labels, None, group, np.zeros(len(sets), int), np.concatenate(sets))
    merged = assert_added_up(log, "exact", method="none")
    assert merged.n_lists == len(similar_item_sets())
    assert (merged.sessions == 3).all()


def colliding_pairs(n):
    """Different pairs of items with one hash: integer ids are hashed as they are, by steps that can be undone."""

    def step(value):
        value = value * int(merge_kernels._MULTIPLIER) % 2**64
        return value ^ value >> 29

    goal, found = step(2 ^ 1) ^ 2, []  # before the last step, the pair (1, 2) stands at `goal`
    firsts = itertools.count(1)
    while len(found) < n:
        first = next(firsts)
        second = step(2 ^ first) ^ goal
        if first < second < 2**63:
            found.append([first, second])
    return np.array(found)


def test_item_sets_with_the_same_hash_stay_apart():
    sets = colliding_pairs(50)
    assert len({merge_kernels._hash(s) for s in sets}) == 1
    shown = np.random.default_rng(10).permutation(np.concatenate([sets, sets[:, ::-1], sets]))
    n = len(shown)
    log = Log(np.tile([1, 0], n), None, np.full(n, 2), np.zeros(n, int), shown.ravel())
    merged = assert_added_up(log, "exact", method="none")
    assert (merged.n_lists, set(merged.sessions.tolist())) == (50, {3})


def test_every_pair_of_small_numbers_is_its_own_list():
    sets = np.array(list(itertools.combinations(range(90), 2)))
    log = Log(np.tile([1, 0], len(sets)), None, np.full(len(sets), 2), np.zeros(len(sets), int), sets.ravel())
    pairs = log.pairs("none")
    assert pairs.n_lists == len(sets)
    np.testing.assert_array_equal(pairs.item, sets.ravel())


BAD_IDS = {
    "one query a row": ({"query": [1, 1, 1, 1]}, "query has 4 ids; it needs one a session: 2"),
    "one item a session": ({"item": [1, 2]}, "item has 2 ids; it needs one a row: 4"),
    "ids in a table": ({"item": [[1, 2], [1, 2]]}, r"item has shape \(2, 2\)"),
    "a missing item": ({"item": ["a", None, "a", "b"]}, r"item\[1\] is missing; each needs an id"),
    "a missing number": ({"item": [1.0, 2.0, float("nan"), 2.0]}, r"item\[2\] is missing"),
    "a missing nullable": ({"item": pd.Series([1, 2, 1, None], dtype="Int64")}, r"item\[3\] is missing"),
    "a missing Arrow string": ({"item": pa.array([None, "b", "a", "b"])}, r"item\[0\] is missing"),
    "a missing query": ({"query": ["q", None]}, r"query\[1\] is missing; each needs an id"),
    "numbers and text": ({"item": np.array([1, "b", 1, "b"], dtype=object)}, "all whole numbers or all text"),
    "query alone": ({"item": None}, "query was given without item"),
    "item alone": ({"query": None}, "item was given without query"),
}


@pytest.mark.parametrize("merge", MERGES)
@pytest.mark.parametrize(("ids", "message"), BAD_IDS.values(), ids=BAD_IDS.keys())
def test_ids_are_refused(ids, message, merge):
    log = log_of(("q", ["a", "b"], [1, 0]), ("q", ["b", "a"], [0, 1]))
    with pytest.raises(InputError, match=message):
        log.pairs("none", merge=merge, **ids)


@pytest.mark.parametrize("merge", MERGES)
@pytest.mark.parametrize("n", [3, 40], ids=["short", "long"])
def test_an_item_twice_in_a_session_is_refused(n, merge):
    items = [f"i{k}" for k in range(n)]
    log = log_of(("q", items, [1] + [0] * (n - 1)), ("shoes", [*items[:-1], "i0"], [1] + [0] * (n - 1)))
    with pytest.raises(InputError, match=r"item 'i0' stands twice in session 1 .*'shoes'"):
        log.pairs("none", merge=merge, item=np.array(log.item, dtype=object))

"""A log compacted by an engine is the log compacted in memory."""

from __future__ import annotations

import itertools
from collections import Counter

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from impressions import random_log

import truerank as tr
from truerank.errors import InputError
from truerank.log.duckdb import connect

LOOKS = tr.RowSkipping(gamma=0.3, continuation=0.85, row_lengths=[2, 3, 2])
METHODS = ("none", "ratio", "robust", "complete")


def in_memory(log, method="robust", examination=LOOKS, **options):
    """Weighted pairs of a log of few rows, each session on its own until `pair_weights` adds them up."""
    rows = sorted(log.to_pylist(), key=lambda row: (row["session"], row["position"]))
    sessions = [list(group) for _, group in itertools.groupby(rows, key=lambda row: row["session"])]
    return tr.pair_weights(
        [row["label"] for row in rows],
        [row["position"] for row in rows],
        [len(session) for session in sessions],
        method,
        examination,
        query=[session[0]["query"] for session in sessions],
        item=[row["item"] for row in rows],
        **options,
    )


def by_name(pairs):
    """Weights and sessions by query, items of the list and pair (and positions, if it has them)."""
    weights, sessions = {}, {}
    for q, items in enumerate(np.split(pairs.item, pairs.row_offsets[1:-1])[: pairs.n_lists]):
        page = (pairs.query[q], frozenset(items.tolist()))
        assert page not in sessions
        sessions[page] = pairs.sessions[q]
        for k in range(pairs.offsets[q], pairs.offsets[q + 1]):
            shown = () if pairs.position_i is None else (pairs.position_i[k], pairs.position_j[k])
            weights[*page, items[pairs.i[k]], items[pairs.j[k]], *shown] = pairs.weight[k]
    return weights, sessions


def assert_same_pairs(a, b):
    (weights_a, sessions_a), (weights_b, sessions_b) = by_name(a), by_name(b)
    assert sessions_a == sessions_b
    assert weights_a == pytest.approx(weights_b, rel=1e-9, abs=1e-12)
    assert (a.sessions_without_pairs, a.merge) == (b.sessions_without_pairs, b.merge)


def assert_same_bits(a, b):
    for name in ("query", "group", "sessions", "item", "offsets", "i", "j", "weight"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


def stable_log(rng, n_sessions=80):
    """A log whose lists stay as they are, so that many sessions are equal."""
    table = random_log(rng, n_sessions).to_pydict()
    table["item"] = table["position"]
    return pa.table(table)


@pytest.mark.parametrize("merge", ["exact", "query"])
@pytest.mark.parametrize("normalize", ["session", "list", "none"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("make", [random_log, stable_log], ids=["volatile", "stable"])
def test_a_compacted_log_is_what_it_is_in_memory(make, method, normalize, merge, engine, rng):
    log = make(rng)
    options = {"merge": merge, "normalize": normalize, "gain": "exp2" if merge == "query" else "linear"}
    assert_same_pairs(tr.open_log(log, engine).compact(LOOKS, method, **options), in_memory(log, method, **options))


def test_equal_sessions_are_counted(engine, rng):
    log = stable_log(rng, 400)
    counts = tr.open_log(log, engine).session_counts()
    starts = np.cumsum(counts.group) - counts.group
    found = {
        (
            query,
            *zip(*(a[s : s + n].tolist() for a in (counts.position, counts.item, counts.label)), strict=True),
        ): times
        for query, s, n, times in zip(
            counts.query.tolist(), starts, counts.group, counts.sessions.tolist(), strict=True
        )
    }
    rows = sorted(log.to_pylist(), key=lambda row: (row["session"], row["position"]))
    sessions = [list(group) for _, group in itertools.groupby(rows, key=lambda row: row["session"])]
    expected = Counter(
        (session[0]["query"], *((row["position"], row["item"], row["label"]) for row in session))
        for session in sessions
    )
    assert found == dict(expected)
    assert len(counts.group) == len(found) < 400
    places = [(query, [(k, label) for k, _, label in rows], [i for _, i, _ in rows]) for query, *rows in found]
    assert places == sorted(places)
    assert (counts.n_sessions, counts.n_rows) == (400, len(log))


def test_text_ids_are_kept(engine, rng):
    log = random_log(rng, text_ids=True)
    pairs = tr.open_log(log, engine).compact(LOOKS, "complete")
    assert pairs.item.dtype.kind == pairs.query.dtype.kind == "U"
    assert_same_pairs(pairs, in_memory(log, "complete"))


def test_the_order_of_rows_files_and_portions_do_not_change_a_bit(tmp_path, engine, rng):
    log = random_log(rng, 200)
    whole = tr.open_log(log, engine).compact(LOOKS, "complete")
    shuffled = log.take(rng.permutation(len(log)))
    for part, rows in enumerate(np.array_split(np.arange(len(log)), 7)):
        pq.write_table(shuffled.take(rows), tmp_path / f"{part}.parquet", row_group_size=13)
    done = []
    pieces = tr.open_log(tmp_path, engine).compact(
        LOOKS, "complete", portion=len(log) // 4, progress=lambda *counts: done.append(counts)
    )
    assert_same_bits(pieces, whole)
    assert len(done) >= 3
    assert done[-1] == (len(log), len(log))


def test_days_add_up_to_the_log(engine, rng):
    log = random_log(rng, 100).sort_by("session")
    head = tr.open_log(log.filter(pa.compute.field("session") < 60), engine).compact(LOOKS)
    tail = tr.open_log(log.filter(pa.compute.field("session") >= 60), engine).compact(LOOKS)
    assert_same_pairs(head + tail, in_memory(log))


def test_a_session_of_two_queries_counts_as_two(engine):
    rows = {"session": [1] * 4, "query": ["a", "a", "b", "b"], "item": [1, 2, 1, 2], "position": [1, 2, 1, 2]}
    log = tr.open_log(pa.table(rows | {"label": [1, 0, 0, 1]}), engine)
    assert_same_pairs(log.compact(LOOKS), log.repair(several_queries="split").compact(LOOKS))
    assert log.summary().sessions == log.session_counts().n_sessions == 2


def test_an_empty_log_has_no_pairs(engine, rng):
    pairs = tr.open_log(random_log(rng).slice(0, 0), engine).compact(LOOKS)
    assert (pairs.n_lists, pairs.n_pairs) == (0, 0)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"position": [1, 1]}, r"position 1 stands twice in a session of query 1\. Hint: log\.validate\(\)"),
        ({"item": [5, 5]}, "item 5 stands twice in a session of query 1"),
        ({"item": ["a b", "a b"]}, "item 'a b' stands twice"),
        ({"position": [0, 1]}, "1 rows of the log have no session"),
        ({"position": [2**32 + 1, 2]}, "position is 4294967297 in some rows"),
        ({"position": [2**60, 2]}, "position is 1152921504606846976 in some rows"),
        ({"label": [2000, 0]}, "whole number from 0 to 1000"),
    ],
)
def test_what_cannot_be_compacted_is_refused(changed, says, engine):
    rows = {"session": [1, 1], "query": [1, 1], "item": [1, 2], "position": [1, 2], "label": [0, 1]}
    with pytest.raises(InputError, match=says):
        tr.open_log(pa.table(rows | changed), engine).compact(LOOKS)


def every_session():
    """The rows of all sessions of six items in all orders, with no click, each single click and each two: 15,840."""
    orders = np.array(list(itertools.permutations(range(6))))
    clicked = [np.isin(np.arange(6), some) for n in range(3) for some in itertools.combinations(range(6), n)]
    items, labels = (a.reshape(-1, 6) for a in np.broadcast_arrays(orders[:, None], np.array(clicked, int)[None]))
    return items, labels


@pytest.mark.parametrize("text_ids", [False, True])
def test_sessions_that_differ_in_anything_are_never_taken_for_equal(engine, rng, text_ids):
    """All that six items can show: swapped items, moved clicks and both must not cancel out in a fingerprint."""
    items, labels = every_session()
    shown_twice = np.tile(np.arange(len(items)), 2)
    item = items[shown_twice].ravel()
    log = pa.table(
        {
            "session": np.repeat(rng.permutation(len(shown_twice)), 6),
            "query": np.full(len(item), 3),
            "item": np.char.add("item ", item.astype(str)) if text_ids else item,
            "position": np.tile(np.arange(1, 7), len(shown_twice)),
            "label": labels[shown_twice].ravel(),
        }
    )
    counts = tr.open_log(log.take(rng.permutation(len(log))), engine).session_counts()
    assert len(counts.group) == len(items) == 15_840
    assert (counts.sessions == 2).all()


def test_ids_beyond_63_bits_are_counted_in_portions(engine):
    big = np.array([2**63 + 5, 2**64 - 1, 3], dtype=np.uint64)
    rows = {"session": np.arange(3), "query": big, "item": big[::-1], "position": [1] * 3, "label": [1] * 3}
    log, done = tr.open_log(pa.table(rows), engine), []
    pairs = log.compact(LOOKS, portion=1, progress=lambda *counts: done.append(counts))
    assert pairs.query.tolist() == [3, 2**63 + 5, 2**64 - 1]
    assert pairs.item.tolist() == [2**63 + 5, 3, 2**64 - 1]
    assert done == [(1, 3), (2, 3), (3, 3)]


def test_a_log_that_changes_between_two_readings_is_refused(engine, rng):
    log = tr.open_log(random_log(rng, 500), engine)
    drawn = tr.open_log(log.table.filter(ibis.random() < 0.5))
    with pytest.raises(InputError, match="the log held other rows when it was read a second time"):
        drawn.session_counts()


def test_no_temporary_table_is_left_in_the_engine(engine, rng):
    def temporary():
        found = engine.backend.raw_sql("SELECT table_name FROM duckdb_tables() WHERE temporary").fetchall()
        return [name for (name,) in found if "truerank" in name]

    log = tr.open_log(random_log(rng), engine)
    log.compact(LOOKS)
    portions = log.counted.in_portions(20)
    next(portions)
    assert len(temporary()) == 1
    del portions  # as when something goes wrong in between
    assert temporary() == []


def test_counted_sessions_weigh_as_often_as_they_were_seen(rng):
    labels, positions, group = rng.integers(0, 3, 40), np.tile(np.arange(1, 6), 8), [5] * 8
    times = rng.integers(1, 5, 8)
    counted = tr.pair_weights(labels, positions, group, "complete", LOOKS, sessions=times, variance="none")
    once = tr.pair_weights(labels, positions, group, "complete", LOOKS, variance="none")
    np.testing.assert_allclose(counted.weight, once.weight * np.repeat(times, np.diff(once.offsets)))
    assert counted.sessions.tolist() == times.tolist()
    for wrong in ([1] * 7, [0] * 8, [1.5] * 8):
        with pytest.raises(InputError, match="sessions"):
            tr.pair_weights(labels, positions, group, "complete", LOOKS, sessions=wrong)


@pytest.mark.parametrize(("limit", "rows"), [("1GB", 12_500_000), ("100MiB", 1_310_720)])
def test_less_memory_means_smaller_portions(limit, rows):
    assert connect(memory_limit=limit).rows_at_once() == pytest.approx(rows, rel=0.01)

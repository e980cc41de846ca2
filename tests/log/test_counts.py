"""Counts and summaries, against loops over the rows."""

from __future__ import annotations

import itertools
import json
from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from impressions import random_log
from scipy.stats import binomtest

import truerank as tr
from truerank import propensity
from truerank.errors import InputError
from truerank.log.intervals import wilson_interval
from truerank.log.swap_markers import read_marker
from truerank.types import ClickSessions


@pytest.fixture(params=[False, True], ids=["number ids", "text ids"])
def table(request, rng):
    return random_log(rng, 600, text_ids=request.param, swaps=True)


def sessions_of(table):
    sessions = defaultdict(list)
    for row in table.to_pylist():
        sessions[row["session"]].append(row)
    return list(sessions.values())


def columns_of(counts):
    return list(zip(*(getattr(counts, name).tolist() for name in counts.__dataclass_fields__), strict=True))


def counted(rows, key):
    shown, clicked = Counter(map(key, rows)), Counter(key(row) for row in rows if row["label"] > 0)
    return [(*k, shown[k], clicked[k]) for k in sorted(shown)]


def test_counts_by_position_are_those_of_a_loop(table, engine):
    counts = tr.open_log(table, engine).position_counts()
    assert columns_of(counts) == counted(table.to_pylist(), lambda r: (r["position"],))
    assert {counts.position.dtype, counts.impressions.dtype, counts.clicks.dtype} == {np.dtype(np.int64)}


def test_counts_by_item_and_position_are_those_of_a_loop(table, engine):
    counts = tr.open_log(table, engine).item_position_counts()
    assert columns_of(counts) == counted(table.to_pylist(), lambda r: (r["query"], r["item"], r["position"]))
    assert counts.item.dtype.kind in "iU"


def as_click_sessions(table):
    """The same sessions as arrays in memory, with markers as numbers."""
    sessions = [sorted(rows, key=lambda r: r["position"]) for rows in sessions_of(table)]
    flat = [row for rows in sessions for row in rows]
    return ClickSessions(
        clicks=np.array([r["label"] for r in flat], dtype=np.int32),
        positions=np.array([r["position"] for r in flat], dtype=np.int32),
        group=np.array([len(rows) for rows in sessions]),
        query=np.unique([rows[0]["query"] for rows in sessions], return_inverse=True)[1],
        item=np.unique([r["item"] for r in flat], return_inverse=True)[1],
        swap=np.array([read_marker(rows[0]["swap"]) if rows[0]["swap"] else (0, 0, 0) for rows in sessions]),
    )


def test_the_arms_of_swap_experiments_are_those_of_click_sessions_in_memory(table, engine):
    arms = tr.open_log(table, engine).swap_arms()
    assert columns_of(arms) == columns_of(propensity.swap_arms(as_click_sessions(table)))
    assert len(arms.k1) == 4
    assert arms.both_clicks.min() > 0


def test_propensities_are_estimated_from_a_log(table, engine):
    found = propensity.swap(tr.open_log(table, engine), fill="interpolate")
    wanted = propensity.swap(as_click_sessions(table), fill="interpolate")
    np.testing.assert_array_equal(found.theta, wanted.theta)


def test_a_log_without_experiments_has_no_arms(table, engine):
    plain = table.set_column(table.column_names.index("swap"), "swap", pa.array([None] * len(table), pa.string()))
    assert columns_of(tr.open_log(plain, engine).swap_arms()) == []


def test_counts_do_not_depend_on_the_order_of_rows_or_the_split_into_files(table, tmp_path, rng, engine):
    shuffled = table.take(rng.permutation(len(table)))
    for k, part in enumerate(np.array_split(np.arange(len(table)), 5)):
        pq.write_table(shuffled.take(part), tmp_path / f"{k}.parquet")
    one, other = tr.open_log(table, engine), tr.open_log(tmp_path, engine)
    for method in ("position_counts", "item_position_counts", "swap_arms"):
        assert columns_of(getattr(one, method)()) == columns_of(getattr(other, method)())
    assert one.summary().to_dict() == other.summary().to_dict()


def test_the_summary_is_that_of_a_loop(table, engine):
    rows, sessions = table.to_pylist(), sessions_of(table)
    summary = tr.open_log(table, engine).summary()
    assert summary.sessions == len(sessions) == 600
    assert summary.lists == len({r["query"] for r in rows})
    assert summary.items == len({r["item"] for r in rows})
    assert summary.list_items == len({(r["query"], r["item"]) for r in rows})
    assert summary.pages == len({(s[0]["query"], frozenset(r["item"] for r in s)) for s in sessions})
    assert (summary.impressions, summary.clicks) == (len(rows), sum(r["label"] > 0 for r in rows))
    assert summary.share_without_click == sum(all(r["label"] == 0 for r in s) for s in sessions) / 600
    assert summary.merge_factor == 600 / summary.pages
    assert summary.merge_factor_by_query == 600 / 4


def test_the_merge_factor_is_what_summing_sessions_saves(engine):
    rng = np.random.default_rng(3)
    group, pages = [4] * 200, [rng.permutation(6)[:4] for _ in range(200)]
    item, query = np.concatenate(pages), rng.integers(3, size=200)
    labels = (rng.random(800) < 0.4).astype(int)
    log = pa.table({
        "session": np.repeat(np.arange(200), 4), "query": np.repeat(query, 4), "item": item,
        "position": tr.list_order(group), "label": labels,
    })  # fmt: skip
    summary = tr.open_log(log, engine).summary()
    pairs = tr.pair_weights(labels, tr.list_order(group), group, method="none", query=query, item=item)
    assert summary.pages == pairs.n_lists
    assert summary.merge_factor == 200 / pairs.n_lists


def test_the_summary_prints_and_is_ready_for_json(table, engine):
    summary = tr.open_log(table, engine).summary()
    text = str(summary)
    assert f"{'sessions':<20}{'600':>14}" in text
    assert len(text.splitlines()) == 12 + len(summary.positions.position)
    assert json.loads(json.dumps(summary.to_dict()))["positions"][0]["impressions"] == summary.positions.impressions[0]


def test_an_empty_log_is_counted_too(engine):
    kinds = {
        "session": pa.int64(),
        "query": pa.string(),
        "item": pa.int64(),
        "position": pa.int32(),
        "label": pa.int8(),
    }
    log = tr.open_log(pa.table({name: pa.array([], type=kind) for name, kind in kinds.items()}), engine)
    assert (log.summary().sessions, log.summary().merge_factor) == (0, 0)
    assert log.position_counts().position.tolist() == log.item_position_counts().item.tolist() == []
    assert "sessions" in str(log.summary())


BROKEN = {"session": None, "query": "", "item": None, "position": 0, "label": None}


@pytest.mark.parametrize("column", BROKEN)
def test_a_log_that_cannot_be_counted_whole_is_not_counted(column, engine, rng):
    rows = random_log(rng, text_ids=True).to_pylist()
    rows[7][column] = BROKEN[column]
    log = tr.open_log(pa.Table.from_pylist(rows), engine)
    for method in ("summary", "position_counts", "item_position_counts"):
        with pytest.raises(InputError, match=r"1 rows of the log have no session.*Hint: log.validate\(\)"):
            getattr(log, method)()


def test_swap_arms_need_markers(engine, rng):
    table = random_log(rng)
    with pytest.raises(InputError, match="the log has no column swap"):
        tr.open_log(table, engine).swap_arms()
    for wrong in (
        "5",
        "5:swop",
        "1:control",
        "3,3:swapped",
        "0:control",
        "5 :control",
        "5,:control",
        "7,3:control",
        "1,2:swapped",
    ):
        log = tr.open_log(table.append_column("swap", pa.array([wrong] * len(table))), engine)
        with pytest.raises(InputError, match=r"swap is '.*' in some rows; it must be empty or like '5:swapped'"):
            log.swap_arms()


@pytest.mark.parametrize(("hits", "trials"), list(itertools.product([0, 1, 7, 20], [20, 500, 10**6])))
def test_wilson_intervals_are_those_of_scipy(hits, trials):
    low, high = wilson_interval([hits], [trials])
    exact = binomtest(hits, trials).proportion_ci(0.95, method="wilson")
    np.testing.assert_allclose([low[0], high[0]], [exact.low, exact.high], rtol=1e-12, atol=1e-15)


def test_what_was_never_shown_can_be_anything():
    assert [end.tolist() for end in wilson_interval([0], [0])] == [[0], [1]]

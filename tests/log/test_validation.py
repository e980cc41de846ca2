"""What is wrong with a log is counted, all of it, and nothing else."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dirty import LARGEST, broken_rules, random_dirty_log
from impressions import random_log

import truerank as tr
from truerank.errors import InputError

COLUMNS = {"session": "session", "swap": "swap", "timestamp": "timestamp"}


def clean_rows(n_sessions, size=10):
    return [
        {
            "session": session, "query": f"q{session % 50}", "item": 100 * (session % 50) + k, "position": str(k),
            "label": float(k == session % 10), "swap": "5:control" if session % 2 else "",
            "timestamp": f"2024-05-{1 + session % 28:02}T10:00:00Z",
        }
        for session in range(n_sessions)
        for k in range(1, size + 1)
    ]  # fmt: skip


def counts_of(report):
    return {p.rule: (p.rows, p.sessions) for p in report.problems}


# one row in ten is spoiled: each of these is done to `often` sessions of its own, always in their last row
SPOILED = {
    "missing_session": {"session": None},
    "missing_query": {"query": ""},
    "missing_item": {"item": None},
    "missing_position": {"position": None, "label": 0.0},
    "unseen_click": {"position": None, "label": 1.0},
    "unreadable_position": {"position": "ten"},
    "position_below_one": {"position": "0"},
    "position_too_large": {"position": "3000000000"},
    "missing_label": {"label": None},
    "unreadable_label": {"label": 0.5},
    "label_out_of_range": {"label": 1e6},
    "bad_swap_marker": {"swap": "5"},
    "unreadable_timestamp": {"timestamp": "noon"},
    "several_queries": {"query": "another"},
    "several_swap_markers": {"swap": "7:control"},
    "repeated_item": {"item": "that of the row before"},
    "repeated_position": {"position": "9"},
}


def test_every_mistake_in_a_log_with_a_tenth_of_its_rows_spoiled_is_counted(engine):
    n_sessions = 1_700
    rows, often = clean_rows(n_sessions), n_sessions // len(SPOILED)
    sessions = iter(np.random.default_rng(1).permutation(n_sessions).tolist())
    spoiled = 0
    for change in SPOILED.values():
        for session in (next(sessions) for _ in range(often)):
            row = rows[10 * session + 9]
            before = rows[10 * session + 8]
            row.update(change | ({"item": before["item"]} if change.get("item") else {}))
            spoiled += 1
    assert spoiled == len(rows) / 10

    report = tr.open_log(pa.Table.from_pylist(rows), engine, COLUMNS).validate()
    expected = dict.fromkeys(counts_of(report), (0, 0)) | dict.fromkeys(SPOILED, (often, often))
    expected["missing_session"] = (often, 0)
    # a session that has two queries, or two markers, is wrong as a whole; a marker that is none is a second marker
    expected["position_gap"] = ((3_000_000_000 - 10) * often, often)
    expected["several_queries"] = (10 * often, often)
    expected["several_swap_markers"] = (20 * often, 2 * often)
    assert counts_of(report) == expected
    assert not report.ok
    assert (report.rows, report.sessions) == (len(rows), n_sessions)


@pytest.mark.parametrize("seed", range(6))
def test_what_is_counted_is_what_loops_over_the_rows_count(seed, engine):
    table = random_dirty_log(np.random.default_rng(seed))
    report = tr.open_log(table, engine, COLUMNS).validate(largest_label=LARGEST)
    expected = broken_rules(table.to_pylist())
    assert counts_of(report) == expected
    assert sum(rows > 0 for rows, _ in expected.values()) > 10
    assert report.sessions == len(set(table["session"].to_pylist()) - {None})


def test_a_log_that_keeps_every_rule_is_ok(engine):
    report = tr.open_log(pa.Table.from_pylist(clean_rows(20)), engine, COLUMNS).validate()
    assert report.ok
    assert report.found == ()
    assert str(report) == "200 rows in 20 sessions: all 21 rules kept"


def test_ids_that_are_numbers_but_no_whole_ones_are_found_and_dropped(engine):
    rows = {"session": [1.0, 2.0, 2.5], "query": [1.0, float("nan"), 1.0], "item": [7.0, 8.0, 9.5]}
    log = tr.open_log(pa.table(rows | {"position": [1, 1, 1], "label": [1, 0, 0]}), engine)
    found = counts_of(log.validate())
    # a session that cannot be read is none, so it is not among the sessions that have the mistake
    assert [found[f"unreadable_{name}"] for name in ("session", "query", "item")] == [(1, 0), (1, 1), (1, 0)]
    with pytest.raises(InputError, match="2 rows of the log have no session, query"):
        log.session_counts()
    mended = log.repair(drop_missing_ids=True)
    assert mended.validate().ok
    assert mended.session_counts().item.tolist() == [7]


def test_an_empty_log_is_ok(engine):
    empty = pa.Table.from_pylist(clean_rows(1)).slice(0, 0)
    assert tr.open_log(empty, engine).validate().ok


def test_gaps_and_sessions_in_several_files_are_notes(tmp_path, engine):
    rows = [row for row in clean_rows(4) if (row["session"], row["position"]) not in ((0, "3"), (0, "7"), (2, "1"))]
    table = pa.Table.from_pylist(rows)
    pq.write_table(table.slice(0, 15), tmp_path / "monday.parquet")
    pq.write_table(table.slice(15), tmp_path / "tuesday.parquet")
    report = tr.open_log(tmp_path, engine).validate()
    assert report.ok
    assert (report["position_gap"].rows, report["position_gap"].sessions) == (3, 2)
    assert report["position_gap"].examples[0] == {"session": 0, "largest_position": 10, "positions": 8}
    assert (report["several_files"].rows, report["several_files"].sessions) == (10, 1)
    (example,) = report["several_files"].examples
    assert example["session"] == 1
    assert example["first"].endswith("monday.parquet")


def test_examples_are_the_first_in_order_and_name_their_file(tmp_path, engine):
    rows = clean_rows(30)
    for session in (25, 7, 19, 3):
        rows[10 * session]["label"] = -1.0
    for k, part in enumerate((rows[150:], rows[:150])):
        pq.write_table(pa.Table.from_pylist(part), tmp_path / f"{k}.parquet")
    problem = tr.open_log(tmp_path, engine).validate(examples=2)["label_out_of_range"]
    assert problem.rows == 4
    assert [example["session"] for example in problem.examples] == [3, 7]
    assert problem.examples[0]["file"] == str(tmp_path / "1.parquet")


def test_what_could_not_be_read_is_shown_as_it_was(engine):
    rows = clean_rows(1)
    rows[4]["position"] = "fifth"
    report = tr.open_log(pa.Table.from_pylist(rows), engine).validate()
    assert "position='fifth'" in str(report)
    assert "Hint: repair(bad_positions='drop')" in str(report)


def test_the_report_is_ready_for_json(engine, rng):
    report = tr.open_log(random_dirty_log(rng), engine, COLUMNS).validate(examples=0)
    told = json.loads(json.dumps(report.to_dict()))
    assert told["ok"] is False
    assert {p["rule"] for p in told["problems"]} == {p.rule for p in report.problems}


def test_rules_about_columns_that_are_not_there_do_not_apply(engine, rng):
    names = {p.rule for p in tr.open_log(random_log(rng), engine).validate().problems}
    assert not names & {"bad_swap_marker", "unreadable_timestamp", "several_files", "several_swap_markers"}
    with pytest.raises(KeyError, match="'bad_swap_marker' is none of the rules that were checked: missing_session"):
        tr.open_log(random_log(rng), engine).validate()["bad_swap_marker"]


@pytest.mark.parametrize("largest", [0, 1_001, 2.5, True])
def test_the_largest_label_must_be_one(largest, engine, rng):
    with pytest.raises(InputError, match=r"largest_label is .*; it must be a whole number from 1 to 1000"):
        tr.open_log(random_log(rng), engine).validate(largest_label=largest)

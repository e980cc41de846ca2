"""A log is mended only as asked, and what that did is counted."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from dirty import LARGEST, REPAIRS, broken_rules, is_time, label, position, random_dirty_log
from impressions import rows_of
from test_validation import COLUMNS, clean_rows

import truerank as tr
from truerank.errors import InputError

CHAIN = (
    ("zero_based_positions", "sessions"), ("clicks_without_impression", "drop"), ("drop_missing_ids", True),
    ("bad_positions", "drop"), ("bad_labels", "clip"), ("several_queries", "drop"), ("repeated_items", "max_label"),
    ("repeated_positions", "drop_sessions"), ("swap_markers", "clear"), ("bad_timestamps", "clear"),
)  # fmt: skip


def as_read(row):
    """A row as the log reads it."""
    return (
        None if row["session"] is None else str(row["session"]), row["query"], row["item"], position(row), label(row),
        row["swap"], row["timestamp"] is not None and is_time(row["timestamp"]),
    )  # fmt: skip


def sorted_rows(rows):
    return sorted(rows, key=repr)


def found(log):
    return sorted_rows(
        (
            None if r["session"] is None else str(r["session"]), r["query"], r["item"], r["position"], r["label"],
            r["swap"], r["timestamp"] is not None,
        )
        for r in rows_of(log)
    )  # fmt: skip


def touched(rows):
    return len(rows), len({r["session"] for r in rows} - {None})


@pytest.mark.parametrize("repair", REPAIRS, ids=str)
@pytest.mark.parametrize("seed", range(2))
def test_each_repair_does_what_a_loop_over_the_rows_does(repair, seed, engine):
    option, choice = repair
    table = random_dirty_log(np.random.default_rng(seed))
    log = tr.open_log(table, engine, COLUMNS)
    mended = log.repair(**{option: choice}, largest_label=LARGEST)
    rows, changed = REPAIRS[repair](table.to_pylist())
    assert changed
    assert found(mended) == sorted_rows(map(as_read, rows))
    assert (mended.repairs[option].rows, mended.repairs[option].sessions) == touched(changed)
    assert found(log) == sorted_rows(map(as_read, table.to_pylist()))


@pytest.mark.parametrize("seed", range(3))
def test_repairs_follow_one_another(seed, engine):
    table = random_dirty_log(np.random.default_rng(seed), 200)
    mended = tr.open_log(table, engine, COLUMNS).repair(**dict(CHAIN), largest_label=LARGEST)
    rows, counts = table.to_pylist(), []
    for repair in CHAIN:
        rows, changed = REPAIRS[repair](rows)
        counts.append(touched(changed))
    assert found(mended) == sorted_rows(map(as_read, rows))
    assert [(r.rows, r.sessions) for r in mended.repairs.repairs] == counts
    assert [r.option for r in mended.repairs.repairs] == [f"{option}={choice!r}" for option, choice in CHAIN]


@pytest.mark.parametrize("labels", ["zero", "drop"])
def test_a_log_with_every_repair_is_ok_and_can_be_counted(labels, engine, rng):
    table = random_dirty_log(rng, 400)
    every = dict(CHAIN) | {"bad_labels": labels, "several_queries": "split"}
    mended = tr.open_log(table, engine, COLUMNS).repair(**every, largest_label=LARGEST)
    assert mended.validate(largest_label=LARGEST).ok
    assert mended.summary().impressions == len(rows_of(mended)) > 20


def test_rows_are_dropped_only_as_counted(engine, rng):
    table = random_dirty_log(rng)
    drops = {
        "clicks_without_impression": "drop",
        "drop_missing_ids": True,
        "bad_positions": "drop",
        "bad_labels": "drop",
    }
    mended = tr.open_log(table, engine, COLUMNS).repair(**drops)
    assert len(rows_of(mended)) + sum(r.rows for r in mended.repairs.repairs) == len(table)


def test_without_repairs_a_log_is_what_it_was(engine, rng):
    table = random_dirty_log(rng)
    log = tr.open_log(table, engine, COLUMNS)
    assert found(log.repair()) == found(log)
    assert str(log.repair().repairs) == "no repairs"


def test_repairs_of_repairs_are_counted_from_the_first(engine, rng):
    log = tr.open_log(random_dirty_log(rng), engine, COLUMNS)
    twice = log.repair(drop_missing_ids=True).repair(bad_positions="drop")
    once = log.repair(drop_missing_ids=True, bad_positions="drop")
    assert twice.repairs == once.repairs
    assert "drop_missing_ids=True" in str(twice.repairs)


def test_a_log_that_counts_positions_from_0_becomes_the_one_that_counts_from_1(engine):
    rows = clean_rows(30)
    moved = [row | {"position": int(row["position"]) - 1} for row in rows]
    log = tr.open_log(pa.Table.from_pylist(moved), engine)
    assert log.validate()["position_below_one"].rows == 30
    mended = log.repair(zero_based_positions=True)
    assert mended.validate().ok
    assert mended.repairs["zero_based_positions"].rows == 300
    whole = tr.open_log(pa.Table.from_pylist(rows), engine)
    assert mended.position_counts().clicks.tolist() == whole.position_counts().clicks.tolist()


def test_positions_in_the_narrowest_of_integers_can_be_moved(engine):
    table = pa.table(
        {"session": [1], "query": [1], "item": [1], "position": pa.array([127], pa.int8()), "label": [True]}
    )
    (row,) = rows_of(tr.open_log(table, engine).repair(zero_based_positions=True))
    assert (row["position"], row["label"]) == (128, 1)


def test_flags_as_labels_are_mended_too(engine):
    table = pa.table({"session": [1, 1], "query": [1, 1], "item": [1, 2], "position": [1, 2], "label": [None, True]})
    log = tr.open_log(table, engine)
    assert [row["label"] for row in rows_of(log.repair(bad_labels="zero"))] == [0, 1]
    assert len(rows_of(log.repair(bad_labels="drop"))) == 1


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"bad_labels": "mend"}, "bad_labels is 'mend'; it must be one of 'drop', 'zero', 'clip', or None"),
        ({"drop_missing_ids": "yes"}, "drop_missing_ids is 'yes'; it must be one of True"),
        ({"swap_markers": "clear"}, "swap_markers was asked for, but the log has no column swap"),
    ],
)
def test_repairs_that_cannot_be_done_are_refused(asked, says, engine):
    with pytest.raises(InputError, match=says):
        tr.open_log(pa.Table.from_pylist(clean_rows(1)).drop_columns("swap"), engine).repair(**asked)


def test_the_dirty_logs_of_these_tests_break_every_rule():
    rows = random_dirty_log(np.random.default_rng(0)).to_pylist()
    never = {f"unreadable_{name}" for name in ("session", "query", "item")}  # these logs have whole numbers and text
    assert {rule for rule, (count, _) in broken_rules(rows).items() if not count} == never

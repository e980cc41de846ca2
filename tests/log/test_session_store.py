"""Days of counted sessions add up to the log, however they get there."""

from __future__ import annotations

import datetime
import inspect
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from impressions import random_log
from test_compaction import LOOKS, assert_same_bits

import truerank as tr
from truerank.errors import FileFormatError, InputError


@pytest.fixture
def days(rng):
    """A log cut into three days, no session in two of them."""
    log = random_log(rng, 150)
    session = log["session"].to_numpy()
    return {f"2026-11-{17 + d}": log.filter(session // 50 == d) for d in range(3)}


def test_days_added_in_any_order_are_the_whole_log_to_the_bit(days, tmp_path, engine):
    whole = tr.open_log(pa.concat_tables(days.values()), engine).compact(LOOKS, "complete")
    store = tr.SessionStore(tmp_path / "store", engine)
    for day in reversed(days):
        added = store.add(tr.open_log(days[day], engine), day, portion=100)
        assert (added.sessions, added.impressions) == (50, len(days[day]))
    assert list(store.days) == list(days)
    assert_same_bits(store.compact(LOOKS, "complete"), whole)
    assert_same_bits(tr.SessionStore(tmp_path / "store").compact(LOOKS, "complete", portion=70), whole)
    assert store.session_counts().n_sessions == 150


def test_a_day_read_twice_is_refused_skipped_or_replaced(days, tmp_path, engine):
    day = "2026-11-17"
    first, second, _ = (tr.open_log(rows, engine) for rows in days.values())
    store = tr.SessionStore(tmp_path, engine)
    added = store.add(first, day)
    with pytest.raises(InputError, match=r"2026-11-17 is in .* already, with 50 sessions"):
        store.add(first, day)
    assert store.add(second, day, again="skip") == added
    replaced = store.add(second, day, again="replace")
    assert replaced.content != added.content
    assert store.days == {day: replaced}
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([replaced.file, "manifest.json"])


def test_the_same_rows_under_another_name_are_found_out(days, tmp_path, engine, rng):
    rows = next(iter(days.values()))
    store = tr.SessionStore(tmp_path, engine)
    added = store.add(tr.open_log(rows, engine), "monday")
    again = tr.open_log(rows.take(rng.permutation(len(rows))), engine)
    with pytest.raises(InputError, match="tuesday has the very sessions of monday"):
        store.add(again, "tuesday", portion=40)
    assert store.add(again, "tuesday", again="skip") == added
    assert list(store.days) == ["monday"]
    other = tr.open_log(rows.set_column(0, "session", pa.array(rows["session"].to_numpy() + 1000)), engine)
    assert store.add(other, "tuesday").sessions == 50


def test_ids_have_to_be_alike(days, tmp_path, engine):
    store = tr.SessionStore(tmp_path, engine)
    store.add(tr.open_log(next(iter(days.values())), engine), "a")
    with pytest.raises(InputError, match="b has query: string, item: string and a has query: int64, item: int64"):
        store.add(tr.open_log(random_log(np.random.default_rng(1), text_ids=True), engine), "b")
    assert list(store.days) == ["a"]
    assert len(list(tmp_path.iterdir())) == 2


def test_what_a_killed_process_left_is_removed(days, tmp_path, engine):
    for left in (".2026-11-17.parquet", "2026-11-17.0123456789ab.parquet"):
        (tmp_path / left).write_bytes(b"half")
    store = tr.SessionStore(tmp_path, engine)
    assert store.days == {}
    day = store.add(tr.open_log(days["2026-11-17"], engine), "2026-11-17")
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([day.file, "manifest.json"])


def test_a_damaged_store_says_what_is_wrong(days, tmp_path, engine):
    store = tr.SessionStore(tmp_path, engine)
    with pytest.raises(InputError, match="has no days yet"):
        store.compact(LOOKS)
    file = tmp_path / store.add(tr.open_log(days["2026-11-17"], engine), "2026-11-17").file
    file.write_bytes(file.read_bytes()[:300])
    with pytest.raises(InputError, match=file.name):
        store.compact(LOOKS)
    file.unlink()
    with pytest.raises(FileFormatError, match=f"{file.name} is gone"):
        store.compact(LOOKS)
    manifest = tmp_path / "manifest.json"
    for text in ("{", "[]", json.dumps({"format": "x", "version": 9, "days": {}})):
        manifest.write_text(text)
        with pytest.raises(FileFormatError, match=r"manifest\.json"):
            _ = store.days


def test_files_of_the_user_are_left_alone(days, tmp_path, engine):
    kept = [tmp_path / name for name in ("2026-11-17.parquet", "raw.parquet")]
    for file in kept:
        pq.write_table(days["2026-11-17"], file)
    tr.SessionStore(tmp_path, engine).add(tr.open_log(kept[0], engine), "2026-11-17")
    assert all(file.exists() for file in kept)


def test_days_without_a_session_are_not_taken_for_one_read_twice(days, tmp_path, engine):
    store = tr.SessionStore(tmp_path, engine)
    for day, rows in days.items():
        store.add(tr.open_log(rows.slice(0, 0), engine), day)
    assert [day.sessions for day in store.days.values()] == [0, 0, 0]
    assert store.session_counts().n_sessions == 0


def test_a_day_that_could_never_be_compacted_is_refused(days, tmp_path, engine):
    rows = days["2026-11-17"]
    store = tr.SessionStore(tmp_path, engine)
    with pytest.raises(InputError, match="stands twice in a session"):
        store.add(tr.open_log(pa.concat_tables([rows, rows]), engine), "2026-11-17")
    assert store.days == {}


def test_names_and_choices_are_checked(days, tmp_path, engine):
    store, log = tr.SessionStore(tmp_path, engine), tr.open_log(days["2026-11-17"], engine)
    with pytest.raises(InputError, match=r"day is '\.\./a'"):
        store.add(log, "../a")
    with pytest.raises(InputError, match=r"day is datetime\.date"):
        store.add(log, datetime.date(2026, 11, 18))
    with pytest.raises(InputError, match="again is 'no'"):
        store.add(log, "a", again="no")
    with pytest.raises(InputError, match="portion is 0"):
        store.add(log, "a", portion=0)


def test_a_store_is_compacted_with_the_defaults_of_a_log():
    of_store, of_log = (inspect.signature(kind.compact).parameters for kind in (tr.SessionStore, tr.ClickLog))
    assert of_store == of_log


def test_only_one_process_adds_at_a_time(days, tmp_path, engine):
    from truerank.log.folders import hold

    held = hold(tmp_path)
    assert held is not None
    with pytest.raises(InputError, match="another process is adding"):
        tr.SessionStore(tmp_path, engine).add(tr.open_log(days["2026-11-17"], engine), "a")


def test_the_files_are_plain_parquet(days, tmp_path, engine):
    store = tr.SessionStore(tmp_path, engine)
    file = store.add(tr.open_log(days["2026-11-17"], engine), "2026-11-17").file
    row = pq.read_table(tmp_path / file).slice(0, 1).to_pylist()[0]
    assert row.keys() == {"query", "places", "items", "sessions"}
    assert len(row["places"]) == len(row["items"])

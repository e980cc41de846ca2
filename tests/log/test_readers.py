"""Logs are opened from files, frames and tables, whatever their columns are called."""

from __future__ import annotations

import os
from datetime import UTC, datetime

import duckdb
import ibis
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from impressions import WRITERS, random_log, rows_of, write_ndjson

import truerank as tr
from truerank.errors import InputError, ResourceError
from truerank.log.duckdb import connect
from truerank.log.sources import files_of

ROWS = pa.table(
    {
        "session": [1, 1, 2],
        "query": ["a", "a", "b"],
        "item": ["x", "y", "x"],
        "position": [1, 2, 1],
        "label": [0, 1, 0],
    }
)


def opened(columns, engine, how=None):
    return tr.open_log(pa.table(columns), engine, columns=how)


# what a log can be


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("text_ids", [False, True], ids=["number ids", "text ids"])
def test_files_of_every_kind_give_the_same_log(name, text_ids, tmp_path, rng, engine):
    table = random_log(rng, text_ids=text_ids, swaps=True)
    WRITERS[name](table, tmp_path / name)
    wanted = table.sort_by([("session", "ascending"), ("position", "ascending")]).to_pylist()
    found = rows_of(tr.open_log(tmp_path / name, engine))
    assert [r | {"swap": r["swap"] or ""} for r in found] == wanted


def test_a_folder_a_pattern_and_a_list_are_all_their_files(tmp_path, rng, engine):
    table = random_log(rng)
    (tmp_path / "day=1").mkdir()
    pq.write_table(table[:50], tmp_path / "day=1" / "a.parquet")
    pq.write_table(table[50:], tmp_path / "b.parquet")
    for ignored in ("_SUCCESS", ".b.parquet.crc", "notes.md"):
        (tmp_path / ignored).touch()
    whole = rows_of(tr.open_log(table, engine))
    for source in (tmp_path, f"{tmp_path}/**/*.parquet", [tmp_path / "b.parquet", tmp_path / "day=1"]):
        assert rows_of(tr.open_log(source, engine)) == whole


def test_a_file_named_twice_is_read_once(tmp_path):
    pq.write_table(ROWS, tmp_path / "a.parquet")
    assert files_of([tmp_path, tmp_path / "a.parquet"]) == [str(tmp_path / "a.parquet")]


@pytest.mark.parametrize("frame", [ROWS, ROWS.to_pandas(), pl.from_arrow(ROWS), ROWS.to_batches()[0]], ids=type)
def test_frames_are_logs(frame, engine):
    assert rows_of(tr.open_log(frame, engine)) == ROWS.to_pylist()


def test_a_table_stays_in_its_engine():
    backend = ibis.duckdb.connect()
    backend.con.register("impressions", ROWS)
    log = tr.open_log(backend.table("impressions"))
    assert log.engine.backend is backend
    assert rows_of(log) == ROWS.to_pylist()
    assert rows_of(tr.open_log(ibis.memtable(ROWS))) == ROWS.to_pylist()
    assert tr.open_log(ROWS, backend).position_counts().impressions.tolist() == [2, 1]


# what its columns can be


def test_columns_are_called_what_the_source_calls_them(engine):
    shown = ROWS.rename_columns(["request", "q", "sku", "rank", "event"])
    names = {"session": "request", "query": "q", "item": "sku", "position": "rank", "label": "event"}
    assert rows_of(tr.open_log(shown, engine, names)) == ROWS.to_pylist()


def test_events_are_graded_and_unknown_ones_are_no_label(engine):
    events = ["click", None, "purchase", "hover"]
    log = opened(
        {"session": [1, 1, 1, 1], "query": [1] * 4, "item": [1, 2, 3, 4], "position": [1, 2, 3, 4], "event": events},
        engine,
        {"label": {"from": "event", "grades": {"click": 1, "purchase": 3}}},
    )
    assert [row["label"] for row in rows_of(log)] == [1, 0, 3, None]


@pytest.mark.parametrize(
    ("values", "whole"),
    [
        (pa.array([1.0, 2.5, float("nan")]), [1, None, None]),
        (pa.array([1.0, float("inf"), 1e300]), [1, None, None]),
        (pa.array(["1", "2.0", "two"]), [1, 2, None]),
        (pa.array([True, False, None]), [1, 0, None]),
        (pa.array([1, 2, 3], type=pa.decimal128(20, 2)), [1, 2, 3]),
        (pa.array([1, 2, 3], type=pa.uint8()), [1, 2, 3]),
    ],
    ids=str,
)
def test_labels_that_are_no_whole_numbers_become_null(values, whole, engine):
    log = opened(ROWS.set_column(4, "label", values), engine)
    assert [row["label"] for row in rows_of(log)] == whole


def test_timestamps_are_read_from_text_dates_and_counts(engine):
    noon = datetime(2024, 12, 11, 4, 56, 49)
    for value, how in (
        ("2024-12-11T04:56:49Z", "time"),
        ("2024-12-11 04:56:49", "time"),
        ("2024-12-11T06:56:49+02:00", "time"),
        (1733893009, {"from": "time", "unit": "s"}),
        (1733893009000, {"from": "time", "unit": "ms"}),
        ("1733893009000", {"from": "time", "unit": "ms"}),
        (noon, "time"),
        (noon.replace(tzinfo=UTC), "time"),
    ):
        log = opened(ROWS.append_column("time", pa.array([value] * 3)), engine, {"timestamp": how})
        assert {row["timestamp"] for row in rows_of(log)} == {noon}, value


def test_a_bad_value_far_down_a_csv_file_is_null_and_not_the_end(tmp_path, engine):
    lines = ["session,query,item,position,label"] + [f"{k},1,2,1,0" for k in range(30_000)] + ["30000,1,2,first,yes"]
    (tmp_path / "log.csv").write_text("\n".join(lines))
    last = rows_of(tr.open_log(tmp_path / "log.csv", engine))[-1]
    assert (last["session"], last["position"], last["label"]) == (30_000, None, None)


def test_ids_stay_text_when_asked(tmp_path, engine):
    (tmp_path / "log.csv").write_text("session,query,item,position,label\n1,1,7.0,1,0\n1,1,7,2,0\n")
    assert [row["item"] for row in rows_of(tr.open_log(tmp_path / "log.csv", engine))] == [7, 7]
    log = tr.open_log(tmp_path / "log.csv", engine, {"item": {"as_text": True}})
    assert [row["item"] for row in rows_of(log)] == ["7.0", "7"]


def test_files_may_lack_columns_that_others_have(tmp_path, engine):
    pq.write_table(ROWS, tmp_path / "a.parquet")
    pq.write_table(ROWS.append_column("device", pa.array(["phone"] * 3)), tmp_path / "b.parquet")
    assert [row["device"] for row in rows_of(tr.open_log(tmp_path, engine))].count("phone") == 3


# what is refused


@pytest.mark.parametrize(
    ("columns", "how", "says"),
    [
        (ROWS.drop_columns("label"), None, "no column 'label'; there are session, query, .* Hint: columns="),
        (ROWS, {"label": "clicks"}, "no column 'clicks' for 'label'; there are session"),
        (ROWS, {"label": "lable"}, "Hint: did you mean 'label'"),
        (ROWS, {"sesion": "s"}, "'sesion', which is none of session, .* did you mean 'session'"),
        (ROWS, {"device": "device"}, "no column 'device'; there are"),
        (ROWS, {"label": 3}, r"columns\['label'\] is 3; it must be a name, or a mapping"),
        (ROWS, {"item": {"unit": "s"}}, "has 'unit'; it can have 'from', 'as_text'"),
        (ROWS, {"label": {"grades": {"click": 0.5}}}, "grades is .* whole number from 0"),
        (ROWS, {"timestamp": "position"}, "timestamp .column 'position'. holds numbers .* 'unit': 's'"),
        (ROWS, {"timestamp": {"from": "position", "unit": "days"}}, "unit is 'days'; it must be one of s, ms"),
        (ROWS.set_column(2, "item", pa.array([[1], [2], [3]])), None, "item is of type array<int64>; .* or text"),
        (ROWS.set_column(3, "position", pa.array([datetime.now()] * 3)), None, "position is of type timestamp"),
    ],
)  # fmt: skip
def test_columns_that_are_not_those_of_a_log_are_refused(columns, how, says, engine):
    with pytest.raises(InputError, match=says):
        tr.open_log(columns, engine, how)


def test_sources_that_are_no_logs_are_refused(tmp_path, engine):
    pq.write_table(ROWS, tmp_path / "clicks.parquet")
    (tmp_path / "folder").mkdir()
    (tmp_path / "clicks.xlsx").touch()
    for source, kind, says in (
        (tmp_path / "click.parquet", FileNotFoundError, r"does not exist. Hint: there is .*clicks.parquet"),
        (tmp_path / "folder", InputError, "folder .* has no files that end in .parquet"),
        (f"{tmp_path}/2024-*.parquet", InputError, "no file matches"),
        (tmp_path / "clicks.xlsx", InputError, "ends in '.xlsx'; logs end in .parquet"),
        ([], InputError, "list of files is empty"),
        (object(), InputError, "object, which Arrow cannot read"),
        (pl.from_arrow(ROWS).lazy(), InputError, "Hint: call .collect"),
    ):
        with pytest.raises(kind, match=says):
            tr.open_log(source, engine)
    (tmp_path / "clicks.csv").touch()
    (tmp_path / "clicks.xlsx").unlink()
    with pytest.raises(InputError, match=r"different formats: .*clicks\.csv and .*clicks\.parquet"):
        tr.open_log(tmp_path, engine)


def test_engines_that_are_none_are_refused(tmp_path):
    for settings, says in (
        ({"engine": "oracle"}, "engine is 'oracle'; it must be 'duckdb'"),
        ({"engine": connect(), "threads": 2}, "threads can be given only for an engine that is started here"),
        ({"memory_limit": "4 elephants"}, "memory_limit='4 elephants'.*elephants"),
        ({"threads": -1}, "threads=-1"),
        ({"temp_directory": tmp_path / "none"}, "temp_directory is .* must be a folder that is there"),
    ):
        with pytest.raises(InputError, match=says):
            tr.open_log(ROWS, **settings)


# files that cannot be read


@pytest.fixture
def good(tmp_path, rng):
    path = tmp_path / "good.parquet"
    pq.write_table(random_log(rng, 5_000), path, compression="snappy")
    return path


def test_a_truncated_file_is_named(good, tmp_path, engine):
    whole = good.read_bytes()
    (tmp_path / "half.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"half\.parquet"):
        tr.open_log(tmp_path, engine)


@pytest.mark.parametrize("content", [b"PK this is a zip file, not Parquet", b""], ids=["wrong magic", "empty"])
def test_a_file_of_another_kind_is_named(good, tmp_path, content, engine):
    (tmp_path / "other.parquet").write_bytes(content)
    with pytest.raises(InputError, match=r"other\.parquet"):
        tr.open_log(tmp_path, engine)


def test_a_damaged_page_is_found_when_it_is_read_and_its_file_named(good, tmp_path, engine):
    damaged = bytearray(good.read_bytes())
    damaged[100 : len(damaged) // 2] = bytes(len(damaged) // 2 - 100)
    (tmp_path / "damaged.parquet").write_bytes(damaged)
    log = tr.open_log(tmp_path, engine)
    with pytest.raises(InputError, match=r"damaged\.parquet"):
        log.summary()


def test_a_csv_file_that_is_none_is_named(tmp_path, engine):
    (tmp_path / "log.csv.gz").write_bytes(b"this is not gzip")
    with pytest.raises(InputError, match=r"log\.csv\.gz|GZIP"):
        tr.open_log(tmp_path / "log.csv.gz", engine)


def test_an_id_of_another_type_far_down_a_csv_file_is_named(tmp_path, engine):
    lines = ["session,query,item,position,label"] + [f"{k},1,2,1,0" for k in range(30_000)] + ["x,1,2,1,0"]
    (tmp_path / "log.csv").write_text("\n".join(lines))
    with pytest.raises(InputError, match=r"column \"session\".*log\.csv"):
        tr.open_log(tmp_path / "log.csv", engine).summary()


def test_json_that_is_none_is_named(tmp_path, engine):
    write_ndjson(ROWS.to_pylist(), tmp_path / "log.ndjson")
    with (tmp_path / "log.ndjson").open("a") as file:
        file.write('{"session": 1, "que')
    with pytest.raises(InputError, match=r"log\.ndjson"):
        tr.open_log(tmp_path / "log.ndjson", engine).summary()


# memory and disk


def test_an_engine_out_of_disk_says_so(tmp_path):
    engine = connect(memory_limit="40MB", threads=1, temp_directory=tmp_path)
    engine.backend.con.execute("SET max_temp_directory_size = '1MB'")
    many = ibis.range(3_000_000).unnest().name("n").as_table()
    with pytest.raises(
        ResourceError, match=r"Hint: raise memory_limit, give .* or set temp_directory to a larger disk"
    ):
        engine.collect(many.order_by(many.n.hash()).mutate(k=ibis.row_number()).aggregate(x=ibis._.k.max()))


def test_what_was_spilled_is_gone_with_the_engine_and_that_of_killed_ones_with_the_next(tmp_path):
    killed = tmp_path / "truerank-spill-killed"
    killed.mkdir()
    (killed / "duckdb_temp_storage-0.tmp").write_bytes(b"left behind")
    engine = connect(temp_directory=tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == [os.path.basename(engine.backend.con.execute(
        "SELECT current_setting('temp_directory')"
    ).fetchone()[0])]  # fmt: skip
    second = connect(temp_directory=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2  # the first still lives
    del engine, second
    assert list(tmp_path.iterdir()) == []


def test_other_errors_of_the_engine_keep_their_cause(engine):
    with pytest.raises(InputError) as caught:
        engine.collect(ibis.memtable(ROWS).mutate(b=ibis._.item.cast("int64")))
    assert isinstance(caught.value.__cause__, duckdb.Error)

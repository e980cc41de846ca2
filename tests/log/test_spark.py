"""Spark gives what DuckDB gives, by the same expressions."""

from __future__ import annotations

import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dirty import random_dirty_log
from impressions import random_log, rows_of
from test_compaction import LOOKS, assert_same_bits, every_session

import truerank as tr
from truerank.errors import InputError


@pytest.fixture(scope="module")
def spark():
    """One Spark for all tests: it takes seconds to start."""
    pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, and there is no `java`")
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",  # compiling takes longer than these logs
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
    }
    builder = pyspark.sql.SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="module")
def table():
    return random_log(np.random.default_rng(3), 40, text_ids=True, swaps=True)


@pytest.fixture(scope="module")
def both(spark, table, tmp_path_factory):
    """One log of several files, on both engines."""
    folder = tmp_path_factory.mktemp("log")
    for part in range(2):
        pq.write_table(table.slice(part * 70, 70 if part == 0 else None), folder / f"{part}.parquet")
    return tr.open_log(folder, spark), tr.open_log(folder)


def test_weighted_pairs_are_the_same(both):
    on_spark, on_duckdb = both[0].compact(LOOKS, "complete", portion=80), both[1].compact(LOOKS, "complete")
    assert_same_bits(on_spark, on_duckdb)


def test_sessions_that_differ_in_anything_are_never_taken_for_equal(spark):
    items, labels = (rows[:1_100] for rows in every_session())
    columns = {"item": items.ravel(), "position": np.tile(np.arange(1, 7), len(items)), "label": labels.ravel()}
    log = pa.table({"session": np.repeat(np.arange(len(items)), 6), "query": np.ones(items.size, int), **columns})
    assert len(tr.open_log(log, spark).session_counts().group) == len(items)


def test_counts_are_the_same(both):
    for count in ("position_counts", "item_position_counts", "swap_arms", "session_counts"):
        on_spark, on_duckdb = (getattr(log, count)() for log in both)
        for name in on_duckdb.__dataclass_fields__:
            np.testing.assert_array_equal(getattr(on_spark, name), getattr(on_duckdb, name), err_msg=f"{count}.{name}")


def test_the_summary_is_the_same(both):
    on_spark, on_duckdb = (log.summary() for log in both)
    assert on_spark.to_dict() == on_duckdb.to_dict()


def test_a_dirty_log_has_the_same_problems_and_repairs(spark):
    """NaN is left out: Ibis takes it to be missing on Spark, and to be no whole number on DuckDB."""
    rows = random_dirty_log(np.random.default_rng(1), 100)
    rows = rows.filter(~np.isnan(rows["label"].fill_null(0).to_numpy()))
    logs = tr.open_log(rows, spark), tr.open_log(rows)
    on_spark, on_duckdb = ({p.rule: (p.rows, p.sessions) for p in log.validate(examples=0).problems} for log in logs)
    assert on_spark == on_duckdb
    mends = {"drop_missing_ids": True, "bad_positions": "drop", "bad_labels": "zero", "several_queries": "drop"}
    on_spark, on_duckdb = (str(log.repair(**mends).repairs) for log in logs)
    assert on_spark == on_duckdb


def test_csv_files_are_read(spark, table, tmp_path):
    import pyarrow.csv

    pyarrow.csv.write_csv(table, tmp_path / "log.csv")
    assert rows_of(tr.open_log(tmp_path / "log.csv", spark)) == rows_of(tr.open_log(tmp_path / "log.csv"))


def test_a_log_is_saved_to_one_file(both, tmp_path):
    saved = both[0].save(tmp_path / "log.parquet")
    assert rows_of(saved) == rows_of(both[1]) == rows_of(tr.open_log(tmp_path / "log.parquet"))


def test_a_damaged_file_is_named(spark, table, tmp_path):
    pq.write_table(table, tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:500])
    with pytest.raises(InputError, match=r"b\.parquet"):
        tr.open_log(tmp_path, spark).position_counts()


def test_an_engine_that_runs_takes_no_limits(spark):
    with pytest.raises(InputError, match="memory_limit can be given only"):
        tr.open_log(pa.table({}), "spark", memory_limit="1GB")

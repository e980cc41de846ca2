"""Logs are kept as one Parquet file."""

from __future__ import annotations

import numpy as np
import pytest
from dirty import random_dirty_log
from impressions import random_log, rows_of

import truerank as tr
from truerank.errors import InputError


def test_a_saved_log_is_the_same_log(tmp_path, engine, rng):
    log = tr.open_log(random_log(rng, swaps=True), engine)
    saved = log.save(tmp_path / "log.parquet")
    assert rows_of(saved) == rows_of(log) == rows_of(tr.open_log(tmp_path / "log.parquet"))
    np.testing.assert_array_equal(saved.position_counts().clicks, log.position_counts().clicks)


def test_what_is_wrong_is_saved_as_it_was(tmp_path, engine, rng):
    log = tr.open_log(random_dirty_log(rng), engine)
    wrong = {p.rule: p.rows for p in log.validate().problems}
    assert {p.rule: p.rows for p in log.save(tmp_path / "a.parquet").validate().problems} == wrong | {
        "several_files": 0
    }


def test_a_repaired_log_can_be_saved_over_another(tmp_path, engine, rng):
    path = tmp_path / "a.parquet"
    log = tr.open_log(random_dirty_log(rng), engine).save(path)
    mended = log.repair(drop_missing_ids=True)
    rows = len(rows_of(mended))
    assert len(rows_of(mended.save(path))) == rows
    assert list(tmp_path.iterdir()) == [path]


def test_a_log_that_cannot_be_saved_leaves_nothing(tmp_path, engine):
    (tmp_path / "log.csv").write_text("session,query,item,position,label\n" + "1,1,1,1,0\n" * 30_000 + "x,1,1,1,0\n")
    with pytest.raises(InputError, match=r"log\.csv"):
        tr.open_log(tmp_path / "log.csv", engine).save(tmp_path / "log.parquet")
    assert [p.name for p in tmp_path.iterdir()] == ["log.csv"]
    with pytest.raises(InputError, match=r"must end in \.parquet"):
        tr.open_log(tmp_path / "log.csv", engine).save(tmp_path / "log.csv")

"""Logs are opened from files and frames."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import truerank as tr
from truerank.errors import InputError

ROWS = pa.table(
    {
        "session": [1, 1, 2],
        "query": ["a", "a", "b"],
        "item": ["x", "y", "x"],
        "position": [1, 2, 1],
        "label": [0, 1, 0],
    }
)


def test_a_log_is_read_from_a_file_a_folder_a_pattern_a_list_and_a_frame(tmp_path):
    path = tmp_path / "day.parquet"
    pq.write_table(ROWS, path)
    for source in (path, tmp_path, str(tmp_path / "*.parquet"), [path], ROWS, ROWS.to_pandas()):
        log = tr.open_log(source, threads=1)
        assert log.engine.collect(log.table.order_by("session", "position")).to_pylist() == ROWS.to_pylist()


def test_a_missing_column_is_named():
    with pytest.raises(InputError, match="there is no column 'label' for label; there are session, query"):
        tr.open_log(ROWS.drop_columns("label"))

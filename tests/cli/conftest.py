from __future__ import annotations

import dataclasses
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from truerank.cli.app import main


@dataclasses.dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys):
    """Run `truerank` with these arguments in this process."""

    def run_command(*arguments):
        before = sys.excepthook
        try:
            with pytest.raises(SystemExit) as stop:
                main([str(argument) for argument in arguments])
        finally:
            sys.excepthook = before
        printed = capsys.readouterr()
        return Answer(stop.value.code or 0, printed.out, printed.err)

    return run_command


@pytest.fixture
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def small_log(in_folder):
    """A log of three sessions."""
    columns = {
        "session": [1, 1, 2, 2, 3, 3],
        "query": [1, 1, 1, 1, 2, 2],
        "item": [1, 2, 1, 2, 1, 2],
        "position": [1, 2, 2, 1, 1, 2],
        "label": [1, 0, 0, 1, 0, 0],
    }
    pq.write_table(pa.table(columns), "clicks.parquet")
    return in_folder / "clicks.parquet"

from __future__ import annotations

import dataclasses
import sys

import numpy as np
import pytest

import truerank as tr
from truerank.cli.app import main
from truerank.types import JudgedLists

N_LISTS, LENGTH = 150, 6


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


@pytest.fixture(scope="session")
def judged_lists():
    """Lists in a poor order: the first feature says what is relevant, the order hardly follows it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_LISTS * LENGTH, 4)).astype(np.float32)
    labels = np.clip(np.round(1 + 1.5 * X[:, 0] + rng.normal(size=len(X))), 0, 4).astype(np.int32)
    order = np.lexsort((-0.3 * X[:, 0] - rng.normal(size=len(X)), np.repeat(np.arange(N_LISTS), LENGTH)))
    return JudgedLists(X[order], labels[order], np.full(N_LISTS, LENGTH), np.arange(N_LISTS))


@pytest.fixture
def judged(in_folder, judged_lists):
    """Judged lists in a file."""
    tr.write_svmlight(judged_lists, "judged.txt")
    return in_folder / "judged.txt"


@pytest.fixture
def log(in_folder, judged_lists):
    """A log of these lists with a swap experiment, and their features."""
    people = tr.Continuous(tr.inverse_rank(LENGTH))
    swap = tr.SwapExperiment(range(2, LENGTH + 1), share=0.5)
    tr.simulate_log(judged_lists, people, "clicks.parquet", 60, require_click=False, swap=swap)
    tr.write_features(judged_lists, "items.parquet")
    return in_folder / "clicks.parquet"

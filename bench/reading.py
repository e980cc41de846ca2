"""Reading LETOR text: speed and memory, against scikit-learn."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import truerank as tr
from bench.measure import MEGABYTE, Cost, in_own_process

LISTS = 1_500
ROUNDS = 3


def main(_seeds: int) -> None:
    """One file in the shape of Yahoo's set 1, plain and compressed; each reader in a process of its own, in turns."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "lists.txt")
        lists = tr.generate_dataset("web", (LISTS, 1, 1)).train
        for ending in ("", ".gz", ".zst"):
            tr.write_svmlight(lists, f"{file}{ending}")
        megabytes = file.stat().st_size / MEGABYTE
        _kept(str(file))
        contenders = _contenders(file)
        costs: dict[str, list[Cost]] = {name: [] for name in contenders}
        for _ in range(ROUNDS):
            for name, (read, source) in contenders.items():
                costs[name].append(in_own_process(read, _checksum, partial(_warm_up, read), str, str(source)))
        _print(costs, megabytes, lists.n_rows)
        if len({cost.result for of_one in costs.values() for cost in of_one}) != 1:
            raise RuntimeError("the readers disagree about what is in the file")


def _contenders(file: Path) -> dict[str, tuple[Callable[[str], Any], Path | str]]:
    return {
        "scikit-learn, load_svmlight_file": (_scikit_learn, file),
        "truerank, dense": (_dense, file),
        "truerank, CSR": (_csr, file),
        "truerank, dense, from .gz": (_dense, f"{file}.gz"),
        "truerank, dense, from .zst": (_dense, f"{file}.zst"),
        "truerank, dense, kept from before": (_kept, file),
    }


def _scikit_learn(path: str) -> Any:
    from sklearn.datasets import load_svmlight_file

    return load_svmlight_file(path, dtype=np.float32, query_id=True)[:2]


def _dense(path: str) -> Any:
    lists = tr.read_svmlight(path, dense=True)
    return lists.X, lists.labels


def _csr(path: str) -> Any:
    lists = tr.read_svmlight(path, dense=False)
    return lists.X, lists.labels


def _kept(path: str) -> Any:
    lists = tr.read_svmlight(path, dense=True, cache=str(Path(path).parent / "kept"))
    return lists.X, lists.labels


def _warm_up(read: Callable[[str], Any]) -> None:
    """Import and compile what the reader needs."""
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder, "small.txt")
        small.write_text("1 qid:1 1:0.5 3:1\n0 qid:1 2:0.25\n")
        read(str(small))


def _checksum(result: Any) -> tuple[float, int]:
    X, labels = result
    return round(float(X.sum(dtype=np.float64)), 3), int(np.sum(labels))


def _print(costs: dict[str, list[Cost]], megabytes: float, rows: int) -> None:
    middle = {name: statistics.median(cost.seconds for cost in of_one) for name, of_one in costs.items()}
    peer = next(iter(middle))
    print(f"{rows:,} documents in {megabytes:.0f} MB of text, median of {ROUNDS} (target: 3 × scikit-learn)")
    print(f"{'':<36}{'MB/s':>8}{'× speed':>10}{'peak MB':>10}{'per MB of text':>16}")
    for name, took in middle.items():
        peak = max(cost.megabytes for cost in costs[name])
        print(
            f"{name:<36}{megabytes / took:>8.0f}{middle[peer] / took:>10.1f}{peak:>10.0f}{peak / megabytes:>16.2f}",
            flush=True,
        )

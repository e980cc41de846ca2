"""From a click log on disk to weighted pairs: impressions a second and memory, by engine and memory limit.

100 million impressions in Parquet: ten million sessions of ten items over 100,000 lists, in the order in which they
come, that is, mixed. `TRUERANK_BENCH_SESSIONS` makes it another number.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

import truerank as tr
from bench.measure import MEGABYTE, PeakMemory

SESSIONS = int(os.environ.get("TRUERANK_BENCH_SESSIONS", 10_000_000))
ITEMS, PER_LIST, PORTION = 10, 100, 200_000
LOOKS = tr.Continuous(tr.inverse_rank(ITEMS))


@dataclass(frozen=True)
class Run:
    """One way to compact a log: the engine, its memory, and what part of the log."""

    name: str
    engine: str = "duckdb"
    memory: str | None = None
    share: int = 1


RUNS = (
    Run("DuckDB, 4 GB", memory="4GB"),
    Run("DuckDB, 1 GB", memory="1GB"),
    Run("DuckDB, 300 MB", memory="300MB"),
    Run("DuckDB, 4 GB, 1/10 of it", memory="4GB", share=10),
    Run("Spark, 1/10 of it", engine="spark", share=10),
)


def main(_seeds: int) -> None:
    """Write logs of stable and of volatile rankings, compact them in processes of their own, and delete them."""
    folder = Path(tempfile.mkdtemp(prefix="truerank-bench-", dir="/var/tmp"))
    try:
        for name, volatile in (("stable", 0.0), ("volatile", 1.0)):
            began = time.perf_counter()
            write_log(folder / name, volatile)
            size = sum(file.stat().st_size for file in (folder / name).iterdir())
            print(
                f"{SESSIONS * ITEMS:,} impressions, {name} rankings, {SESSIONS // PER_LIST:,} lists, "
                f"{size / 1e9:.1f} GB (written in {time.perf_counter() - began:.0f} s)"
            )
            print(
                f"{'':<28}{'s':>8}{'M rows/s':>12}{'M rows/s a core':>18}{'pairs':>14}{'peak MB':>10}{'MB spilled':>12}"
            )
            for run in RUNS:
                if run.engine == "duckdb" or shutil.which("java"):
                    report(run, in_new_process(run, folder / name))
    finally:
        shutil.rmtree(folder)


def write_log(folder: Path, volatile: float) -> None:
    """Ten files of sessions in random order; each shows its list as ranked, or as re-ranked by a noisy score."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    grades = rng.choice(5, SESSIONS // PER_LIST * ITEMS, p=[0.5, 0.3, 0.13, 0.05, 0.02])
    order = rng.permutation(np.repeat(np.arange(SESSIONS // PER_LIST), PER_LIST))
    for part, some in enumerate(np.array_split(order, 10)):
        path, writer = folder / f"{part}.parquet", None
        for start in range(0, len(some), PORTION):
            lists = some[start : start + PORTION]
            rows = lists[:, None] * ITEMS + np.arange(ITEMS)
            if volatile:
                score = np.arange(ITEMS) + volatile * rng.normal(size=rows.shape)
                rows = np.take_along_axis(rows, np.argsort(score, axis=1), axis=1)
            table = session_rows(part * len(order) + start, lists, rows, grades, int(rng.integers(2**31)))
            writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
            writer.write_table(table, row_group_size=1_000_000)
        if writer is not None:
            writer.close()


def session_rows(first: int, lists: Any, rows: Any, grades: Any, seed: int) -> pa.Table:
    shown = tr.simulate_clicks(
        grades[rows.ravel()],
        LOOKS,
        1,
        seed,
        group=np.full(len(lists), ITEMS),
        require_click=False,
        drop_irrelevant=False,
        max_grade=4,
        noise=0.1,
    )
    return pa.table(
        {
            "session": np.repeat(np.arange(first, first + len(lists)), ITEMS),
            "query": np.repeat(lists, ITEMS),
            "item": rows.ravel(),
            "position": shown.positions.astype(np.int32),
            "label": shown.clicks.astype(np.int32),
        }
    )


def in_new_process(run: Run, folder: Path) -> dict[str, float]:
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_compact, args=(sender, run, str(folder)))
    process.start()
    sender.close()
    try:
        return receiver.recv()  # type: ignore[no-any-return]
    except EOFError:
        raise RuntimeError(f"{run.name} died without an answer") from None
    finally:
        process.join()


def _compact(sender: Any, run: Run, folder: str) -> None:
    one_session = session_rows(0, np.array([0]), np.arange(ITEMS)[None], np.full(ITEMS, 4), 0)
    tr.open_log(one_session).compact(LOOKS)  # compiles the kernels
    files = sorted(Path(folder).iterdir())[: 10 // run.share]
    spill = Path(tempfile.mkdtemp(dir="/var/tmp"))
    settings: dict[str, Any] = {"memory_limit": run.memory} if run.memory else {}
    log = tr.open_log([*files], run.engine, temp_directory=spill, **settings)
    with PeakMemory() as memory, Spilled(spill) as spilled:
        began, worked = time.perf_counter(), cpu_seconds()
        pairs = log.compact(LOOKS)
        seconds = time.perf_counter() - began
        on_cores = cpu_seconds() - worked
    java = sum(p.memory_info().rss for p in psutil.Process().children(recursive=True)) / MEGABYTE
    sender.send({
        "seconds": seconds, "cpu": on_cores, "impressions": int(pairs.sessions.sum()) * ITEMS, "pairs": pairs.n_pairs,
        "megabytes": memory.megabytes + java, "spilled": spilled.megabytes,
    })  # fmt: skip
    shutil.rmtree(spill, ignore_errors=True)


def cpu_seconds() -> float:
    """Of this process and those that it started: what it costs, however busy the machine is."""
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    return sum(times.user + times.system for times in (process.cpu_times() for process in processes))


class Spilled:
    """The most that a folder held inside the block, looked at ten times a second."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.megabytes = folder, 0.0

    def __enter__(self) -> Spilled:
        import threading

        self._done = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._watcher.join()

    def _watch(self) -> None:
        while not self._done.wait(0.1):
            total = 0
            for file in self._folder.rglob("*"):
                try:
                    total += file.stat().st_size
                except OSError:
                    continue
            self.megabytes = max(self.megabytes, total / MEGABYTE)


def report(run: Run, found: dict[str, float]) -> None:
    speed, a_core = (found["impressions"] / found[name] / 1e6 for name in ("seconds", "cpu"))
    print(
        f"{run.name:<28}{found['seconds']:>8.1f}{speed:>12.1f}{a_core:>18.1f}{found['pairs']:>14,.0f}"
        f"{found['megabytes']:>10,.0f}{found['spilled']:>12,.0f}",
        flush=True,
    )

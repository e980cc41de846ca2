"""Simulated click logs: ten million sessions of ten items, in memory and streamed to Parquet."""

from __future__ import annotations

import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import truerank as tr
from bench.data import LABEL_SHARES
from bench.measure import MEGABYTE, Cost, in_own_process
from truerank.types import ClickSessions

LISTS, ITEMS, PER_LIST = 20_000, 10, 500
ROUNDS = 3
MODELS = {
    "independent": tr.Independent(tr.inverse_rank(ITEMS)),
    "continuous": tr.Continuous(tr.inverse_rank(ITEMS)),
    "row skipping": tr.RowSkipping(0.3, 0.9, [4, 4, 2]),
}
SCENARIOS = (("independent", True), ("continuous", False), ("continuous", True), ("row skipping", False))


@dataclass(frozen=True)
class Task:
    """What to simulate."""

    model: str
    require_click: bool
    path: str
    labels: np.ndarray
    per_list: int = PER_LIST

    @property
    def arguments(self) -> dict:
        group = np.full(len(self.labels) // ITEMS, ITEMS)
        return {"sessions_per_list": self.per_list, "group": group, "require_click": self.require_click}


def main(_seeds: int) -> None:
    """Every session kept, or each with a click; each run in a process of its own."""
    print(
        f"{LISTS * PER_LIST:,} sessions of {ITEMS} items, median of {ROUNDS} (target: 10 s)\n"
        f"{'people':<14}{'sessions':<14}{'in memory, s':>13}{'peak MB':>9}{'to Parquet, s':>15}{'peak MB':>9}{'MB':>7}"
    )
    for model, require_click in SCENARIOS:
        with tempfile.TemporaryDirectory() as folder:
            task = (model, require_click, str(Path(folder, "log.parquet")))
            held = [in_own_process(_in_memory, _clicks, _warm_up, _task, *task) for _ in range(ROUNDS)]
            written = [in_own_process(_to_parquet, _clicks_in_file, _warm_up, _task, *task) for _ in range(ROUNDS)]
            size = Path(folder, "log.parquet").stat().st_size / MEGABYTE
        if len({cost.result for cost in held + written}) != 1:
            raise RuntimeError("what is in memory and what is in the file differ")
        print(
            f"{model:<14}{'with a click' if require_click else 'all':<14}{_seconds(held):>13.1f}{_peak(held):>9.0f}"
            f"{_seconds(written):>15.1f}{_peak(written):>9.0f}{size:>7.0f}",
            flush=True,
        )


def _task(model: str, require_click: bool, path: str) -> Task:
    labels = np.random.default_rng(0).choice(len(LABEL_SHARES), p=LABEL_SHARES, size=(LISTS, ITEMS))
    labels[:, -1] = np.maximum(labels[:, -1], 1)  # so that no list is dropped
    return Task(model, require_click, path, labels.ravel())


def _in_memory(task: Task) -> ClickSessions:
    return tr.simulate_clicks(task.labels, MODELS[task.model], **task.arguments)


def _to_parquet(task: Task) -> str:
    tr.simulate_log(task.labels, MODELS[task.model], task.path, **task.arguments)
    return task.path


def _warm_up() -> None:
    """Import and compile."""
    with tempfile.TemporaryDirectory() as folder:
        for model in MODELS:
            task = Task(model, True, str(Path(folder, "log.parquet")), np.ones(ITEMS, dtype=np.int64), 2)
            _in_memory(task)
            _to_parquet(task)


def _clicks(sessions: ClickSessions) -> int:
    return int(sessions.clicks.sum(dtype=np.int64))


def _clicks_in_file(path: str) -> int:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        return sum(int(batch["label"].to_numpy().sum(dtype=np.int64)) for batch in file.iter_batches(columns=["label"]))


def _seconds(costs: list[Cost]) -> float:
    return statistics.median(cost.seconds for cost in costs)


def _peak(costs: list[Cost]) -> float:
    return max(cost.megabytes for cost in costs)

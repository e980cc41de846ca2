"""Cells trained in processes of their own, which end when whoever started them does, however that is."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from truerank.errors import ResourceError
from truerank.experiment.cells import Cell, Trained, Workshop
from truerank.experiment.config import Config
from truerank.experiment.prepared import Prepared, load_in_worker, save_for_workers

_workshop: Workshop


def train_in_workers(
    config: Config, prepared: Prepared, cells: Sequence[Cell], jobs: int, threads: int
) -> Iterator[tuple[Cell, Trained]]:
    """Train cells `jobs` at a time, each as they get done."""
    save_for_workers(prepared)
    spawn = multiprocessing.get_context("spawn")  # a fork could not use the threads of LightGBM
    reader, writer = spawn.Pipe(duplex=False)
    given = (config, prepared.folder, prepared.hash, threads, reader)
    with ProcessPoolExecutor(jobs, spawn, initializer=_open_workshop, initargs=given) as pool:
        try:
            waiting = {pool.submit(_train, cell): cell for cell in cells}
            for done in as_completed(waiting):
                yield waiting[done], done.result()
        except BrokenProcessPool:
            raise ResourceError(
                "a process that trained a model ended all at once, perhaps for want of memory. What was finished is "
                "kept. Hint: run it again with fewer jobs"
            ) from None
        except BaseException:
            writer.close()
            raise
    writer.close()


def _open_workshop(config: Config, folder: Path, data_hash: str, threads: int, lifeline: Any) -> None:
    global _workshop
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits for us
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()
    _workshop = Workshop(config, load_in_worker(folder, data_hash), threads)


def _end_with(lifeline: Any) -> None:
    """End this process when the other end of the pipe closes, as it does however its holder ends."""
    try:
        lifeline.recv()
    except (EOFError, OSError):
        os._exit(1)


def _train(cell: Cell) -> Trained:
    return _workshop.train(cell)

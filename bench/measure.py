"""Run one contender in a process of its own and see what it takes."""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import pickle
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psutil

MEGABYTE = 1e6


@dataclass(frozen=True)
class Cost:
    """Seconds, and the peak memory above what the process held when the work began."""

    seconds: float
    megabytes: float
    result: Any


def in_own_process(
    work: Callable[[Any], Any],
    finish: Callable[[Any], Any],
    warm_up: Callable[[], Any],
    prepare: Callable[..., Any],
    *args: Any,
) -> Cost:
    """`finish(work(prepare(*args)))` in a fresh, warmed-up process.

    Time is that of `work`; memory counts what `prepare` hands over as well.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(sender, work, finish, warm_up, prepare, args))
    process.start()
    sender.close()
    try:
        cost: Cost = receiver.recv()
    except EOFError:
        raise RuntimeError(f"{work.__name__} died without an answer") from None
    finally:
        process.join()
    return cost


def seconds(work: Callable[[], Any], repeats: int = 3) -> float:
    """The best of some runs, after one to warm up."""
    work()
    return min(_timed(work) for _ in range(repeats))


def _timed(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _child(
    sender: Any,
    work: Callable[[Any], Any],
    finish: Callable[[Any], Any],
    warm_up: Callable[[], Any],
    prepare: Callable[..., Any],
    args: tuple[Any, ...],
) -> None:
    warm_up()
    with tempfile.TemporaryFile() as file:
        pickle.dump(prepare(*args), file, protocol=5)
        file.seek(0)
        gc.collect()
        trim_memory()
        with PeakMemory() as memory:
            data = pickle.load(file)
            began = time.perf_counter()
            result = work(data)
            took = time.perf_counter() - began
    sender.send(Cost(took, memory.megabytes, finish(result)))


def trim_memory() -> None:
    """Give freed memory back to the system, so that what comes next is seen to grow."""
    if sys.platform == "linux":
        ctypes.CDLL("libc.so.6").malloc_trim(0)


class PeakMemory:
    """The highest resident memory inside the block, above that at its start, looked at every five milliseconds."""

    def __enter__(self) -> PeakMemory:
        self._process = psutil.Process()
        self._before = self._peak = self._process.memory_info().rss
        self._done = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._watcher.join()

    @property
    def megabytes(self) -> float:
        return (self._peak - self._before) / MEGABYTE

    def _watch(self) -> None:
        while not self._done.wait(0.005):
            self._peak = max(self._peak, self._process.memory_info().rss)

"""What verbs print: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from truerank.errors import TruerankWarning

_PATIENCE = 2.0
"""Seconds of work before a progress bar appears."""

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]


def show(result: Any, text: str, as_json: bool) -> None:
    """Print a result: as text for people, or as one JSON document."""
    typer.echo(json.dumps(result, ensure_ascii=False, allow_nan=False, indent=1) if as_json else text)


def say(message: str) -> None:
    """Tell a person something that is not the result."""
    typer.echo(message, err=True)


def fail(message: str) -> None:
    """Print one line about what went wrong."""
    typer.echo(typer.style("error: ", fg="red", bold=True) + message, err=True)


def show_warning(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    """Show truerank's own warnings, and what users should know of other packages, as a line."""
    if issubclass(category, TruerankWarning | UserWarning):
        typer.echo(typer.style("warning: ", fg="yellow", bold=True) + " ".join(str(message).split()), err=True)


@contextmanager
def progress(
    task: str, patience: float = _PATIENCE, clock: Callable[[], float] = time.monotonic
) -> Iterator[Callable[..., None]]:
    """Hand out a function progress(done, total); past some seconds of work it draws a bar with the time left.

    A third argument names the stage, where there are several; each has a bar of its own. A fourth says what was done
    last.

    Nothing is drawn where standard error is not a terminal.
    """
    if not sys.stderr.isatty():
        yield lambda done, total, stage=task, last="": None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
    bar = Progress(
        *(*columns, TimeRemainingColumn(), TextColumn("{task.fields[last]}", markup=False)),
        console=Console(stderr=True),
        transient=True,
        get_time=clock,
        speed_estimate_period=math.inf,  # by itself rich looks back half a minute, and one model may take longer
    )
    numbers = {task: bar.add_task(task, total=None, last="")}
    totals: dict[str, float] = {}
    start = clock()

    def update(done: float, total: float, stage: str = task, last: str = "") -> None:
        if stage not in numbers:
            for number in numbers.values():
                bar.update(number, visible=False)
            numbers[stage] = bar.add_task(stage, total=None, last="")
        bar.update(numbers[stage], completed=done, total=total, last=last)
        if totals.get(stage) != total:
            totals[stage] = total
            bar.advance(numbers[stage], 0)  # the time is taken from here, not from the end of the first step
        if not bar.live.is_started and clock() - start >= patience:
            bar.start()

    try:
        yield update
    finally:
        bar.stop()

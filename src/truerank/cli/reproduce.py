"""`truerank reproduce`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from truerank.cli.choices import Format
from truerank.cli.console import AsJson, progress, say, show


def reproduce(
    config: Annotated[Path, typer.Argument(help="The experiment: a TOML file; what it leaves out is as in the paper.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder for scores and tables; goes on where it was.")],
    jobs: Annotated[int, typer.Option(min=1, help="How many models are trained at a time.")] = 1,
    form: Annotated[Format, typer.Option("--format", help="The form of the tables that are printed.")] = "text",
    as_json: AsJson = False,
) -> None:
    """Run the paper's experiment: simulated clicks, every method, Tables 1 and 2.

    It can be stopped at any time: run again, it goes on where it was, to the same tables.

    ```sh
    truerank reproduce experiment.toml --out results --jobs 2
    ```
    """
    from truerank.experiment.reproduce import reproduce as run

    with progress("training", patience=0) as tick:  # preparing alone can take minutes
        lines = _Lines()

        def tell(done: float, total: float, what: str) -> None:
            tick(done, total, last=what)
            if not sys.stderr.isatty():
                lines(done, total, what)

        found = run(config, out, jobs=jobs, progress=tell)
    show(found.to_rows(), found.tables(form), as_json)


class _Lines:
    """Progress where there is no terminal: a line for each model, with the time left."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._total: float | None = None

    def __call__(self, done: float, total: float, what: str) -> None:
        now = self._clock()
        if total != self._total:
            self._total, self._began, self._before = total, now, done
            say(what)
            return
        left = (total - done) * (now - self._began) / (done - self._before)
        say(f"{done / total:4.0%}  {what}; {left / 60:.0f} min left")

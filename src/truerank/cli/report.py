"""`truerank report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from truerank.cli.console import AsJson, show
from truerank.errors import InputError


def report(
    data: Annotated[Path | None, typer.Argument(help="What a demo saved, .json.")] = None,
    log: Annotated[str | None, typer.Option(help="Or a click log: a file, a folder, or a pattern in quotes.")] = None,
    examination: Annotated[
        Path | None, typer.Option(help="How people look at that log: what `truerank estimate --out` saved.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the page goes.")] = Path("report.html"),
    as_json: AsJson = False,
) -> None:
    """Write what a run found, or what a click log tells, as one HTML page with charts that needs no network.

    ```sh
    truerank report --log clicks.parquet --examination exam.json -o log.html
    ```
    """
    from truerank.experiment.log_report import report_on_log
    from truerank.log import open_log
    from truerank.propensity import load_estimate
    from truerank.report import Report

    if (data is None) == (log is None) or (examination is not None and log is None):
        raise InputError("give what a demo saved, or --log with or without --examination. Hint: truerank report --help")
    if log is not None:
        found = report_on_log(open_log(log), None if examination is None else load_estimate(examination))
    else:
        found = Report.load(data or Path())
    found.to_html(out)
    show({"report": str(out)}, f"wrote {out}", as_json)

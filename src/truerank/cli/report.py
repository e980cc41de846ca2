"""`truerank report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from truerank.cli.console import AsJson, show


def report(
    data: Annotated[Path, typer.Argument(help="What a demo or an experiment saved, .json.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the page goes.")] = Path("report.html"),
    as_json: AsJson = False,
) -> None:
    """Write what a run found as one HTML page with charts; it needs no network, and looks well in print.

    ```sh
    truerank report truerank-demo/report.json -o report.html
    ```
    """
    from truerank.report import Report

    Report.load(data).to_html(out)
    show({"report": str(out)}, f"wrote {out}", as_json)

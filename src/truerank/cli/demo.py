"""`truerank demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from truerank.cli.console import AsJson, say, show


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder for the report.")] = Path("truerank-demo"),
    seed: Annotated[int, typer.Option(min=0, help="The same seed tells the same story.")] = 0,
    quick: Annotated[
        bool, typer.Option("--quick", help="On a tenth of the data, to see it run; its figures mean little.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """See the bias, and see it go: simulated people, rankers trained on their clicks, and a report with charts.

    ```sh
    truerank demo --quick
    ```
    """
    from truerank.experiment.demo import run_demo

    found = run_demo(seed, quick=quick, say=say if as_json else typer.echo)
    out.mkdir(parents=True, exist_ok=True)
    page, data = out / "report.html", out / "report.json"
    found.save(data)
    found.to_html(page)
    gaps = {study.name: {f"{g.model}, {g.metric}": g.share for g in study.gaps} for study in found.studies}
    show({"report": str(page), "data": str(data), "gap_closed": gaps}, f"\nThe report: {page.absolute()}", as_json)

"""`truerank estimate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from truerank.cli.choices import Browsing, Estimator
from truerank.cli.console import AsJson, show
from truerank.errors import InputError


def estimate(
    log: Annotated[str, typer.Argument(help="The click log: a file, a folder, or a pattern in quotes.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Save the estimate here, .json, to train with.")
    ] = None,
    by: Annotated[
        Estimator,
        typer.Option(
            help="What to read it from: a swap experiment in the log, what was shown at several positions, or a grid."
        ),
    ] = "auto",
    rows: Annotated[
        str | None, typer.Option(help="For a grid: how many items each row holds, as 4,4,4; by default as in the log.")
    ] = None,
    browsing: Annotated[Browsing, typer.Option(help="How two positions go together.")] = "independent",
    positions: Annotated[int | None, typer.Option(min=2, help="Leave out what was shown further down.")] = None,
    smooth: Annotated[bool, typer.Option("--smooth", help="Make the curve that trains non-increasing.")] = False,
    fill: Annotated[bool, typer.Option("--fill", help="Read positions not measured off between neighbours.")] = False,
    as_json: AsJson = False,
) -> None:
    """Estimate how likely each position is looked at, with intervals; refuses what the log cannot tell.

    ```sh
    truerank estimate clicks.parquet --out exam.json --browsing continuous --smooth
    ```
    """
    from truerank.log import open_log
    from truerank.propensity import estimate as estimate_propensities

    options: dict[str, Any] = {}
    if by == "row-skipping":
        options["row_lengths"] = None if rows is None else _row_lengths(rows)
    else:
        options["browsing"] = browsing
        options |= {"smooth": "isotonic"} if smooth else {}
        options |= {"fill": "interpolate"} if fill else {}
        options |= {"n_positions": positions} if positions else {}
    if positions and by not in ("harvest", "em"):
        raise InputError(f"--positions goes with --by harvest and --by em, not with --by {by}")
    found = estimate_propensities(open_log(log), by.replace("-", "_"), **options)
    if out is not None:
        found.save(out)
    show(found.to_dict(), found.summary() + (f"\n\nwrote {out}" if out else ""), as_json)


def _row_lengths(text: str) -> list[int]:
    """The rows of a grid: 4,4,4."""
    try:
        return [int(length) for length in text.split(",")]
    except ValueError:
        raise InputError(f"--rows {text} must be numbers with commas between, such as 4,4,4") from None

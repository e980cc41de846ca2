"""`truerank summary`."""

from __future__ import annotations

from typing import Annotated

import typer

from truerank.cli.console import AsJson, show


def summary(
    log: Annotated[str, typer.Argument(help="The click log: a file, a folder, or a pattern in quotes.")],
    as_json: AsJson = False,
) -> None:
    """Say what a click log holds: sessions, lists, clicks by position with their intervals.

    ```sh
    truerank summary clicks.parquet
    ```
    """
    from truerank.log import open_log

    found = open_log(log).summary()
    show(found.to_dict(), str(found), as_json)

"""`truerank evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from truerank.cli.choices import Format
from truerank.cli.console import AsJson, progress, show
from truerank.errors import InputError

_AS_SHOWN = "as shown"


def evaluate(
    judged: Annotated[Path, typer.Argument(help="Judged lists to test on: LETOR or svmlight text.")],
    models: Annotated[
        list[str],
        typer.Argument(help="Models, or files of one score a line; NAME=FILE to name one. The first is the baseline."),
    ],
    metrics: Annotated[str, typer.Option(help="Metrics, with commas between.")] = "ndcg@1,ndcg@3,ndcg@5,ndcg@10,map",
    as_shown: Annotated[bool, typer.Option("--as-shown", help="Compare with the order of the file, too.")] = False,
    columns: Annotated[int | None, typer.Option(min=1, help="How many features the lists have.")] = None,
    correction: Annotated[str, typer.Option(help="Of p-values: bonferroni, holm, or none.")] = "bonferroni",
    form: Annotated[Format, typer.Option("--format", help="The form of the table.")] = "text",
    as_json: AsJson = False,
) -> None:
    """Compare models on judged lists: the first absolute, the others in percent of it, `*` where significant.

    ```sh
    truerank evaluate judged.txt clicks=plain.txt robust=model.txt
    ```
    """
    from truerank.datasets import read_svmlight
    from truerank.metrics import evaluate as compare
    from truerank.rankers import score_saved

    files = _named(models)
    if as_shown and _AS_SHOWN in files:
        raise InputError(
            f"a model is called {_AS_SHOWN!r}, which is what --as-shown calls the order of the file. "
            "Hint: NAME=FILE gives the model another name"
        )
    with progress("reading lists") as tick:
        lists = read_svmlight(judged, n_features=columns, progress=tick)
    scores: dict[str, Any] = {name: score_saved(path, lists.X) for name, path in files.items()}
    if as_shown:
        scores[_AS_SHOWN] = [-float(row) for row in range(lists.n_rows)]
    found = compare(
        scores,
        lists.labels,
        lists.group,
        metrics.split(","),
        correction=None if correction == "none" else correction,
    )
    forms = {"text": found.table, "markdown": found.to_markdown, "latex": found.to_latex, "html": found.to_html}
    show(found.to_rows(), forms[form](), as_json)


def _named(models: list[str]) -> dict[str, Path]:
    """Models by name: what stands before the first `=`, or the name of the file that is given as it is."""
    files: dict[str, Path] = {}
    for given in models:
        name, equals, file = given.partition("=")
        if not equals or Path(given).exists():  # lr=0.1.txt may be the name of a file
            name, file = Path(given).stem, given
        if name in files:
            raise InputError(f"two models are called {name!r}. Hint: NAME=FILE gives one another name")
        files[name] = Path(file)
    return files

"""`truerank train`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truerank.atomic import check_folder, replace_whole
from truerank.cli.choices import Booster, Merge, Method
from truerank.cli.console import AsJson, progress, show
from truerank.errors import InputError

if TYPE_CHECKING:
    from truerank.rankers.base import PairwiseRanker


def train(
    log: Annotated[str, typer.Option(help="The click log: a file, a folder, or a pattern in quotes.")],
    features: Annotated[Path, typer.Option(help="Parquet with query, item and a column for each feature.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the model goes, in the booster's own format.")],
    examination: Annotated[
        Path | None, typer.Option(help="How people look: what `truerank estimate --out` saved.")
    ] = None,
    method: Annotated[Method, typer.Option(help="How clicks become weighted pairs; none leaves the bias.")] = "robust",
    booster: Annotated[Booster, typer.Option(help="What to train.")] = "lightgbm",
    merge: Annotated[
        Merge, typer.Option(help="Sum sessions that show the same items, or all of a query into one list.")
    ] = "exact",
    trees: Annotated[int, typer.Option(min=1, help="How many trees.")] = 300,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter of the booster, NAME=VALUE; may be repeated.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same model.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Train a ranker on a click log; the model is a plain LightGBM, XGBoost or CatBoost file.

    ```sh
    truerank train --log clicks.parquet --features items.parquet --examination exam.json -o model.txt
    truerank train --log clicks.parquet --features items.parquet --method none -o plain.txt --set num_leaves=15
    ```
    """
    from truerank.examination import load_examination
    from truerank.experiment.training import train_on_log
    from truerank.log import open_log

    check_folder(out, "--out")  # it is written last, and training may take hours
    people = None if examination is None else load_examination(examination)
    params = {"n_estimators": trees, "random_state": seed, "learning_rate": 0.05} | dict(map(_setting, settings or ()))
    with progress("training") as tick:
        ranker = train_on_log(
            open_log(log), features, method, people, booster=booster, merge=merge, progress=tick, params=params
        )
    with replace_whole(out) as temporary:
        ranker.save_model(temporary)
    show(*_told(ranker, out, booster), as_json)


def _setting(text: str) -> tuple[str, Any]:
    """A parameter: NAME=VALUE, the value a number, true or false, or text."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InputError(f"--set {text} must be NAME=VALUE, such as --set num_leaves=63")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def _told(ranker: PairwiseRanker, out: Path, booster: str) -> tuple[dict[str, Any], str]:
    """What was trained, for machines and for people."""
    pairs = ranker.pair_summary_
    facts = {
        "model": str(out),
        "booster": booster,
        "method": ranker.method,
        "sessions": pairs.sessions,
        "sessions_without_pairs": pairs.sessions_without_pairs,
        "lists": pairs.lists,
        "rows": pairs.rows,
        "pairs": pairs.pairs,
        "clipped_pairs": ranker.n_clipped_pairs_,
    }
    return facts, f"{pairs}\n\nwrote {out}"

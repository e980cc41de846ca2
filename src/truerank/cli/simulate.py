"""`truerank simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from truerank.cli.choices import Browsing
from truerank.cli.console import AsJson, progress, show
from truerank.errors import InputError


def simulate(
    judged: Annotated[Path, typer.Argument(help="Judged lists: LETOR or svmlight text, plain, .gz or .zst.")],
    log: Annotated[Path, typer.Option("--out", "-o", help="Where the click log goes, .parquet.")],
    features: Annotated[Path | None, typer.Option(help="Write the features here too, .parquet, for training.")] = None,
    examination: Annotated[Path | None, typer.Option(help="How people look: a saved examination model.")] = None,
    browsing: Annotated[Browsing, typer.Option(help="Without a model: how positions go together.")] = "continuous",
    power: Annotated[float, typer.Option(min=0, help="Without a model: position k is seen with chance 1/k^power.")] = 1,
    sessions: Annotated[int, typer.Option(min=1, help="How often each list is shown.")] = 16,
    at: Annotated[int | None, typer.Option(min=1, help="Cut lists to this many items.")] = None,
    keep_clickless: Annotated[
        bool, typer.Option("--keep-clickless", help="Keep sessions without a click; the paper draws them again.")
    ] = False,
    swap: Annotated[
        float, typer.Option(min=0, max=1, help="The part of the traffic whose position 1 is swapped with others.")
    ] = 0.0,
    noise: Annotated[float, typer.Option(min=0, max=1, help="The chance of a click on what is irrelevant.")] = 0.0,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same log.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Simulate a click log: people look at judged lists, top positions more, and click what they see and like.

    ```sh
    truerank simulate judged.txt --out clicks.parquet --features items.parquet --swap 0.2 --keep-clickless
    ```
    """
    from truerank.datasets import read_svmlight
    from truerank.simulate import simulate_log, write_features
    from truerank.simulate.log_files import check_target

    check_target(log, "--out")
    if features is not None:  # written last, so it would be refused when the log is there
        check_target(features, "--features")
    with progress("reading lists") as tick:
        lists = read_svmlight(judged, progress=tick)
    longest = int(min(lists.group.max(), at or lists.group.max()))
    model = _model(examination, browsing, power, longest)
    with progress("simulating") as tick:
        written = simulate_log(
            lists,
            model,
            log,
            sessions,
            seed,
            progress=tick,
            at=at,
            noise=noise,
            require_click=not keep_clickless,
            swap=_swaps(swap, longest),
        )
    if features is not None:
        with progress("writing features") as tick:
            write_features(lists, features, progress=tick)
    found = written.summary()
    show(found.to_dict(), f"{found}\n\nwrote {log}" + (f" and {features}" if features else ""), as_json)


def _swaps(share: float, longest: int) -> Any:
    """The experiment that swaps position 1 with every other one, if there is to be one."""
    from truerank.simulate import SwapExperiment

    if not share:
        return None
    if longest < 2:
        raise InputError(f"--swap {share} needs at least two positions, and lists have {longest}. Hint: a larger --at")
    return SwapExperiment(range(2, longest + 1), share=share)


def _model(examination: Path | None, browsing: str, power: float, longest: int) -> Any:
    """The model in the file, or the usual curve for lists of this length."""
    from truerank.examination import Continuous, Independent, inverse_rank, load_examination

    if examination is not None:
        return load_examination(examination)
    return {"continuous": Continuous, "independent": Independent}[browsing](inverse_rank(longest, power))

"""The paper's experiment (Kurennoy et al. 2022, Section 6), from data to tables, resumable."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from truerank.atomic import replace_whole
from truerank.errors import InputError
from truerank.experiment.cells import Cell, Shelf, Trained, Workshop, cells_of
from truerank.experiment.config import Config, read_config
from truerank.experiment.methods import METHODS, Peer
from truerank.experiment.prepared import Prepared, hash_of, load_logged, prepare, shown_lists
from truerank.experiment.tables import FORMATS, compare, formatted, tables_of, write_tables
from truerank.experiment.workers import train_in_workers
from truerank.metrics import Comparison
from truerank.ragged import check_number
from truerank.types import JudgedLists

FORMAT = "truerank.reproduce"
MANIFEST, CELLS, PREPARED = "manifest.json", "cells", "prepared"
_DECIDING = ("truerank", "lightgbm", "numpy")
"""Packages whose version may change numbers."""
_CHOOSING = ("methods", "seeds")
"""Settings that choose which models there are, and change none of them: more of both can be added to a folder."""
_ROWS_A_THREAD = 20_000
"""Below that, threads wait for each other longer than they work."""

Progress: TypeAlias = Callable[[float, float, str], None]


@dataclass(frozen=True)
class Reproduction:
    """A finished experiment: what was compared, and the tables.

    `comparisons["continuous"][10]` is what `truerank.evaluate` says of that browsing model and truncation position.
    """

    folder: Path
    config: Config
    comparisons: Mapping[str, Mapping[int, Comparison]]
    trained: Mapping[Cell, Trained]

    def tables(self, form: str = "text") -> str:
        """Tables 1, 2 and so on as `text`, `markdown`, `latex` or `html`."""
        if form not in FORMATS:
            raise InputError(f"form is {form!r}; it must be one of {', '.join(map(repr, FORMATS))}")
        return formatted(tables_of(self.config, self.comparisons), form)

    def to_rows(self) -> list[dict[str, Any]]:
        """One dictionary for each model, metric, browsing model and truncation position, ready for JSON."""
        return [
            {"browsing": browsing, "truncation": truncation, **row}
            for browsing, blocks in self.comparisons.items()
            for truncation, comparison in blocks.items()
            for row in comparison.to_rows()
        ]

    def __str__(self) -> str:
        """Show the tables as plain text."""
        return self.tables()


def reproduce(
    config: Mapping[str, Any] | str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Reproduction:
    """Run the paper's experiment: data, simulated clicks, models, metrics, tests, tables.

    Every finished model is kept in `out`; what was stopped goes on from there, to the same numbers. Tables are the same
    to the byte whatever `jobs`, the number of threads and interruptions.

    Args:
        config: the path of a TOML file, or the same as a dictionary. What it leaves out is as in the paper, on the
            generated data set `web` in the size of Yahoo C14; docs/experiment.md has all settings.
        out: the folder for models' scores, manifest and tables. What it holds of the same experiment with other methods
            or seeds is used again; one that holds another experiment is refused.
        jobs: how many models are trained at a time, each in a process of its own; the cores are shared out.
        progress: called as progress(done, total, what was done last).
    """
    check_number(jobs, "jobs", 1, whole=True)
    tell = progress or (lambda _done, _total, _what: None)
    tell(0, 1, "preparing the data")
    opened = _open(read_config(config), Path(out), int(jobs))
    return _finish(opened, int(jobs), tell)


@dataclass(frozen=True)
class _Opened:
    """An experiment whose data are ready: what is finished, what is not, and what the rest needs."""

    config: Config
    folder: Path
    shelf: Shelf
    found: dict[Cell, Trained]
    costs: dict[Cell, float]
    prepared: Prepared

    @property
    def missing(self) -> list[Cell]:
        """The cells that are still to be trained."""
        return [cell for cell in self.costs if cell not in self.found]


def _open(config: Config, folder: Path, jobs: int) -> _Opened:
    """Load the data, refuse what does not belong to what the folder holds, and see what is there.

    The features to train on are gone when this returns: from here on they are in bins.
    """
    deciding = {name: value for name, value in config.document.items() if name not in _CHOOSING}
    manifest = {"format": FORMAT, "config": _plain(deciding), "versions": _versions()}
    _refuse_another(folder, manifest)
    logged = load_logged(config)
    data_hash = hash_of(*logged)
    manifest |= {"data": data_hash}
    _refuse_another(folder, manifest)
    shelf = Shelf(folder / CELLS, manifest, logged[1].n_rows)
    costs = _costs(config, logged[0])
    found = {cell: trained for cell in costs if (trained := shelf.find(cell)) is not None}
    _refuse_too_large({cell: cost for cell, cost in costs.items() if cell not in found}, logged[0].X.shape[1], jobs)
    folder.mkdir(parents=True, exist_ok=True)
    with replace_whole(folder / MANIFEST) as temporary:
        temporary.write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    truncations = {cell.truncation for cell in costs if cell not in found}
    prepared = prepare(config, logged, data_hash, truncations, folder / PREPARED)
    return _Opened(config, folder, shelf, found, costs, prepared)


def _finish(opened: _Opened, jobs: int, tell: Progress) -> Reproduction:
    """Train what is missing, compare and tabulate."""
    config, trained, costs, missing = opened.config, dict(opened.found), opened.costs, opened.missing
    total, done = sum(costs.values()), sum(costs[cell] for cell in trained)
    tell(done, total, f"{len(trained)} of {len(costs)} models were there")
    for cell, model in _train(config, opened.prepared, missing, jobs) if missing else ():
        opened.shelf.keep(cell, model)
        trained[cell] = model
        done += costs[cell]
        tell(done, total, cell.name)
    comparisons = compare(config, opened.prepared.test, lambda cell: trained[cell].scores)
    write_tables(tables_of(config, comparisons), opened.folder)
    shutil.rmtree(opened.folder / PREPARED, ignore_errors=True)
    return Reproduction(opened.folder, config, comparisons, {cell: trained[cell] for cell in costs})


def _train(config: Config, prepared: Prepared, cells: list[Cell], jobs: int) -> Iterator[tuple[Cell, Trained]]:
    """Train cells one after another, or several at a time, on all cores."""
    threads = max(1, min((os.cpu_count() or 1) // jobs, prepared.train.n_rows // _ROWS_A_THREAD))
    if jobs > 1:
        yield from train_in_workers(config, prepared, cells, jobs, threads)
    else:
        workshop = Workshop(config, prepared, threads)
        yield from ((cell, workshop.train(cell)) for cell in cells)


def _costs(config: Config, train: JudgedLists) -> dict[Cell, float]:
    """What each cell is expected to take, in rows: trees cost what their rows cost."""
    rows = {t: len(shown_lists(train, t)[1]) for t in config.truncation_positions}

    def cost(cell: Cell) -> float:
        repeats = config.sessions_per_list if isinstance(METHODS[cell.method], Peer) else 1
        return float(rows[cell.truncation] * repeats)

    return {cell: cost(cell) for cell in cells_of(config)}


def _refuse_too_large(costs: Mapping[Cell, float], n_features: int, jobs: int) -> None:
    """Refuse cells that take a log session by session, if the `jobs` largest do not fit into memory together."""
    from truerank.experiment.lightgbm_peer import refuse_too_large

    rows = sorted((int(cost) for cell, cost in costs.items() if isinstance(METHODS[cell.method], Peer)), reverse=True)
    refuse_too_large(sum(rows[:jobs]), n_features, len(rows[:jobs]))


def _refuse_another(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Refuse a folder that holds another experiment, or one of other data or versions."""
    path = folder / MANIFEST
    if not path.exists():
        return
    try:
        there = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        there = None
    if not isinstance(there, dict) or there.get("format") != FORMAT:
        raise InputError(f"{path} is not the manifest of an experiment. Hint: name another folder")
    for name, here, before in _differences(manifest, there):
        raise InputError(
            f"{folder} holds an experiment with another {name}: {before!r} there, {here!r} now. Hint: name another "
            "folder, or remove this one to begin anew"
        )


def _differences(here: Any, there: Any, name: str = "") -> Iterable[tuple[str, Any, Any]]:
    """Each entry in which two manifests differ, by its full name; entries that `here` has not are passed over."""
    if isinstance(here, Mapping) and isinstance(there, Mapping) and set(here) <= set(there):
        for key in here:
            yield from _differences(here[key], there[key], f"{name}.{key}" if name else key)
        if name and set(there) - set(here):
            yield name, sorted(here), sorted(there)
    elif here != there:
        yield name, here, there


def _versions() -> dict[str, str]:
    return {name: importlib.metadata.version(name) for name in _DECIDING}


def _plain(document: dict[str, Any]) -> dict[str, Any]:
    """The settings as JSON gives them back."""
    plain: dict[str, Any] = json.loads(json.dumps(document))
    return plain

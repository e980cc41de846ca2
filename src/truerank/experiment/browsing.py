"""How the simulated people of an experiment look at a page, from its settings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truerank.errors import InputError
from truerank.examination import (
    Continuous,
    ExaminationModel,
    Independent,
    RowSkipping,
    geometric,
    inverse_rank,
    load_examination,
)
from truerank.experiment.sources import expand_path
from truerank.experiment.toml_tables import Settings

CURVED = {"independent": Independent, "continuous": Continuous}
ROW_SKIPPING, FROM_FILE = "row_skipping", "file"
CURVES = ("inverse_rank", "geometric")


@dataclass(frozen=True, slots=True)
class Browsing:
    """A way of looking at a page, under the name it has in tables."""

    name: str
    model: ExaminationModel


def read_browsing(given: Any, longest: int, home: Path) -> tuple[Browsing, ...]:
    """The browsing models, each for at least `longest` positions: a list of names, or a table for each."""
    if isinstance(given, list | tuple):
        given = {name: {} for name in Settings({"browsing": given}, "").several("browsing")}
    if not isinstance(given, dict) or not given:
        raise InputError(f"browsing is {given!r}; it must list names, or hold a table for each browsing model")
    return tuple(Browsing(name, _model(name, table, longest, home)) for name, table in given.items())


def _model(name: Any, table: Any, longest: int, home: Path) -> ExaminationModel:
    if not (isinstance(name, str) and name.replace("-", "_").isidentifier()):
        raise InputError(f"a browsing model is named {name!r}; names are made of letters, digits, - and _")
    settings = Settings(table, f"browsing.{name}")
    kind = settings.choice("model", (*CURVED, ROW_SKIPPING, FROM_FILE), name)
    try:
        model = _build(kind, settings, longest, home)
    except (TypeError, ValueError) as error:
        if str(error).startswith("browsing."):
            raise
        raise InputError(f"browsing.{name} cannot be used: {error}") from None
    settings.done()
    if model.n_positions < longest:
        raise InputError(
            f"browsing.{name} covers {model.n_positions} positions and truncation_positions go up to {longest}"
        )
    return model


def _build(kind: str, settings: Settings, longest: int, home: Path) -> ExaminationModel:
    if kind == FROM_FILE:
        return load_examination(expand_path(settings.text("path"), home))
    if kind == ROW_SKIPPING:
        return RowSkipping(settings.take("gamma"), settings.take("continuation"), settings.take("row_lengths"))
    theta = settings.take("theta", None)
    if theta is None and settings.choice("curve", CURVES, CURVES[0]) == "inverse_rank":
        theta = inverse_rank(longest, settings.number("power", 0, 1))
    elif theta is None:
        theta = geometric(longest, settings.take("stop"))
    return CURVED[kind](theta)

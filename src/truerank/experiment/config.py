"""The settings of an experiment: one TOML file, whose defaults are the paper's (Kurennoy et al. 2022, Section 6)."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truerank.datasets.named import RANKED
from truerank.errors import FileFormatError, InputError, MissingDataError
from truerank.experiment.browsing import Browsing, read_browsing
from truerank.experiment.methods import METHODS, PAPER
from truerank.experiment.sources import Source, read_source
from truerank.experiment.toml_tables import Settings

TRAINED, GIVEN = "trained", "dataset"

# For each booster parameter the smallest value, whether it must be above that, and whether it is a whole number.
_BOOSTER_RULES = {
    "n_estimators": (1, False, True),
    "learning_rate": (0, True, False),
    "num_leaves": (2, False, True),
    "feature_fraction": (0, True, False),
    "bagging_fraction": (0, True, False),
    "bagging_freq": (0, False, True),
    "max_bin": (2, False, True),
    "min_data_in_leaf": (0, False, True),
    "min_sum_hessian_in_leaf": (0, False, False),
    "truncation_level": (1, False, True),
    "lambda_l1": (0, False, False),
    "lambda_l2": (0, False, False),
    "max_depth": (-1, False, True),
    "min_gain_to_split": (0, False, False),
}
_PART = "it is a part of the whole, 1 at most"
# The largest value of the parameters that have one, and why.
_LARGEST = {
    "num_leaves": (131_072, "LightGBM takes 131072 at most"),
    "feature_fraction": (1, _PART),
    "bagging_fraction": (1, _PART),
}
PAPER_BOOSTER: dict[str, float] = {
    "n_estimators": 300,
    "learning_rate": 0.05,
    "num_leaves": 31,
    "feature_fraction": 0.9,
    "bagging_fraction": 0.9,
    "bagging_freq": 1,
    "max_bin": 255,
    "min_data_in_leaf": 50,
    "min_sum_hessian_in_leaf": 5.0,
    "truncation_level": 30,
}


@dataclass(frozen=True, slots=True)
class InitialRanking:
    """Where the logged order comes from: a ranker trained on `share` of the lists, or the data set itself."""

    source: str
    share: float
    seed: int


@dataclass(frozen=True, slots=True)
class Config:
    """An experiment, checked. `document` says the same in plain values, defaults filled in, without title and note."""

    dataset: Source
    initial_ranking: InitialRanking
    browsing: tuple[Browsing, ...]
    truncation_positions: tuple[int, ...]
    sessions_per_list: int
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    booster: Mapping[str, float]
    title: str = ""
    note: str = ""

    @property
    def document(self) -> dict[str, Any]:
        """The settings as plain values: what a manifest keeps."""
        return {
            "dataset": self.dataset.document,
            "initial_ranking": {
                "source": self.initial_ranking.source,
                "share": self.initial_ranking.share,
                "seed": self.initial_ranking.seed,
            },
            "browsing": {browsing.name: browsing.model.to_dict() for browsing in self.browsing},
            "truncation_positions": list(self.truncation_positions),
            "sessions_per_list": self.sessions_per_list,
            "methods": list(self.methods),
            "seeds": list(self.seeds),
            "booster": dict(self.booster),
        }


def read_config(source: Mapping[str, Any] | str | os.PathLike[str]) -> Config:
    """Read a TOML file, or the same as a dictionary; unknown names and impossible values are refused by name."""
    if isinstance(source, Mapping):
        return _read(source, Path())
    path = Path(source)
    try:
        with path.open("rb") as stream:
            document = tomllib.load(stream)
    except FileNotFoundError:
        raise MissingDataError(f"there is no file {path}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FileFormatError(f"{path} is not TOML: {error}") from None
    return _read(document, path.parent)


def _read(document: Mapping[str, Any], home: Path) -> Config:
    settings = Settings(document, "")
    positions = settings.whole_numbers("truncation_positions", 1, [10, 20, 30])
    dataset = read_source(Settings(settings.take("dataset", {}), "dataset"), home)
    ranking = Settings(settings.take("initial_ranking", {}), "initial_ranking")
    config = Config(
        dataset=dataset,
        initial_ranking=_read_ranking(ranking, GIVEN if dataset.name == RANKED else TRAINED),
        browsing=_read_browsing(settings, max(positions), home),
        truncation_positions=positions,
        sessions_per_list=int(settings.number("sessions_per_list", 1, 16, whole=True)),
        methods=_read_methods(settings),
        seeds=settings.whole_numbers("seeds", 0, [2022]),
        booster=_read_booster(Settings(settings.take("booster", {}), "booster")),
        title=settings.text("title", ""),
        note=settings.text("note", ""),
    )
    settings.done()
    return config


def _read_browsing(settings: Settings, longest: int, home: Path) -> tuple[Browsing, ...]:
    given = settings.take("browsing", ["continuous", "independent"])
    try:
        return read_browsing(given, longest, home)
    except FileNotFoundError as error:
        raise MissingDataError(
            f"browsing names the file {error.filename}, which is not there. Hint: paths begin at the folder that the "
            "settings are in"
        ) from None


def _read_ranking(settings: Settings, usual: str) -> InitialRanking:
    ranking = InitialRanking(
        source=settings.choice("source", (TRAINED, GIVEN), usual),
        share=float(settings.number("share", 0, 0.01, above=True)),
        seed=int(settings.number("seed", 0, 0, whole=True)),
    )
    settings.done()
    if ranking.share > 1:
        raise InputError(f"initial_ranking.share is {ranking.share}; it is a part of the lists, 1 at most")
    return ranking


def _read_methods(settings: Settings) -> tuple[str, ...]:
    methods = settings.several("methods", list(PAPER))
    for name in methods:
        if name not in METHODS:
            raise InputError(f"methods holds {name!r}; known are {', '.join(METHODS)}")
    if len(methods) < 2:
        raise InputError("methods names one method; a comparison needs two, the first being what it is relative to")
    return methods


def _read_booster(settings: Settings) -> dict[str, float]:
    booster: dict[str, float] = {}
    for name, (smallest, above, whole) in _BOOSTER_RULES.items():
        value = settings.take(name, PAPER_BOOSTER.get(name))
        if value is not None:
            Settings({name: value}, "booster").number(name, smallest, above=above, whole=whole)
            booster[name] = int(value) if whole else float(value)
    settings.done()
    for name, (largest, rule) in _LARGEST.items():
        if booster[name] > largest:
            raise InputError(f"booster.{name} is {booster[name]}; {rule}")
    return booster

"""Where the judged lists of an experiment come from."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from truerank.datasets import generate_dataset, load_dataset, read_svmlight
from truerank.datasets.feature_text import common_columns
from truerank.datasets.generate import GENERATORS
from truerank.datasets.named import LAYOUTS, RANKED
from truerank.errors import InputError
from truerank.experiment.toml_tables import Settings
from truerank.ragged import check_number, offsets_from_sizes
from truerank.types import BoolArray, JudgedLists

SVMLIGHT = "svmlight"
_PATHS = ("folder", "train", "test")
_VARIABLE = re.compile(r"\$(?:(\w+)|\{([^}]*)\})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Source:
    """A data set to load: its name, and what else its kind needs."""

    name: str
    options: dict[str, Any]

    @property
    def document(self) -> dict[str, Any]:
        """Name and options as plain values, without where files are: what is in them counts."""
        options = {name: value for name, value in self.options.items() if name not in _PATHS}
        return {"name": self.name, **options}

    def load(self) -> tuple[JudgedLists, JudgedLists]:
        """The lists to train on, and those to test on."""
        if self.name in GENERATORS:
            splits = generate_dataset(self.name, **self.options)
        elif self.name == SVMLIGHT:
            return _from_svmlight(**self.options)
        else:
            splits = load_dataset(self.name, **self.options)
        return splits.train, splits.test


def read_source(settings: Settings, home: Path) -> Source:
    """The `[dataset]` table; paths are relative to `home`, and may name environment variables."""
    name = settings.choice("name", (*sorted(GENERATORS), *sorted(LAYOUTS), RANKED, SVMLIGHT), "web")
    options: dict[str, Any] = {}
    if name in GENERATORS:
        lists = settings.take("lists", [size.lists for size in GENERATORS[name][1]])
        if not isinstance(lists, list | tuple) or len(lists) != 3:
            raise InputError(f"dataset.lists is {lists!r}; it must say how many lists train, tune and test")
        for count in lists:
            check_number(count, "an entry of dataset.lists", 1, whole=True)
        options["lists"] = tuple(map(int, lists))
        options["seed"] = int(settings.number("seed", 0, 0, whole=True))
    elif name == SVMLIGHT:
        options["train"] = expand_path(settings.text("train"), home)
        test = settings.text("test", None)
        if test is None:
            options["test_share"] = _share(settings, "test_share", 0.4)
            options["seed"] = int(settings.number("seed", 0, 0, whole=True))
        else:
            options["test"] = expand_path(test, home)
    else:
        options["folder"] = expand_path(settings.text("folder"), home)
        if name in LAYOUTS and LAYOUTS[name][0].in_folds:
            options["fold"] = int(settings.number("fold", 1, 1, whole=True))
    settings.done()
    return Source(name, options)


def expand_path(text: str, home: Path) -> str:
    """A path as settings give it: relative to `home`, with environment variables in it."""
    path = home / os.path.expandvars(text)
    unset = [name for plain, braced in _VARIABLE.findall(text) if (name := plain or braced) not in os.environ]
    if unset and not path.exists():  # a name may hold a dollar sign
        raise InputError(
            f"the path {text!r} names the environment variable {unset[0]}, which is not set. Hint: set it, or write "
            "the path out"
        )
    return str(path)


def _share(settings: Settings, name: str, default: float) -> float:
    share = settings.number(name, 0, default, above=True)
    if share >= 1:
        raise InputError(f"{settings.name_of(name)} is {share}; it must be below 1")
    return float(share)


def _from_svmlight(
    train: str, test: str | None = None, test_share: float | None = None, seed: int = 0
) -> tuple[JudgedLists, JudgedLists]:
    """Two files, or one whose lists are dealt out at random."""
    if test is not None:
        n_features, first_feature = common_columns([Path(train), Path(test)], judged=True)
        columns: dict[str, Any] = {"n_features": n_features, "first_feature": first_feature}
        return read_svmlight(train, dense=True, **columns), read_svmlight(test, dense=True, **columns)
    first = read_svmlight(train, dense=True)
    n_test = round((test_share or 0) * first.n_lists)
    chosen = np.zeros(first.n_lists, dtype=bool)
    chosen[np.random.default_rng(seed).permutation(first.n_lists)[:n_test]] = True
    return take_lists(first, ~chosen), take_lists(first, chosen)


def take_lists(judged: JudgedLists, wanted: BoolArray) -> JudgedLists:
    """Some of the lists."""
    rows = np.repeat(wanted, judged.group)
    return JudgedLists(judged.X[rows], judged.labels[rows], judged.group[wanted], judged.query[wanted])


def row_places(judged: JudgedLists) -> Any:
    """The place of each row in its list, from 0."""
    return np.arange(judged.n_rows) - np.repeat(offsets_from_sizes(judged.group)[:-1], judged.group)

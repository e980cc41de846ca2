"""The public learning-to-rank data sets, by name, from a folder that holds their files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from truerank.datasets.cache import CacheFolder
from truerank.datasets.files import find_file, missing
from truerank.datasets.ranked import columns_of_sets, find_features, read_ranked
from truerank.datasets.svmlight import read_svmlight
from truerank.datasets.text_chunks import Progress
from truerank.errors import InputError
from truerank.types import JudgedLists, Splits

FOLDS = 5
RANKED = "ranked"

_Found: TypeAlias = tuple[dict[str, int | None], dict[str, list[Path]]]
"""Which columns all parts have, as the readers are told, and the files of each part."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Which files make up each part of a data set; {a} is the fold, and {b} to {e} the four after it, 5 followed by 1.

    `home` is the folder that the files come in, which may be the one given, or inside it.
    """

    home: str
    n_features: int
    train: tuple[str, ...]
    valid: tuple[str, ...]
    test: tuple[str, ...]

    @property
    def in_folds(self) -> bool:
        """Whether the files are named by folds."""
        return "{a}" in self.train[0]

    def of_fold(self, fold: int) -> dict[str, list[str]]:
        """The files of each part."""
        folds = dict(zip("abcde", ((fold - 1 + k) % FOLDS + 1 for k in range(FOLDS)), strict=True))
        parts = {"train": self.train, "valid": self.valid, "test": self.test}
        return {part: [name.format(**folds) for name in names] for part, names in parts.items()}


def _three(home: str, n_features: int, prefix: str, valid: str = "vali") -> Layout:
    return Layout(home, n_features, *((f"{prefix}{part}.txt",) for part in ("train", valid, "test")))


def _five_sets(home: str) -> Layout:
    """The five parts that the folds of LETOR 4 are put together from."""
    return Layout(home, 46, ("S{a}.txt", "S{b}.txt", "S{c}.txt"), ("S{d}.txt",), ("S{e}.txt",))


LAYOUTS: dict[str, tuple[Layout, ...]] = {
    "istella": (Layout("istella-letor", 220, ("full/train.txt",), (), ("full/test.txt",)),),
    "istella-s": (_three("istella-s-letor", 220, "sample/"),),
    "istella-x": (_three("istella-X", 220, ""),),
    "mq2007": (_three("MQ2007", 46, "Fold{a}/"), _five_sets("MQ2007")),
    "mq2008": (_three("MQ2008", 46, "Fold{a}/"), _five_sets("MQ2008")),
    "mslr-web10k": (_three("MSLR-WEB10K", 136, "Fold{a}/"),),
    "mslr-web30k": (_three("MSLR-WEB30K", 136, "Fold{a}/"),),
    "yahoo-set1": (_three("ltrc_yahoo", 700, "set1.", "valid"),),
    "yahoo-set2": (_three("ltrc_yahoo", 700, "set2.", "valid"),),
}


def load_dataset(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    fold: int = 1,
    dense: bool | None = True,
    cache: CacheFolder = True,
    progress: Progress | None = None,
) -> Splits:
    """Load the parts of a public data set that you have in a folder.

    | name | files in the folder, plain or ending in .gz or .zst |
    | --- | --- |
    | `yahoo-set1`, `yahoo-set2` | `set1.train.txt`, `set1.valid.txt`, `set1.test.txt` |
    | `mslr-web10k`, `mslr-web30k` | `Fold1/train.txt`, `Fold1/vali.txt`, `Fold1/test.txt`, … |
    | `istella` | `full/train.txt`, `full/test.txt`; it has no part to tune on |
    | `istella-s` | `sample/train.txt`, `sample/vali.txt`, `sample/test.txt` |
    | `istella-x` | `train.txt`, `vali.txt`, `test.txt` |
    | `mq2007`, `mq2008` (LETOR 4) | `Fold1/train.txt`, `Fold1/vali.txt`, `Fold1/test.txt`, …; or `S1.txt` to `S5.txt` |
    | `ranked` | `train/train.feature` and so on, see `truerank.datasets.ranked`; `valid` need not be there |

    The folder may also be the one that holds the folder in which they come: `ltrc_yahoo`, `MSLR-WEB30K`,
    `istella-s-letor`, `MQ2008` and so on. From `S1.txt` to `S5.txt`, fold k trains on k, k + 1 and k + 2, tunes on
    k + 3 and tests on k + 4, where 1 follows 5.

    Args:
        name: one of the names above.
        folder: where the files are.
        fold: 1 to 5, for the data sets that come in folds.
        dense: True for dense arrays, False for CSR matrices, None to choose for each file as `read_svmlight` does.
        cache: keeps what was read, to have it quickly the next time; as in `read_svmlight`, and on unless switched off.
        progress: called as progress(bytes done, bytes in all).
    """
    known = sorted([*LAYOUTS, RANKED])
    if name not in known:
        raise InputError(
            f"there is no data set named {name!r}; known are {', '.join(known)}. "
            "Hint: web and shop are generated: truerank.generate_dataset"
        )
    if folder is None:
        raise InputError(f"folder is missing: it says where the files of {name} are")
    if fold not in range(1, FOLDS + 1):
        raise InputError(f"fold is {fold!r}; it must be a whole number from 1 to {FOLDS}")
    if fold != 1 and not (name in LAYOUTS and LAYOUTS[name][0].in_folds):
        raise InputError(f"fold is {fold}, and {name} does not come in folds. Hint: leave fold out")
    home = Path(folder)
    columns, parts = _find_ranked(home) if name == RANKED else _find(name, home, fold)
    tell = _Tally(progress, _files(parts))
    options: dict[str, Any] = {**columns, "dense": dense, "cache": cache}

    def read(part: str, path: Path) -> JudgedLists:
        if name == RANKED:
            return read_ranked(home, part, **options, progress=tell.of(path))
        return read_svmlight(path, **options, progress=tell.of(path))

    lists = {part: [read(part, path) for path in paths] for part, paths in parts.items()}
    return Splits(_joined(lists["train"]), _joined(lists["valid"]) if lists["valid"] else None, _joined(lists["test"]))


def _find(name: str, folder: Path, fold: int) -> _Found:
    """The columns of a public data set and its files."""
    lacking = []
    for layout in LAYOUTS[name]:
        names = layout.of_fold(fold)
        wanted = [file for files in names.values() for file in files]
        found = {file: find_file(folder, file, f"{layout.home}/{file}") for file in wanted}
        if None not in found.values():
            parts = {part: [path for file in files if (path := found[file])] for part, files in names.items()}
            return {"n_features": layout.n_features, "first_feature": 1}, parts
        lacking.append([file for file in wanted if found[file] is None])
    raise missing(folder, lacking)


def _find_ranked(folder: Path) -> _Found:
    """The columns that the feature files ask for together, and these files."""
    found = {part: find_features(folder, part) for part in ("train", "valid", "test")}
    lacking = [part for part in ("train", "test") if found[part] is None]
    if lacking:
        raise missing(folder, [[f"{part}/{part}.feature" for part in lacking]])
    parts = {part: [path] if path else [] for part, path in found.items()}
    n_features, first_feature = columns_of_sets(folder, _files(parts))
    return {"n_features": n_features, "first_feature": first_feature}, parts


def _files(parts: dict[str, list[Path]]) -> list[Path]:
    return [path for paths in parts.values() for path in paths]


class _Tally:
    """Progress over several files: each is read twice."""

    def __init__(self, progress: Progress | None, files: list[Path]) -> None:
        self._progress = progress
        sizes = [2 * file.stat().st_size for file in files]
        self._before = dict(zip(files, np.cumsum([0, *sizes]).tolist(), strict=False))
        self._total = sum(sizes)

    def of(self, file: Path) -> Progress | None:
        """What the reader of one file is to call."""
        progress, before = self._progress, self._before[file]
        return None if progress is None else lambda done, _: progress(before + done, self._total)


def _joined(lists: list[JudgedLists]) -> JudgedLists:
    """Lists of several files, one file after another."""
    if len(lists) == 1:
        return lists[0]
    if any(hasattr(part.X, "tocsr") for part in lists):
        from scipy import sparse

        X = sparse.vstack([part.X for part in lists], format="csr")
    else:
        X = np.concatenate([part.X for part in lists])
    labels, group, query = (np.concatenate([getattr(p, name) for p in lists]) for name in ("labels", "group", "query"))
    return JudgedLists(X, labels, group, query)

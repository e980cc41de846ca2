"""The "ranked" layout: features, grades and an initial ranking in files of their own.

It is that of the experiments of Unbiased LambdaMART (Hu et al. 2019), taken from those of the Dual Learning Algorithm
and DLCM (Ai et al. 2018), and goes on in the ULTRA toolbox (Tran et al. 2021). A set, `train` say, is in a folder of
its name, or beside the others:

    train.feature      one line an item: id_of_item feature:value feature:value …
    train.init_list    one line a query: query line line …
                       its items as they were first ranked, best first, each by its line in train.feature, from 0
    train.weights      one line a query: query grade grade …
    or train.labels    the grades of its items, in the order of train.init_list
    settings.json      optional, beside the sets: embed_size or feature_size says how many features there are

Both lists have the same queries in the same order; their ids are numbers or text. The programs that write this layout
count features from 0, as the description of DLCM says; ULTRA's own reader counts them from 1. Items that are in no
list, where rankings were cut short, are left out. What else there may be (gold_list, initial_scores, qrels, trec.*)
repeats what is in these.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank.datasets.cache import CacheFolder, cached
from truerank.datasets.feature_text import FeatureReader, common_columns
from truerank.datasets.files import find_file, missing
from truerank.datasets.svmlight import check_columns
from truerank.datasets.svmlight_lines import LARGEST_LABEL, shown
from truerank.datasets.text_chunks import Progress, read_chunks
from truerank.errors import FileFormatError
from truerank.ragged import offsets_from_sizes
from truerank.types import IntArray, JudgedLists

_FEATURES, _RANKING, _GRADES = (".feature",), (".init_list",), (".weights", ".labels")


def read_ranked(
    folder: str | os.PathLike[str],
    part: str = "train",
    *,
    n_features: int | None = None,
    first_feature: int | None = None,
    dense: bool | None = None,
    cache: CacheFolder = None,
    progress: Progress | None = None,
) -> JudgedLists:
    """Read one set of the "ranked" layout (see `truerank.datasets.ranked`): the rows of X stand in the initial ranking.

    Args:
        folder: where the folder of the set, or its files, are; they may be compressed with gzip or zstd.
        part: the name of the set: train, valid or test.
        n_features: how many columns X gets; by default what settings.json says, or what the highest id asks for.
        first_feature, dense, cache, progress: as in `read_svmlight`.

    Each set is read by itself; `truerank.load_dataset("ranked", folder)` reads them all with the same columns.
    """
    check_columns(n_features, first_feature)
    features, ranking, grades = (_find(Path(folder), part, *endings) for endings in (_FEATURES, _RANKING, _GRADES))
    if n_features is None:
        n_features = _n_features(Path(folder))
    reader = FeatureReader(False, n_features, first_feature, dense)
    files = [features, ranking, grades]
    return cached(files, reader, cache, lambda: _read(features, ranking, grades, reader, progress))


def find_features(folder: Path, part: str) -> Path | None:
    """Where the features of a set are, if they are there."""
    return find_file(folder, *_places(part, *_FEATURES))


def columns_of_sets(folder: Path, features: Iterable[Path]) -> tuple[int | None, int]:
    """`n_features` and `first_feature` with which the sets that have these feature files get the same columns."""
    n_features, first_feature = common_columns(features, judged=False)
    told = _n_features(folder)
    return (n_features if told is None else told), first_feature


def _find(folder: Path, part: str, *endings: str) -> Path:
    places = _places(part, *endings)
    found = find_file(folder, *places)
    if found is None:
        raise missing(folder, [[place] for place in places])
    return found


def _places(part: str, *endings: str) -> list[str]:
    return [f"{home}{part}{ending}" for home in (f"{part}/", "") for ending in endings]


def _n_features(folder: Path) -> int | None:
    path = folder / "settings.json"
    if not path.exists():
        return None
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
        named = settings.get("feature_size", settings.get("embed_size"))
        return None if named is None else int(named)
    except (ValueError, TypeError, AttributeError) as error:
        raise FileFormatError(f"{path} does not say how many features there are: {error}") from error


@dataclass(frozen=True, slots=True)
class _Lists:
    """Lines of a query and whole numbers: the queries, how many numbers each has, and all numbers in one array."""

    path: Path
    queries: list[str]
    sizes: IntArray
    numbers: IntArray


def _read(features: Path, ranking: Path, grades: Path, reader: FeatureReader, progress: Progress | None) -> JudgedLists:
    X = reader.read(features, progress).X
    ranked = _read_lists(ranking, "a line of the feature file", X.shape[0] - 1)
    graded = _read_lists(grades, "a grade", LARGEST_LABEL)
    _check_agreement(ranked, graded)
    _check_repeats(ranked)
    if not np.array_equal(ranked.numbers, np.arange(X.shape[0])):
        X = X[ranked.numbers]
    return JudgedLists(X, graded.numbers.astype(np.int32), ranked.sizes, _as_ids(ranked.queries))


def _read_lists(path: Path, what: str, largest: int) -> _Lists:
    queries: list[str] = []
    sizes: list[int] = []
    numbers: list[int] = []
    for chunk in read_chunks(path):
        for k, line in enumerate(chunk.numbers):
            words = chunk.line(k).split()
            if len(words) == 1:
                raise FileFormatError(f"{path}, line {line}: query {shown(words[0])} has no items")
            if words:
                queries.append(words[0])
                sizes.append(len(words) - 1)
                numbers.extend(_whole(word, f"{path}, line {line}", what, largest) for word in words[1:])
    if not queries:
        raise FileFormatError(f"{path} has no lists")
    return _Lists(path, queries, np.array(sizes), np.array(numbers))


def _whole(word: str, where: str, what: str, largest: int) -> int:
    try:
        number = float(word)
    except ValueError:
        number = -1.0
    if not (0 <= number <= largest and number.is_integer()):
        raise FileFormatError(f"{where}: {shown(word)} is not {what}, a whole number from 0 to {largest}")
    return int(number)


def _check_agreement(ranked: _Lists, graded: _Lists) -> None:
    """Refuse a ranking and grades that are not of the same queries and the same number of items."""
    if len(ranked.queries) != len(graded.queries):
        raise FileFormatError(
            f"{ranked.path} has {len(ranked.queries)} lists and {graded.path} has {len(graded.queries)}; both need one "
            "for each query"
        )
    for k, (ours, theirs) in enumerate(zip(ranked.queries, graded.queries, strict=True)):
        if ours != theirs or ranked.sizes[k] != graded.sizes[k]:
            raise FileFormatError(
                f"list {k + 1} is query {shown(ours)} with {ranked.sizes[k]} items in {ranked.path} and query "
                f"{shown(theirs)} with {graded.sizes[k]} in {graded.path}; they must be the same"
            )


def _check_repeats(ranked: _Lists) -> None:
    """Refuse a query given twice, and an item twice in a list."""
    seen = set()
    for query, start, size in zip(ranked.queries, offsets_from_sizes(ranked.sizes), ranked.sizes, strict=False):
        if query in seen:
            raise FileFormatError(f"{ranked.path} has two lists for query {shown(query)}; each needs an id of its own")
        seen.add(query)
        if len(set(ranked.numbers[start : start + size].tolist())) < size:
            raise FileFormatError(f"{ranked.path} ranks an item of query {shown(query)} twice")


def _as_ids(queries: list[str]) -> npt.NDArray[Any]:
    """Whole numbers if all of them are, otherwise the text."""
    if all(query.isascii() and query.isdigit() and len(query) <= 18 for query in queries):
        return np.array(queries, dtype=np.int64)
    return np.array(queries)

"""LETOR files: judged lists as svmlight text with a query id in each line."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from truerank.datasets.cache import CacheFolder, cached
from truerank.datasets.feature_text import FeatureReader, line_of_row
from truerank.datasets.text_chunks import Progress
from truerank.errors import FileFormatError, InputError
from truerank.ragged import check_number
from truerank.types import IntArray, JudgedLists


def read_svmlight(
    path: str | os.PathLike[str],
    *,
    n_features: int | None = None,
    first_feature: int | None = None,
    dense: bool | None = None,
    cache: CacheFolder = None,
    progress: Progress | None = None,
) -> JudgedLists:
    """Read judged lists from LETOR or svmlight text with query ids, plain or compressed with gzip or zstd.

    A line reads `label qid:query id:value id:value … # comment`; see `truerank.datasets.svmlight_lines`. The rows of a
    query stand together, in the order shown; queries may come in any order, each once. What is not in the format is
    refused, with the number of the line and what is wrong with it. Values are those of `np.float32(float(text))`.

    Memory holds the result and a chunk of the text. By default the result takes at most 8 bytes for each feature that
    the file names: half a byte to one for each byte of the usual files.

    Args:
        path: the file; that it is compressed is seen from its first bytes.
        n_features: how many columns X gets; an id above is refused. By default as many as the highest id asks for, so
            give it where several files belong together.
        first_feature: 0 or 1, the id of the first column. By default 0 if the file names a feature 0, otherwise 1; give
            it too where several files belong together, since one of them may lack feature 0 by chance.
        dense: whether X is a dense float32 array, or a SciPy CSR matrix of what the file names, zeros included. By
            default dense where that takes no more memory: if the file names at least half of all cells.
        cache: where to keep what was read, to have it quickly the next time: a folder, True for
            `truerank.datasets.default_cache_folder()`, or None, nowhere.
        progress: called as progress(bytes done, bytes in all); the file is read twice.

    >>> with open("lists.txt", "w") as file:
    ...     _ = file.write("2 qid:7 1:0.5 3:1 # first of query 7\\n0 qid:7 2:0.25\\n1 qid:8 1:3 3:-2e-1\\n")
    >>> lists = read_svmlight("lists.txt")
    >>> lists.X.tolist(), lists.labels.tolist(), lists.group.tolist(), lists.query.tolist()
    ([[0.5, 0.0, 1.0], [0.0, 0.25, 0.0], [3.0, 0.0, -0.20000000298023224]], [2, 0, 1], [2, 1], [7, 8])
    """
    check_columns(n_features, first_feature)
    file = Path(path)
    reader = FeatureReader(True, n_features, first_feature, dense)
    return cached([file], reader, cache, lambda: _read(file, reader, progress))


def check_columns(n_features: int | None, first_feature: int | None) -> None:
    """Refuse a number of columns, or a first feature id, that cannot be."""
    if n_features is not None:
        check_number(n_features, "n_features", 1, whole=True)
    if first_feature not in (None, 0, 1):
        raise InputError(f"first_feature is {first_feature!r}; it must be 0 or 1, or None to see it from the file")


def _read(path: Path, reader: FeatureReader, progress: Progress | None) -> JudgedLists:
    text = reader.read(path, progress)
    starts = np.flatnonzero(np.diff(text.query, prepend=-1))
    query = text.query[starts]
    _refuse_scattered(path, query, starts)
    return JudgedLists(text.X, text.labels, np.diff(starts, append=len(text.query)), query)


def _refuse_scattered(path: Path, query: IntArray, starts: IntArray) -> None:
    """Refuse a query whose rows do not stand together."""
    _, first = np.unique(query, return_index=True)
    if len(first) == len(query):
        return
    again = int(np.setdiff1d(np.arange(len(query)), first)[0])
    earlier = int(np.flatnonzero(query == query[again])[0])
    begins, ended = line_of_row(path, int(starts[again])), line_of_row(path, int(starts[earlier + 1]) - 1)
    raise FileFormatError(
        f"{path}, line {begins}: query {query[again]} begins again, and its rows ended in line {ended}; the rows of a "
        "query must stand together. Hint: sort the file by query with a stable sort, or give each list an id of its own"
    )

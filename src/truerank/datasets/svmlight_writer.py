"""Judged lists written as LETOR text."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from truerank.atomic import replace_whole
from truerank.datasets.text_chunks import Progress
from truerank.errors import InputError
from truerank.ragged import as_flat_array, read_group, read_whole_numbers
from truerank.types import IntArray, JudgedLists

_ROWS = 4_096
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
_LARGEST_LABEL = 1_000


def write_svmlight(judged: JudgedLists, path: str | os.PathLike[str], *, progress: Progress | None = None) -> None:
    """Write judged lists as LETOR text, whole or not at all; `read_svmlight` gives the same lists back.

    Feature ids begin at 1; values are the shortest decimals that give the same float32 again. Of a dense X what is 0 is
    left out, of a sparse one what it leaves out. The first line always names the last feature, so that X comes back
    with all its columns; whether it comes back dense is the reader's choice.

    Args:
        judged: the lists; query ids must be whole numbers.
        path: an ending of .gz or .zst asks for compression.
        progress: called as progress(rows done, rows in all).
    """
    X = judged.X.tocsr() if hasattr(judged.X, "tocsr") else np.asarray(judged.X)
    labels = read_whole_numbers(judged.labels, "labels", smallest=0, largest=_LARGEST_LABEL)
    offsets = read_group(judged.group, len(labels))
    query = np.repeat(_query_ids(judged.query, len(offsets) - 1), np.diff(offsets))
    if X.ndim != 2 or len(labels) != X.shape[0] or not X.shape[1]:
        raise InputError(f"X has shape {X.shape}; it needs a row for each of the {len(labels)} labels, and a column")
    with replace_whole(path) as temporary, _open(temporary) as file:
        for start in range(0, len(labels), _ROWS):
            rows = slice(start, start + _ROWS)
            file.write(_lines(X[rows], labels[rows], query[rows], start))
            if progress is not None:
                progress(min(rows.stop, len(labels)), len(labels))


def _query_ids(query: Any, n_lists: int) -> IntArray:
    ids = as_flat_array(query, "query")
    if len(ids) != n_lists:
        raise InputError(f"query has {len(ids)} ids and there are {n_lists} lists; it needs one a list")
    if n_lists and (ids.dtype.kind not in "iu" or ids.min() < 0 or ids.max() > np.iinfo(np.int64).max):
        raise InputError(
            f"query holds ids such as {ids[0]!r}; the format needs whole numbers from 0. Hint: number the lists, "
            "query=np.arange(n_lists)"
        )
    if len(np.unique(ids)) < n_lists:
        raise InputError("query names two lists by the same id; they would be read as one, or refused")
    return ids.astype(np.int64)


def _lines(X: Any, labels: Any, query: Any, first_row: int) -> bytes:
    """The text of some rows, put together in Arrow's memory."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ends, features, values = _entries(X, first_row == 0)
    if np.isinf(values).any():
        row = first_row + int(np.searchsorted(ends, np.argmax(np.isinf(values)), side="right"))
        raise InputError(f"X[{row}] holds an infinite value, or one beyond float32; they cannot be written")

    def text(numbers: Any) -> Any:
        return pa.array(numbers).cast(pa.string())

    words = pc.binary_join_element_wise(text(features + 1), text(values), ":")
    offsets = np.concatenate([[0], ends]).astype(np.int32)
    ids = pc.binary_join_element_wise("qid", text(query), ":")
    listed = pc.binary_join(pa.ListArray.from_arrays(offsets, words), " ")
    lines = pc.binary_join_element_wise(text(labels), ids, listed, " ").to_pylist()
    return "".join(f"{line}\n" for line in lines).encode()


def _entries(X: Any, is_first: bool) -> tuple[Any, Any, Any]:
    """Where each row ends among the entries; feature and value of each."""
    if hasattr(X, "indptr"):
        X.sum_duplicates()
        ends, features, values = X.indptr[1:], X.indices, _as_float32(X.data)
    else:
        rows, features = np.nonzero(X)
        ends, values = np.cumsum(np.bincount(rows, minlength=len(X))), _as_float32(X[rows, features])
    last = X.shape[1] - 1
    if is_first and last not in features[: ends[0]]:
        features, values, ends = np.insert(features, ends[0], last), np.insert(values, ends[0], 0), ends + 1
    return ends, features, values


def _as_float32(values: Any) -> Any:
    with np.errstate(over="ignore"):
        return values.astype(np.float32)


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    import pyarrow as pa

    with pa.OSFile(os.fspath(path), "wb") as file:
        if path.suffix in _COMPRESSIONS:
            with pa.CompressedOutputStream(file, _COMPRESSIONS[path.suffix]) as stream:
                yield stream
        else:
            yield file

"""Feature tables from svmlight text: one pass to measure, one to fill arrays of the right size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank.datasets.svmlight_lines import LARGEST_ID, Row, parse_line
from truerank.datasets.text_chunks import Chunk, Progress, read_chunks
from truerank.errors import FileFormatError
from truerank.ragged import offsets_from_sizes
from truerank.types import IntArray, Labels

DENSE_FROM = 0.5
"""A table with at least this share of its cells in the file becomes a dense array: four bytes a cell, against eight an
entry of a CSR matrix."""


@dataclass(frozen=True, slots=True)
class FeatureText:
    """The rows of a file: their features, and label and query id of each, if its lines hold them."""

    X: Any
    labels: Labels
    query: IntArray


@dataclass(frozen=True, slots=True)
class _Table:
    """The shape of a table, its first feature id, and where in its values each row lies."""

    n_features: int
    first_feature: int
    dense: bool
    offsets: IntArray

    @property
    def n_rows(self) -> int:
        return len(self.offsets) - 1


@dataclass(frozen=True, slots=True)
class FeatureReader:
    """Reads files whose rows begin with label and qid (`judged`), or else with the id of an item.

    Memory holds the result and one chunk of text; the rows of a chunk are read in parallel.
    """

    judged: bool
    n_features: int | None = None
    first_feature: int | None = None
    dense: bool | None = None

    def read(self, path: Path, progress: Progress | None = None) -> FeatureText:
        """Read a whole file; `progress` is told how many bytes are done, and of how many: its size, twice."""
        size = path.stat().st_size if path.exists() else 0

        def tell(done: int) -> None:
            if progress is not None:
                progress(done, 2 * size)

        table = self._measure(path, tell)
        return self._fill(path, table, lambda done: tell(size + done))

    def range_of_ids(self, path: Path) -> tuple[int, int]:
        """The lowest and the highest feature id that a file names: LARGEST_ID and -1 if it names none."""
        _, lowest, highest = self._scan(path, lambda _: None)
        return lowest, highest

    def _measure(self, path: Path, tell: Callable[[int], None]) -> _Table:
        return self._table(path, *self._scan(path, tell))

    def _scan(self, path: Path, tell: Callable[[int], None]) -> tuple[npt.NDArray[np.int32], int, int]:
        """How many features each row names, and the lowest and the highest id among them."""
        from truerank.datasets.svmlight_kernels import ODD, count_entries

        counts, lowest, highest = [np.empty(0, dtype=np.int32)], LARGEST_ID, -1
        for chunk in _rows(path):
            count, low, high = (np.empty(len(chunk.starts), dtype=np.int32) for _ in range(3))
            count_entries(chunk.text, chunk.starts, self.judged, count, low, high)
            for k in np.flatnonzero(count == ODD).tolist():
                features = self._parse(path, chunk, k).features
                count[k] = len(features)
                low[k], high[k] = features[[0, -1]] if len(features) else (0, -1)
            counts.append(count)
            lowest = min(lowest, int(low[count > 0].min(initial=LARGEST_ID)))
            highest = max(highest, int(high.max(initial=-1)))
            tell(chunk.consumed)
        return np.concatenate(counts), lowest, highest

    def _table(self, path: Path, counts: npt.NDArray[np.int32], lowest: int, highest: int) -> _Table:
        if not len(counts):
            raise FileFormatError(f"{path} has no rows")
        first = self.first_feature if self.first_feature is not None else _first(lowest)
        n_features = self.n_features if self.n_features is not None else highest + 1 - first
        if n_features < 1:
            raise FileFormatError(f"{path} names no feature. Hint: n_features= says how many there are")
        entries, cells = int(counts.sum(dtype=np.int64)), len(counts) * n_features
        dense = self.dense if self.dense is not None else entries >= DENSE_FROM * cells
        offsets = np.arange(len(counts) + 1) * n_features if dense else offsets_from_sizes(counts)
        return _Table(n_features, first, dense, offsets)

    def _fill(self, path: Path, table: _Table, tell: Callable[[int], None]) -> FeatureText:
        n_heads = table.n_rows if self.judged else 0
        labels, query = np.empty(n_heads, dtype=np.int32), np.empty(n_heads, dtype=np.int64)
        values = np.zeros(table.offsets[-1], dtype=np.float32)
        indices = np.empty(0 if table.dense else len(values), dtype=np.int32)
        done = 0
        for chunk in _rows(path):
            here = slice(done, done + len(chunk.starts))
            done = here.stop
            if done > table.n_rows:
                raise _changed(path)
            offsets = table.offsets[here.start : here.stop + 1]
            self._fill_chunk(path, chunk, table, offsets, labels[here], query[here], indices, values)
            tell(chunk.consumed)
        if done < table.n_rows:
            raise _changed(path)
        return FeatureText(_matrix(table, values, indices), labels, query)

    def _fill_chunk(
        self,
        path: Path,
        chunk: Chunk,
        table: _Table,
        offsets: IntArray,
        labels_out: Labels,
        query_out: IntArray,
        indices_out: npt.NDArray[np.int32],
        values_out: npt.NDArray[np.float32],
    ) -> None:
        from truerank.datasets.svmlight_kernels import fill_rows

        filled = np.empty(len(chunk.starts), dtype=np.bool_)
        given = (self.judged, table.dense, table.first_feature, table.n_features, offsets)
        fill_rows(chunk.text, chunk.starts, *given, labels_out, query_out, indices_out, values_out, filled)
        for k in np.flatnonzero(~filled).tolist():
            row = self._parse(path, chunk, k)
            places = _places(row, table, f"{path}, line {chunk.numbers[k]}")
            if self.judged:
                labels_out[k], query_out[k] = row.label, row.query
            slots = offsets[k] + (places if table.dense else np.arange(len(places)))
            if not table.dense:
                if len(places) != offsets[k + 1] - offsets[k]:
                    raise _changed(path)
                indices_out[slots] = places
            values_out[slots] = row.values

    def _parse(self, path: Path, chunk: Chunk, k: int) -> Row:
        try:
            return parse_line(chunk.line(k), self.judged)
        except FileFormatError as error:
            raise FileFormatError(f"{path}, line {chunk.numbers[k]}: {error}") from None


def common_columns(files: Iterable[Path], judged: bool) -> tuple[int | None, int]:
    """How many columns files that belong together need, None if none names a feature, and the id of the first.

    It is 0 if any of the files names a feature 0: a sparse one may lack it by chance, and would be read a column off.
    """
    ranges = [FeatureReader(judged).range_of_ids(path) for path in files]
    first = _first(min(lowest for lowest, _ in ranges))
    highest = max(highest for _, highest in ranges)
    return (None if highest < 0 else highest + 1 - first), first


def _first(lowest: int) -> int:
    """The id of the first column, seen from the lowest id that is named."""
    return min(lowest, 1)


def line_of_row(path: Path, row: int) -> int:
    """In which line of the file row `row` stands, both counted as people do: rows from 0, lines from 1."""
    for chunk in _rows(path):
        if row < len(chunk.numbers):
            return int(chunk.numbers[row])
        row -= len(chunk.numbers)
    raise _changed(path)


def _rows(path: Path) -> Iterator[Chunk]:
    """The lines of a file that are neither empty nor only a comment."""
    from truerank.datasets.svmlight_kernels import hold_a_row

    for chunk in read_chunks(path):
        found = np.empty(len(chunk.starts), dtype=np.bool_)
        hold_a_row(chunk.text, chunk.starts, found)
        yield chunk.select(found)


def _places(row: Row, table: _Table, where: str) -> IntArray:
    places = row.features - table.first_feature
    outside = (places < 0) | (places >= table.n_features)
    if outside.any():
        raise FileFormatError(
            f"{where}: feature id {row.features[outside][0]} is not one of {table.first_feature} to "
            f"{table.first_feature + table.n_features - 1}. Hint: n_features= says how many there are, first_feature= "
            "whether ids begin at 0 or 1"
        )
    return places


def _matrix(table: _Table, values: npt.NDArray[np.float32], indices: npt.NDArray[np.int32]) -> Any:
    shape = (table.n_rows, table.n_features)
    if table.dense:
        return values.reshape(shape)
    from scipy import sparse

    return sparse.csr_matrix((values, indices, table.offsets), shape=shape)


def _changed(path: Path) -> FileFormatError:
    return FileFormatError(f"{path} changed while it was being read. Hint: read it again")

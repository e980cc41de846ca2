"""Counts by list, item and position, sorted and coded, as the estimators walk through them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from truerank.errors import IdentificationError
from truerank.ragged import offsets_from_sizes
from truerank.types import BoolArray, FloatArray, IntArray, ItemPositionCounts


@dataclass(frozen=True, eq=False)
class Cells:
    """One cell an item of a list at a position; cells of an item stand together, items of a list stand together.

    Item g (of one list) has the cells from `offsets[g]` to `offsets[g + 1]`, list q the items from `list_offsets[q]` to
    `list_offsets[q + 1]`. `place` is the position from 0; `impressions` and `clicks` are floats, for the kernels. `row`
    is the (first) entry of the counts that a cell came from.
    """

    offsets: IntArray
    list_offsets: IntArray
    place: IntArray
    impressions: FloatArray
    clicks: FloatArray
    row: IntArray
    n_positions: int

    @property
    def n_items(self) -> int:
        """How many items of lists there are."""
        return len(self.offsets) - 1

    @property
    def item(self) -> IntArray:
        """Which item each cell belongs to."""
        return np.repeat(np.arange(self.n_items), np.diff(self.offsets))

    def item_sums(self, values: FloatArray) -> FloatArray:
        """Sums of a value a cell over the cells of each item."""
        return _sums(values, self.offsets)

    def where_items(self, chosen: BoolArray) -> Cells:
        """Some of the items; lists left with none stay, empty."""
        cells = chosen[self.item]
        items_before = offsets_from_sizes(chosen.astype(np.int64))
        return Cells(
            offsets=offsets_from_sizes(np.diff(self.offsets)[chosen]),
            list_offsets=items_before[self.list_offsets],
            place=self.place[cells],
            impressions=self.impressions[cells],
            clicks=self.clicks[cells],
            row=self.row[cells],
            n_positions=self.n_positions,
        )


def cells_of(counts: ItemPositionCounts, n_positions: int | None = None, without: IntArray | None = None) -> Cells:
    """Sort and code counts; positions past `n_positions`, and those `without`, are left out, and cells never shown."""
    last = int(counts.position.max(initial=0)) if n_positions is None else n_positions
    use = (counts.position <= last) & (counts.impressions > 0)
    if without is not None:
        use &= ~np.isin(counts.position, without)
    rows = np.flatnonzero(use)
    if not rows.size:
        raise IdentificationError("the log shows nothing at any position")
    lists, items = _code(counts.list[rows]), _code(counts.item[rows])
    item = lists * (int(items.max()) + 1) + items
    key = item * last + counts.position[rows] - 1
    order = np.argsort(key, kind="stable")
    new_cell = np.concatenate([[True], np.diff(key[order]) > 0])
    first = np.flatnonzero(new_cell)
    impressions, clicks = (np.add.reduceat(c[rows][order], first) for c in (counts.impressions, counts.clicks))
    rows, item, lists = rows[order][first], item[order][first], lists[order][first]
    new_item = np.concatenate([[True], item[1:] != item[:-1]])
    offsets = np.append(np.flatnonzero(new_item), len(rows))
    return Cells(
        offsets=offsets,
        list_offsets=offsets_from_sizes(np.bincount(lists[new_item])),
        place=counts.position[rows] - 1,
        impressions=impressions.astype(np.float64),
        clicks=clicks.astype(np.float64),
        row=rows,
        n_positions=last,
    )


def _code(values: npt.NDArray[np.generic]) -> IntArray:
    """Numbers 0, 1, 2, … for distinct values; whole numbers that are small already serve as they are."""
    if values.dtype.kind in "iu" and values.min() >= 0 and values.max() < 4 * len(values) + 1_000:
        seen = np.zeros(int(values.max()) + 1, dtype=np.int64)
        seen[values] = 1
        code: IntArray = (np.cumsum(seen) - 1)[values]
    else:
        code = np.unique(values, return_inverse=True)[1].astype(np.int64)
    return code


def _sums(values: FloatArray, offsets: IntArray) -> FloatArray:
    if not len(values):
        return np.zeros(len(offsets) - 1)
    totals: FloatArray = np.add.reduceat(values, np.minimum(offsets[:-1], len(values) - 1))
    return np.where(np.diff(offsets) > 0, totals, 0.0)

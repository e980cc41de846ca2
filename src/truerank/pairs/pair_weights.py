"""Weighted pairs: the waist that every debiasing method fills and every ranker trains on."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank.errors import InputError
from truerank.pairs.ids import read_ids
from truerank.ragged import as_flat_array, offsets_from_sizes, read_whole_numbers
from truerank.types import FloatArray, IntArray

LONGEST_LIST = 65_536
"""Places inside a list are kept in at most 16 bits."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PairWeights:
    """For each list, entries (i, j, weight): item i should beat item j, this strongly.

    Lists and their rows stand in a fixed order; features must stand in the same. Entry k belongs to the list q with
    `offsets[q] ≤ k < offsets[q + 1]`, and `i[k]`, `j[k]` count from 0 inside that list. A pair is stored in at most
    12 bytes (16 with positions). Arrays are read-only.

    Attributes:
        group: the number of items of each list.
        offsets: where the entries of each list begin, and the end of the last.
        i, j: the places of the two items inside their list.
        weight: the weight of the pair; negative ones push i below j.
        query: the id of each list, or None.
        item: the id of each row, or None.
        position_i, position_j: where the two items were shown, kept only for `method="ratio"`.
        sessions: how many sessions were added up in each list; 1 if not given.
        sessions_without_pairs: how many sessions had nothing to compare (no click, or one item).
        source_row: for each row of the lists, the input row it was first seen in; `X[pairs.source_row]` are the
            features. None where there is no single input, as after `+`.
        merge: how sessions became lists: `exact`, `query`, or None when each is its own.
    """

    group: IntArray
    offsets: IntArray
    i: npt.NDArray[Any]
    j: npt.NDArray[Any]
    weight: FloatArray
    query: npt.NDArray[Any] | None = None
    item: npt.NDArray[Any] | None = None
    position_i: npt.NDArray[Any] | None = None
    position_j: npt.NDArray[Any] | None = None
    sessions: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    sessions_without_pairs: int = 0
    source_row: IntArray | None = None
    merge: str | None = None

    def __post_init__(self) -> None:
        """Give each array its type, check that they fit together, and lock them."""
        group = read_whole_numbers(self.group, "group", smallest=1, largest=LONGEST_LIST).astype(np.int64)
        small = place_dtype(int(group.max(initial=1)))
        sessions = self.sessions if len(self.sessions) else np.ones(len(group), dtype=np.int64)
        arrays: dict[str, Any] = {
            "group": group,
            "offsets": np.ascontiguousarray(self.offsets, dtype=np.int64),
            "i": _as_integers(self.i, small, "i"),
            "j": _as_integers(self.j, small, "j"),
            "weight": np.ascontiguousarray(as_flat_array(self.weight, "weight"), dtype=np.float64),
            "sessions": np.ascontiguousarray(sessions, dtype=np.int64),
        }
        for name in ("query", "item"):
            value = getattr(self, name)
            arrays[name] = None if value is None else read_ids(value, name)
        for name, dtype in (("position_i", np.uint16), ("position_j", np.uint16), ("source_row", np.int64)):
            value = getattr(self, name)
            arrays[name] = None if value is None else _as_integers(value, dtype, name)
        for name, array in arrays.items():
            if array is not None:
                array = array.view()
                array.flags.writeable = False
            object.__setattr__(self, name, array)
        self._check()

    def _check(self) -> None:
        from truerank.pairs.session_kernels import first_impossible_pair

        n_lists, n_pairs, n_rows = self.n_lists, self.n_pairs, self.n_rows
        wanted = {
            "offsets": n_lists + 1,
            "i": n_pairs,
            "j": n_pairs,
            "sessions": n_lists,
            "query": n_lists,
            "item": n_rows,
            "position_i": n_pairs,
            "position_j": n_pairs,
            "source_row": n_rows,
        }
        for name, length in wanted.items():
            array = getattr(self, name)
            if array is not None and array.shape != (length,):
                raise InputError(f"{name} has shape {array.shape}; with these lists and pairs it needs ({length},)")
        if (self.position_i is None) != (self.position_j is None):
            raise InputError("position_i and position_j must be given together")
        if self.offsets[0] != 0 or self.offsets[-1] != n_pairs or np.any(np.diff(self.offsets) < 0):
            raise InputError(
                f"offsets must rise from 0 to the number of pairs, {n_pairs}; they run from {self.offsets[0]} "
                f"to {self.offsets[-1]}"
            )
        finite = np.isfinite(self.weight)
        if not finite.all():
            k = int(np.argmin(finite))
            raise InputError(f"weight[{k}] is {self.weight[k]}; every weight must be finite")
        bad = first_impossible_pair(self.group, self.offsets, self.i, self.j)
        if bad >= 0:
            q = int(np.searchsorted(self.offsets, bad, side="right")) - 1
            raise InputError(
                f"pair {bad} is ({self.i[bad]}, {self.j[bad]}) in list {q} of {self.group[q]} items; it must name two "
                "different places, counted from 0"
            )

    @property
    def n_lists(self) -> int:
        """How many lists there are."""
        return len(self.group)

    @property
    def n_rows(self) -> int:
        """How many items all lists hold: the number of feature rows."""
        return int(self.group.sum())

    @property
    def n_pairs(self) -> int:
        """How many entries there are."""
        return len(self.weight)

    @property
    def row_offsets(self) -> IntArray:
        """Where the rows of each list begin, and the end of the last."""
        return offsets_from_sizes(self.group)

    @property
    def nbytes(self) -> int:
        """The bytes that the entries take."""
        kept = (self.i, self.j, self.weight, self.position_i, self.position_j)
        return sum(array.nbytes for array in kept if array is not None)

    def __add__(self, other: PairWeights) -> PairWeights:
        """Add the weights of equal pairs.

        With ids, lists over the same query and items become one, others are kept side by side (or, with
        `merge="query"`, lists of a query are united). Without ids both must have the same lists, row by row.
        """
        if not isinstance(other, PairWeights):
            return NotImplemented
        from truerank.pairs.merge import add

        return add(self, other)

    def select_lists(self, keep: npt.ArrayLike) -> PairWeights:
        """Only some lists: a boolean for each. With `row_mask` the features can follow."""
        mask = np.asarray(keep)
        if mask.dtype != np.bool_ or mask.shape != (self.n_lists,):
            raise InputError(f"keep has shape {mask.shape} and dtype {mask.dtype}; it needs a boolean a list")
        rows, entries = self.row_mask(mask), np.repeat(mask, np.diff(self.offsets))
        by = {
            "group": mask, "query": mask, "sessions": mask,
            "item": rows, "source_row": rows,
            "i": entries, "j": entries, "weight": entries, "position_i": entries, "position_j": entries,
        }  # fmt: skip
        chosen = {name: None if (a := getattr(self, name)) is None else a[m] for name, m in by.items()}
        return PairWeights(
            **chosen,  # type: ignore[arg-type]
            offsets=offsets_from_sizes(np.diff(self.offsets)[mask]),
            sessions_without_pairs=self.sessions_without_pairs,
            merge=self.merge,
        )

    def row_mask(self, keep: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """A boolean a list, spread over the rows of the lists."""
        return np.repeat(np.asarray(keep, dtype=np.bool_), self.group)

    def clip_negative(self) -> tuple[PairWeights, int]:
        """The same pairs with negative weights set to 0, and how many there were."""
        negative = self.weight < 0
        count = int(negative.sum())
        if count == 0:
            return self, 0
        changed = {f.name: getattr(self, f.name) for f in fields(self)}
        changed["weight"] = np.where(negative, 0.0, self.weight)
        return PairWeights(**changed), count

    def summary(self) -> PairSummary:
        """What is in here, in a few numbers; printing it gives a small table."""
        weight = self.weight
        spread = np.quantile(weight, [0, 0.5, 1]) if len(weight) else np.full(3, np.nan)
        return PairSummary(
            lists=self.n_lists,
            rows=self.n_rows,
            pairs=self.n_pairs,
            sessions=int(self.sessions.sum()),
            sessions_without_pairs=self.sessions_without_pairs,
            lists_without_pairs=int((np.diff(self.offsets) == 0).sum()),
            negative_pairs=int((weight < 0).sum()),
            smallest_weight=float(spread[0]),
            median_weight=float(spread[1]),
            largest_weight=float(spread[2]),
            total_weight=float(weight.sum()),
            bytes_per_pair=self.nbytes / len(weight) if len(weight) else 0.0,
        )

    def features(
        self,
        source: Any,
        engine: Any = "duckdb",
        *,
        query_column: str | None = "query",
        item_column: str = "item",
        **settings: Any,
    ) -> Any:
        """The features of the rows, in their order, as an Arrow table: what `fit_pairs` takes.

        Rows without features are refused, with how many there are and which. Single features that are missing
        (null) stay so.

        Args:
            source: files, a frame or an Ibis table, as for `truerank.open_log`: a row for each item of each query, or
                for each item; all columns but the ids are features.
            engine: what looks them up; `settings` are those of `truerank.open_log`: memory_limit and so on.
            query_column: what `source` calls the id of the query; None if items have the same features everywhere.
            item_column: what `source` calls the id of the item.
        """
        from truerank.log.features import features_of

        if self.item is None or self.query is None:
            raise InputError("these pairs have no ids to look up. Hint: make them with query= and item=")
        query = np.repeat(self.query, self.group)
        return features_of(
            query, self.item, source, engine, query_column=query_column, item_column=item_column, **settings
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to one file, by its ending: `.parquet` (one row a list, any tool can read it) or `.npz`."""
        from truerank.pairs.files import save_pairs

        save_pairs(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PairWeights:
        """Read what `save` wrote."""
        from truerank.pairs.files import load_pairs

        return load_pairs(path)


@dataclass(frozen=True, slots=True)
class PairSummary:
    """What a `PairWeights` holds, in a few numbers."""

    lists: int
    rows: int
    pairs: int
    sessions: int
    sessions_without_pairs: int
    lists_without_pairs: int
    negative_pairs: int
    smallest_weight: float
    median_weight: float
    largest_weight: float
    total_weight: float
    bytes_per_pair: float

    def __str__(self) -> str:
        """One line a number."""
        rows = [(f.name.replace("_", " "), getattr(self, f.name)) for f in fields(self)]
        return "\n".join(
            f"{name:<24}{value:>14,.6g}" if isinstance(value, float) else f"{name:<24}{value:>14,}"
            for name, value in rows
        )


def place_dtype(longest: int) -> type[np.unsignedinteger[Any]]:
    """The smallest integers that hold the places inside lists of at most `longest` items."""
    if longest > LONGEST_LIST:
        raise InputError(
            f"a list has {longest} items; at most {LONGEST_LIST} fit. Hint: cut long lists, or use merge='exact'"
        )
    return np.uint8 if longest <= 256 else np.uint16


def _as_integers(values: Any, dtype: type[np.integer[Any]], name: str) -> npt.NDArray[Any]:
    array = np.asarray(values)
    if array.dtype == dtype:
        return np.ascontiguousarray(array)
    largest = np.iinfo(dtype).max
    if array.size and (array.dtype.kind not in "iu" or array.min() < 0 or array.max() > largest):
        raise InputError(f"{name} must hold whole numbers from 0 to {largest}")
    return np.ascontiguousarray(array, dtype=dtype)

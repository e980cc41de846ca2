"""Simulated click logs on disk, portion by portion, and the features that belong to them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from truerank.atomic import check_folder, replace_whole
from truerank.errors import InputError
from truerank.examination import RowSkipping
from truerank.examination.row_skipping import read_row_lengths
from truerank.log import ClickLog, open_log
from truerank.simulate.draws import drawer
from truerank.simulate.plan import Drawn, Plan, Portion, plan_sessions
from truerank.types import IntArray, JudgedLists

if TYPE_CHECKING:
    import pyarrow as pa

Progress = Callable[[float, float], None]
_ROWS = 65_536


def simulate_log(
    judged: Any,
    examination: Any,
    path: str | os.PathLike[str],
    sessions_per_list: Any = 16,
    seed: Any = 0,
    *,
    row_lengths: Any = None,
    progress: Progress | None = None,
    **protocol: Any,
) -> ClickLog:
    """Simulate a click log straight into a Parquet file, in bounded memory: the sessions of `simulate_clicks`.

    `query` is the id of the judged list, `item` the row of the judged lists, and `swap`, if there is an experiment, the
    marker that `truerank.propensity.swap` looks for. If items are shown in a grid, `row` and `column` say where in it,
    both from 1. `write_features` writes the features under the same ids.

    Args:
        judged, examination, sessions_per_list, seed: as in `simulate_clicks`.
        path: the file, ending in .parquet; it is written whole or not at all.
        row_lengths: how many items each row of the grid holds, from the top; by default as `examination` has it, if it
            is `RowSkipping`.
        progress: called as progress(sessions done, sessions in all).
        protocol: the other arguments of `simulate_clicks`.

    >>> from truerank import RowSkipping
    >>> grid = RowSkipping(gamma=0.2, continuation=0.9, row_lengths=[2, 2])
    >>> log = simulate_log([0, 2, 1], grid, "clicks.parquet", 100, group=[3])
    >>> log.summary().sessions, log.row_lengths()
    (100, [2, 1])
    """
    check_target(path)
    plan = plan_sessions(judged, examination, sessions_per_list, seed, **protocol)
    if row_lengths is None and isinstance(examination, RowSkipping):
        row_lengths = examination.row_lengths
    places = None if row_lengths is None else _grid(row_lengths, plan.lists.longest)
    draw, markers = drawer(plan), plan.arms.texts()
    tables = ((_table(plan, portion, draw, markers, places), portion.last) for portion in plan.portions())
    _write_whole(path, tables, plan.n_sessions, progress)
    return open_log(path)


def write_features(judged: JudgedLists, path: str | os.PathLike[str], *, progress: Progress | None = None) -> None:
    """Write the features of judged lists as Parquet, a row an item, keyed as `simulate_log` keys its log.

    The columns are query, item (the row of the judged lists), and f1, f2, …, one a feature. Grades are left out. The
    path must end in .parquet; the file is written whole or not at all.
    """
    check_target(path)
    if not judged.n_rows:
        raise InputError("there are no judged items to write features of")
    _write_whole(path, _feature_tables(judged), judged.n_rows, progress)


def check_target(path: str | os.PathLike[str], name: str = "path") -> None:
    """Refuse a path that no Parquet can be written to, before there is anything to write."""
    target = Path(path)
    if target.suffix.lower() not in (".parquet", ".pq"):
        raise InputError(f"{name} is {str(target)!r}; it is written as Parquet, so it must end in .parquet")
    check_folder(target, name)


def _feature_tables(judged: JudgedLists) -> Iterator[tuple[pa.Table, int]]:
    import pyarrow as pa

    query = np.repeat(judged.query, judged.group)
    names = [f"f{k + 1}" for k in range(judged.X.shape[1])]
    for start in range(0, judged.n_rows, _ROWS):
        rows = slice(start, min(start + _ROWS, judged.n_rows))
        part = judged.X[rows]
        columns = np.asarray(part.toarray() if hasattr(part, "toarray") else part, dtype=np.float32).T
        keys = {"query": query[rows], "item": np.arange(rows.start, rows.stop)}
        yield pa.table(keys | dict(zip(names, map(np.ascontiguousarray, columns), strict=True))), rows.stop


def _write_whole(
    path: str | os.PathLike[str], tables: Iterator[tuple[pa.Table, int]], total: int, progress: Progress | None
) -> None:
    """Write tables, at least one, to a file one after another; each comes with how much is done when it is written."""
    import pyarrow.parquet as pq

    first = next(tables)
    schema, encodings = first[0].schema, _encodings(first[0])
    with replace_whole(path) as temporary, pq.ParquetWriter(temporary, schema, **encodings) as writer:
        for table, done in chain([first], tables):
            writer.write_table(table)
            if progress is not None:
                progress(done, total)


def _encodings(table: pa.Table) -> dict[str, Any]:
    """Ids that rise slowly are kept as differences, which takes a sixth of the room and half of the time."""
    import pyarrow as pa

    ids = [field.name for field in table.schema if pa.types.is_int64(field.type)]
    return {
        "compression": "zstd",
        "use_dictionary": [name for name in table.column_names if name not in ids],
        "column_encoding": dict.fromkeys(ids, "DELTA_BINARY_PACKED"),
    }


def _grid(row_lengths: Any, longest: int) -> tuple[IntArray, IntArray]:
    """In which row and column each place is, from 1."""
    lengths = read_row_lengths(row_lengths)
    if lengths.sum() < longest:
        raise InputError(
            f"row_lengths has {lengths.sum()} places and the longest list {longest} items. Hint: cut lists with at=, "
            "or add rows"
        )
    starts = np.cumsum(lengths) - lengths
    row = np.repeat(np.arange(1, len(lengths) + 1), lengths)
    return row, np.arange(1, lengths.sum() + 1) - np.repeat(starts, lengths)


def _table(
    plan: Plan,
    portion: Portion,
    draw: Callable[[Portion, Drawn], None],
    markers: list[str | None],
    places: tuple[IntArray, IntArray] | None,
) -> pa.Table:
    """The rows of one portion of sessions."""
    import pyarrow as pa

    sessions, rows = plan.place_of(portion)
    drawn = Drawn.room_for(sessions.stop - sessions.start, rows.stop - rows.start)
    draw(portion, drawn)
    lists = plan.lists.of_sessions(portion.first, portion.last)
    sizes = plan.lists.size[lists]
    columns = {
        "session": np.repeat(np.arange(portion.first, portion.last), sizes),
        "query": np.repeat(plan.query[lists], sizes),
        "item": drawn.item.astype(np.int64),
        "position": drawn.positions,
        "label": drawn.clicks,
    }
    if places is not None:
        for name, place in zip(("row", "column"), places, strict=True):
            columns[name] = place.astype(np.int16)[drawn.positions - 1]
    if len(markers) > 1:
        columns["swap"] = pa.array(markers, type=pa.string()).take(pa.array(np.repeat(drawn.arm, sizes)))
    return pa.table(columns)

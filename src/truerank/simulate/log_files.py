"""Simulated click logs on disk, portion by portion, and the features that belong to them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from truerank.atomic import replace_whole
from truerank.errors import InputError
from truerank.log import ClickLog, open_log
from truerank.simulate.draws import drawer
from truerank.simulate.plan import Drawn, Plan, Portion, plan_sessions
from truerank.types import JudgedLists

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
    progress: Progress | None = None,
    **protocol: Any,
) -> ClickLog:
    """Simulate a click log straight into a Parquet file, in bounded memory: the sessions of `simulate_clicks`.

    `query` is the id of the judged list, `item` the row of the judged lists, and `swap`, if there is an experiment, the
    marker that `truerank.propensity.swap` looks for. `write_features` writes the features under the same ids.

    Args:
        judged, examination, sessions_per_list, seed: as in `simulate_clicks`.
        path: the file; it is written whole or not at all.
        progress: called as progress(sessions done, sessions in all).
        protocol: the other arguments of `simulate_clicks`.

    >>> from truerank import Continuous, inverse_rank
    >>> log = simulate_log([0, 2, 1], Continuous(inverse_rank(3)), "clicks.parquet", 100, group=[3])
    >>> log.summary().sessions
    100
    """
    import pyarrow.parquet as pq

    plan = plan_sessions(judged, examination, sessions_per_list, seed, **protocol)
    draw, markers = drawer(plan), plan.arms.texts()
    with replace_whole(path) as temporary:
        writer = None
        for portion in plan.portions():
            table = _table(plan, portion, draw, markers)
            writer = writer or pq.ParquetWriter(temporary, table.schema, compression="zstd")
            writer.write_table(table)
            if progress is not None:
                progress(portion.last, plan.n_sessions)
        if writer is not None:
            writer.close()
    return open_log(path)


def write_features(judged: JudgedLists, path: str | os.PathLike[str], *, progress: Progress | None = None) -> None:
    """Write the features of judged lists as Parquet, a row an item, keyed as `simulate_log` keys its log.

    The columns are query, item (the row of the judged lists), and f1, f2, …, one a feature. Grades are left out.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    query = np.repeat(judged.query, judged.group)
    names = [f"f{k + 1}" for k in range(judged.X.shape[1])]
    with replace_whole(path) as temporary:
        writer = None
        for start in range(0, judged.n_rows, _ROWS):
            rows = slice(start, min(start + _ROWS, judged.n_rows))
            part = judged.X[rows]
            columns = np.asarray(part.toarray() if hasattr(part, "toarray") else part, dtype=np.float32).T
            keys = {"query": query[rows], "item": np.arange(rows.start, rows.stop)}
            table = pa.table(keys | dict(zip(names, map(np.ascontiguousarray, columns), strict=True)))
            writer = writer or pq.ParquetWriter(temporary, table.schema, compression="zstd")
            writer.write_table(table)
            if progress is not None:
                progress(rows.stop, judged.n_rows)
        if writer is None:
            raise InputError("there are no judged items to write features of")
        writer.close()


def _table(plan: Plan, portion: Portion, draw: Callable[[Portion, Drawn], None], markers: list[str | None]) -> pa.Table:
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
    if len(markers) > 1:
        marker = np.array(markers, dtype=object)[drawn.arm]
        columns["swap"] = pa.array(np.repeat(marker, sizes), type=pa.string())
    return pa.table(columns)

"""Open a click log: Parquet files or frames whose columns are renamed to those of a log."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from truerank.errors import InputError
from truerank.log.click_log import ClickLog
from truerank.log.engines import Engine, open_engine
from truerank.log.schema import COLUMNS, FILE, OPTIONAL, REQUIRED


def open_log(
    source: Any,
    engine: Any = "duckdb",
    columns: Mapping[str, str] | None = None,
    *,
    memory_limit: str | None = None,
    threads: int | None = None,
    temp_directory: str | None = None,
) -> ClickLog:
    """Open a log of impressions, one a row.

    Args:
        source: Parquet files (a path, a folder, a pattern such as `logs/2024-*.parquet`, or a list of them) or an
            Arrow, pandas or Polars frame.
        engine: what evaluates the log.
        columns: for each column of a log, what `source` calls it; those not named here have their own name. A log has
            session, query, item, position (from 1) and label (0 nothing, 1 click, more: stronger), and optionally
            timestamp, row, column, device, swap and features.
        memory_limit: the memory that the engine may use, such as '4GB'; beyond it, it spills to disk.
        threads: how many threads the engine may use.
        temp_directory: where the engine spills to.
    """
    ready = open_engine(engine, memory_limit=memory_limit, threads=threads, temp_directory=temp_directory)
    return ClickLog(name_columns(_read(source, ready), columns or {}), ready)


def name_columns(table: Any, columns: Mapping[str, str]) -> Any:
    """The columns of a log out of `table`, renamed."""
    unknown = [name for name in columns if name not in COLUMNS]
    if unknown:
        raise InputError(f"columns names {unknown[0]!r}; a log has {', '.join(COLUMNS)}")
    names = {name: columns.get(name, name) for name in COLUMNS}
    there = [name for name in REQUIRED if names[name] not in table.columns]
    there += [name for name in columns if name in OPTIONAL and names[name] not in table.columns]
    if there:
        raise InputError(f"there is no column {names[there[0]]!r} for {there[0]}; there are {', '.join(table.columns)}")
    kept = {name: table[source] for name, source in names.items() if source in table.columns}
    return table.select(**kept, **({FILE: table[FILE]} if FILE in table.columns else {}))


def _read(source: Any, engine: Engine) -> Any:
    if isinstance(source, str | os.PathLike) or (
        isinstance(source, Sequence) and source and all(isinstance(path, str | os.PathLike) for path in source)
    ):
        return engine.read_parquet(files_of(source))
    return engine.read_frame(source)


def files_of(source: Any) -> list[str]:
    """The files that a path, a folder, a pattern or a list of them stands for, sorted."""
    files: list[str] = []
    for path in [source] if isinstance(source, str | os.PathLike) else source:
        text = os.fspath(path)
        found = (
            sorted(str(p) for p in Path(text).rglob("*.parquet")) if os.path.isdir(text) else sorted(glob.glob(text))
        )
        if not found:
            raise InputError(f"{text} has no files")
        files += found
    return files

"""Open a log with one impression a row."""

from __future__ import annotations

import os
from typing import Any

from truerank.log.click_log import ClickLog
from truerank.log.engines import open_engine
from truerank.log.naming import Columns, name_columns, text_columns
from truerank.log.sources import read_source


def open_log(
    source: Any,
    engine: Any = "duckdb",
    columns: Columns | None = None,
    *,
    memory_limit: str | None = None,
    threads: int | None = None,
    temp_directory: str | os.PathLike[str] | None = None,
) -> ClickLog:
    """Open a log of impressions, one a row; nothing is read until something is asked of it.

    >>> import pyarrow as pa
    >>> shown = {"request": [1, 1, 2], "query": ["a", "a", "b"], "item": [7, 8, 9], "rank": [1, 2, 1]}
    >>> events = pa.table({**shown, "event": [None, "click", "purchase"]})
    >>> label = {"from": "event", "grades": {"click": 1, "purchase": 2}}
    >>> log = open_log(events, columns={"session": "request", "position": "rank", "label": label})
    >>> log.position_counts().clicks.tolist()
    [1, 1]

    Args:
        source: files that end in .parquet, .csv, .tsv or .ndjson (the last three also compressed, .csv.gz): a path, a
            folder, a pattern such as `logs/2024-*.parquet`, or a list of them; an Arrow, pandas or Polars frame; or an
            Ibis table, which stays in its engine.
        engine: what evaluates the log: `"duckdb"`, `"spark"` (`pip install 'truerank[spark]'` and Java), a
            SparkSession, or an Ibis connection to one of the two.
        columns: what `source` calls the columns of a log: session, query, item, position (from 1) and label (0
            nothing, 1 click, more: stronger), and if there are any timestamp, row, column, device, swap and features.
            Those not named here have their own name. Instead of a name a mapping says more:
            `{"from": "event", "grades": {"click": 1, "purchase": 2}}` for a label that is the name of an event,
            `{"from": "time", "unit": "ms"}` for a timestamp that counts from 1970,
            `{"from": "sku", "as_text": True}` for ids such as `007`.
        memory_limit: the memory that the engine may use, such as `"4GB"`; beyond it, it spills to disk.
        threads: how many threads the engine may use.
        temp_directory: where the engine spills to.
    """
    columns = columns or {}
    as_text = text_columns(columns)
    ready = open_engine(engine, source, memory_limit=memory_limit, threads=threads, temp_directory=temp_directory)
    return ClickLog(name_columns(read_source(source, ready, as_text=as_text), columns), ready)

"""DuckDB: embedded, on all cores, and larger than memory by spilling to disk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ibis

from truerank.log.schema import FILE


class DuckDB:
    """An in-memory DuckDB of its own; `memory_limit` such as '4GB', beyond which it spills to `temp_directory`."""

    def __init__(
        self, *, memory_limit: str | None = None, threads: int | None = None, temp_directory: str | None = None
    ) -> None:
        settings = {"memory_limit": memory_limit, "threads": threads, "temp_directory": temp_directory}
        self.backend: Any = ibis.duckdb.connect(**{k: v for k, v in settings.items() if v is not None})

    def read_parquet(self, paths: Sequence[str]) -> Any:
        """The rows of Parquet files, with the path of each in the column `file`."""
        return self.backend.read_parquet(list(paths), filename=FILE, union_by_name=True)

    def read_frame(self, frame: Any) -> Any:
        """An Arrow table, or a frame of any kind that Arrow can read, in place."""
        import pyarrow as pa

        return ibis.memtable(pa.table(frame))

    def collect(self, expression: Any) -> Any:
        """Evaluate an expression: an Arrow table."""
        return self.backend.to_pyarrow(expression)

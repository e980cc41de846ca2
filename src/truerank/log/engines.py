"""What a click log asks of the engine that evaluates it; one module an engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from truerank.errors import InputError


class Engine(Protocol):
    """Reads sources as Ibis tables and evaluates expressions over them.

    Only what differs from engine to engine is here: how it is set up, how it reads files, and what its errors mean.
    All work on logs is Ibis expressions, the same for every engine.
    """

    backend: Any
    """The Ibis backend."""

    def read_parquet(self, paths: Sequence[str]) -> Any:
        """The rows of Parquet files as a table, with the path of each in the column `file`."""

    def read_frame(self, frame: Any) -> Any:
        """An Arrow table, or a pandas or Polars frame, as a table."""

    def collect(self, expression: Any) -> Any:
        """Evaluate an expression: an Arrow table."""


def open_engine(
    engine: Any,
    *,
    memory_limit: str | None = None,
    threads: int | None = None,
    temp_directory: str | None = None,
) -> Engine:
    """The engine of that name, or around a connection: `"duckdb"`, an Ibis backend or an engine."""
    if engine == "duckdb":
        from truerank.log.duckdb import DuckDB

        return DuckDB(memory_limit=memory_limit, threads=threads, temp_directory=temp_directory)
    if hasattr(engine, "collect"):
        return engine  # type: ignore[no-any-return]
    raise InputError(f"engine is {engine!r}; it must be 'duckdb'")

"""What a click log asks of the engine that evaluates it; one module an engine."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

import ibis

from truerank.errors import InputError


class Engine(Protocol):
    """Reads sources as Ibis tables and evaluates expressions over them.

    Only what differs from engine to engine is here: how it is set up, how it reads files and what its errors mean. All
    work on logs is Ibis expressions, the same for every engine. Tables read from files have the path of each row in
    the column `schema.FILE`.
    """

    @property
    def backend(self) -> Any:
        """The Ibis backend."""

    def read_parquet(self, paths: Sequence[str]) -> Any:
        """The rows of Parquet files."""

    def read_csv(self, paths: Sequence[str], as_text: Collection[str]) -> Any:
        """The rows of CSV files with a header, compressed or not; `as_text` names columns not to be guessed."""

    def read_ndjson(self, paths: Sequence[str], schema: Any = None) -> Any:
        """The objects of files with one JSON object a line, compressed or not, all fields or those of `schema`."""

    def read_frame(self, frame: Any) -> Any:
        """An Arrow table, or a frame that Arrow can read."""

    def rows_at_once(self) -> int:
        """How many rows the engine can hold in lists, which it cannot move to disk."""

    def fingerprint(self, one: Any, other: Any) -> Any:
        """64 bits for each two values of two columns: the same for the same two, and as if drawn for each."""

    def kept(self, expression: Any) -> AbstractContextManager[Any]:
        """A table of what an expression gives, evaluated once; it is gone after the block."""

    def collect(self, expression: Any) -> Any:
        """Evaluate an expression: an Arrow table."""

    def write_parquet(self, expression: Any, path: Path) -> None:
        """Write what an expression gives to one Parquet file."""

    def errors(self) -> AbstractContextManager[None]:
        """Where the engine's errors become those of truerank."""


def builtin(name: str, one: Any, other: Any, gives: str) -> Any:
    """A function of two columns that the engine has under a name."""
    kinds = (one.type(), other.type())
    return ibis.udf.scalar.builtin(_of_two, name=name, signature=(kinds, gives))(one, other)


def exclusive_or(numbers: Any) -> Any:
    """The XOR of the numbers of a group; Ibis has a name for it, which it does not know on Spark."""
    return ibis.udf.agg.builtin(_of_many, name="bit_xor", signature=((numbers.type(),), numbers.type()))(numbers)


def _of_two(one: Any, other: Any) -> Any:
    """The names of the arguments of built-in functions of rows."""


def _of_many(numbers: Any) -> Any:
    """The same of groups."""


def open_engine(
    engine: Any,
    source: Any = None,
    *,
    memory_limit: str | None = None,
    threads: int | None = None,
    temp_directory: Any = None,
) -> Engine:
    """The engine that holds `source`, if it is an Ibis table; otherwise the one that `engine` names.

    `engine` is `"duckdb"`, `"spark"`, a SparkSession, an Ibis backend, or an engine. The limits are for an engine that
    is started here.
    """
    settings = {"memory_limit": memory_limit, "threads": threads, "temp_directory": temp_directory}
    given = {name: value for name, value in settings.items() if value is not None}
    if isinstance(source, ibis.Table) and not isinstance(source.op(), ibis.expr.operations.InMemoryTable):
        engine = source.get_backend()
    if engine == "duckdb":
        from truerank.log.duckdb import connect

        return connect(**given)
    if engine == "spark" and "memory_limit" not in given:
        from truerank.log import spark

        return spark.connect(**given)
    if given:
        raise InputError(
            f"{', '.join(given)} can be given only for an engine that is started here, such as engine='duckdb' "
            "(for engine='spark' only threads and temp_directory)"
        )
    if isinstance(engine, ibis.backends.BaseBackend) and engine.name == "duckdb":
        from truerank.log.duckdb import DuckDB

        return DuckDB(engine)
    if isinstance(engine, ibis.backends.BaseBackend) and engine.name == "pyspark":
        from truerank.log.spark import Spark

        return Spark(engine, engine.con)
    if type(engine).__module__.startswith("pyspark.sql") and hasattr(engine, "createDataFrame"):
        from truerank.log import spark

        return spark.connect(engine)
    if hasattr(engine, "collect") and hasattr(engine, "read_frame"):
        return engine  # type: ignore[no-any-return]
    raise InputError(
        f"engine is {engine!r}; it must be 'duckdb', 'spark', a SparkSession, an Ibis connection to one of the two, "
        "or an engine"
    )

"""Spark: a cluster, or one machine, by the same expressions as every engine."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import ibis

from truerank.errors import InputError, MissingExtraError, ResourceError
from truerank.log.engines import builtin
from truerank.log.schema import FILE

_FULL = ("no space left on device", "disk quota exceeded", "java heap space", "outofmemory", "maxresultsize")


def connect(session: Any = None, *, threads: int | None = None, temp_directory: Any = None) -> Spark:
    """The Spark of a session; without one, that of this process, or one started here on the cores of this machine.

    One that is started here may take 4 GB, where Spark's own habit of 1 GB is less than the result of a large log.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtraError("pyspark", "spark") from None
    if session is None:
        session = SparkSession.getActiveSession()
    if session is None:
        settings = SparkSession.builder.master(f"local[{threads or '*'}]").config("spark.ui.enabled", "false")
        settings = settings.config("spark.driver.memory", "4g")
        if temp_directory is not None:
            settings = settings.config("spark.local.dir", str(temp_directory))
        try:
            session = settings.getOrCreate()
        except Exception as error:  # without Java it fails in PySpark's gateway, in one of several ways
            raise ResourceError(
                f"Spark does not start: {_in_short(error)}. Hint: it needs Java 17 or later (`java -version`)"
            ) from error
    backend = ibis.pyspark.from_connection(session)
    return Spark(backend, session)


@dataclass(frozen=True)
class Spark:
    """Reads files and evaluates expressions on an Ibis connection to Spark."""

    backend: Any
    session: Any

    def read_parquet(self, paths: Sequence[str]) -> Any:
        """The rows of Parquet files, a column of any of them being a column of all."""
        with self.errors():
            return self._with_file(self.session.read.option("mergeSchema", "true").parquet(*paths))

    def read_csv(self, paths: Sequence[str], as_text: Collection[str]) -> Any:
        """The rows of CSV files; the types of columns not in `as_text` are guessed."""
        options = {
            "header": True,
            "mode": "FAILFAST",
            "escape": '"',
            "sep": "\t" if str(paths[0]).split(".gz")[0].endswith(".tsv") else ",",
        }
        with self.errors():
            guessed = self.session.read.csv(list(paths), inferSchema=True, **options)
            types = {field.name: field.dataType.simpleString() for field in guessed.schema}
            schema = ", ".join(f"`{name}` {'string' if name in as_text else kind}" for name, kind in types.items())
            return self._with_file(self.session.read.csv(list(paths), schema=schema, **options))

    def read_ndjson(self, paths: Sequence[str], schema: Any = None) -> Any:
        """The objects of files with one JSON object a line."""
        reader = self.session.read
        if schema is not None:
            from ibis.backends.pyspark.datatypes import PySparkSchema

            reader = reader.schema(PySparkSchema.from_ibis(schema))
        with self.errors():
            return self._with_file(reader.json(list(paths)))

    def read_frame(self, frame: Any) -> Any:
        """An Arrow table, or a frame that Arrow can read, copied to Spark."""
        import pyarrow as pa

        with self.errors():
            return self._named(self.session.createDataFrame(pa.table(frame)))

    def rows_at_once(self) -> int:
        """As many as a process that has some gigabytes can be handed as a result; Spark itself moves lists to disk."""
        return 50_000_000

    def fingerprint(self, one: Any, other: Any) -> Any:
        """By its own hash function."""
        return builtin("xxhash64", one, other, "int64")

    @contextmanager
    def kept(self, expression: Any) -> Iterator[Any]:
        """A frame that Spark keeps, in memory and on disk, until it is forgotten.

        What joins it sorts: small as it looks to Spark, it would be sent whole to every worker, and may not fit there.
        """
        with self.errors():
            frame = self._frame(expression).localCheckpoint()
        yield self._named(frame.hint("merge"))

    def collect(self, expression: Any) -> Any:
        """Evaluate an expression: an Arrow table."""
        with self.errors():
            return self._frame(expression).toArrow()

    def write_parquet(self, expression: Any, path: Path) -> None:
        """Write what an expression gives to one Parquet file, which passes through this process in pieces."""
        import pyarrow.parquet as pq

        with self.errors():
            frame = self._frame(expression)
            schema = frame.limit(0).toArrow().schema
            with pq.ParquetWriter(path, schema, compression="zstd") as writer:
                writer.write_table(frame.toArrow())

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Say which file cannot be read, and what to do when memory or disk run out."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            yield
        except (PySparkException, Py4JError) as error:
            message = _in_short(error)
            if any(sign in str(error).lower() for sign in _FULL):
                raise ResourceError(
                    f"Spark ran out of memory or disk: {message}. Hint: raise spark.driver.memory, or set "
                    "spark.local.dir to a larger disk"
                ) from error
            raise InputError(f"Spark cannot read the log: {message}") from error

    def _frame(self, expression: Any) -> Any:
        return self.session.sql(self.backend.compile(expression))

    def _with_file(self, frame: Any) -> Any:
        """A frame with the path that each row was read from."""
        from pyspark.sql import functions

        path = functions.regexp_replace(functions.col("_metadata.file_path"), "^file:/+", "/")
        return self._named(frame.select("*", path.alias(FILE)))

    def _named(self, frame: Any) -> Any:
        name = ibis.util.gen_name("truerank")
        frame.createOrReplaceTempView(name)
        return self.backend.table(name)


def _in_short(error: Exception) -> str:
    """The first line of an error that says something, and the file it names further down."""
    lines = [line for line in str(error).strip().splitlines() if not line.startswith("An error occurred while calling")]
    said = (lines[0] if lines else type(error).__name__).removeprefix(": ").rstrip(".")
    files = [unquote(file) for file in re.findall(r"file:/[^\s'\",)]+", str(error))]
    return said if not files or files[0] in said else f"{said}; file {files[0]}"

"""DuckDB: embedded, on all cores, and larger than memory by spilling to disk."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import ibis

from truerank.errors import InputError, ResourceError
from truerank.log.engines import builtin
from truerank.log.folders import hold
from truerank.log.schema import FILE

_SPILL = "truerank-spill-"
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")
_BYTES_A_ROW = 80


def connect(*, memory_limit: str | None = None, threads: int | None = None, temp_directory: Any = None) -> DuckDB:
    """An in-memory DuckDB of its own.

    Beyond `memory_limit` (such as '4GB'; by default 80 % of the memory) it spills to a folder of its own inside
    `temp_directory` (by default $TMPDIR or /var/tmp), which is gone when the process ends or, if it was killed, when
    the next one starts.
    """
    spill = _Spill(temp_directory or os.environ.get("TMPDIR") or _disk())
    settings = {"memory_limit": memory_limit, "threads": threads, "temp_directory": str(spill.path)}
    try:
        backend = ibis.duckdb.connect(**{name: value for name, value in settings.items() if value is not None})
    except duckdb.Error as error:
        spill.remove()
        raise InputError(f"memory_limit={memory_limit!r}, threads={threads!r}: {_in_short(error)}") from error
    backend.raw_sql("SET TimeZone = 'UTC'")
    backend.raw_sql("SET enable_progress_bar = false")  # it would be written among what the user prints
    weakref.finalize(backend, spill.remove)
    return DuckDB(backend)


@dataclass(frozen=True)
class DuckDB:
    """Reads files and evaluates expressions on an Ibis connection to DuckDB."""

    backend: Any

    def read_parquet(self, paths: Sequence[str]) -> Any:
        """The rows of Parquet files, a column of any of them being a column of all."""
        with self.errors():
            return self.backend.read_parquet(list(paths), filename=FILE, union_by_name=True)

    def read_csv(self, paths: Sequence[str], as_text: Collection[str]) -> Any:
        """The rows of CSV files; the types of columns not in `as_text` are guessed from the first rows."""
        with self.errors():
            table = self.backend.read_csv(list(paths), filename=FILE, union_by_name=True)
            types = {name: "string" for name in table.columns if name in as_text}
            return self.backend.read_csv(list(paths), filename=FILE, union_by_name=True, types=types or None)

    def read_ndjson(self, paths: Sequence[str], schema: Any = None) -> Any:
        """The objects of files with one JSON object a line."""
        types = self.backend.compiler.type_mapper
        columns = {name: types.to_string(kind) for name, kind in schema.items()} if schema else None
        with self.errors():
            return self.backend.read_json(
                list(paths), columns=columns, format="newline_delimited", filename=FILE, union_by_name=True
            )

    def read_frame(self, frame: Any) -> Any:
        """An Arrow table, or a frame that Arrow can read, in place."""
        import pyarrow as pa

        return ibis.memtable(pa.table(frame))

    def rows_at_once(self) -> int:
        """By the memory limit: a row in lists takes about 40 bytes, and twice that while lists are compared."""
        limit = self.backend.raw_sql("SELECT current_setting('memory_limit')").fetchall()[0][0]
        number, unit = limit.split()
        return max(int(float(number) * 1024 ** _UNITS.index(unit)) // _BYTES_A_ROW, 1)

    def fingerprint(self, one: Any, other: Any) -> Any:
        """By its own hash function."""
        return builtin("hash", one, other, "uint64")

    @contextmanager
    def kept(self, expression: Any) -> Iterator[Any]:
        """A temporary table, which counts as memory and is moved to disk if that runs short."""
        name = ibis.util.gen_name("truerank")
        with self.errors():
            table = self.backend.create_table(name, expression, temp=True)
        try:
            yield table
        finally:
            self.backend.raw_sql(f"DROP TABLE {name}")  # Ibis 12 with sqlglot 30 leaves out the name

    def collect(self, expression: Any) -> Any:
        """Evaluate an expression: an Arrow table."""
        with self.errors():
            return self.backend.to_pyarrow(expression)

    def write_parquet(self, expression: Any, path: Path) -> None:
        """Write what an expression gives to one Parquet file."""
        with self.errors():
            self.backend.to_parquet(expression, path, compression="zstd")

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Say which file cannot be read, and what to do when memory or disk run out."""
        try:
            yield
        except duckdb.OutOfMemoryException as error:
            raise ResourceError(
                f"DuckDB ran out of memory or of disk to spill to: {_in_short(error)}. "
                "Hint: raise memory_limit, give a smaller portion= if the method has one, or set temp_directory to a "
                "larger disk"
            ) from error
        except duckdb.Error as error:
            message = _in_short(error)
            if any(sign in str(error).lower() for sign in ("no space left", "file too large", "quota")):
                raise ResourceError(
                    f"the disk is full: {message}. Hint: make room, or set temp_directory to a larger disk"
                ) from error
            raise InputError(f"DuckDB cannot read the log: {message}") from error


class _Spill:
    """A folder that is locked while this process lives; those of processes that were killed are removed."""

    def __init__(self, parent: Any) -> None:
        if not Path(parent).is_dir():
            raise InputError(f"temp_directory is {str(parent)!r}; it must be a folder that is there")
        for left in Path(parent).glob(f"{_SPILL}*"):
            lock = hold(left)
            if lock is not None:
                shutil.rmtree(left, ignore_errors=True)
                os.close(lock)
        try:
            new = Path(tempfile.mkdtemp(prefix="new-", dir=parent))
        except OSError as error:
            raise InputError(f"temp_directory is {str(parent)!r}, where nothing can be written: {error}") from None
        self._held = hold(new)
        self.path = new.rename(new.with_name(_SPILL + new.name[4:]))  # named only once it is locked

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        if self._held is not None:
            os.close(self._held)


def _disk() -> str:
    """Where large temporary files go: /tmp is often in memory, /var/tmp is not."""
    return "/var/tmp" if os.access("/var/tmp", os.W_OK) else tempfile.gettempdir()


def _in_short(error: Exception) -> str:
    """The first line of an error, and those that name the file and the column."""
    first, *more = (line.strip() for line in str(error).strip().splitlines())
    more = [line for line in more if line.startswith(("file = ", "Error when converting"))]
    return "; ".join([first.removeprefix("Invalid Input Error: "), *more]).rstrip(".")

"""Where a log comes from: files of a format told by their ending, or a frame, or a table of an engine."""

from __future__ import annotations

import difflib
import glob
import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import ibis

from truerank.errors import InputError
from truerank.log.engines import Engine

FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".json": "ndjson",
}
_COMPRESSED = {".gz", ".zst"}


def read_source(source: Any, engine: Engine, *, as_text: Collection[str] = (), schema: Any = None) -> Any:
    """A table of what `source` holds.

    Args:
        source: files (a path, a folder, a pattern, or a list of them), a frame, or an Ibis table.
        engine: what reads it.
        as_text: the columns of CSV files to be read as text, not guessed.
        schema: the fields of JSON objects; by default all there are.
    """
    if isinstance(source, ibis.Table):
        return source
    if not _names_files(source):
        return _read_frame(source, engine)
    files = files_of(source)
    formats = {file: format_of(file) for file in files}
    if len(set(formats.values())) > 1:
        one, other = (
            next(f for f in files if formats[f] == kind) for kind in list(dict.fromkeys(formats.values()))[:2]
        )
        raise InputError(
            f"the files have different formats: {one} and {other}. Hint: name one kind, such as '*.parquet'"
        )
    kind = formats[files[0]]
    if kind == "csv":
        return engine.read_csv(files, as_text)
    return engine.read_parquet(files) if kind == "parquet" else engine.read_ndjson(files, schema)


def files_of(source: Any) -> list[str]:
    """The files that a path, a folder, a pattern such as `logs/*.parquet` or a list of them stands for, sorted.

    Of a folder: all in it, at any depth, whose ending is that of a format; hidden ones and those that begin with `_`
    are left alone.
    """
    paths = [source] if isinstance(source, str | os.PathLike) else list(source)
    found = [file for path in paths for file in _expand(os.fspath(path))]
    return sorted(dict.fromkeys(found))


def format_of(file: str) -> str:
    """What the ending of a file says it is: `parquet`, `csv` or `ndjson`."""
    name = Path(file.split("?")[0])
    ending = Path(name.stem).suffix if name.suffix in _COMPRESSED else name.suffix
    if ending.lower() not in FORMATS:
        raise InputError(
            f"{file} ends in {name.suffix or 'nothing'!r}; logs end in {', '.join(FORMATS)} (or .csv.gz …)"
        )
    return FORMATS[ending.lower()]


def _names_files(source: Any) -> bool:
    if isinstance(source, str | os.PathLike):
        return True
    if not isinstance(source, Sequence):
        return False
    if not source:
        raise InputError("the list of files is empty")
    return all(isinstance(path, str | os.PathLike) for path in source)


def _expand(path: str) -> list[str]:
    if "://" in path:
        return [path]
    if os.path.isdir(path):
        files = [str(p) for p in Path(path).rglob("*") if _is_data(p.relative_to(path)) and p.is_file()]
        if not files:
            raise InputError(f"the folder {path} has no files that end in {', '.join(FORMATS)}")
        return files
    if os.path.exists(path):
        return [path]
    if glob.has_magic(path):
        files = [p for p in glob.glob(path, recursive=True) if os.path.isfile(p)]
        if not files:
            raise InputError(f"no file matches {path}")
        return files
    parent = Path(path).absolute().parent
    near = difflib.get_close_matches(Path(path).name, os.listdir(parent) if parent.is_dir() else [], n=1)
    raise FileNotFoundError(f"{path} does not exist" + (f". Hint: there is {parent / near[0]}" if near else ""))


def _is_data(path: Path) -> bool:
    if any(part.startswith((".", "_")) for part in path.parts):
        return False
    ending = Path(path.stem).suffix if path.suffix in _COMPRESSED else path.suffix
    return ending.lower() in FORMATS


def _read_frame(frame: Any, engine: Engine) -> Any:
    try:
        return engine.read_frame(frame)
    except (TypeError, ValueError) as error:
        lazy = " Hint: call .collect() on a lazy frame" if hasattr(frame, "collect") else ""
        raise InputError(
            f"the log is a {type(frame).__name__}, which Arrow cannot read as a table ({error}); it must be files, "
            f"an Arrow, pandas or Polars frame, or an Ibis table.{lazy}"
        ) from None

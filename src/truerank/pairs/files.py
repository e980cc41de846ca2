"""Weighted pairs in one file: Parquet with one row a list, or npz."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from truerank.atomic import replace_whole
from truerank.errors import FileFormatError, InputError
from truerank.pairs.pair_weights import PairWeights
from truerank.ragged import offsets_from_sizes

_FORMAT = "truerank.pairs"
_VERSION = 1
_PER_LIST = ("query", "sessions")
_PER_ROW = ("item", "source_row")
_PER_PAIR = ("i", "j", "weight", "position_i", "position_j")


def save_pairs(pairs: PairWeights, path: str | os.PathLike[str]) -> None:
    """Write `pairs` whole or not at all; the ending of `path` names the format."""
    writer = {".parquet": _write_parquet, ".npz": _write_npz}.get(Path(path).suffix)
    if writer is None:
        raise InputError(f"{path} must end in .parquet or .npz")
    with replace_whole(path) as temporary:
        writer(pairs, temporary)


def load_pairs(path: str | os.PathLike[str]) -> PairWeights:
    """Read what `save_pairs` wrote."""
    reader = {".parquet": _read_parquet, ".npz": _read_npz}.get(Path(path).suffix)
    if reader is None:
        raise InputError(f"{path} must end in .parquet or .npz")
    if not Path(path).exists():
        raise FileNotFoundError(f"{path} does not exist")
    try:
        fields = reader(Path(path))
        fields["sessions_without_pairs"] = int(fields["sessions_without_pairs"])
        fields["merge"] = str(fields["merge"]) or None
        del fields["format"], fields["version"]
        return PairWeights(**fields)
    except FileFormatError:
        raise
    except (TypeError, KeyError, ValueError) as error:
        raise FileFormatError(f"{path} cannot be used: {error}") from error


def _check_header(fields: dict[str, Any], path: Path) -> None:
    if str(fields.get("format")) != _FORMAT:
        raise FileFormatError(f"{path} does not hold weighted pairs")
    if str(fields.get("version")) != str(_VERSION):
        raise FileFormatError(f"{path} has version {fields.get('version')}; this truerank reads version {_VERSION}")


def _header(pairs: PairWeights) -> dict[str, str]:
    return {
        "format": _FORMAT,
        "version": str(_VERSION),
        "sessions_without_pairs": str(pairs.sessions_without_pairs),
        "merge": pairs.merge or "",
    }


def _write_parquet(pairs: PairWeights, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows, entries = pairs.row_offsets, pairs.offsets
    columns: dict[str, Any] = {"group": pa.array(pairs.group)}
    for names, offsets in ((_PER_LIST, None), (_PER_ROW, rows), (_PER_PAIR, entries)):
        for name in names:
            values = getattr(pairs, name)
            if values is not None:
                flat = pa.array(values)
                columns[name] = flat if offsets is None else pa.LargeListArray.from_arrays(offsets, flat)
    table = pa.table(columns).replace_schema_metadata(_header(pairs))
    pq.write_table(table, path, compression="zstd", write_page_checksum=True)


def _read_parquet(path: Path) -> dict[str, Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path, page_checksum_verification=True).combine_chunks()
        fields: dict[str, Any] = {k.decode(): v.decode() for k, v in (table.schema.metadata or {}).items()}
    except (pa.ArrowException, OSError, ValueError) as error:
        raise FileFormatError(f"{path} is not a readable Parquet file: {error}") from error
    _check_header(fields, path)
    for name in ("group", *_PER_LIST):
        if name in table.column_names:
            fields[name] = _flat(table[name])
    for name in (*_PER_ROW, *_PER_PAIR):
        if name in table.column_names:
            fields[name] = _flat(pa.compute.list_flatten(table[name]))
    if "weight" in table.column_names:
        sizes = pa.compute.list_value_length(table["weight"]).to_numpy()
        fields["offsets"] = offsets_from_sizes(sizes)
    return fields


def _flat(column: Any) -> Any:
    return column.to_numpy(zero_copy_only=False) if hasattr(column, "type") else np.asarray(column)


def _write_npz(pairs: PairWeights, path: Path) -> None:
    arrays: dict[str, Any] = {
        name: getattr(pairs, name)
        for name in ("group", "offsets", *_PER_LIST, *_PER_ROW, *_PER_PAIR)
        if getattr(pairs, name) is not None
    }
    arrays |= {name: np.array(value) for name, value in _header(pairs).items()}
    np.savez_compressed(path, **arrays)


def _read_npz(path: Path) -> dict[str, Any]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            fields = {name: archive[name][()] for name in archive.files}
    except Exception as error:  # a damaged archive fails in zipfile, zlib, tokenize or numpy, each in its own way
        raise FileFormatError(f"{path} is not a readable npz file: {error}") from error
    _check_header(fields, path)
    return fields

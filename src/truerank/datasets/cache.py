"""What was read from text, kept to have it quickly the next time."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from truerank.atomic import replace_whole
from truerank.errors import CacheWarning
from truerank.types import JudgedLists

READER_VERSION = 1
"""Part of every key: goes up when the same files are read differently, or kept differently."""

CacheFolder: TypeAlias = str | os.PathLike[str] | bool | None

_CSR = ("data", "indices", "indptr", "shape")
_LISTS = ("labels", "group", "query")


def default_cache_folder() -> Path:
    """Where data sets are kept unless told otherwise: `truerank/datasets` in $XDG_CACHE_HOME, or in ~/.cache.

    Its files can be deleted at any time; nothing else deletes them.
    """
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (named if named.is_absolute() else Path.home() / ".cache") / "truerank" / "datasets"


def cached(files: Sequence[Path], options: Any, cache: CacheFolder, read: Callable[[], JudgedLists]) -> JudgedLists:
    """What `read` gives, from the cache if it is there and whole, otherwise read and kept.

    Args:
        files: what is read. The key is the BLAKE2b hash of their bytes, of the options and of the reader's version.
        options: what else decides what `read` gives; its `repr` counts.
        cache: the folder, True for the default one, or None or False for no cache.
        read: reads the files.
    """
    if cache is None or cache is False:
        return read()
    folder = default_cache_folder() if cache is True else Path(cache)
    before = _state(files)
    kept = folder / f"{files[0].name.split('.')[0]}-{_key(files, options)}.npz"
    lists = _load(kept)
    if lists is None:
        lists = read()
        if _state(files) == before:
            _save(lists, kept)
    return lists


def _state(files: Sequence[Path]) -> list[tuple[int, int]]:
    return [(file.stat().st_size, file.stat().st_mtime_ns) for file in files]


def _key(files: Sequence[Path], options: Any) -> str:
    key = hashlib.blake2b(f"{READER_VERSION} {options!r}".encode(), digest_size=16)
    for file in files:
        with file.open("rb") as stream:
            key.update(hashlib.file_digest(stream, "blake2b").digest())
    return key.hexdigest()


def _save(lists: JudgedLists, path: Path) -> None:
    arrays = {name: getattr(lists, name) for name in _LISTS}
    sparse = hasattr(lists.X, "indptr")
    arrays |= {f"X_{name}": np.asarray(getattr(lists.X, name)) for name in _CSR} if sparse else {"X": lists.X}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replace_whole(path) as temporary:
            np.savez(temporary, **arrays)
    except OSError as error:
        warnings.warn(
            f"what was read could not be kept in {path}: {error}. Hint: cache= names another folder, or None",
            CacheWarning,
            stacklevel=2,
        )


def _load(path: Path) -> JudgedLists | None:
    """What `_save` kept, or None if it is not there or damaged."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        return JudgedLists(_matrix(arrays), *(arrays[name] for name in _LISTS))
    except FileNotFoundError:
        return None
    except Exception:  # a damaged archive fails in zipfile, zlib, tokenize or numpy, each in its own way
        return None


def _matrix(arrays: dict[str, Any]) -> Any:
    if "X" in arrays:
        return arrays["X"]
    from scipy import sparse

    return sparse.csr_matrix(tuple(arrays[f"X_{name}"] for name in _CSR[:3]), shape=tuple(arrays["X_shape"]))

"""Finding the files of a data set in a folder, as they are or compressed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from truerank.errors import MissingDataError

_ENDINGS = ("", ".gz", ".zst")
_SHOWN = 20


def find_file(folder: Path, *names: str) -> Path | None:
    """The first of these files that is in `folder`, as it is, or else compressed."""
    return next((path for name in names for e in _ENDINGS if (path := folder / f"{name}{e}").is_file()), None)


def missing(folder: Path, looked_for: Sequence[Iterable[str]]) -> MissingDataError:
    """An error that says which files are not in `folder`, each of `looked_for` being enough, and what is there."""
    files = ", or ".join(" and ".join(names) for names in looked_for)
    if not folder.is_dir():
        return MissingDataError(f"{folder} is not a folder. Hint: name the one that holds {files}")
    there = sorted(path.relative_to(folder).as_posix() + "/" * path.is_dir() for path in _around(folder, looked_for))
    shown = ", ".join(there[:_SHOWN]) + (f" and {len(there) - _SHOWN} more" if len(there) > _SHOWN else "")
    return MissingDataError(f"{folder} lacks {files} (plain, .gz or .zst). It holds {shown or 'nothing'}")


def _around(folder: Path, looked_for: Sequence[Iterable[str]]) -> set[Path]:
    """What is in the folder, and in those inside it where the files might be."""
    parents = {(folder / name).parent for names in looked_for for name in names} | {folder}
    return {path for parent in parents if parent.is_dir() for path in parent.iterdir()}

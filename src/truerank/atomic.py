"""Files written whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from truerank.errors import InputError, ResourceError

_FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


@contextmanager
def replace_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Hand out a temporary path beside `path`; it takes the place of `path` only if the block succeeds."""
    target = Path(path)
    check_folder(target)
    temporary = target.with_name(f".{target.stem}.{secrets.token_hex(4)}{target.suffix}")
    try:
        with disk_errors(target):
            yield temporary
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def check_folder(path: Path, name: str = "path") -> None:
    """Refuse a path in a folder that is not there; for what is written last, before there is anything to write."""
    if not path.parent.is_dir():
        raise InputError(f"{name} is {str(path)!r} and there is no folder {path.parent}. Hint: make it first")


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Say of a full disk which file could not be written."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise ResourceError(f"the disk is full: {path} cannot be written ({error.strerror or error})") from error
        raise

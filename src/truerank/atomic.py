"""Files written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replace_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Hand out a temporary path beside `path`; it takes the place of `path` only if the block succeeds."""
    target = Path(path)
    temporary = target.with_name(f".{target.stem}.{secrets.token_hex(4)}{target.suffix}")
    try:
        yield temporary
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)

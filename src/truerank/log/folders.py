"""Folders that belong to one process at a time."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def hold(folder: Path) -> int | None:
    """Hold a folder: its lock is free if the process that made it is gone. Where folders have no locks, None."""
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle

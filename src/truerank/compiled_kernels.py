"""How kernels are compiled: kept on disk where that is possible, so that only the first run ever waits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(**options: Any) -> Callable[[Any], Any]:
    """Compile a function with numba and keep the result on disk; where nothing can be written, only in memory."""

    def compile_function(function: Any) -> Any:
        try:
            return njit(cache=True, **options)(function)
        except RuntimeError:  # numba finds no place to write to, as in a read-only container without a home
            return njit(**options)(function)

    return compile_function

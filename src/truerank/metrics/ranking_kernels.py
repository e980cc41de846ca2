"""Compiled loops over ranked lists."""

from __future__ import annotations

from typing import Any

from truerank.compiled_kernels import compiled


@compiled()
def cascade(stops: Any, offsets: Any, at: int, value_out: Any) -> None:
    """Σ_{r ≤ at} 1/r · P(stop at r) of each list, the reader going down until a row satisfies, each with `stops`."""
    for q in range(len(offsets) - 1):
        reading, value = 1.0, 0.0
        for r in range(min(at, offsets[q + 1] - offsets[q])):
            stop = stops[offsets[q] + r]
            value += reading * stop / (r + 1)
            reading *= 1 - stop
        value_out[q] = value

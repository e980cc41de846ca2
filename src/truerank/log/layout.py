"""Where on a page the positions of a log are."""

from __future__ import annotations

from typing import Any

import numpy as np

from truerank.errors import InputError
from truerank.log.engines import Engine

_WORST = 3
"""How many positions a message names."""


def row_lengths(table: Any, engine: Engine) -> list[int]:
    """The layout, if every position is always in the same row and rows follow each other."""
    if "row" not in table.columns:
        raise InputError(
            "the log has no column row, which says where on the page a position is. Hint: name it in columns=, or "
            "give row_lengths"
        )
    places = table.group_by("position").aggregate(low=table.row.min(), high=table.row.max(), known=table.row.count())
    found = engine.collect(places.order_by("position"))
    position, low, high = (
        np.asarray(found[name].to_numpy(zero_copy_only=False)) for name in ("position", "low", "high")
    )
    known = found["known"].to_numpy() > 0
    moving = position[~known | (low != high)]
    if len(moving):
        raise InputError(
            f"position {', '.join(map(str, moving[:_WORST]))} is not always in the same row, so this log has several "
            "layouts (devices?). Hint: open them one by one, or give row_lengths"
        )
    if not np.array_equal(position, np.arange(1, len(position) + 1)):
        raise InputError("some positions were never shown, so the rows cannot be counted. Hint: give row_lengths")
    if (np.diff(low) < 0).any():
        raise InputError("rows do not follow each other with the positions. Hint: give row_lengths")
    lengths: list[int] = np.unique(low, return_counts=True)[1].tolist()
    return lengths

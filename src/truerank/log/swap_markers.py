"""The marker of a swap experiment in a log: `5:swapped`, `5:control`, `3,7:swapped`, `3,7:control`."""

from __future__ import annotations

import re
from typing import Any

_MARKER = r"^([1-9][0-9]{0,5})(?:,([1-9][0-9]{0,5}))?:(control|swapped)$"


def has_marker(swap: Any) -> Any:
    """Whether a session is part of an experiment."""
    return swap.notnull() & (swap != "")


def is_marker(swap: Any) -> Any:
    """Whether a marker is one: position k ≥ 2 swapped with 1, or k1 < k2 with 1 and 2."""
    k1, k2 = (swap.re_extract(_MARKER, which).try_cast("int64") for which in (1, 2))
    single, joint = k2.isnull() & (k1 >= 2), (k2 > k1) & (k2 > 2)
    return swap.re_search(_MARKER) & (single | joint.fill_null(False)).fill_null(False)


def read_marker(swap: str) -> tuple[int, int, int]:
    """The marker as (k1, k2, swapped); k2 is 0 where one position is swapped with 1.

    >>> read_marker("3,7:swapped"), read_marker("5:control")
    ((3, 7, 1), (5, 0, 0))
    """
    match = re.match(_MARKER, swap)
    if match is None:
        raise ValueError(swap)
    return int(match[1]), int(match[2] or 0), int(match[3] == "swapped")

"""Which positions a log without experiments can compare at all."""

from __future__ import annotations

import numpy as np

from truerank.errors import IdentificationError
from truerank.propensity.cells import Cells
from truerank.propensity.curve import position_list
from truerank.types import BoolArray, FloatArray, IntArray


def comparable_clicks(cells: Cells) -> FloatArray:
    """Clicks at position k on items that were also shown at position l, as a square table (places from 0)."""
    from scipy.sparse import csr_array

    shape = (cells.n_items, cells.n_positions)
    clicked = csr_array((cells.clicks, cells.place, cells.offsets), shape=shape)
    shown = csr_array((np.ones(len(cells.place)), cells.place, cells.offsets), shape=shape)
    shown.sum_duplicates()
    shown.data[:] = 1.0
    table: FloatArray = (clicked.T @ shown).toarray()
    np.fill_diagonal(table, 0.0)
    return table


def components(table: FloatArray) -> IntArray:
    """The component of each position: inside one, θ can be compared in either direction.

    Draw an arrow from k to l if an item clicked at k was also shown at l. The likelihood has one finite maximum on
    positions of which each can be reached from each other (Ford 1957, for paired comparisons): a position that no arrow
    leaves could have θ = 0, one that no arrow enters θ = ∞.
    """
    from scipy.sparse.csgraph import connected_components

    _, label = connected_components(table > 0, directed=True, connection="strong")
    found: IntArray = np.asarray(label, dtype=np.int64)
    return found


def identified(cells: Cells) -> BoolArray:
    """Which positions can be compared with position 1."""
    label = components(comparable_clicks(cells))
    same: BoolArray = label == label[0]
    return same


def why_not(cells: Cells, missing: IntArray) -> str:
    """For positions (from 1) that cannot be compared with position 1: what each lacks, in words."""
    table = comparable_clicks(cells)
    shown = np.bincount(cells.place, cells.impressions, cells.n_positions)
    clicks = np.bincount(cells.place, cells.clicks, cells.n_positions)
    elsewhere = table.sum(axis=1) + table.sum(axis=0)
    reasons = (
        (shown == 0, "never shown"),
        ((shown > 0) & (clicks == 0), "never clicked"),
        ((clicks > 0) & (elsewhere == 0), "all its items stand always there"),
        ((clicks > 0) & (elsewhere > 0), "not linked to position 1 by items clicked at both ends"),
    )
    said = [
        f"{position_list(missing[which[missing - 1]])} {reason}"
        for which, reason in reasons
        if which[missing - 1].any()
    ]
    return "; ".join(said)


def refuse_unidentified(cells: Cells, known: BoolArray) -> None:
    """Raise for positions that cannot be compared with position 1."""
    missing = np.flatnonzero(~known) + 1
    if not missing.size:
        return
    tail = int(np.argmin(known))
    cut = f"n_positions={tail}" if not known[tail:].any() else "fill='interpolate' (between neighbours)"
    raise IdentificationError(
        f"θ at {position_list(missing)} cannot be told from this log: {why_not(cells, missing)}. "
        f"Hint: {cut}, or a swap experiment (truerank.propensity.plan)"
    )

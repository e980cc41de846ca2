"""log θ and its covariance: what estimators from natural variation find, and the sandwiches for its errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truerank.propensity.cells import Cells
from truerank.ragged import read_sessions
from truerank.types import ClickSessions, FloatArray, IntArray, ItemPositionCounts, Sessions


@dataclass(frozen=True, eq=False)
class LogCurve:
    """log θ at the places in the cells, relative to the first, and its covariance."""

    log_theta: FloatArray
    covariance: FloatArray


@dataclass(frozen=True, eq=False)
class Shares:
    """How one row of a session enters the gradient: weight (c − expected) (e_k − share of its item), a value a cell."""

    expected: FloatArray
    weight: FloatArray
    share: FloatArray


def session_sandwich(
    sessions: ClickSessions, counts: ItemPositionCounts, cells: Cells, information: FloatArray, shares: Shares
) -> FloatArray:
    """The sandwich over sessions: lists and their relevance stay as they are, what is drawn again are sessions.

    Clicks of one session may depend on each other in any way.
    """
    from truerank.propensity.harvest_kernels import session_spread

    rows = read_sessions(sessions.clicks, sessions.positions, sessions.group)
    _, place = np.unique(cells.place, return_inverse=True)
    spread = session_spread(
        rows.offsets,
        _cell_of_rows(sessions, rows, counts, cells),
        (rows.labels > 0).astype(np.float64),
        shares.expected,
        shares.weight,
        place,
        cells.item,
        shares.share,
        cells.offsets,
        len(information),
    ).sum(axis=0)
    return covariance(information, spread, rows.n_sessions)


def _cell_of_rows(sessions: ClickSessions, rows: Sessions, counts: ItemPositionCounts, cells: Cells) -> IntArray:
    """The cell that each row of the sessions was counted in, or −1 for those left out."""
    query = np.repeat(np.asarray(sessions.query), rows.sizes)
    columns = ((query, counts.list), (sessions.item, counts.item), (rows.positions, counts.position))
    row_key, cell_key = np.zeros(rows.n_rows, dtype=np.int64), np.zeros(len(cells.row), dtype=np.int64)
    for of_rows, of_counts in columns:
        known = np.unique(of_counts)
        row_key = row_key * len(known) + np.searchsorted(known, np.asarray(of_rows))
        cell_key = cell_key * len(known) + np.searchsorted(known, of_counts[cells.row])
    order = np.argsort(cell_key)
    where = np.minimum(np.searchsorted(cell_key, row_key, sorter=order), len(order) - 1)
    cell = order[where]
    found: IntArray = np.where(cell_key[cell] == row_key, cell, -1)
    return found


def covariance(information: FloatArray, spread: FloatArray | None, cells: Cells | int) -> FloatArray:
    """H⁻¹ S H⁻¹ n / (n − 1) with the spread S of the gradient's shares of n lists or sessions; H⁻¹ without."""
    inverse = np.zeros_like(information)
    inverse[1:, 1:] = np.linalg.inv(information[1:, 1:])
    if spread is None:
        return inverse
    n = cells if isinstance(cells, int) else int(np.count_nonzero(np.diff(cells.list_offsets)))
    sandwich: FloatArray = inverse @ spread @ inverse * n / max(n - 1, 1)
    return sandwich

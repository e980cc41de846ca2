"""Where the clicks of an item fell, given how many there were: a likelihood that knows nothing of relevance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truerank.propensity.cells import Cells
from truerank.propensity.newton import maximize
from truerank.ragged import read_sessions
from truerank.types import ClickSessions, FloatArray, IntArray, ItemPositionCounts, Sessions


@dataclass(frozen=True, eq=False)
class LogCurve:
    """log θ at the places in the cells, relative to the first, and its covariance."""

    log_theta: FloatArray
    covariance: FloatArray


def conditional(cells: Cells, *, by_list: bool) -> LogCurve:
    """Maximise Σ_g Σ_k C_gk log(N_gk θ_k / Σ_l N_gl θ_l) over log θ, with log θ_1 = 0; it is concave.

    C_gk clicks in N_gk impressions of item g at position k. Given C_g clicks in all, they fall on the positions in the
    proportions N_gk θ_k, whatever the relevance: exactly so if clicks are rare (Poisson). But the gradient
    Σ_g (C_gk − C_g N_gk θ_k / Σ_l N_gl θ_l) has mean 0 as soon as E C_gk = N_gk θ_k r_g, so the estimate is consistent
    in the number of items even if each has two impressions; estimating every r_g is not (Neyman and Scott 1948).

    `by_list`: the sandwich, with the gradient's shares of whole lists, which may depend inside a list in any way;
    otherwise the inverse information.
    """
    from truerank.propensity.harvest_kernels import conditional_spread, conditional_sums

    places, place = np.unique(cells.place, return_inverse=True)
    data = (cells.offsets, place, cells.impressions, cells.clicks)

    def sums(log_theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        value, gradient, information = conditional_sums(np.exp(log_theta), *data)
        return float(value.sum()), gradient.sum(axis=0), information.sum(axis=0)

    log_theta, information = maximize(sums, np.zeros(len(places)))
    spread = None
    if by_list:
        spread = conditional_spread(
            np.exp(log_theta), cells.offsets, cells.list_offsets, place, cells.impressions, cells.clicks
        ).sum(axis=0)
    return LogCurve(log_theta, covariance(information, spread, cells))


def session_errors(sessions: ClickSessions, counts: ItemPositionCounts, cells: Cells, found: LogCurve) -> FloatArray:
    """The sandwich over sessions: lists and their relevance stay as they are, what is drawn again are sessions.

    A session's share in the gradient is Σ (c − θ_k r_g) (e_k − share of item g) over its rows, with the r_g of the fit:
    clicks of one session may depend on each other in any way.
    """
    from truerank.propensity.harvest_kernels import conditional_sums, session_spread

    rows = read_sessions(sessions.clicks, sessions.positions, sessions.group)
    places, place = np.unique(cells.place, return_inverse=True)
    theta = np.exp(found.log_theta)
    exposure = cells.impressions * theta[place]
    share = exposure / cells.item_sums(exposure)[cells.item]
    relevance = cells.item_sums(cells.clicks) / cells.item_sums(exposure)
    spread = session_spread(
        rows.offsets,
        _cell_of_rows(sessions, rows, counts, cells),
        (rows.labels > 0).astype(np.float64),
        theta[place] * relevance[cells.item],
        place,
        cells.item,
        share,
        cells.offsets,
        len(places),
    ).sum(axis=0)
    information = conditional_sums(theta, cells.offsets, place, cells.impressions, cells.clicks)[2].sum(axis=0)
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

"""Where the clicks of an item fell, given how many there were: a likelihood that knows nothing of relevance."""

from __future__ import annotations

import numpy as np

from truerank.propensity.cells import Cells
from truerank.propensity.newton import maximize
from truerank.propensity.sandwich import LogCurve, Shares, covariance, session_sandwich
from truerank.types import ClickSessions, FloatArray, ItemPositionCounts


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
    """The sandwich over sessions, with the r_g of the fit."""
    from truerank.propensity.harvest_kernels import conditional_sums

    _, place = np.unique(cells.place, return_inverse=True)
    theta = np.exp(found.log_theta)
    exposure = cells.impressions * theta[place]
    relevance = cells.item_sums(cells.clicks) / cells.item_sums(exposure)
    shares = Shares(
        expected=theta[place] * relevance[cells.item],
        weight=np.ones(len(place)),
        share=exposure / cells.item_sums(exposure)[cells.item],
    )
    information = conditional_sums(theta, cells.offsets, place, cells.impressions, cells.clicks)[2].sum(axis=0)
    return session_sandwich(sessions, counts, cells, information, shares)

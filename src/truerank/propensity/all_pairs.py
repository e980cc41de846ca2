"""The all-pairs likelihood of Agarwal et al. (2019): each two positions, on the items shown at both."""

from __future__ import annotations

from typing import Literal

import numpy as np

from truerank.errors import InputError
from truerank.propensity.cells import Cells
from truerank.propensity.newton import maximize
from truerank.propensity.sandwich import LogCurve, covariance
from truerank.types import FloatArray

Weights = Literal["overlap", "equal"]


def all_pairs(cells: Cells, weights: Weights, *, by_list: bool) -> LogCurve:
    """Maximise Σ_{k≠l} c_kl log(θ_k r_kl) + (w_kl − c_kl) log(1 − θ_k r_kl) over θ and all r_kl = r_lk; θ_1 = 1.

    w_kl = Σ_g h_g over the items shown at both positions, c_kl = Σ_g h_g C_gk / N_gk their weighted clicks at k.
    "equal" weights are h = 1 (the paper of Agarwal et al.: each item counts by its click rate); "overlap" weights are
    h = N_gk N_gl / (N_gk + N_gl), as Mantel and Haenszel pool ratios: an item that was seen once at k is worth little.
    r_kl is the mean relevance of these items, one nuisance a pair of positions.

    Given θ, r_kl solves (c_kl + c_lk) / r = f_kl θ_k / (1 − θ_k r) + f_lk θ_l / (1 − θ_l r), f = w − c: a quadratic.
    With p_kl = θ_k r_kl and v_kl = f_kl p_kl / (1 − p_kl)², the profile information about log θ_k − log θ_l is
    v_kl v_lk / (v_kl + v_lk), and a list's share in the gradient at k is
    lever_kl (c_kl − w p_kl) − lever_lk (c_lk − w p_lk), lever_kl = v_lk / ((v_kl + v_lk) (1 − p_kl)).
    """
    from truerank.propensity.harvest_kernels import pair_spread, pair_table

    if weights not in ("overlap", "equal"):
        raise InputError(f"weights is {weights!r}; it must be 'overlap' or 'equal'")
    equal = weights == "equal"
    places, place = np.unique(cells.place, return_inverse=True)
    weight, clicks = (
        blocks.sum(axis=0)
        for blocks in pair_table(len(places), cells.offsets, place, cells.impressions, cells.clicks, equal)
    )
    # no weight, nothing told; and without any click a pair tells nothing about a ratio
    used = (weight > 0) & (clicks + clicks.T > 0)
    weight, clicks = np.where(used, weight, 0.0), np.where(used, clicks, 0.0)

    def sums(log_theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        rate = profile_rates(np.exp(log_theta), weight, clicks)
        value = _xlogy(clicks, rate) + _xlogy(weight - clicks, 1 - rate)
        gradient = np.where(used, (clicks - weight * rate) / (1 - rate), 0.0).sum(axis=1)
        bond = _bond(weight, clicks, rate)
        return float(value.sum()), gradient, np.diag(bond.sum(axis=1)) - bond

    log_theta, information = maximize(sums, np.zeros(len(places)))
    spread = None
    if by_list:
        rate = profile_rates(np.exp(log_theta), weight, clicks)
        curvature = (weight - clicks) * rate / (1 - rate) ** 2
        both = curvature + curvature.T
        lever = np.divide(curvature.T, both * (1 - rate), out=np.zeros_like(both), where=both > 0)
        spread = pair_spread(
            rate, lever, cells.offsets, cells.list_offsets, place, cells.impressions, cells.clicks, equal
        ).sum(axis=0)
    return LogCurve(log_theta, covariance(information, spread, cells))


def profile_rates(theta: FloatArray, weight: FloatArray, clicks: FloatArray) -> FloatArray:
    """θ_k r_kl with the r_kl that is most likely given θ, for all pairs of positions."""
    a, b = theta[:, None], theta
    both, misses_a, misses_b = clicks + clicks.T, weight - clicks, weight.T - clicks.T
    square = a * b * (both + misses_a + misses_b)
    linear = both * (a + b) + misses_a * a + misses_b * b
    root = linear + np.sqrt(np.maximum(linear**2 - 4 * square * both, 0))
    r = np.divide(2 * both, root, out=np.zeros_like(both), where=root > 0)
    rates: FloatArray = np.minimum(a * r, 1 - 1e-12)
    return rates


def _bond(weight: FloatArray, clicks: FloatArray, rate: FloatArray) -> FloatArray:
    curvature = (weight - clicks) * rate / (1 - rate) ** 2
    both = curvature + curvature.T
    return np.divide(curvature * curvature.T, both, out=np.zeros_like(both), where=both > 0)


def _xlogy(x: FloatArray, y: FloatArray) -> FloatArray:
    return x * np.log(np.where(x > 0, y, 1.0))

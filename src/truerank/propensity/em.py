"""θ by the likelihood of the position-based model, relevance as a nuisance: what EM maximises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from truerank.errors import InputError
from truerank.propensity.cells import Cells
from truerank.propensity.counts import counts_of
from truerank.propensity.curve import Browsing, Filling, Smoothing
from truerank.propensity.estimate import PropensityEstimate
from truerank.propensity.newton import maximize
from truerank.propensity.regression_em import Features, regression_em
from truerank.propensity.sandwich import LogCurve, Shares, covariance, session_sandwich
from truerank.propensity.variation import VariationErrors, check_errors, comparable_cells, curve_estimate
from truerank.types import ClickSessions, FloatArray, ItemPositionCounts

_FEW_IMPRESSIONS = 50


def em(
    source: Any,
    *,
    n_positions: int | None = None,
    browsing: Browsing = "independent",
    smooth: Smoothing = None,
    fill: Filling = None,
    errors: VariationErrors = "list",
    features: Features | None = None,
    lightgbm: Mapping[str, Any] | None = None,
    replicates: int = 30,
    seed: int = 0,
) -> PropensityEstimate:
    """θ_k / θ_1 by maximum likelihood in the position-based model: P(click on item g at k) = θ_k r_g, r_g ≤ 1.

    This is where the EM of the position-based model (Chuklin et al. 2015) and regression-EM with a relevance for every
    item of every list (Wang et al. 2018) go to. EM creeps there; but in log θ and log r the likelihood is concave, r_g
    given θ is a root of one equation, and Newton's method on what is left takes a few steps to the same maximum.

    Every r_g is estimated, so the estimate is consistent in the impressions an item has, not in the number of items:
    with few impressions an item it is biased (Neyman and Scott 1948), and `harvest`, which is not, is better; a
    note says so. With many, and frequent clicks, its errors are the smaller ones, if clicks of a session are
    independent given what it shows.

    It is right under the same conditions as `harvest`: where an item stands has nothing to do with how relevant it is
    at that moment, given the list and the item, and every session is kept.

    With `features`, relevance is r(x) instead, gradient-boosted trees (regression-EM proper): for logs in which items
    hardly come back. θ is then told by items that are alike at different positions, so it is right if features say all
    that the ranking knows of relevance. What they do not say, and what trees do not fit, goes to θ and makes it too
    steep. Measured with 60,000 items of three impressions each, at one position only, under θ_k = 1/k: log θ is too low
    by 0 to 0.06 down to position 5 and by 0.16 to 0.20 at position 6, where click rates are by 0.1 to 1.6. Errors are a
    bootstrap over lists, and do not hold that.

    Args:
        source: `ItemPositionCounts`, `ClickSessions`, or a click log.
        n_positions: leave out what was shown below this position.
        browsing: how two positions go together in the examination model, "independent" or "continuous".
        smooth: "isotonic" to make the model's curve non-increasing; the estimate itself stays as it is.
        fill: "interpolate" to fill positions that cannot be compared, between those that can; None refuses them.
        errors: "list" for a sandwich over lists (for many lists), "session" for one over sessions (for few lists; needs
            `ClickSessions`), "information" for the information matrix, which takes the model as true.
        features: an array whose row i belongs to item i, or a function of (list ids, item ids) that gives a row each.
        lightgbm: parameters of the trees; `n_estimators` fixes how many, otherwise held-out lists decide.
        replicates: how many bootstrap replicates, with features.
        seed: for the bootstrap and the lists that are held out.

    >>> counts = ItemPositionCounts([0, 0], [7, 7], [1, 2], [1000, 1000], [400, 100])
    >>> em(counts, errors="information").theta.round(4).tolist()
    [1.0, 0.25]
    """
    check_errors(errors)
    counts = counts_of(source, ItemPositionCounts)
    if features is not None:
        if errors != "list":
            raise InputError(f"errors is {errors!r}; with features they are a bootstrap over lists, errors='list'")
        curve, cells, details = regression_em(
            counts, features, n_positions=n_positions, parameters=lightgbm, replicates=replicates, seed=seed
        )
        places = np.arange(cells.n_positions)
        by_features = curve_estimate(
            "em",
            curve,
            cells,
            places,
            browsing=browsing,
            smooth=smooth,
            fill=fill,
            errors=errors,
            n_sessions=0,
            details=details,
        )
        return replace(
            by_features, errors=f"bootstrap over {len(cells.list_offsets) - 1} lists, {replicates} replicates"
        )
    cells, known_places = comparable_cells(counts, n_positions, fill)
    found = position_based(cells, by_list=errors == "list")
    if errors == "session":
        if not isinstance(source, ClickSessions):
            raise InputError("errors='session' needs ClickSessions")
        found = LogCurve(found.log_theta, _session_errors(source, counts, cells, found))
    return curve_estimate(
        "em",
        found,
        cells,
        known_places,
        browsing=browsing,
        smooth=smooth,
        fill=fill,
        errors=errors,
        n_sessions=source.n_sessions if isinstance(source, ClickSessions) else 0,
        details={"relevance": "item"},
        notes=_few_impressions(cells),
    )


def position_based(cells: Cells, *, by_list: bool) -> LogCurve:
    """Maximise Σ_g max_r Σ_k C_gk log(θ_k r) + (N_gk − C_gk) log(1 − θ_k r) over log θ, with log θ_1 = 0.

    The covariance is the inverse of the profile information, or with `by_list` the sandwich over lists.
    """
    from truerank.propensity.em_kernels import profile_spread, profile_sums

    places, place = np.unique(cells.place, return_inverse=True)
    data = (place, cells.impressions, cells.clicks)

    def sums(log_theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        value, gradient, information = profile_sums(np.exp(log_theta), cells.offsets, *data)
        return float(value.sum()), gradient.sum(axis=0), information.sum(axis=0)

    log_theta, information = maximize(sums, np.zeros(len(places)))
    spread = None
    if by_list:
        spread = profile_spread(np.exp(log_theta), cells.offsets, cells.list_offsets, *data).sum(axis=0)
    return LogCurve(log_theta, covariance(information, spread, cells))


def _session_errors(sessions: ClickSessions, counts: ItemPositionCounts, cells: Cells, found: LogCurve) -> FloatArray:
    """The sandwich over sessions: a row's share is (c − p) / (1 − p), less what its item's relevance takes up."""
    from truerank.propensity.em_kernels import profile_sums, relevances

    _, place = np.unique(cells.place, return_inverse=True)
    theta = np.exp(found.log_theta)
    data = (cells.offsets, place, cells.impressions, cells.clicks)
    chance = theta[place] * relevances(theta, *data)[cells.item]
    curvature = (cells.impressions - cells.clicks) * chance / (1 - chance) ** 2
    total = cells.item_sums(curvature)[cells.item]
    share = np.divide(curvature, total, out=np.zeros_like(total), where=total > 0)
    information = profile_sums(theta, *data)[2].sum(axis=0)
    return session_sandwich(sessions, counts, cells, information, Shares(chance, 1 / (1 - chance), share))


def _few_impressions(cells: Cells) -> tuple[str, ...]:
    """Say that the estimate is biased where most clicks are on items with few impressions."""
    impressions, clicks = cells.item_sums(cells.impressions), cells.item_sums(cells.clicks)
    order = np.argsort(impressions)
    half = np.searchsorted(np.cumsum(clicks[order]), clicks.sum() / 2)
    typical = impressions[order][half]
    if typical >= _FEW_IMPRESSIONS:
        return ()
    return (
        f"half of the clicks are on items of lists with at most {typical:.0f} impressions: a relevance for each of "
        "them biases θ. Hint: truerank.propensity.harvest is free of that",
    )

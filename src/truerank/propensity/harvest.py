"""θ from a log without experiments: items that were shown at several positions for reasons of their own."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from truerank.errors import IdentificationError, InputError
from truerank.propensity.all_pairs import Weights, all_pairs
from truerank.propensity.cells import Cells, cells_of
from truerank.propensity.conditional import conditional, session_errors
from truerank.propensity.counts import counts_of
from truerank.propensity.curve import Browsing, Filling, Smoothing, browsing_model, training_curve
from truerank.propensity.estimate import PropensityEstimate
from truerank.propensity.identification import identified, refuse_unidentified
from truerank.types import ClickSessions, IntArray, ItemPositionCounts

HarvestErrors = Literal["list", "session", "information"]
_ERRORS = {
    "list": "sandwich over {lists} lists",
    "session": "sandwich over {sessions} sessions, each list's relevance as it is",
    "information": "information matrix, clicks independent",
}
_FEW_LISTS = 50


def harvest(
    source: Any,
    *,
    relevance: Literal["item", "pair"] = "item",
    weights: Weights = "overlap",
    n_positions: int | None = None,
    browsing: Browsing = "independent",
    smooth: Smoothing = None,
    fill: Filling = None,
    errors: HarvestErrors = "list",
) -> PropensityEstimate:
    """θ_k / θ_1 from the natural variation of rankings (intervention harvesting, Agarwal et al. 2019).

    An item of a list that was shown N_k times at position k is clicked N_k θ_k r times there on average, whatever its
    relevance r. So its clicks at two positions tell θ_k / θ_l, and r is a nuisance. Two ways to be rid of it:

    - relevance="item": an r for every item of every list, removed by looking at where the clicks of an item fell given
      how many there were (`truerank.propensity.conditional`). The estimating equation has mean 0 for any r, so the
      estimate is consistent however few impressions an item has; measured, it has the smallest error of the three.
    - relevance="pair": the all-pairs likelihood of Agarwal et al., with a nuisance for each pair of positions
      (`truerank.propensity.all_pairs`); weights="equal" counts every item once, as they do, weights="overlap" by how
      precisely it compares the two positions.

    It is right if where an item stands has nothing to do with how relevant it is at that moment, given the list and the
    item, and if every session is kept, also those without a click.

    Args:
        source: `ItemPositionCounts`, `ClickSessions`, or a click log.
        relevance: "item" or "pair", see above.
        weights: of items in the all-pairs likelihood, "overlap" or "equal".
        n_positions: leave out what was shown below this position.
        browsing: how two positions go together in the examination model, "independent" or "continuous".
        smooth: "isotonic" to make the model's curve non-increasing; the estimate itself stays as it is.
        fill: "interpolate" to fill positions that cannot be compared, between those that can; None refuses them.
        errors: what may vary: "list" for a sandwich over lists (for many lists), "session" for one over sessions (for
            few lists; needs `ClickSessions` and relevance="item"), "information" for the information matrix alone,
            which takes the clicks of a session as independent.

    >>> counts = ItemPositionCounts([0, 0], [7, 7], [1, 2], [1000, 1000], [400, 100])
    >>> harvest(counts, errors="information").theta.round(6).tolist()
    [1.0, 0.25]
    """
    if errors not in _ERRORS:
        raise InputError(f"errors is {errors!r}; it must be one of {', '.join(map(repr, _ERRORS))}")
    counts = counts_of(source, ItemPositionCounts)
    cells, known_places = comparable_cells(counts, n_positions, fill)
    if relevance == "item":
        found = conditional(cells, by_list=errors == "list")
    elif relevance == "pair":
        found = all_pairs(cells, weights, by_list=errors == "list")
    else:
        raise InputError(f"relevance is {relevance!r}; it must be 'item' or 'pair'")
    covariance = found.covariance
    n_sessions = 0
    if errors == "session":
        if relevance != "item" or not isinstance(source, ClickSessions):
            raise InputError("errors='session' needs ClickSessions and relevance='item'")
        covariance, n_sessions = session_errors(source, counts, cells, found), source.n_sessions

    n = cells.n_positions
    theta, log_covariance = np.full(n, np.nan), np.full((n, n), np.nan)
    theta[known_places] = np.exp(found.log_theta)
    log_covariance[np.ix_(known_places, known_places)] = covariance
    table, notes = training_curve(theta, np.sqrt(np.diagonal(log_covariance)), smooth=smooth, fill=fill)
    n_lists = int(np.count_nonzero(np.diff(cells.list_offsets)))
    if errors == "list" and n_lists < _FEW_LISTS:
        hint = "Hint: errors='session' or 'information'"
        notes = (*notes, f"only {n_lists} lists tell about positions: errors by list are rough. {hint}")
    return PropensityEstimate(
        method="harvest",
        errors=_ERRORS[errors].format(lists=n_lists, sessions=n_sessions),
        theta=theta,
        log_covariance=log_covariance,
        examination=browsing_model(table, browsing),
        notes=notes,
        details={
            "relevance": relevance,
            "items_compared": cells.n_items,
            "clicks_compared": np.bincount(cells.place, cells.clicks, n),
        },
    )


def comparable_cells(counts: ItemPositionCounts, n_positions: int | None, fill: Filling) -> tuple[Cells, IntArray]:
    """The items that compare positions, and the places (from 0) that can be compared with position 1.

    Others are refused, or left out if they are to be filled.
    """
    cells = cells_of(counts, n_positions)
    known = identified(cells)
    if fill is None:
        refuse_unidentified(cells, known)
    elif not known.all():
        cells = cells_of(counts, cells.n_positions, without=np.flatnonzero(~known) + 1)
    if known.sum() < 2:
        raise IdentificationError(
            "no item was shown at two positions and clicked: this log cannot tell propensities. Hint: a swap "
            "experiment (truerank.propensity.plan says how large)"
        )
    several = np.diff(cells.offsets) > 1
    return cells.where_items(several), np.flatnonzero(known)

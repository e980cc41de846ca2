"""θ from a log without experiments: items that were shown at several positions for reasons of their own."""

from __future__ import annotations

from typing import Any, Literal

from truerank.errors import InputError
from truerank.propensity.all_pairs import Weights, all_pairs
from truerank.propensity.conditional import conditional, session_errors
from truerank.propensity.counts import counts_of
from truerank.propensity.curve import Browsing, Filling, Smoothing
from truerank.propensity.estimate import PropensityEstimate
from truerank.propensity.sandwich import LogCurve
from truerank.propensity.variation import VariationErrors, check_errors, comparable_cells, curve_estimate
from truerank.types import ClickSessions, ItemPositionCounts


def harvest(
    source: Any,
    *,
    relevance: Literal["item", "pair"] = "item",
    weights: Weights = "overlap",
    n_positions: int | None = None,
    browsing: Browsing = "independent",
    smooth: Smoothing = None,
    fill: Filling = None,
    errors: VariationErrors = "list",
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
    check_errors(errors)
    counts = counts_of(source, ItemPositionCounts)
    cells, known_places = comparable_cells(counts, n_positions, fill)
    if relevance == "item":
        found = conditional(cells, by_list=errors == "list")
    elif relevance == "pair":
        found = all_pairs(cells, weights, by_list=errors == "list")
    else:
        raise InputError(f"relevance is {relevance!r}; it must be 'item' or 'pair'")
    if errors == "session":
        if relevance != "item" or not isinstance(source, ClickSessions):
            raise InputError("errors='session' needs ClickSessions and relevance='item'")
        found = LogCurve(found.log_theta, session_errors(source, counts, cells, found))
    return curve_estimate(
        "harvest",
        found,
        cells,
        known_places,
        browsing=browsing,
        smooth=smooth,
        fill=fill,
        errors=errors,
        n_sessions=source.n_sessions if isinstance(source, ClickSessions) else 0,
        details={"relevance": relevance},
    )

"""What estimators from natural variation share: what can be compared, and how an estimate is handed out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from truerank.errors import IdentificationError, InputError
from truerank.propensity.cells import Cells, cells_of
from truerank.propensity.curve import Browsing, Filling, Smoothing, browsing_model, training_curve
from truerank.propensity.estimate import PropensityEstimate
from truerank.propensity.identification import identified, refuse_unidentified
from truerank.propensity.sandwich import LogCurve
from truerank.types import IntArray, ItemPositionCounts

VariationErrors = Literal["list", "session", "information"]
_ERRORS = {
    "list": "sandwich over {lists} lists",
    "session": "sandwich over {sessions} sessions, each list's relevance as it is",
    "information": "information matrix, clicks independent",
}
_FEW_LISTS = 50


def check_errors(errors: str) -> None:
    """Refuse errors that there are none of."""
    if errors not in _ERRORS:
        raise InputError(f"errors is {errors!r}; it must be one of {', '.join(map(repr, _ERRORS))}")


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


def curve_estimate(
    method: str,
    found: LogCurve,
    cells: Cells,
    known_places: IntArray,
    *,
    browsing: Browsing,
    smooth: Smoothing,
    fill: Filling,
    errors: str,
    n_sessions: int,
    details: Mapping[str, Any],
    notes: tuple[str, ...] = (),
) -> PropensityEstimate:
    """The curve at the places it is known at as an estimate, with the model to train with."""
    n = cells.n_positions
    theta, log_covariance = np.full(n, np.nan), np.full((n, n), np.nan)
    theta[known_places] = np.exp(found.log_theta)
    log_covariance[np.ix_(known_places, known_places)] = found.covariance
    table, said = training_curve(theta, np.sqrt(np.diagonal(log_covariance)), smooth=smooth, fill=fill)
    n_lists = int(np.count_nonzero(np.diff(cells.list_offsets)))
    if errors == "list" and n_lists < _FEW_LISTS:
        hint = "Hint: errors='session' or 'information'"
        said = (*said, f"only {n_lists} lists tell about positions: errors by list are rough. {hint}")
    return PropensityEstimate(
        method=method,
        errors=_ERRORS[errors].format(lists=n_lists, sessions=n_sessions),
        theta=theta,
        log_covariance=log_covariance,
        examination=browsing_model(table, browsing),
        notes=(*said, *notes),
        details={
            **details,
            "items_compared": cells.n_items,
            "clicks_compared": np.bincount(cells.place, cells.clicks, n),
        },
    )

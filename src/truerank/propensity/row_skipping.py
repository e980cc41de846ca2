"""γ and C of row skipping: from the sessions of a log, or from tables of θ and ψ that were measured."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from truerank.errors import IdentificationError, InputError
from truerank.examination import ExaminationModel, RowSkipping
from truerank.examination.row_skipping import read_row_lengths
from truerank.propensity.estimate import PropensityEstimate
from truerank.propensity.grid_sessions import GridSessions, on_grid
from truerank.propensity.row_skipping_fit import EDGE, Grid, expit, fit_row_skipping
from truerank.propensity.row_skipping_tables import fit_tables, measured_tables
from truerank.types import FloatArray, IntArray

Continuation = Literal["common", "position"]
GridErrors = Literal["list", "information"]
_ERRORS = {
    "list": "sandwich over {lists} lists",
    "information": "information of the profile likelihood, which takes row skipping as true",
}
_FEW_LISTS = 50
_STEP = 1e-5


def row_skipping(
    source: Any,
    row_lengths: npt.ArrayLike | None = None,
    *,
    continuation: Continuation = "common",
    errors: GridErrors = "list",
) -> PropensityEstimate:
    """γ and C_v of a grid, and with them θ and ψ (the paper, Section 4; Xie et al. 2019).

    From a log, by maximum likelihood: whole sessions, in which a click says that its row was not skipped and nothing
    before it in the row ended the visit, with a relevance for every item of every list as nuisance. What is clicked
    together tells P(examined) itself, not only its ratios, so θ_1 = 1 − γ is found, not assumed. That rests on
    relevances being independent inside a session, given the list and the items: visits that differ in how much they
    click look like rows that are skipped. As with `harvest`, every session has to be kept, also those without a click.
    (Relevances that are found from few clicks pull γ and C along, the more, the fewer sessions a list has. Half of the
    sessions pull twice as far, so twice the estimate less the mean of those of two halves is free of it to first order:
    the split-panel jackknife, Dhaene and Jochmans 2015.)

    From tables (an estimate of `swap`, `harvest`, `em` or `joint_swap`, or an examination model), by least squares on
    log θ_k / θ_1 and log ψ(k1, k2) / ψ(1, 2), weighted by their errors.

    Args:
        source: `ClickSessions`, `SessionCounts`, a click log, a `PropensityEstimate`, or an examination model.
        row_lengths: how many items each row of the grid holds, from the top; None to take them from the columns `row`
            and `position` of a click log.
        continuation: "common" for one C, "position" for one at each position (the last has none: it takes that before).
        errors: from a log, "list" for a sandwich over lists, "information" for the information of the profile
            likelihood.

    >>> truth = RowSkipping(0.2, 0.9, [3, 3, 3])
    >>> found = row_skipping(truth, [3, 3, 3])
    >>> {name: round(value, 4) for name, (value, _) in found.parameters.items()}
    {'gamma': 0.2, 'continuation': 0.9}
    """
    if continuation not in ("common", "position"):
        raise InputError(f"continuation is {continuation!r}; it must be 'common' or 'position'")
    if errors not in _ERRORS:
        raise InputError(f"errors is {errors!r}; it must be 'list' or 'information'")
    grid = grid_of(source, row_lengths, continuation)
    if isinstance(source, PropensityEstimate | ExaminationModel):
        measured = measured_tables(source, grid)
        found = fit_tables(measured, grid)
        return grid_estimate(grid, found.logits, found.covariance, measured.errors, found.notes, found.details)
    sessions = on_grid(source, grid.n_places)
    fit = fit_row_skipping(sessions, grid, by_list=errors == "list")
    logits, pulled = _without_pull(fit.logits, sessions, grid)
    n_lists = int(sessions.list_of_session.max()) + 1
    return grid_estimate(
        grid,
        logits,
        fit.covariance,
        _ERRORS[errors].format(lists=n_lists),
        (*_notes(sessions, errors, n_lists), *pulled),
        {
            "log_likelihood": fit.log_likelihood,
            "sessions": sessions.n_sessions,
            "most_likely": expit(fit.logits),
        },
    )


def _without_pull(logits: FloatArray, sessions: GridSessions, grid: Grid) -> tuple[FloatArray, tuple[str, ...]]:
    """The most likely logits less what the relevances, each from few clicks, pull them; notes where that fails."""
    try:
        halves = [fit_row_skipping(half, grid, by_list=False, errors=False).logits for half in sessions.halves()]
    except IdentificationError:
        return logits, ("too few clicks to take away what uncertain relevances add: γ and C are the most likely ones",)
    pull = np.mean(halves, axis=0) - logits
    inside = np.max(np.abs([logits, *halves]), axis=0) < EDGE
    return np.where(inside, logits - pull, logits), ()


def grid_of(source: Any, row_lengths: npt.ArrayLike | None, continuation: str) -> Grid:
    """The layout, as given or as the log has it."""
    if row_lengths is None:
        own = getattr(source, "row_lengths", None)
        if own is None:
            raise InputError("row_lengths is missing: how many items each row of the grid holds, such as [4, 4, 2]")
        row_lengths = own() if callable(own) else own
    lengths = read_row_lengths(row_lengths)
    n = int(lengths.sum())
    parameter = np.zeros(n, dtype=np.int64) if continuation == "common" else np.minimum(np.arange(n), max(n - 2, 0))
    return Grid(lengths, parameter)


def grid_estimate(
    grid: Grid, logits: FloatArray, covariance: FloatArray, errors: str, notes: tuple[str, ...], details: dict[str, Any]
) -> PropensityEstimate:
    """γ, C, θ and ψ with their errors by the delta method from those of the logits."""
    model = _model(grid, logits)
    n = grid.n_places
    upper = np.triu_indices(n)
    slopes = np.array([(_logs(grid, logits + h) - _logs(grid, logits - h)) / (2 * _STEP) for h in _nudges(logits)])
    both = slopes.T @ covariance @ slopes
    psi, psi_errors = np.zeros((2, n, n))
    psi[upper] = np.exp(_logs(grid, logits))
    psi_errors[upper] = np.sqrt(np.maximum(np.diagonal(both), 0))
    place = np.flatnonzero(upper[0] == upper[1])
    spread = np.sqrt(np.diagonal(covariance)) * expit(logits) * (1 - expit(logits))
    names = ["continuation"] if grid.n_continuations == 1 else [f"C_{v + 1}" for v in range(grid.n_continuations)]
    chances = expit(logits)
    at_edge = [name for name, x in zip(["gamma", *names], logits, strict=True) if abs(x) >= EDGE]
    if at_edge:
        notes = (*notes, f"{', '.join(at_edge)} went to the edge of [0, 1]: taken as known there")
    return PropensityEstimate(
        method="row_skipping",
        errors=errors,
        theta=model.marginal(np.arange(1, n + 1)),
        log_covariance=both[np.ix_(place, place)],
        examination=model,
        normalization="θ_1 = 1 − γ: θ are probabilities, not relative to position 1",
        psi=psi + np.triu(psi, 1).T,
        psi_log_errors=psi_errors + np.triu(psi_errors, 1).T,
        parameters={
            name: (float(value), float(error))
            for name, value, error in zip(["gamma", *names], chances, spread, strict=True)
        },
        notes=notes,
        details={"row_lengths": grid.row_lengths, **details},
    )


def _model(grid: Grid, logits: FloatArray) -> RowSkipping:
    gamma, continuation = grid.continuation(logits)
    return RowSkipping(gamma, continuation, grid.row_lengths)


def _logs(grid: Grid, logits: FloatArray) -> FloatArray:
    """log ψ of the pairs i ≤ j, log θ on the diagonal."""
    i, j = np.triu_indices(grid.n_places)
    logs: FloatArray = np.log(_model(grid, logits).joint(i + 1, j + 1))
    return logs


def _nudges(logits: FloatArray) -> FloatArray:
    return _STEP * np.eye(len(logits))


def _notes(sessions: GridSessions, errors: str, n_lists: int) -> tuple[str, ...]:
    notes = []
    if errors == "list" and n_lists < _FEW_LISTS:
        notes.append(f"only {n_lists} lists: errors by list are rough. Hint: errors='information'")
    if not _anything_moves(sessions.item, sessions.place):
        notes.append(
            "no item was shown at two positions: γ and C are told only by what is clicked together, which takes "
            "relevances to be independent inside a session"
        )
    return tuple(notes)


def _anything_moves(item: IntArray, place: IntArray) -> bool:
    first = np.zeros(int(item.max()) + 1, dtype=np.int64)
    first[item] = place
    return bool((first[item] != place).any())

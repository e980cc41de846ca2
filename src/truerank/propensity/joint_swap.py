"""ψ from an experiment that swaps pairs of positions: (k1, k2) with (1, 2), the paper's procedure."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from truerank.errors import InputError
from truerank.examination import ExaminationModel, Independent, Tabulated
from truerank.propensity.counts import counts_of
from truerank.propensity.curve import training_curve
from truerank.propensity.estimate import PropensityEstimate
from truerank.propensity.joint_fill import PairFilling, filled_pairs, within_bounds
from truerank.propensity.swap import ERRORS, Errors, experiment_notes, measured_ratio, paired_arms, swap
from truerank.types import FloatArray, SwapArms

_BEYOND_NOISE = 3.3


def joint_swap(
    source: Any,
    marginal: PropensityEstimate | ExaminationModel | None = None,
    *,
    fill: PairFilling = None,
    row_lengths: npt.ArrayLike | None = None,
    errors: Errors = "delta",
    replicates: int = 1_000,
    seed: int = 0,
) -> PropensityEstimate:
    """ψ(k1, k2) from sessions in which the items of (k1, k2) were swapped with those of (1, 2) at random.

    The experiment tells R = ψ(k1, k2) / ψ(1, 2): clicks on both of two items, at (k1, k2) and at (1, 2), in both
    directions where the pairs have no position in common but 1 (the paper, Section 3, and `truerank.propensity.ratio`).
    If position 1 is always looked at, ψ(1, 2) = θ_2, so ψ(k1, k2) = θ_2 R, and ψ(1, k) = θ_k without an experiment.
    The relative variance is that of R plus that of θ_2. (If position 1 is not always looked at, all of it is relative:
    θ / θ_1, with ψ / θ_1² if people look independently and ψ / θ_1 if they read on, which fit each other in both.)

    The examination model is a table within the bounds of probability, max(0, θ_i + θ_j − 1) ≤ ψ_ij ≤ min(θ_i, θ_j):
    pairs outside go to the nearer bound, and a note says how many and how far.

    Args:
        source: `SwapArms`, `ClickSessions` with `swap`, or a click log.
        marginal: θ, as estimated or as known; None to estimate it from the single swaps in the same log.
        fill: where pairs that were not measured come from: "independent", "continuous", "smooth" or "row_skipping" (see
            `truerank.propensity.joint_fill`); None refuses them.
        row_lengths: the grid, for "row_skipping". (`row_skipping` of this estimate is a model that has θ_1 = 1 − γ.)
        errors: "delta" or "bootstrap", as in `swap`.
        replicates: how many bootstrap replicates.
        seed: for the bootstrap.
    """
    counts = counts_of(source, SwapArms)
    if marginal is None:
        marginal = swap(counts, errors=errors, replicates=replicates, seed=seed)
    elif isinstance(marginal, ExaminationModel):
        marginal = as_known(marginal)
    elif not isinstance(marginal, PropensityEstimate):
        raise InputError(f"marginal is a {type(marginal).__name__}; it must be an estimate or an examination model")
    n = len(marginal.theta)
    experiments = paired_arms(counts, joint=True)
    if n < 2 or experiments.k2.max() > n:
        raise InputError(f"θ is known at {n} positions and the experiment goes to position {experiments.k2.max()}")
    if not (marginal.theta[0] == 1 and marginal.measured[1]):
        raise InputError(
            f"the estimate has θ_1 = {marginal.theta[0]:.4g} and θ_2 = {marginal.theta[1]:.4g}; ψ needs θ relative to "
            "position 1, and θ_2. Hint: pass its examination model to take that as known"
        )

    # a pair without a joint click is not measured, unless it was the only thing asked for
    seen = (experiments.target_clicks > 0) & (experiments.top_clicks > 0)
    notes = [
        f"{experiments.name(m)}: no session with clicks on both; counts as not measured" for m in np.flatnonzero(~seen)
    ]
    if fill is not None and seen.any():
        experiments = experiments.where(seen)
    ratio, log_variance = measured_ratio(experiments, errors, replicates, seed)
    theta = marginal.examination.marginal(marginal.positions)
    psi, log_errors = np.full((2, n, n), np.nan)
    np.fill_diagonal(psi, theta)
    psi[0], log_errors[0] = theta, marginal.log_standard_errors
    i, j = experiments.k1 - 1, experiments.k2 - 1
    psi[i, j] = ratio.value * marginal.theta[1]
    log_errors[i, j] = np.sqrt(log_variance + marginal.log_standard_errors[1] ** 2)
    psi, log_errors = _symmetric(psi), _symmetric(log_errors)
    np.fill_diagonal(log_errors, marginal.log_standard_errors)

    on_grid = None
    if fill == "row_skipping":
        rough = joint_swap(counts, marginal, fill="independent", errors=errors, replicates=replicates, seed=seed)
        on_grid = _on_grid(rough, row_lengths)
    table = within_bounds(theta, filled_pairs(theta, psi, log_errors, fill, on_grid))
    n_filled = int(np.triu(~np.isfinite(psi)).sum())
    if n_filled:
        notes.append(f"{n_filled} of {n * (n - 1) // 2} pairs were not measured; training takes them as {fill}")
    notes += _projection_notes(psi, log_errors, table)
    return PropensityEstimate(
        method="joint_swap",
        errors=ERRORS[errors],
        theta=marginal.theta,
        log_covariance=marginal.log_covariance,
        examination=Tabulated(theta, table),
        normalization=f"{marginal.normalization}; ψ(1, 2) = θ_2: position 1 is always looked at",
        psi=psi,
        psi_log_errors=log_errors,
        notes=(*marginal.notes, *notes, *experiment_notes(experiments, ratio)),
        details={
            "pair": np.stack([experiments.k1, experiments.k2], axis=1),
            "sessions": experiments.sessions,
            "clicks_at_pair": experiments.target_clicks,
            "disagreement_of_directions": ratio.disagreement,
        },
    )


def as_known(examination: ExaminationModel) -> PropensityEstimate:
    """A model whose θ is taken as true, in the form of an estimate without error, relative to position 1."""
    theta = examination.marginal(np.arange(1, examination.n_positions + 1))
    relative = theta / theta[0]
    table, notes = training_curve(relative, None, smooth=None, fill=None)
    return PropensityEstimate(
        method="given",
        errors="taken as known",
        theta=relative,
        log_covariance=np.zeros((len(theta), len(theta))),
        examination=Independent(table),
        notes=notes,
    )


def _on_grid(measured: PropensityEstimate, row_lengths: npt.ArrayLike | None) -> FloatArray:
    """θ_2 ψ_ij / ψ_12 for all pairs, of the row skipping nearest to what was measured."""
    from truerank.propensity.row_skipping import row_skipping

    grid = row_skipping(measured, row_lengths)
    n, known = len(measured.theta), len(grid.theta)
    if known < n:
        raise InputError(f"row_lengths hold {known} positions and θ is known at {n}. Hint: name every row")
    places = np.arange(1, n + 1)
    model = grid.examination
    table: FloatArray = model.joint(places[:, None], places) * (measured.theta[1] / model.joint(1, 2))
    return table


def _symmetric(upper: FloatArray) -> FloatArray:
    table = np.triu(upper)
    return table + np.triu(upper, 1).T


def _projection_notes(psi: FloatArray, log_errors: FloatArray, table: FloatArray) -> list[str]:
    i, j = np.nonzero(np.triu(np.isfinite(psi), 1))
    shift = np.abs(table - psi)[i, j]
    moved = np.flatnonzero(shift > 1e-12)
    if not moved.size:
        return []
    m = int(moved[np.argmax(shift[moved])])
    in_errors = shift[m] / (psi * log_errors)[i[m], j[m]]
    beyond = (
        ": more than noise; position 1 may not always be looked at, or θ be off" if in_errors > _BEYOND_NOISE else ""
    )
    return [
        f"{moved.size} of {len(i)} measured pairs were moved within the bounds of probability, the most ({i[m] + 1}, "
        f"{j[m] + 1}) from {psi[i[m], j[m]]:.4f} to {table[i[m], j[m]]:.4f}, {in_errors:.1f} standard errors{beyond}"
    ]

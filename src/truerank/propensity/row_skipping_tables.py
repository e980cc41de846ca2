"""γ and C that come nearest to tables of θ and ψ that were measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from truerank.errors import IdentificationError, InputError
from truerank.examination import ExaminationModel, RowSkipping
from truerank.propensity.estimate import PropensityEstimate
from truerank.propensity.row_skipping_fit import Grid
from truerank.types import FloatArray, IntArray

_FAR = 12.0
"""The largest logit that is tried."""


@dataclass(frozen=True, eq=False)
class Measured:
    """Logarithms of ratios of ψ to a `base` that were measured: pair m is (i, j), from 0; θ is the pair (i, i).

    `root` turns differences into independent numbers of variance 1: root' root is the inverse covariance. `base` is the
    pair that each is relative to, or −1 for what is a probability itself.
    """

    logs: FloatArray
    i: IntArray
    j: IntArray
    base: IntArray
    root: FloatArray
    errors: str
    exact: bool


@dataclass(frozen=True, eq=False)
class TableFit:
    """The logits, their covariance, and what should be known."""

    logits: FloatArray
    covariance: FloatArray
    notes: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)


def measured_tables(source: PropensityEstimate | ExaminationModel, grid: Grid) -> Measured:
    """What an estimate has measured, or all that a model says, at the places of the grid."""
    n = grid.n_places
    if isinstance(source, ExaminationModel):
        if source.n_positions < n:
            raise InputError(f"the model knows {source.n_positions} positions and the grid has {n}")
        i, j = np.triu_indices(n)
        return Measured(
            logs=np.log(source.joint(i + 1, j + 1)),
            i=i,
            j=j,
            base=np.full((len(i), 2), -1),
            root=np.eye(len(i)),
            errors="none: the model is taken as known",
            exact=True,
        )
    if len(source.theta) < n:
        raise InputError(f"θ was estimated at {len(source.theta)} positions and the grid has {n}")
    known = np.flatnonzero(source.measured[:n])[1:]  # θ_1 is what the others are relative to
    if not source.measured[0] or abs(source.theta[0] - 1) > 1e-9:
        raise InputError("θ must be relative to position 1. Hint: pass its examination model to take it as known")
    logs, covariance = [np.log(source.theta[known])], source.log_covariance[np.ix_(known, known)]
    i = j = known
    base = np.zeros((len(known), 2), dtype=np.int64)
    pairs = np.asarray(source.details.get("pair", np.empty((0, 2))), dtype=np.int64).reshape(-1, 2) - 1
    pairs = pairs[pairs[:, 1] < n]
    if source.psi is not None and source.psi_log_errors is not None and len(pairs):
        a, b = pairs.T
        # ψ was given as θ_2 times the measured ratio to ψ(1, 2); back to the ratio, whose error is its own
        logs.append(np.log(source.psi[a, b]) - np.log(source.theta[1]))
        variance = source.psi_log_errors[a, b] ** 2 - source.log_covariance[1, 1]
        table = np.zeros((len(i) + len(a), len(i) + len(a)))
        table[: len(i), : len(i)] = covariance
        table[len(i) :, len(i) :] = np.diag(variance)
        covariance = table
        i, j = np.concatenate([i, a]), np.concatenate([j, b])
        base = np.concatenate([base, np.tile([0, 1], (len(a), 1))])
    if not (np.linalg.eigvalsh(covariance)[0] > 0 if len(i) else False):
        raise InputError(f"the errors of {source.method} are not those of measured θ: a variance is 0 or missing")
    return Measured(
        logs=np.concatenate(logs),
        i=i,
        j=j,
        base=base,
        root=np.linalg.inv(np.linalg.cholesky(covariance)),
        errors=f"delta method from those of {source.method} ({source.errors})",
        exact=False,
    )


def fit_tables(measured: Measured, grid: Grid) -> TableFit:
    """Weighted least squares in the logits of γ and C."""
    from scipy.optimize import least_squares

    def residuals(logits: FloatArray) -> FloatArray:
        gamma, continuation = grid.continuation(logits)
        model = RowSkipping(gamma, continuation, grid.row_lengths)
        logs = np.log(model.joint(measured.i + 1, measured.j + 1))
        relative = measured.base[:, 0] >= 0
        base = np.log(model.joint(*(np.maximum(measured.base, 0).T + 1)))
        difference: FloatArray = measured.root @ (logs - np.where(relative, base, 0.0) - measured.logs)
        return difference

    n = 1 + grid.n_continuations
    starts = [np.r_[gamma, np.full(n - 1, 2.0)] for gamma in (-2.0, 0.0)]
    options = {"bounds": (-_FAR, _FAR), "xtol": 1e-12, "ftol": 1e-12, "gtol": 1e-12, "max_nfev": 2_000}
    found = min((least_squares(residuals, start, **options) for start in starts), key=lambda fit: float(fit.cost))
    information = found.jac.T @ found.jac
    lowest, *_, highest = np.linalg.eigvalsh(information) if n > 1 else (1.0, 1.0)
    inside = np.abs(found.x) < _FAR - 1
    if len(measured.logs) < n or not (lowest > 1e-10 * highest or not inside.all()):
        raise IdentificationError(
            f"{len(measured.logs)} measured values do not tell the {n} parameters of row skipping. Hint: "
            "continuation='common', or pairs of positions as well (truerank.propensity.joint_swap)"
        )
    covariance = np.zeros((n, n))
    if not measured.exact:
        covariance[np.ix_(inside, inside)] = np.linalg.inv(information[np.ix_(inside, inside)])
    freedom = len(measured.logs) - n
    notes: tuple[str, ...] = ()
    if not measured.exact and freedom > 0:
        notes = _misfit(2 * float(found.cost), freedom)
    return TableFit(found.x, covariance, notes, {"chi_square": 2 * float(found.cost), "degrees_of_freedom": freedom})


def _misfit(chi_square: float, freedom: int) -> tuple[str, ...]:
    from scipy.stats import chi2

    chance = float(chi2.sf(chi_square, freedom))
    if chance > 1e-3:
        return ()
    return (f"row skipping does not fit what was measured: χ² = {chi_square:.1f} on {freedom} degrees of freedom",)

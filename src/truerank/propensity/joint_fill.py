"""Pairs of positions that were not measured, and pairs that cannot be as measured."""

from __future__ import annotations

from typing import Literal

import numpy as np

from truerank.errors import IdentificationError, InputError
from truerank.types import BoolArray, FloatArray

PairFilling = Literal["independent", "continuous", "smooth", "row_skipping"] | None
_ENOUGH_FOR_A_SLOPE = 6
_RIDGE = 1.0
_LEAST_ROOM = 1e-6


def filled_pairs(
    theta: FloatArray, psi: FloatArray, log_errors: FloatArray, fill: PairFilling, on_grid: FloatArray | None = None
) -> FloatArray:
    """ψ with every pair, those that were not measured from the model that was asked for.

    - "independent": θ_i θ_j. "continuous": min(θ_i, θ_j).
    - "smooth": θ_i θ_j + λ_ij (min(θ_i, θ_j) − θ_i θ_j), where λ, 0 for independent and 1 for continuous looking, is
      read off the measured pairs: a plane over log i and log (j − i), by weighted least squares with a ridge that pulls
      its slopes to 0 (with fewer than six pairs, a constant), kept in [0, 1].
    - "row_skipping": θ_2 ψ_ij / ψ_12 of the row skipping that comes nearest to what was measured, given as `on_grid`.
    """
    missing = ~np.isfinite(psi)
    if not missing.any():
        return psi
    product, least = np.outer(theta, theta), np.minimum.outer(theta, theta)
    if fill is None:
        i, j = (k + 1 for k in np.argwhere(np.triu(missing))[0])
        raise IdentificationError(
            f"{int(np.triu(missing).sum())} pairs of positions were not measured, the first is ({i}, {j}). Hint: say "
            "how to fill them, with fill='independent', 'continuous', 'smooth' or 'row_skipping'"
        )
    if fill == "independent":
        return np.where(missing, product, psi)
    if fill == "continuous":
        return np.where(missing, least, psi)
    if fill == "row_skipping" and on_grid is not None:
        return np.where(missing, on_grid, psi)
    if fill == "smooth":
        return np.where(missing, product + _smooth_association(theta, psi, log_errors) * (least - product), psi)
    raise InputError(
        f"fill is {fill!r}; it must be 'independent', 'continuous', 'smooth', 'row_skipping', or None to refuse gaps"
    )


def within_bounds(theta: FloatArray, psi: FloatArray) -> FloatArray:
    """The table nearest to ψ with max(0, θ_i + θ_j − 1) ≤ ψ_ij ≤ min(θ_i, θ_j), θ on its diagonal.

    For given θ these bounds are a box, so the projection takes each pair to the nearer end, by itself.
    """
    table: FloatArray = np.clip(psi, np.maximum(0, np.add.outer(theta, theta) - 1), np.minimum.outer(theta, theta))
    np.fill_diagonal(table, theta)
    return table


def _smooth_association(theta: FloatArray, psi: FloatArray, log_errors: FloatArray) -> FloatArray:
    product, least = np.outer(theta, theta), np.minimum.outer(theta, theta)
    room = least - product
    known: BoolArray = np.triu(np.isfinite(psi) & (log_errors > 0), 1) & (room > _LEAST_ROOM)
    if not known.any():
        raise IdentificationError(
            "no measured pair tells how two positions go together (position 1 is always looked at, so pairs with it do "
            "not). Hint: swap other pairs, or fill='independent' or 'continuous'"
        )
    association = (psi[known] - product[known]) / room[known]
    weight = room[known] / (psi[known] * log_errors[known])  # 1 / standard error of the association
    position = np.log(np.arange(1, len(theta) + 1))
    gap = np.abs(np.subtract.outer(np.arange(len(theta)), np.arange(len(theta))))
    features = np.stack([np.minimum.outer(position, position), np.log(np.maximum(gap, 1))], axis=-1)
    centre = np.average(features[known], axis=0, weights=weight**2)
    level = np.average(association, weights=weight**2)
    if known.sum() < _ENOUGH_FOR_A_SLOPE:
        return np.full(psi.shape, np.clip(level, 0, 1))
    x = (features[known] - centre) * weight[:, None]
    slope = np.linalg.solve(x.T @ x + _RIDGE * np.eye(2), x.T @ ((association - level) * weight))
    everywhere: FloatArray = np.clip(level + (features - centre) @ slope, 0, 1)
    return everywhere

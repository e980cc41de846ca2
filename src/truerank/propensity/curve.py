"""From a curve θ to an examination model: what is filled, capped or smoothed, and said."""

from __future__ import annotations

import warnings
from typing import Literal

import numpy as np
import numpy.typing as npt

from truerank.errors import ExaminationError, IdentificationError, InputError, PropensityWarning
from truerank.examination import Continuous, ExaminationModel, Independent
from truerank.examination.base import read_numbers
from truerank.types import BoolArray, FloatArray, IntArray

Browsing = Literal["independent", "continuous"]
Smoothing = Literal["isotonic"] | None
Filling = Literal["interpolate"] | None
_MODELS = {"independent": Independent, "continuous": Continuous}
_EXACT = 1e12
"""The weight of a value known without error, where others have about 1 to 1e6."""


def curve(
    theta: npt.ArrayLike,
    *,
    browsing: Browsing = "independent",
    smooth: Smoothing = None,
    standard_errors: npt.ArrayLike | None = None,
) -> ExaminationModel:
    """An examination model from a curve that was measured elsewhere, however rough.

    NaN is accepted inside the curve and filled along a straight line of log θ over log position; a curve that rises is
    accepted as it is, and smoothed only with `smooth="isotonic"`. Either is told with a `PropensityWarning`.

    Args:
        theta: P(examined) at positions 1, 2, 3, …, in (0, 1] or NaN.
        browsing: how two positions go together, "independent" or "continuous"; the latter needs a curve that never
            rises.
        smooth: "isotonic" for the non-increasing curve nearest to log θ in weighted least squares.
        standard_errors: of θ, where known: they weigh the positions in the smoothing.

    >>> curve([1.0, 0.5, 0.25]).marginal(3).item()
    0.25
    """
    values = read_numbers(theta, "theta")
    if values.ndim != 1 or not np.isfinite(values).any():
        raise ExaminationError(f"theta has shape {values.shape}; it needs one number a position, not all of them NaN")
    wrong = ~(((values > 0) & (values <= 1)) | np.isnan(values))
    if wrong.any():
        k = int(np.argmax(wrong))
        hint = " (are these inverse propensities, 1/θ?)" if values[k] > 1 else ""
        raise ExaminationError(f"theta at position {k + 1} is {values[k]}; it must lie in (0, 1] or be NaN{hint}")
    errors = None
    if standard_errors is not None:
        errors = read_numbers(standard_errors, "standard_errors")
        if errors.shape != values.shape:
            raise InputError(f"standard_errors has shape {errors.shape} and theta {values.shape}; they must agree")
        errors = errors / values
    table, notes = training_curve(values, errors, smooth=smooth, fill="interpolate")
    if smooth is None and (rises := _rises(table)).size:
        notes = (
            *notes,
            f"θ rises at {position_list(rises + 2)}. Hint: smooth='isotonic' if people look from the top down",
        )
    for note in notes:
        warnings.warn(note, PropensityWarning, stacklevel=2)
    return browsing_model(table, browsing)


def browsing_model(theta: FloatArray, browsing: str) -> ExaminationModel:
    """The examination model of that name with these marginals."""
    if browsing not in _MODELS:
        raise InputError(f"browsing is {browsing!r}; it must be one of {', '.join(map(repr, _MODELS))}")
    return _MODELS[browsing](theta)


def training_curve(
    theta: FloatArray, log_errors: FloatArray | None, *, smooth: Smoothing, fill: Filling
) -> tuple[FloatArray, tuple[str, ...]]:
    """θ made fit for training, and what was done to it: filled where asked, capped at 1, smoothed where asked."""
    notes: list[str] = []
    known = np.isfinite(theta)
    table = _filled(theta, known, fill, notes)
    above = np.flatnonzero(table > 1)
    if above.size:
        k = int(above[np.argmax(table[above])])
        error = f" ± {theta[k] * log_errors[k]:.3g}" if log_errors is not None else ""
        notes.append(
            f"θ is above θ_1 = 1 at {position_list(above + 1)} (the most at {k + 1}: {theta[k]:.4g}{error}); capped"
        )
        table = np.minimum(table, 1.0)
    if smooth is None:
        return table, tuple(notes)
    if smooth != "isotonic":
        raise InputError(f"smooth is {smooth!r}; it must be 'isotonic' or None")
    smoothed = _isotonic(table, known, log_errors)
    moved = np.flatnonzero(np.abs(smoothed - table) > 1e-12)
    if moved.size:
        notes.append(f"smoothed to be non-increasing: θ was changed at {position_list(moved + 1)}")
    return smoothed, tuple(notes)


def refuse_gaps(theta: FloatArray, why: str, hint: str) -> None:
    """Raise for positions that have no estimate."""
    missing = np.flatnonzero(~np.isfinite(theta)) + 1
    if missing.size:
        raise IdentificationError(f"θ at {position_list(missing)} cannot be told: {why}. Hint: {hint}")


def _filled(theta: FloatArray, known: BoolArray, fill: Filling, notes: list[str]) -> FloatArray:
    missing = np.flatnonzero(~known)
    if not missing.size:
        return theta.copy()
    if fill != "interpolate":
        raise InputError(f"fill is {fill!r}; it must be 'interpolate' or None")
    outside = missing[(missing < np.flatnonzero(known)[0]) | (missing > np.flatnonzero(known)[-1])]
    if outside.size:
        raise IdentificationError(
            f"θ at {position_list(outside + 1)} lies outside what is known, so nothing can be read off between "
            "neighbours. Hint: cut the curve there"
        )
    x = np.log(np.arange(1, len(theta) + 1))
    table = theta.copy()
    table[missing] = np.exp(np.interp(x[missing], x[known], np.log(theta[known])))
    notes.append(f"θ at {position_list(missing + 1)} is not measured but interpolated (log θ over log position)")
    return table


def _isotonic(theta: FloatArray, known: BoolArray, log_errors: FloatArray | None) -> FloatArray:
    """The non-increasing curve nearest to log θ, weighted by how well each is known; position 1 stays where it is."""
    from sklearn.isotonic import isotonic_regression

    if log_errors is None:
        weights = np.ones(len(theta))
    else:
        usable = known & np.isfinite(log_errors) & (log_errors > 0)
        variance = np.where(usable, log_errors, 1.0) ** 2
        weights = np.where(usable, 1 / np.maximum(variance, 1e-6), 1e-6)
        weights[known & ~usable] = _EXACT
    smoothed: FloatArray = np.exp(isotonic_regression(np.log(theta), sample_weight=weights, increasing=False))
    return np.minimum(smoothed, 1.0)


def _rises(theta: FloatArray) -> IntArray:
    return np.flatnonzero(np.diff(theta) > 0)


def position_list(positions: IntArray) -> str:
    """Positions as people write them: 'position 3', 'positions 3, 5–8'."""
    runs = np.split(positions, np.flatnonzero(np.diff(positions) > 1) + 1)
    text = ", ".join(f"{run[0]}" if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs)
    return f"position{'s' if len(positions) > 1 else ''} {text}"

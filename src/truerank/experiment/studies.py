"""What reports show of any click log: the curve, pairs of positions, clicks before and after weighting, its health."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import Any

import numpy as np

from truerank.examination import ExaminationModel
from truerank.propensity import PropensityEstimate
from truerank.report import Check, Clicks, Curve, Joint
from truerank.types import FloatArray, PositionCounts

_FEW = 0.2
_SAID = 0.1


def curve_of(estimate: PropensityEstimate, method: str, truth: FloatArray | None = None) -> Curve:
    """θ with its intervals; where the log does not tell it, what training uses, and an interval that says nothing."""
    low, high = estimate.interval()
    told = estimate.measured
    theta = np.where(told, estimate.theta, estimate.examination.marginal(estimate.positions))
    return Curve(
        method,
        floats(theta),
        floats(np.where(told, low, 0.0)),
        floats(np.where(told, high, 1.0)),
        None if truth is None else floats(truth),
        estimate.notes,
    )


def joint_of(
    examination: ExaminationModel, n_places: int, model: str, row_lengths: tuple[int, ...] | None = None
) -> Joint:
    """ψ of the first positions."""
    places = np.arange(1, n_places + 1)
    return Joint(model, tuple(map(floats, examination.joint(places[:, None], places))), row_lengths)


def weighted_clicks(counts: PositionCounts, examination: ExaminationModel, relevant: Any = None) -> Clicks:
    """Clicks by position, as they are and weighted by 1/θ."""
    weighted = counts.clicks / examination.marginal(counts.position)
    return Clicks(
        tuple(counts.impressions.tolist()),
        tuple(counts.clicks.tolist()),
        floats(weighted),
        None if relevant is None else floats(relevant),
    )


def data_checks(
    counts: PositionCounts,
    n_sessions: int,
    share_without_click: float,
    examination: ExaminationModel | None,
    largest_error: float | None,
) -> tuple[Check, ...]:
    """What there is to know about a log before its clicks are weighted, and what weighting costs."""
    seen, last = int(counts.clicks.sum()), int(counts.clicks[-1])
    checks = [
        Check("sessions", f"{n_sessions:,}"),
        Check("clicks", f"{seen:,}", seen > 1_000, "" if seen > 1_000 else "few to learn from"),
        _check_clickless(share_without_click),
        Check("clicks at the last position", f"{last:,}", last >= 100, "" if last >= 100 else "its weight is rough"),
    ]
    if largest_error is not None:
        fine = largest_error < _FEW
        checks.append(Check("largest relative error of θ", f"{largest_error:.0%}", fine, "the same for the weight 1/θ"))
    if examination is not None and seen:
        weight = 1 / examination.marginal(counts.position)
        effective = float((counts.clicks @ weight) ** 2 / (counts.clicks @ weight**2) / seen)
        checks += [
            Check("largest weight 1/θ", f"{weight.max():.1f}"),
            Check("effective sample size", f"{effective:.0%} of the clicks", effective > _SAID, "what weighting costs"),
        ]
    return tuple(checks)


def versions() -> dict[str, str]:
    """What a report was made with."""
    return {
        "truerank": version("truerank"),
        "LightGBM": version("lightgbm"),
        "NumPy": np.__version__,
        "Python": f"{platform.python_version()} on {platform.system()} {platform.machine()}",
    }


def floats(values: Any) -> tuple[float, ...]:
    """Numbers as a report keeps them."""
    return tuple(np.asarray(values, dtype=np.float64).tolist())


def _check_clickless(share: float) -> Check:
    if share > 0:
        return Check("sessions without a click", f"{share:.0%}", why="kept, as estimators need them")
    return Check("sessions without a click", "none", False, "if they were dropped, estimates of θ are off")

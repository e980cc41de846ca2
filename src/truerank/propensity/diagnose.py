"""What a log can tell about propensities, before anything is estimated from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from truerank.errors import IdentificationError, InputError
from truerank.examination import ExaminationModel
from truerank.propensity.cells import Cells, cells_of
from truerank.propensity.counts import arms_of, counts_of
from truerank.propensity.curve import position_list
from truerank.propensity.estimate import PropensityEstimate, numbers
from truerank.propensity.harvest import harvest
from truerank.propensity.identification import comparable_clicks, components, why_not
from truerank.types import BoolArray, FloatArray, IntArray, ItemPositionCounts

FLOORS = (0.1, 0.05, 0.02, 0.01)


@dataclass(frozen=True, slots=True)
class Clipping:
    """What raising propensities to a floor would do to weights 1/θ.

    `clicks_raised` is the share of the clicks that stand where θ is below the floor, `effective_share` the effective
    sample size of the weighted clicks, (Σ w)² / Σ w², per click.
    """

    floor: float | None
    clicks_raised: float
    effective_share: float


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """Which positions a log can compare, how well, and what weights 1/θ would cost.

    Attributes:
        impressions, clicks: of positions 1, 2, 3, …
        linked_clicks: clicks at each position on items that were also shown elsewhere: what a log without experiments
            knows position from.
        groups: positions that can be compared with each other, group by group.
        why_not: for each position that cannot be compared with position 1 what it lacks.
        experiments: positions with a swap experiment, and its sessions.
        estimate: θ at the positions that can be told, or None.
        curve: θ that `clipping` is about: given, or that of `estimate`; NaN where it is not known.
        clipping: what floors under θ would do; the first entry is without a floor.
    """

    impressions: IntArray
    clicks: IntArray
    linked_clicks: IntArray
    groups: tuple[tuple[int, ...], ...]
    why_not: str
    experiments: dict[int, int]
    estimate: PropensityEstimate | None
    curve: FloatArray
    clipping: tuple[Clipping, ...]

    @property
    def comparable(self) -> BoolArray:
        """Which positions can be compared with position 1 without an experiment."""
        mask = np.zeros(len(self.impressions), dtype=np.bool_)
        mask[np.array(self.groups[0]) - 1] = True
        return mask

    @property
    def identified(self) -> bool:
        """Whether θ can be told, relative to position 1, at every position that was shown."""
        told = self.comparable
        for k in self.experiments:
            told[k - 1] = True
        return len(told) > 1 and bool(told[self.impressions > 0].all())

    @property
    def never_shown(self) -> IntArray:
        """Positions above the last that were never shown."""
        return np.flatnonzero(self.impressions == 0) + 1

    @property
    def propensity_range(self) -> tuple[float, float]:
        """The smallest and the largest θ."""
        return (float(np.nanmin(self.curve)), float(np.nanmax(self.curve))) if self.clipping else (np.nan, np.nan)

    def summary(self) -> str:
        """A table for people."""
        lines = [
            f"θ can be told at {position_list(np.flatnonzero(self.comparable) + 1)} of {len(self.impressions)} from "
            "items that changed their position"
            if self.comparable.sum() > 1
            else "θ cannot be told from items that changed their position"
        ]
        if self.why_not:
            lines.append(f"not: {self.why_not}")
        others = [group for group in self.groups[1:] if len(group) > 1]
        if others:
            lines.append(
                "comparable only with each other: " + "; ".join(position_list(np.array(group)) for group in others)
            )
        if self.experiments:
            lines.append("swap experiments: " + ", ".join(f"{k} ({n:,} sessions)" for k, n in self.experiments.items()))
        lines.append(
            f"{'position':>8}  {'impressions':>12}  {'clicks':>10}  {'click rate':>10}  {'of use':>10}  {'θ':>7}  "
            f"{'rel. error':>10}"
        )
        errors = np.full(len(self.curve), np.nan)
        if self.estimate is not None:
            errors[: len(self.estimate.theta)] = self.estimate.log_standard_errors
        for k in range(len(self.impressions)):
            rate = f"{self.clicks[k] / self.impressions[k]:.4f}" if self.impressions[k] else "-"
            lines.append(
                f"{k + 1:>8}  {self.impressions[k]:>12,}  {self.clicks[k]:>10,}  {rate:>10}  "
                f"{self.linked_clicks[k]:>10,}  {_number(self.curve[k], '.4f'):>7}  {_number(errors[k], '.1%'):>10}"
            )
        if self.clipping:
            low, high = self.propensity_range
            lines.append(f"propensities from {low:.4g} to {high:.4g}")
            lines.append(f"{'floor':>8}  {'clicks raised':>14}  {'effective sample size of clicks':>32}")
            lines += [
                f"{_number(c.floor, 'g'):>8}  {c.clicks_raised:>14.1%}  {c.effective_share:>32.1%}"
                for c in self.clipping
            ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain numbers, lists and text."""
        return {
            "identified": self.identified,
            "comparable": numbers(np.flatnonzero(self.comparable) + 1),
            "groups": numbers(self.groups),
            "why_not": self.why_not,
            "never_shown": numbers(self.never_shown),
            "impressions": numbers(self.impressions),
            "clicks": numbers(self.clicks),
            "linked_clicks": numbers(self.linked_clicks),
            "experiments": {str(k): n for k, n in self.experiments.items()},
            "theta": numbers(self.curve),
            "propensity_range": numbers(self.propensity_range),
            "clipping": [
                {"floor": c.floor, "clicks_raised": c.clicks_raised, "effective_share": c.effective_share}
                for c in self.clipping
            ],
            "estimate": None if self.estimate is None else self.estimate.to_dict(),
        }


def diagnose(
    source: Any,
    examination: ExaminationModel | PropensityEstimate | None = None,
    *,
    n_positions: int | None = None,
    floors: Sequence[float] = FLOORS,
) -> Diagnosis:
    """What a log can tell about propensities: connectivity, clicks by position, the cost of weights, in one table.

    Args:
        source: `ItemPositionCounts`, `ClickSessions`, or a click log.
        examination: how people look, where that is known; None to estimate it from what the log can tell.
        n_positions: leave out what was shown below this position.
        floors: values of `min_propensity` to try.

    >>> counts = ItemPositionCounts([0, 0, 1], [7, 7, 8], [1, 2, 3], [100, 100, 50], [40, 20, 5])
    >>> found = diagnose(counts)
    >>> found.identified, found.groups, found.why_not
    (False, ((1, 2), (3,)), 'position 3 all its items stand always there')
    """
    if not all(0 < floor <= 1 for floor in floors):
        raise InputError(f"floors is {floors}; each must lie in (0, 1]")
    counts = counts_of(source, ItemPositionCounts)
    cells = cells_of(counts, n_positions)
    n = cells.n_positions
    label = components(comparable_clicks(cells))
    # position 1's group first, the others in the order of their first position
    order = sorted({int(g) for g in label}, key=lambda g: (g != label[0], int(np.argmax(label == g))))
    groups = tuple(tuple((np.flatnonzero(label == g) + 1).tolist()) for g in order)
    missing = np.flatnonzero(label != label[0]) + 1
    several = cells.where_items(np.diff(cells.offsets) > 1)
    impressions, clicks, linked = (
        np.bincount(where.place, values, n).astype(np.int64)
        for where, values in ((cells, cells.impressions), (cells, cells.clicks), (several, several.clicks))
    )
    estimate = None if examination is not None else _what_can_be_told(cells, counts, label == label[0])
    curve = _curve(examination or estimate, n)
    return Diagnosis(
        impressions=impressions,
        clicks=clicks,
        linked_clicks=linked,
        groups=groups,
        why_not=why_not(cells, missing) if missing.size else "",
        experiments=_experiments(source),
        estimate=estimate,
        curve=curve,
        clipping=_clipping(curve, clicks, floors),
    )


def _what_can_be_told(cells: Cells, counts: ItemPositionCounts, known: BoolArray) -> PropensityEstimate | None:
    if known.sum() < 2:
        return None
    last = int(np.flatnonzero(known)[-1]) + 1
    try:
        return harvest(counts, n_positions=last, fill=None if known[:last].all() else "interpolate")
    except IdentificationError:  # items that linked these positions stood further down
        return None


def _curve(source: ExaminationModel | PropensityEstimate | None, n: int) -> FloatArray:
    curve = np.full(n, np.nan)
    if isinstance(source, PropensityEstimate):
        source = source.examination
    if source is not None:
        known = min(n, source.n_positions)
        curve[:known] = source.marginal(np.arange(1, known + 1))
    return curve


def _experiments(source: Any) -> dict[int, int]:
    arms = arms_of(source)
    if arms is None:
        return {}
    single = arms.k2 == 0
    return {int(k): int(arms.sessions[single & (arms.k1 == k)].sum()) for k in np.unique(arms.k1[single])}


def _clipping(curve: FloatArray, clicks: IntArray, floors: Sequence[float]) -> tuple[Clipping, ...]:
    known = np.isfinite(curve) & (clicks > 0)
    if not known.any():
        return ()
    theta, n = curve[known], clicks[known]

    def at(floor: float | None) -> Clipping:
        weights = 1 / np.maximum(theta, floor or 0.0)
        effective = (n @ weights) ** 2 / (n @ weights**2)
        return Clipping(floor, float(n[theta < (floor or 0.0)].sum() / n.sum()), float(effective / n.sum()))

    return at(None), *(at(floor) for floor in floors)


def _number(value: Any, form: str) -> str:
    return "-" if value is None or not np.isfinite(value) else format(value, form)

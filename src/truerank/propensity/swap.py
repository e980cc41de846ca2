"""θ from an experiment that swaps single positions: position k with position 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from truerank.errors import IdentificationError, InputError
from truerank.propensity.counts import counts_of
from truerank.propensity.curve import Browsing, Filling, Smoothing, browsing_model, refuse_gaps, training_curve
from truerank.propensity.estimate import PropensityEstimate
from truerank.propensity.ratio import PairedArms, Ratio, swap_ratio
from truerank.types import BoolArray, FloatArray, IntArray, SwapArms

Errors = Literal["delta", "bootstrap"]
ERRORS = {
    "delta": "delta method on binomial counts, sessions independent",
    "bootstrap": "bootstrap over sessions",
}
_FEW_CLICKS = 20
_FAR_APART = 3.3
"""Two-sided p = 0.001."""


def swap(
    source: Any,
    *,
    browsing: Browsing = "independent",
    smooth: Smoothing = None,
    fill: Filling = None,
    errors: Errors = "delta",
    replicates: int = 1_000,
    seed: int = 0,
) -> PropensityEstimate:
    """θ_k / θ_1 from sessions in which position k was swapped with position 1 at random (Joachims et al. 2017).

    Both directions count: the item that belongs to k, seen at k or at 1, and the item that belongs to 1, seen at 1 or
    at k. They are combined for the least variance (`truerank.propensity.ratio`); where they disagree, clicks depend on
    more than examination times relevance, and a note says so. θ_1 = 1 by convention: an experiment tells ratios only.

    Args:
        source: `SwapArms`, `ClickSessions` with `swap`, or a click log.
        browsing: how two positions go together in the examination model, "independent" or "continuous".
        smooth: "isotonic" to make the model's curve non-increasing; the estimate itself stays as it is.
        fill: "interpolate" to fill positions between those in the experiment; None refuses them.
        errors: "delta" for the delta method, "bootstrap" to draw the sessions again `replicates` times.
        replicates: how many bootstrap replicates.
        seed: for the bootstrap.

    >>> arms = dict(k1=[2, 2], k2=[0, 0], swapped=[0, 1], sessions=[1000, 1000])
    >>> counts = SwapArms(**arms, top_clicks=[400, 200], target_clicks=[100, 200], both_clicks=[40, 40])
    >>> swap(counts).theta.tolist()
    [1.0, 0.5]
    """
    experiments = paired_arms(counts_of(source, SwapArms), joint=False)
    ratio, log_variance = measured_ratio(experiments, errors, replicates, seed)
    n = int(experiments.k1.max())
    theta, log_covariance = np.full(n, np.nan), np.full((n, n), np.nan)
    theta[0] = 1.0
    theta[experiments.k1 - 1] = ratio.value
    known = np.isfinite(theta)
    log_covariance[np.ix_(known, known)] = 0.0
    log_covariance[experiments.k1 - 1, experiments.k1 - 1] = log_variance
    if fill is None:
        refuse_gaps(theta, "the experiment did not swap them", "fill='interpolate' reads them off between neighbours")
    table, notes = training_curve(theta, np.sqrt(np.diagonal(log_covariance)), smooth=smooth, fill=fill)
    return PropensityEstimate(
        method="swap",
        errors=ERRORS[errors],
        theta=theta,
        log_covariance=log_covariance,
        examination=browsing_model(table, browsing),
        notes=(*notes, *experiment_notes(experiments, ratio)),
        details={
            "swapped_position": experiments.k1,
            "sessions": experiments.sessions,
            "clicks_at_position": experiments.target_clicks,
            "disagreement_of_directions": ratio.disagreement,
        },
    )


@dataclass(frozen=True, eq=False)
class Experiments:
    """The experiments of one kind in a log, each with both of its arms."""

    k1: IntArray
    k2: IntArray
    arms: PairedArms

    @property
    def sessions(self) -> IntArray:
        """Sessions of both arms."""
        return self.arms.sessions + self.arms.swapped_sessions

    @property
    def target_clicks(self) -> IntArray:
        """Clicks at the swapped position, or at both of the pair, in either arm."""
        swapped: IntArray = np.where(self.arms.two_way, self.arms.swapped_target, 0)
        return self.arms.target + swapped

    @property
    def top_clicks(self) -> IntArray:
        """Clicks at the top of either arm."""
        control: IntArray = np.where(self.arms.two_way, self.arms.top, 0)
        return self.arms.swapped_top + control

    def where(self, chosen: BoolArray) -> Experiments:
        """Some of the experiments."""
        arms = PairedArms(*(getattr(self.arms, name)[chosen] for name in PairedArms.__dataclass_fields__))
        return Experiments(self.k1[chosen], self.k2[chosen], arms)

    def name(self, m: int | np.integer[Any]) -> str:
        """How messages call an experiment."""
        return f"({self.k1[m]}, {self.k2[m]}) with (1, 2)" if self.k2[m] else f"{self.k1[m]} with 1"


def paired_arms(counts: SwapArms, *, joint: bool) -> Experiments:
    """The single or the joint experiments, entries of the same arm added up; a missing arm is refused."""
    kind = (counts.k2 > 0) == joint
    if not kind.any():
        what = "pairs of positions with (1, 2)" if joint else "single positions with position 1"
        raise IdentificationError(f"the log has no sessions that swap {what}")
    names = np.stack([counts.k1[kind], counts.k2[kind]], axis=1)
    experiments, which = np.unique(names, axis=0, return_inverse=True)
    columns = np.stack([counts.sessions, counts.top_clicks, counts.target_clicks, counts.both_clicks], axis=1)
    totals = np.zeros((len(experiments), 2, 4), dtype=np.int64)
    np.add.at(totals, (which.ravel(), counts.swapped[kind]), columns[kind])
    arms = np.moveaxis(totals, 0, -1)  # control and swapped, sessions and clicks, experiment
    # (2, k) with (1, 2): both pairs hold the item of position 2, so what (1, 2) held does not move to (2, k) as a pair
    two_way = experiments[:, 0] != 2 if joint else np.ones(len(experiments), dtype=np.bool_)
    found = Experiments(experiments[:, 0], experiments[:, 1], PairedArms(*(*arms[0], *arms[1], two_way)))
    for arm, sessions in (("control", arms[0, 0]), ("swapped", arms[1, 0])):
        if (sessions == 0).any():
            name = found.name(int(np.argmin(sessions)))
            raise IdentificationError(f"the experiment {name} has no {arm} session; the ratio needs both arms")
    return found


def measured_ratio(experiments: Experiments, errors: str, replicates: int, seed: int) -> tuple[Ratio, FloatArray]:
    """The ratio of each experiment and the variance of its logarithm; a ratio without clicks is refused."""
    for clicks, where in ((experiments.target_clicks, "at its own place"), (experiments.top_clicks, "at the top")):
        if (clicks == 0).any():
            m = int(np.argmin(clicks))
            raise IdentificationError(
                f"the experiment {experiments.name(m)} has no click {where} in {experiments.sessions[m]} sessions, so "
                "its ratio cannot be told from 0 or infinity. Hint: log more sessions (truerank.propensity.plan says "
                "how many), or leave it out"
            )
    ratio = swap_ratio(experiments.arms)
    if errors == "delta":
        return ratio, ratio.log_error**2
    if errors != "bootstrap":
        raise InputError(f"errors is {errors!r}; it must be 'delta' or 'bootstrap'")
    if replicates < 2:
        raise InputError(f"replicates is {replicates}; a bootstrap needs at least 2, better 1,000")
    drawn = swap_ratio(experiments.arms.resampled(replicates, np.random.default_rng(seed))).value
    # a replicate without a click has no logarithm: it counts as half a click
    floor = ratio.value * 0.5 / experiments.target_clicks
    return ratio, np.var(np.log(np.maximum(drawn, floor)), axis=0, ddof=1)


def experiment_notes(experiments: Experiments, ratio: Ratio) -> tuple[str, ...]:
    """What should be known of experiments with few clicks, or whose two directions disagree."""
    few = np.flatnonzero(experiments.target_clicks < _FEW_CLICKS)
    apart = np.flatnonzero(np.abs(ratio.disagreement) > _FAR_APART)
    notes = [f"{experiments.name(m)}: only {experiments.target_clicks[m]} clicks; its error is rough" for m in few]
    notes += [
        f"{experiments.name(m)}: the two directions disagree by {abs(ratio.disagreement[m]):.1f} standard errors, so "
        "clicks depend on more than examination times relevance (trust in the top, say)"
        for m in apart
    ]
    return tuple(notes)

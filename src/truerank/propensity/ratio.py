"""The ratio that a randomised swap measures, from the clicks in its two arms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truerank.types import BoolArray, FloatArray, IntArray

_ROUNDS = 4
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class PairedArms:
    """The two arms of one experiment an entry: sessions, clicks at the top, at the target, and at both.

    The arrays may have any number of leading axes (bootstrap replicates).
    """

    sessions: IntArray
    top: IntArray
    target: IntArray
    both: IntArray
    swapped_sessions: IntArray
    swapped_top: IntArray
    swapped_target: IntArray
    swapped_both: IntArray
    two_way: BoolArray

    def resampled(self, n: int, rng: np.random.Generator) -> PairedArms:
        """Sessions drawn with replacement inside each arm, n times over: a session counts by its cell only."""
        control = _resample(self.sessions, self.top, self.target, self.both, n, rng)
        swapped = _resample(self.swapped_sessions, self.swapped_top, self.swapped_target, self.swapped_both, n, rng)
        return PairedArms(self.sessions, *control, self.swapped_sessions, *swapped, self.two_way)


@dataclass(frozen=True, eq=False)
class Ratio:
    """The ratio, the standard error of its logarithm, and by how many of them the two directions disagree."""

    value: FloatArray
    log_error: FloatArray
    disagreement: FloatArray


def swap_ratio(arms: PairedArms) -> Ratio:
    """R = P(target examined) / P(top examined), from what is shown at either place in either arm.

    Call B what belongs to the target and A what belongs to the top (an item, or a pair of them), with b and a the
    chances of a click on them at the top. Swapping moves A and B but changes neither:

        control   click at target (B): R b      click at top (A): a
        swapped   click at target (A): R a      click at top (B): b

    So g_B = (B at target) − R (B at top) and g_A = (A at target) − R (A at top), in click rates, have mean 0. R̂ solves
    w_B g_B + w_A g_A = 0 with the weights w = Σ⁻¹ (b, a) that make it most precise (two-step GMM), Σ the covariance of
    (g_B, g_A): binomial variances, and the covariance of a click at the top with one at the target of the same session,
    which the sessions with both tell. The start is the ratio for rare clicks by maximum likelihood. The error of
    log R̂ is √(w'Σw) / (R w'(b, a)), and (g_B − g_A) in its own standard errors tests the assumption that clicks are
    examination times relevance. Where a swap does not bring A to the target (`two_way` false), w_A = 0.
    """
    n, m = arms.sessions.astype(float), arms.swapped_sessions.astype(float)
    rate_b_target, rate_a_top = arms.target / n, arms.top / n
    rate_a_target, rate_b_top = arms.swapped_target / m, arms.swapped_top / m
    both = (arms.both + arms.swapped_both * arms.two_way) / (n + m * arms.two_way)
    two_way = arms.two_way.astype(float)

    ratio = (rate_b_target + two_way * rate_a_target) / np.maximum(rate_b_top + two_way * rate_a_top, _TINY)
    for _ in range(_ROUNDS):  # the Poisson likelihood, and from it the chances a and b
        a = (arms.top + arms.swapped_target) / (n + ratio * m)
        b = np.where(arms.two_way, (arms.swapped_top + arms.target) / (m + ratio * n), arms.swapped_top / m)
        ratio = (arms.target + two_way * arms.swapped_target) / np.maximum(n * b + two_way * m * a, _TINY)
    w_a = w_b = np.ones_like(ratio)
    for _ in range(_ROUNDS):
        spread_b = _spread(ratio * b) / n + ratio**2 * _spread(b) / m
        spread_a = _spread(ratio * a) / m + ratio**2 * _spread(a) / n
        together = -ratio * (both - ratio * a * b) * (1 / n + 1 / m) * two_way
        w_b, w_a = b * spread_a - a * together, (a * spread_b - b * together) * two_way
        lopsided = (w_b <= 0) | (w_a < 0)
        w_b, w_a = np.where(lopsided, 1.0, w_b), np.where(lopsided, 1.0, w_a) * two_way
        ratio = (w_b * rate_b_target + w_a * rate_a_target) / np.maximum(w_b * rate_b_top + w_a * rate_a_top, _TINY)
    variance = w_b**2 * spread_b + w_a**2 * spread_a + 2 * w_a * w_b * together
    slope = w_b * b + w_a * a
    with np.errstate(divide="ignore", invalid="ignore"):
        log_error = np.sqrt(np.maximum(variance, 0)) / (ratio * slope)
        # what is left over when both directions share R: orthogonal to the estimate
        gap = a * (rate_b_target - ratio * rate_b_top) - b * (rate_a_target - ratio * rate_a_top)
        spread = a**2 * spread_b + b**2 * spread_a - 2 * a * b * together
        disagreement = np.where(arms.two_way, gap / np.sqrt(spread), np.nan)
    return Ratio(ratio, log_error, disagreement)


def _spread(rate: FloatArray) -> FloatArray:
    return np.maximum(rate * (1 - rate), 0)


def _resample(
    sessions: IntArray, top: IntArray, target: IntArray, both: IntArray, n: int, rng: np.random.Generator
) -> tuple[IntArray, IntArray, IntArray]:
    cells = np.stack([top - both, target - both, both, sessions - top - target + both], axis=-1)
    draws = rng.multinomial(sessions, cells / sessions[:, None], size=(n, len(sessions)))
    return draws[..., 0] + draws[..., 2], draws[..., 1] + draws[..., 2], draws[..., 2]

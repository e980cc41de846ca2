"""The unbiased pairwise loss, compiled: O(C² + C·N) a session when ℓ00 = 0."""

from __future__ import annotations

import math
from typing import Any

from numba import prange

from truerank.compiled_kernels import compiled

RANKNET, HINGE, SQUARED_HINGE, SQUARE, RANKNET_WITH_TIES, SIGMOID, RAMP = range(7)


@compiled(inline="always")
def _ordered(code: int, d: float) -> Any:
    """Value, slope and curvature of ℓ10 in d = σ (s_i − s_j)."""
    if code == RANKNET or code == RANKNET_WITH_TIES:
        small = math.exp(-abs(d))
        value = math.log1p(small) + max(-d, 0.0)
        wrong = (small if d > 0 else 1.0) / (1.0 + small)
        return value, -wrong, small / ((1.0 + small) * (1.0 + small))
    if code == SIGMOID:
        small = math.exp(-abs(d))
        wrong = (small if d > 0 else 1.0) / (1.0 + small)
        steepness = small / ((1.0 + small) * (1.0 + small))
        return wrong, -steepness, steepness * (1.0 - 2.0 * wrong)
    if code == RAMP:
        return min(1.0, max(0.0, (1.0 - d) / 2.0)), (-0.5 if abs(d) < 1.0 else 0.0), 0.0
    short = 1.0 - d
    if code == SQUARE:
        return short * short, -2.0 * short, 2.0
    if short <= 0:
        return 0.0, 0.0, 0.0
    if code == HINGE:
        return short, -1.0, 0.0
    return short * short, -2.0 * short, 2.0


@compiled(inline="always")
def _tied(code: int, d: float) -> Any:
    """Value, slope and curvature of ℓ11 and ℓ00 in d."""
    if code != RANKNET_WITH_TIES:
        return 0.0, 0.0, 0.0
    value, slope, curvature = _ordered(code, d)
    return value + d / 2, slope + 0.5, curvature


@compiled(inline="always")
def _weighted(code: int, d: float, up: float, down: float, tie: float) -> Any:
    """up ℓ10(d) + down ℓ10(−d) + tie ℓ11(d), with slope and curvature in d."""
    value, slope, curvature = 0.0, 0.0, 0.0
    if up != 0.0:
        v, s, c = _ordered(code, d)
        value, slope, curvature = up * v, up * s, up * c
    if down != 0.0:
        v, s, c = _ordered(code, -d)
        value, slope, curvature = value + down * v, slope - down * s, curvature + down * c
    if tie != 0.0:
        v, s, c = _tied(code, d)
        value, slope, curvature = value + tie * v, slope + tie * s, curvature + tie * c
    return value, slope, curvature


@compiled(parallel=True, error_model="numpy")
def losses_and_derivatives(
    scores: Any,
    labels: Any,
    offsets: Any,
    inverse: Any,
    inverse_joint: Any,
    joint_offsets: Any,
    grade_weight: Any,
    code: int,
    sigma: float,
    value_out: Any,
    gradient_out: Any,
    hessian_out: Any,
) -> None:
    """Loss of each session, gradient and diagonal Hessian of each row; both orders of a pair are counted.

    `inverse_joint` holds 1 / p_ij of the clicked rows i < j of each session, row by row. Sessions share nothing, so
    the bits do not depend on the number of threads.
    """
    ties = code == RANKNET_WITH_TIES
    tie_at_zero = _tied(code, 0.0)[0]
    for q in prange(len(offsets) - 1):
        start, end = offsets[q], offsets[q + 1]
        k = joint_offsets[q]
        total = 0.0
        for i in range(start, end):
            gradient_out[i] = 0.0
            hessian_out[i] = 0.0
        for i in range(start, end):
            a = labels[i]
            if a == 0:
                if ties:
                    total += grade_weight[0, 0] * tie_at_zero
                    for j in range(i + 1, end):
                        if labels[j] == 0:
                            value, slope, curvature = _tied(code, sigma * (scores[i] - scores[j]))
                            total += 2 * grade_weight[0, 0] * value
                            gradient_out[i] += 2 * grade_weight[0, 0] * sigma * slope
                            gradient_out[j] -= 2 * grade_weight[0, 0] * sigma * slope
                            hessian_out[i] += 2 * grade_weight[0, 0] * sigma * sigma * curvature
                            hessian_out[j] += 2 * grade_weight[0, 0] * sigma * sigma * curvature
                continue
            a_i = inverse[i]
            if ties:
                total += (a_i * grade_weight[a, a] + (1 - a_i) * grade_weight[0, 0]) * tie_at_zero
            for j in range(start, end):
                b = labels[j]
                if b == 0:
                    up = a_i * grade_weight[a, 0]
                    down = 0.0
                    tie = (1 - a_i) * grade_weight[0, 0]
                elif j > i:
                    a_j = inverse[j]
                    a_ij = inverse_joint[k]
                    k += 1
                    up = (a_i - a_ij) * grade_weight[a, 0]
                    down = (a_j - a_ij) * grade_weight[0, b]
                    tie = (1 - a_i - a_j + a_ij) * grade_weight[0, 0]
                    if a > b:
                        up += a_ij * grade_weight[a, b]
                    elif a < b:
                        down += a_ij * grade_weight[a, b]
                    else:
                        tie += a_ij * grade_weight[a, b]
                else:
                    continue
                value, slope, curvature = _weighted(code, sigma * (scores[i] - scores[j]), up, down, tie)
                total += 2 * value
                gradient_out[i] += 2 * sigma * slope
                gradient_out[j] -= 2 * sigma * slope
                hessian_out[i] += 2 * sigma * sigma * curvature
                hessian_out[j] += 2 * sigma * sigma * curvature
        value_out[q] = total

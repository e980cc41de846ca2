"""λ and Hessian of weighted pairs in plain NumPy, as the formulas read: what the kernel is tested against."""

from __future__ import annotations

import numpy as np

from truerank.types import FloatArray


def list_lambdas(
    weight: FloatArray,
    scores: FloatArray,
    sigma: float = 1.0,
    truncation: int = 30,
    *,
    distance_norm: bool = False,
    list_norm: bool = False,
) -> tuple[FloatArray, FloatArray]:
    """The gradient and Hessian of one list, from its matrix of weights: W[i, j] for "i should beat j".

    With π the rank of each item under the scores (equal scores keep their order) and D = 1 / log2(1 + π),

        λ_ij = −σ ΔZ_ij / (1 + exp(σ (s_i − s_j))),   ΔZ_ij = W_ij |D_i − D_j|,

    added to i and taken from j, where at least one of the two ranks within the truncation. A pair's Hessian is
    σ² |ΔZ| p (1 − p) for both items.
    """
    n = len(scores)
    ranks = np.empty(n, dtype=np.int64)
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, n + 1)
    discount = 1 / np.log2(1 + ranks)
    gap = scores[:, None] - scores[None, :]
    change = weight * np.abs(discount[:, None] - discount[None, :])
    change = np.where(np.minimum.outer(ranks, ranks) <= truncation, change, 0)
    if distance_norm and scores.max() != scores.min():
        change = change / (0.01 + np.abs(gap))
    wrong = 1 / (1 + np.exp(sigma * gap))
    pull = -sigma * change * wrong
    bend = sigma**2 * np.abs(change) * wrong * (1 - wrong)
    gradient, hessian = pull.sum(1) - pull.sum(0), bend.sum(1) + bend.sum(0)
    total = 2 * np.abs(pull).sum()
    factor = np.log2(1 + total) / total if list_norm and total > 0 else 1.0
    return factor * gradient, factor * hessian

"""Weighted pairs in plain NumPy, as the formulas read: what the compiled kernels are tested against."""

from __future__ import annotations

from typing import Any

import numpy as np

from truerank.types import FloatArray


def session_weights(
    labels: Any, propensity: FloatArray, joint: FloatArray, method: str, gains: FloatArray, normalize: bool
) -> FloatArray:
    """The matrix W of one session: W[i, j] is the weight of "i should beat j".

    Args:
        labels: the labels of the session's items.
        propensity: p_i of each.
        joint: p_ij of each two.
        method: `none`, `robust` or `complete`.
        gains: the gain of each label value.
        normalize: whether to divide by the best DCG of the labels.
    """
    labels = np.asarray(labels)
    gain = gains[labels]
    a_i = 1 / propensity[:, None]
    a_ij = 1 / joint
    difference = np.maximum(gain[:, None] - gain[None, :], 0)
    clicked_j = labels[None, :] > 0
    both = (labels[:, None] > 0) & clicked_j
    weight: FloatArray = difference if method == "none" else difference * np.where(clicked_j, a_ij, a_i)
    if method == "complete":
        weight = weight + np.where(both, (a_i - a_ij) * gain[:, None], 0)
    np.fill_diagonal(weight, 0)
    if normalize and gain.any():
        best_first = np.sort(gain)[::-1]
        weight = weight / (best_first / np.log2(2 + np.arange(len(gain)))).sum()
    return weight

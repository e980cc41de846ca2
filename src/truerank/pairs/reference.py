"""Weighted pairs in plain NumPy, as the formulas read: what the compiled kernels are tested against."""

from __future__ import annotations

from dataclasses import dataclass
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
        weight = weight / _best_dcg(gain)
    return weight


@dataclass(frozen=True)
class ListSums:
    """What the sessions of one list, all of the same items, say together; see `pairs.variance`."""

    sessions: int
    complete: FloatArray
    robust: FloatArray
    mean_best: float
    best_expected: float
    squared: float
    spread: float


def list_sums(labels: Any, propensity: FloatArray, joint: FloatArray, gains: FloatArray) -> ListSums:
    """Sum the sessions of a list.

    Args:
        labels: a row a session, a column an item.
        propensity: p_i of the same.
        joint: p_ij, a matrix a session.
        gains: the gain of each label value.
    """
    labels = np.asarray(labels)
    n_sessions, n_items = labels.shape
    a = 1 / propensity
    gain = gains[labels]
    each = {
        method: sum(
            session_weights(*session, method, gains, normalize=False)
            for session in zip(labels, propensity, joint, strict=True)
        )
        for method in ("complete", "robust")
    }
    disagreement = np.zeros((n_sessions, n_items, n_items))
    for i in range(n_items):
        for j in range(i + 1, n_items):
            both = (labels[:, i] > 0) & (labels[:, j] > 0)
            disagreement[:, i, j] = both * (a[:, i] - a[:, j]) / np.maximum(a[:, i], a[:, j])
    has_pairs = (labels > 0).any(axis=1) & (n_items > 1)
    average = gain.sum() / propensity.sum()
    expected = (gain.sum(axis=0) + average) / (propensity.sum(axis=0) + 1)
    return ListSums(
        n_sessions,
        np.asarray(each["complete"]),
        np.asarray(each["robust"]),
        float(np.mean([_best_dcg(g) for g in gain[has_pairs]])) if has_pairs.any() else 1.0,
        _best_dcg(expected) or 1.0,
        float((disagreement.sum(axis=0) ** 2).sum()),
        float((disagreement**2).sum()),
    )


def bounded(weight: FloatArray) -> FloatArray:
    """w_ij + max(0, −w_ij, −w_ji)."""
    return weight + np.maximum(0, np.maximum(-weight, -weight.T))


def strength(lists: list[ListSums]) -> float:
    """n0 = noise / bias, each a mean over the lists of two or more sessions, weighted by N − 1."""
    noise = sum((s.sessions - 1) * s.spread / s.sessions for s in lists)
    bias = sum((s.squared - s.spread) / s.sessions for s in lists if s.sessions > 1)
    return noise / bias if bias > 0 else float("inf")


def shrunken_weights(sums: ListSums, strength: float) -> FloatArray:
    """(1 − λ) robust + λ complete, λ = (N − 1) / (N − 1 + n0), each divided by its best DCG of the list."""
    trust = 0.0 if strength == float("inf") else (sums.sessions - 1) / (sums.sessions - 1 + strength)
    return (1 - trust) * sums.robust / sums.mean_best + trust * bounded(sums.complete) / sums.best_expected


def _best_dcg(gain: FloatArray) -> float:
    best_first = np.sort(gain)[::-1]
    return float((best_first / np.log2(2 + np.arange(len(gain)))).sum())

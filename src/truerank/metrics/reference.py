"""The metrics of one list in plain NumPy, as the formulas read: what the metrics on ragged lists are tested against.

`ranked` holds the grades of the list from its first rank to its last, at least one of them above 0.
"""

from __future__ import annotations

import numpy as np

from truerank.types import FloatArray, IntArray, Labels


def ranked_labels(scores: FloatArray, labels: Labels) -> Labels:
    """The grades from the highest score down; equal scores keep their order."""
    return labels[np.argsort(-scores, kind="stable")]


def dcg(ranked: Labels, at: int, gain: str) -> float:
    """DCG@k = Σ_{r ≤ k} gain_r / log2(1 + r)."""
    top = ranked[:at].astype(np.float64)
    return float((np.exp2(top) - 1 if gain == "exp2" else top) @ (1 / np.log2(1 + _ranks(top))))


def ndcg(ranked: Labels, at: int, gain: str) -> float:
    """DCG@k over that of the best ranking."""
    return dcg(ranked, at, gain) / dcg(np.sort(ranked)[::-1], at, gain)


def average_precision(ranked: Labels, at: int) -> float:
    """AP@k = 1/R Σ_{r ≤ k, r relevant} (relevant items down to rank r) / r."""
    relevant = ranked > 0
    precision_at = np.cumsum(relevant) / _ranks(ranked)
    return float((precision_at * relevant)[:at].sum() / relevant.sum())


def reciprocal_rank(ranked: Labels, at: int) -> float:
    """RR@k = 1/r for the first relevant rank r, 0 if r > k."""
    first = int(np.argmax(ranked > 0)) + 1
    return 1 / first if first <= at else 0.0


def expected_reciprocal_rank(ranked: Labels, at: int, highest: int) -> float:
    """ERR@k = Σ_{r ≤ k} 1/r · s_r Π_{t < r} (1 − s_t), s = (2^y − 1) / 2^{y_max}."""
    stops = (np.exp2(ranked) - 1) / 2.0**highest
    reading = np.concatenate([[1.0], np.cumprod(1 - stops)[:-1]])
    return float((reading * stops / _ranks(stops))[:at].sum())


def precision(ranked: Labels, at: int) -> float:
    """P@k = (relevant items of the first k ranks) / k."""
    return float((ranked[:at] > 0).sum() / at)


def recall(ranked: Labels, at: int) -> float:
    """R@k = (relevant items of the first k ranks) / (relevant items)."""
    return float((ranked[:at] > 0).sum() / (ranked > 0).sum())


def means_of_draws(values: FloatArray, draws: IntArray) -> FloatArray:
    """Row b: the mean of the rows of `values` that row b of `draws` names."""
    means: FloatArray = values[draws].mean(axis=1)
    return means


def _ranks(values: FloatArray | Labels) -> IntArray:
    return np.arange(1, len(values) + 1)

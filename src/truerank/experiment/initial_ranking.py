"""The ranking that the simulated people are shown: that of a weak ranker, trained on few golden labels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from truerank.errors import InputError
from truerank.experiment.sources import take_lists
from truerank.losses import UnbiasedPairwiseLoss
from truerank.metrics.ranks import rank_rows
from truerank.ragged import check_number, offsets_from_sizes, read_scores
from truerank.types import FloatArray, JudgedLists

_RIDGE = 0.01
_STEPS = 200


def initial_ranking(judged: JudgedLists, share: float = 0.01, seed: int = 0) -> JudgedLists:
    """Put each list in the order of a linear Ranking SVM trained on `share` of the lists with their golden labels.

    It minimises the squared hinge loss Σ max(0, 1 − (s_i − s_j))² over pairs y_i > y_j, divided by the number of rows,
    + λ/2 |w|², λ = 0.01, features standardised, missing values being the mean of those that are there. This is how the
    rankings that the paper starts from were made (Ai et al. 2018, used by Hu et al. 2019). As there, the lists it
    learns from stay among those that are shown: of 19,944 lists the paper drops 802 for want of a relevant item and has
    306,272 = 16 × (19,944 − 802) sessions, so no others. Their golden labels reach nothing but the order in which they
    and the other lists are logged.

    Args:
        judged: the lists to train on.
        share: which part of them the ranker learns from.
        seed: draws that part.

    >>> X = np.array([[0.2], [0.9], [0.4], [0.1], [0.5], [0.3]])
    >>> lists = JudgedLists(X, np.array([0, 2, 1, 0, 1, 0]), np.array([3, 3]), np.array([7, 8]))
    >>> initial_ranking(lists, share=0.5).labels.tolist()
    [2, 1, 0, 1, 0, 0]
    """
    check_number(share, "share", 0, above=True)
    if share > 1:
        raise InputError(f"share is {share}; it is a part of the lists, 1 at most")
    check_number(seed, "seed", 0, whole=True)
    return in_order_of(judged, weak_scores(judged, share, int(seed)))


def weak_scores(judged: JudgedLists, share: float, seed: int) -> FloatArray:
    """The scores of all rows by a linear Ranking SVM trained on `share` of the lists; see `initial_ranking`."""
    few = take_lists(judged, _some_lists(judged.n_lists, share, seed))
    # in double precision, since the square of the largest float32, which Istella holds, overflows in single
    X = np.asarray(few.X.toarray() if hasattr(few.X, "toarray") else few.X, dtype=np.float64)
    centre, spread = _centre_and_spread(X)
    scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
    weights = _fit((_filled(X, centre) - centre) * scale, few) * scale
    scores = _product(judged.X, weights)
    lacking = np.flatnonzero(np.isnan(scores))
    if len(lacking):
        scores[lacking] = _product(_filled(judged.X[lacking], centre), weights)
    return scores


def in_order_of(judged: JudgedLists, scores: Any) -> JudgedLists:
    """Each list by falling score; equal scores keep their order."""
    offsets = offsets_from_sizes(judged.group)
    ranks = rank_rows(read_scores(scores, judged.n_rows), offsets)
    order = np.empty(judged.n_rows, dtype=np.int64)
    order[np.repeat(offsets[:-1], judged.group) + ranks] = np.arange(judged.n_rows)
    return JudgedLists(judged.X[order], judged.labels[order], judged.group, judged.query)


def _centre_and_spread(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of what is there in each column; 0 and 0 where nothing is."""
    missing = np.isnan(X)
    if not missing.any():
        return X.mean(axis=0), X.std(axis=0)
    n = np.maximum(1, (~missing).sum(axis=0))
    centre = np.where(missing, 0, X).sum(axis=0) / n
    spread = np.sqrt((np.where(missing, 0, X - centre) ** 2).sum(axis=0) / n)
    return centre, spread


def _filled(X: Any, centre: FloatArray) -> Any:
    """The same rows, what is missing in a column being its centre."""
    if not hasattr(X, "tocsr"):
        return np.where(np.isnan(X), centre, X)
    filled = X.tocsr().astype(np.float64)
    missing = np.isnan(filled.data)
    filled.data[missing] = centre[filled.indices[missing]]
    return filled


def _some_lists(n_lists: int, share: float, seed: int) -> Any:
    chosen = np.zeros(n_lists, dtype=bool)
    chosen[np.random.default_rng(seed).permutation(n_lists)[: math.ceil(share * n_lists)]] = True
    return chosen


def _fit(X: FloatArray, judged: JudgedLists) -> FloatArray:
    from scipy.optimize import minimize

    offsets = offsets_from_sizes(judged.group)[:-1]
    if not np.any(np.maximum.reduceat(judged.labels, offsets) > np.minimum.reduceat(judged.labels, offsets)):
        raise InputError(
            f"none of the {judged.n_lists} lists that the initial ranker was to learn from has items of different "
            "grades. Hint: a larger share, or another seed"
        )
    loss = UnbiasedPairwiseLoss(None, pair="squared_hinge")

    def objective(weights: FloatArray) -> tuple[float, FloatArray]:
        scores = _product(X, weights)
        value = loss.value(scores, judged.labels, None, judged.group) / len(X)
        gradient, _ = loss.gradient_hessian(scores, judged.labels, None, judged.group)
        ridge = _RIDGE * weights
        return value + float(weights @ ridge) / 2, _product(X.T, gradient) / len(X) + ridge

    start = np.zeros(X.shape[1])
    found: FloatArray = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS}).x
    return found


def _product(matrix: Any, vector: FloatArray) -> FloatArray:
    """Matrix times vector, without BLAS, whose last bits depend on its threads; they could swap near ties."""
    if hasattr(matrix, "tocsr"):
        product: FloatArray = matrix @ vector
    else:
        product = np.einsum("ij,j->i", matrix, vector, dtype=np.float64)
    return product

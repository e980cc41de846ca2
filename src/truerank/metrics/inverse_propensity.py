"""NDCG from clicks, with each click weighted by its inverse propensity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from truerank.examination.base import Examination, check_examination
from truerank.examination.lookup import clicked_row_propensities
from truerank.losses.gains import gain_table
from truerank.metrics.ndcg import rank_discounts
from truerank.ragged import read_scores, read_sessions
from truerank.types import FloatArray, Sessions


@dataclass(frozen=True, slots=True)
class UnbiasedNdcg:
    """An inverse-propensity NDCG and how much data stands behind it.

    `effective_sample_size` is how many equally weighted sessions would be as informative: (Σ_q W_q)² / Σ_q W_q², W_q
    being the inverse-propensity weight of the clicks of session q.
    """

    value: float
    effective_sample_size: float
    sessions: int


class InversePropensityNdcg:
    """Inverse-propensity NDCG@k of fixed sessions, for any number of scorings.

    Σ_q Σ_i w_i D_k(π_i) / Σ_q Σ_i w_i D_k(π*_i), w_i = gain_i / p_i: the DCG of the clicks, each weighted by its
    inverse propensity so that on average it is the DCG of the relevances (Joachims et al. 2017), divided by the most
    that any ranking could reach (so it is self-normalised, and at most 1). The divisor does not depend on the scores:
    rankings compare as their expected DCG does. Rows of equal score share the discounts of their ranks: the rows of a
    log stand as they were shown, and ties that kept that order would be judged as the logged ranking.
    """

    def __init__(
        self,
        labels: Any,
        positions: Any,
        group: Any,
        examination: Examination | None,
        at: int = 10,
        gain: str = "linear",
    ) -> None:
        check_examination(examination)
        sessions = read_sessions(labels, positions, group, needs_positions=examination is not None)
        gains = gain_table(int(sessions.labels.max(initial=1)), gain)
        self._offsets = sessions.offsets
        self._clicked = np.flatnonzero(sessions.labels)
        weight = (gains[sessions.labels] / clicked_row_propensities(examination, sessions))[self._clicked]
        self._weight = weight
        discounts = rank_discounts(int(sessions.sizes.max(initial=1)), at)
        self._summed_discounts = np.concatenate([[0.0], np.cumsum(discounts)])
        self.sessions = sessions.n_sessions
        self.effective_sample_size = _effective_sample_size(weight, self._clicked, sessions)
        whole = np.zeros(sessions.n_rows)
        whole[self._clicked] = weight
        self._best = self._dcg(whole)

    def __call__(self, scores: Any) -> float:
        """The metric of these scores, one a row; NaN if nothing was clicked."""
        checked = read_scores(scores, int(self._offsets[-1]))
        if self._best == 0:
            return float("nan")
        return self._dcg(checked) / self._best

    def _dcg(self, scores: FloatArray) -> float:
        from truerank.ragged_kernels import mean_by_rank

        order, spare = np.empty((2, len(scores)), dtype=np.int32)
        discounts = np.empty(len(scores))
        mean_by_rank(scores, self._offsets, self._summed_discounts, order, spare, discounts)
        return float(self._weight @ discounts[self._clicked])


def unbiased_ndcg(
    scores: Any,
    labels: Any,
    positions: Any,
    group: Any,
    examination: Examination | None,
    at: int = 10,
    gain: str = "linear",
) -> UnbiasedNdcg:
    """The NDCG@k that clicks suggest once their position bias is weighted away; see `InversePropensityNdcg`.

    Args:
        scores: one number a row, the higher the better.
        labels: one number a row: 0, 1 for a click, or higher grades.
        positions: one number a row: where it was shown, from 1.
        group: the size of each session.
        examination: how people look at the page; None leaves the clicks as they are.
        at: k, how many ranks count.
        gain: `linear` or `exp2`.
    """
    metric = InversePropensityNdcg(labels, positions, group, examination, at, gain)
    return UnbiasedNdcg(metric(scores), metric.effective_sample_size, metric.sessions)


def _effective_sample_size(weight: FloatArray, clicked: Any, sessions: Sessions) -> float:
    session = np.searchsorted(sessions.offsets, clicked, side="right") - 1
    by_session = np.bincount(session, weights=weight, minlength=sessions.n_sessions)
    total = float(by_session.sum())
    return total**2 / float(by_session @ by_session) if total else 0.0

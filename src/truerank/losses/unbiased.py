"""The unbiased pairwise loss (the paper, Section 3.2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from truerank.examination.base import Examination, check_examination
from truerank.examination.lookup import clicked_pair_propensities, clicked_row_propensities
from truerank.losses import reference
from truerank.losses.gains import grade_weights
from truerank.losses.pair_functions import PairFunction, kernel_code, named_pair_function
from truerank.ragged import read_scores, read_sessions
from truerank.types import FloatArray, Sessions


class UnbiasedPairwiseLoss:
    """L_u = Σ_q Σ_{i,j} z_ij' A_ij s(c_i, c_j): what the loss would be if people looked at everything, on average.

    The sum runs over ordered pairs, so (i, j) and (j, i) both count, and over i = j. Coefficients of pairs of clicks
    can be negative: unbiasedness has that price, and a model that is let loose on this loss can push it without bound.

    Args:
        examination: how people look at the page; None for the plain loss on the clicks, without debiasing.
        pair: a name (`ranknet`, `hinge`, `squared_hinge`, `square`, `ranknet_with_ties`, or the bounded `sigmoid` and
            `ramp`) or a `PairFunction`.
        sigma: σ of a named pair function.
        gain: what pairs of unequal grades weigh: None for all the same, otherwise the difference of their `linear`
            or `exp2` gains. It makes no difference for binary labels.

    >>> from truerank import Independent
    >>> loss = UnbiasedPairwiseLoss(Independent([1, 0.5]), pair="hinge")
    >>> loss.value(scores=[0.0, 0.0], labels=[0, 1], positions=[1, 2], group=[2])
    4.0
    """

    def __init__(
        self,
        examination: Examination | None,
        pair: str | PairFunction = "ranknet",
        sigma: float = 1.0,
        gain: str | None = None,
    ) -> None:
        check_examination(examination)
        self.examination = examination
        self.pair = named_pair_function(pair, sigma)
        self.gain = gain
        grade_weights(1, gain)  # refuses an unknown name now, not at the first batch

    def value(self, scores: Any, labels: Any, positions: Any, group: Any) -> float:
        """The loss, summed over sessions.

        Args:
            scores: one number a row, the higher the better.
            labels: one number a row: 0, 1 for a click, or higher grades.
            positions: one number a row: where it was shown, from 1; None is fine without an examination model.
            group: the size of each session.
        """
        return float(self.session_values(scores, labels, positions, group).sum())

    def session_values(self, scores: Any, labels: Any, positions: Any, group: Any) -> FloatArray:
        """The loss of each session, from which standard errors can be had."""
        return self._evaluate(scores, labels, positions, group)[0]

    def gradient_hessian(self, scores: Any, labels: Any, positions: Any, group: Any) -> tuple[FloatArray, FloatArray]:
        """dL/ds and d²L/ds² of each row; the second is the diagonal of the Hessian and may be negative."""
        return self._evaluate(scores, labels, positions, group)[1:]

    def _evaluate(
        self, scores: Any, labels: Any, positions: Any, group: Any
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        needs_positions = self.examination is not None
        sessions = read_sessions(labels, positions, group, needs_positions=needs_positions)
        score_array = read_scores(scores, sessions.n_rows)
        grade_weight = grade_weights(int(sessions.labels.max(initial=1)), self.gain)
        code = kernel_code(self.pair)
        if code is None:
            return reference.losses_and_derivatives(score_array, sessions, self.examination, self.pair, grade_weight)
        return self._compiled(score_array, sessions, grade_weight, code)

    def _compiled(
        self, scores: FloatArray, sessions: Sessions, grade_weight: FloatArray, code: int
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        from truerank.losses.unbiased_kernels import losses_and_derivatives

        inverse = 1 / clicked_row_propensities(self.examination, sessions)
        joint, joint_offsets = clicked_pair_propensities(self.examination, sessions)
        value, gradient, hessian = (np.empty(n) for n in (sessions.n_sessions, sessions.n_rows, sessions.n_rows))
        losses_and_derivatives(
            scores,
            sessions.labels,
            sessions.offsets,
            inverse,
            1 / joint,
            joint_offsets,
            grade_weight,
            code,
            self.pair.sigma,  # type: ignore[attr-defined]
            value,
            gradient,
            hessian,
        )
        return value, gradient, hessian

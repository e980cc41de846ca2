"""Unbiased LambdaMART (Hu et al. 2019): pair weights that move during training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank.errors import InputError
from truerank.ragged import check_number
from truerank.rankers.objective import LambdaObjective, thread_limit
from truerank.types import FloatArray, IntArray

_LISTS_A_BLOCK = 256


@dataclass(frozen=True, slots=True)
class PositionRatios:
    """Hu et al.'s position ratios, one row a boosting iteration; row 0 is what training started from.

    `examined[m, k − 1]` is t⁺ at position k after m iterations (relative to position 1, how likely a relevant item is
    clicked), `unclicked[m, k − 1]` is t⁻ (the same for an irrelevant item not being clicked).
    """

    examined: FloatArray
    unclicked: FloatArray

    def first(self, iterations: int) -> PositionRatios:
        """The curves up to an iteration, as when later trees are dropped."""
        return PositionRatios(self.examined[: iterations + 1], self.unclicked[: iterations + 1])

    def to_dict(self) -> dict[str, Any]:
        """The curves as lists, for JSON."""
        return {"examined": self.examined.tolist(), "unclicked": self.unclicked.tolist()}

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> PositionRatios:
        """Back from `to_dict`."""
        return cls(np.array(document["examined"]), np.array(document["unclicked"]))


class RatioObjective:
    """Unbiased LambdaMART (Hu et al. 2019): pairs weigh 1 / (t⁺ t⁻), re-estimated at each call.

    The one objective with a state: iteration m uses the ratios that iteration m − 1 left. A position that no pair
    has yet reached keeps its ratio.

    Args:
        objective: the objective over pairs made by `method="ratio"`.
        regularization: p: 0 for none, 1 and 2 for the paper's L1 and L2; ratios are taken to the power 1/(1 + p).
        fixed: t⁺ for positions 1, 2, 3, … when it is known (as θ, scaled to 1 at position 1); None to estimate it.
        start: ratios to go on from, as after stopped training.
    """

    def __init__(
        self,
        objective: LambdaObjective,
        regularization: float = 0.0,
        fixed: npt.ArrayLike | None = None,
        start: PositionRatios | None = None,
    ) -> None:
        check_number(regularization, "ratio_regularization", 0)
        pairs = objective.pairs
        if pairs.position_i is None or pairs.position_j is None:
            raise InputError("these pairs have no positions. Hint: make them with method='ratio'")
        self.objective = objective
        self.regularization = regularization
        self._position_i, self._position_j = pairs.position_i, pairs.position_j
        self._last = int(max(pairs.position_i.max(initial=1), pairs.position_j.max(initial=1)))
        self._fixed = None if fixed is None else _at_positions(np.asarray(fixed, dtype=np.float64), self._last)
        self._blocks: IntArray = np.append(np.arange(0, pairs.n_lists, _LISTS_A_BLOCK), pairs.n_lists)
        ones = np.ones(self._last + 1)
        examined = ones if self._fixed is None else self._fixed
        unclicked = ones
        if start is not None:
            examined = _at_positions(start.examined[-1], self._last) if self._fixed is None else examined
            unclicked = _at_positions(start.unclicked[-1], self._last)
        self._examined, self._unclicked = [examined], [unclicked]

    @property
    def ratios(self) -> PositionRatios:
        """The curves so far."""
        return PositionRatios(np.stack(self._examined)[:, 1:], np.stack(self._unclicked)[:, 1:])

    def __call__(self, scores: Any) -> tuple[FloatArray, FloatArray]:
        """Gradient and Hessian under the ratios of the last call; then estimate new ones."""
        examined, unclicked = self._examined[-1], self._unclicked[-1]
        weight = self.objective.pairs.weight / (examined[self._position_i] * unclicked[self._position_j])
        gradient, hessian = self.objective(scores, weight)
        by_examined, by_unclicked = self._losses(np.ascontiguousarray(scores, dtype=np.float64), examined, unclicked)
        self._examined.append(self._ratio(by_examined, examined) if self._fixed is None else examined)
        self._unclicked.append(self._ratio(by_unclicked, unclicked))
        return gradient, hessian

    def _losses(self, scores: FloatArray, examined: FloatArray, unclicked: FloatArray) -> tuple[FloatArray, FloatArray]:
        from truerank.rankers.lambda_kernels import position_losses

        objective, pairs = self.objective, self.objective.pairs
        shape = (len(self._blocks) - 1, self._last + 1)
        by_examined, by_unclicked = np.zeros(shape), np.zeros(shape)
        with thread_limit(objective.threads):
            position_losses(
                scores,
                objective.row_offsets,
                pairs.offsets,
                pairs.i,
                pairs.j,
                self._position_i,
                self._position_j,
                pairs.weight,
                objective.row_rank,
                objective.discounts,
                objective.sigma,
                objective.truncation,
                examined,
                unclicked,
                self._blocks,
                by_examined,
                by_unclicked,
            )
        return by_examined.sum(axis=0), by_unclicked.sum(axis=0)

    def _ratio(self, losses: FloatArray, before: FloatArray) -> FloatArray:
        """(S_k / S_1)^{1/(1 + p)}, S_1 being that of the first position with any."""
        seen = np.flatnonzero(losses > 0)
        if not len(seen):
            return before
        powers = (losses[seen] / losses[seen[0]]) ** (1 / (1 + self.regularization))
        ratio: FloatArray = before.copy()
        ratio[seen] = powers
        return ratio


def _at_positions(curve: FloatArray, last: int) -> FloatArray:
    """A curve over positions 1, 2, 3, … as an array indexed by position, 1 at position 1."""
    if curve.ndim != 1 or len(curve) < last:
        raise InputError(
            f"the ratios cover {curve.size} positions and pairs reach position {last}. Hint: give one ratio a position"
        )
    if not np.all(np.isfinite(curve[:last]) & (curve[:last] > 0)):
        raise InputError("position ratios must be finite and above 0")
    relative: FloatArray = np.concatenate([[1.0], curve[:last] / curve[0]])
    return relative

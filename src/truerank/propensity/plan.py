"""How many sessions a swap experiment needs, and how to share them out over the positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank.errors import InputError
from truerank.examination import ExaminationModel, Independent
from truerank.propensity.counts import counts_of
from truerank.propensity.estimate import PropensityEstimate, numbers
from truerank.propensity.ratio import PairedArms, swap_ratio
from truerank.types import ClickSessions, FloatArray, IntArray, PositionCounts

_MANY = 10**9
"""Sessions an arm at which expected counts are as good as exact."""


@dataclass(frozen=True, eq=False)
class SwapPlan:
    """What an experiment that swaps positions with position 1 will tell, before it is run.

    Attributes:
        positions: those to swap, from 2.
        theta: θ_k / θ_1 as guessed.
        click_rate: P(click) at each of them, as ranked.
        error_of_one: the standard error of log θ̂ from one session; from n it is this over √n.
        relative_error: what is wanted, for θ and so for 1/θ.
        sessions: how many each position needs for that, both arms together.
        allocation: the shares that make the sum of squared errors of 1/θ̂ smallest, for `SwapExperiment(allocation=)`.
    """

    positions: IntArray
    theta: FloatArray
    click_rate: FloatArray
    error_of_one: FloatArray
    relative_error: FloatArray
    sessions: IntArray
    allocation: FloatArray

    @property
    def total(self) -> int:
        """Sessions that all positions need together."""
        return int(self.sessions.sum())

    def expected_errors(self, sessions: float, allocation: npt.ArrayLike | None = None) -> FloatArray:
        """The relative error of each θ̂ if that many sessions are shared out so; by `allocation` if None is given."""
        shares = np.asarray(self.allocation if allocation is None else allocation, dtype=np.float64)
        if shares.shape != self.positions.shape or not (shares > 0).all():
            raise InputError(f"allocation is {shares}; it needs a number above 0 for each of {self.positions}")
        errors: FloatArray = self.error_of_one / np.sqrt(sessions * shares / shares.sum())
        return errors

    @property
    def gain(self) -> float:
        """How many times as many sessions an even allocation needs for the same error of 1/θ̂ (root mean square)."""
        pull = self.error_of_one / self.theta
        return float(len(pull) * (pull**2).sum() / pull.sum() ** 2)

    def summary(self) -> str:
        """A table for people."""
        lines = [
            f"{'position':>8}  {'θ, a guess':>10}  {'click rate':>10}  {'rel. error':>10}  {'sessions':>12}  "
            f"{'share for 1/θ':>13}"
        ]
        for k, theta, rate, error, sessions, share in zip(
            self.positions,
            self.theta,
            self.click_rate,
            self.relative_error,
            self.sessions,
            self.allocation,
            strict=True,
        ):
            lines.append(f"{k:>8}  {theta:>10.4f}  {rate:>10.4f}  {error:>10.1%}  {sessions:>12,}  {share:>13.1%}")
        lines += [
            f"{self.total:,} sessions in all, half of them swapped",
            f"shared out for the least error of 1/θ it takes {1 / self.gain:.0%} of the sessions of an even experiment",
        ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain numbers and lists."""
        return {
            **{name: numbers(getattr(self, name)) for name in self.__dataclass_fields__},
            "total": self.total,
            "gain": self.gain,
        }


def plan(
    theta: Any,
    click_rates: Any,
    *,
    relative_error: npt.ArrayLike = 0.1,
    positions: npt.ArrayLike | None = None,
) -> SwapPlan:
    """How many sessions an experiment that swaps position k with 1 needs for a wanted relative error of θ_k.

    From a guess at θ and the click rates of the log as it is, the expected counts of both arms follow: the item that
    belongs to k is clicked with chance CTR_k where it belongs and CTR_k θ_1 / θ_k at the top, the item that belongs to
    the top with CTR_1 there and CTR_1 θ_k / θ_1 at k. The error is that of `swap`, computed from these counts.

    The allocation minimises Σ_k Var(1/θ̂_k) for a fixed number of sessions: by Cauchy and Schwarz, shares go as
    (error of log θ̂_k from one session) / θ_k.

    Args:
        theta: a guess: numbers for positions 1, 2, …, an examination model, or an estimate.
        click_rates: P(click) at positions 1, 2, …, or `PositionCounts`, `ClickSessions`, or a click log.
        relative_error: the standard error of θ̂ / θ that is wanted: one, or one for each position to swap.
        positions: which to swap with 1; all from 2 by default.

    >>> found = plan([1, 0.5, 0.25], [0.3, 0.1, 0.05], relative_error=0.1)
    >>> found.positions.tolist(), found.allocation.round(2).tolist()
    ([2, 3], [0.27, 0.73])
    """
    model = _guess(theta)
    rates = _click_rates(click_rates)
    known = min(model.n_positions, len(rates))
    places = np.arange(2, known + 1) if positions is None else np.atleast_1d(np.asarray(positions))
    if places.size == 0 or places.dtype.kind not in "iu" or places.min() < 2 or places.max() > known:
        raise InputError(
            f"positions is {places.tolist()}; they must be whole numbers from 2 to {known}, where θ and a click rate "
            "are known"
        )
    places = places.astype(np.int64)
    ratio = model.marginal(places) / model.marginal(1)
    own_at_top, own_below = rates[0], rates[places - 1]
    for rate, k in zip((own_at_top, *own_below), (1, *places), strict=True):
        if not 0 < rate < 1:
            raise InputError(f"the click rate at position {k} is {rate}; it must lie between 0 and 1")
    target_at_top = own_below / ratio
    if (target_at_top >= 1).any():
        m = int(np.argmax(target_at_top))
        raise InputError(
            f"θ at position {places[m]} is guessed at {ratio[m]:.4g} and the click rate there is {own_below[m]:.4g}: "
            "at the top its item would be clicked more than always. Hint: guess a larger θ"
        )
    together = model.joint(1, places) / (model.marginal(1) * model.marginal(places))
    error = _error_of_one(ratio, own_at_top, target_at_top, together)
    wanted = np.broadcast_to(np.asarray(relative_error, dtype=np.float64), places.shape)
    if not (wanted > 0).all():
        raise InputError(f"relative_error is {relative_error!r}; it must be above 0, such as 0.1")
    pull = error / ratio
    return SwapPlan(
        positions=places,
        theta=ratio,
        click_rate=own_below,
        error_of_one=error,
        relative_error=wanted.copy(),
        sessions=np.ceil((error / wanted) ** 2).astype(np.int64),
        allocation=pull / pull.sum(),
    )


def _error_of_one(ratio: FloatArray, top: float, target_at_top: FloatArray, together: FloatArray) -> FloatArray:
    """The standard error of log θ̂_k from one session, from the counts that very many would give."""

    def count(chance: npt.ArrayLike) -> IntArray:
        return np.broadcast_to(np.rint(np.asarray(chance) * _MANY), ratio.shape).astype(np.int64)

    at_target, moved_down = ratio * target_at_top, ratio * top
    both = together * ratio * top * target_at_top
    both = np.minimum(both, np.minimum(np.minimum(at_target, moved_down), np.minimum(top, target_at_top)))
    n = count(1.0)
    arms = PairedArms(
        *(n, count(top), count(at_target), count(both)),
        *(n, count(target_at_top), count(moved_down), count(both)),
        two_way=np.ones(len(ratio), dtype=np.bool_),
    )
    errors: FloatArray = swap_ratio(arms).log_error * np.sqrt(2 * _MANY)
    return errors


def _guess(theta: Any) -> ExaminationModel:
    if isinstance(theta, PropensityEstimate):
        return theta.examination
    return theta if isinstance(theta, ExaminationModel) else Independent(theta)


def _click_rates(source: Any) -> FloatArray:
    if isinstance(source, PositionCounts | ClickSessions) or hasattr(source, "position_counts"):
        counts = counts_of(source, PositionCounts)
        rates = np.full(int(counts.position.max(initial=0)), np.nan)
        rates[counts.position - 1] = counts.clicks / np.maximum(counts.impressions, 1)
        return rates
    return np.atleast_1d(np.asarray(source, dtype=np.float64))

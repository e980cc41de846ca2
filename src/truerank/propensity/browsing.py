"""Independent, continuous, row skipping or a table: which of them the clicks of a log speak for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from truerank.errors import InputError
from truerank.examination import Continuous, ExaminationModel, RowSkipping, Tabulated
from truerank.propensity.curve import training_curve
from truerank.propensity.em import em
from truerank.propensity.estimate import PropensityEstimate, numbers
from truerank.propensity.grid_sessions import GridSessions, on_grid
from truerank.propensity.joint_fill import within_bounds
from truerank.propensity.pair_association import (
    PairModel,
    click_chances,
    counts_by_item,
    free_association,
    split,
)
from truerank.propensity.row_skipping import grid_of, row_skipping
from truerank.propensity.row_skipping_fit import Grid, fit_row_skipping
from truerank.types import FloatArray

ModelName = Literal["independent", "continuous", "row_skipping", "tabulated"]
_MODELS = ("independent", "continuous", "row_skipping", "tabulated")
"""From the fewest parameters for how positions go together to the most."""
_NEAR = 2.0
_ENOUGH_LISTS = 30
_SLIGHTLY = 1e-3


@dataclass(frozen=True, eq=False)
class BrowsingChoice:
    """Which browsing model a log speaks for, and how clearly.

    Attributes:
        best: the choice: the simplest model that is within two standard errors of the highest held-out likelihood.
        log_likelihood: of each model, the mean over held-out sessions (see `choose_browsing`).
        deficit: how much each model is below the highest one, a session, and `deficit_errors` its standard error.
        p_values: of the hypothesis that a model is as good as the highest one, two-sided.
        errors: what the standard errors are over.
        estimate: the chosen model, from all sessions.
        sessions, folds: how many there are.
    """

    best: str
    log_likelihood: Mapping[str, float]
    deficit: Mapping[str, float]
    deficit_errors: Mapping[str, float]
    p_values: Mapping[str, float]
    errors: str
    estimate: PropensityEstimate
    sessions: int
    folds: int

    @property
    def examination(self) -> ExaminationModel:
        """The chosen model, to train with."""
        return self.estimate.examination

    @property
    def decisive(self) -> bool:
        """Whether every other model is worse than the chosen one by more than two standard errors."""
        highest = max(self.log_likelihood, key=lambda name: self.log_likelihood[name])
        others = [name for name in self.deficit if name not in (self.best, highest)]
        clear = all(self.deficit[name] > _NEAR * self.deficit_errors[name] for name in others)
        return clear and self.best == highest

    def summary(self) -> str:
        """A table for people."""
        lines = [
            f"{self.best}{'' if self.decisive else ', but not decisively'}: held-out log-likelihood a session, "
            f"{self.sessions:,} sessions in {self.folds} folds, {self.errors}",
            f"{'model':<14}{'log-likelihood':>15}{'below the best':>16}{'s.e.':>10}{'p':>10}",
        ]
        for name in sorted(self.deficit, key=lambda name: self.deficit[name]):
            value, gap, error = self.log_likelihood[name], self.deficit[name], self.deficit_errors[name]
            rest = f"{gap:>16.6f}{error:>10.6f}{self.p_values[name]:>10.2g}" if gap else f"{'-':>16}{'-':>10}{'-':>10}"
            lines.append(f"{name:<14}{value:>15.6f}{rest}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain numbers and text."""
        plain = ("log_likelihood", "deficit", "deficit_errors", "p_values")
        return {
            "best": self.best,
            "decisive": self.decisive,
            **{name: {k: numbers(v) for k, v in getattr(self, name).items()} for name in plain},
            "errors": self.errors,
            "sessions": self.sessions,
            "folds": self.folds,
            "estimate": self.estimate.to_dict(),
        }


def choose_browsing(
    source: Any,
    *,
    row_lengths: npt.ArrayLike | None = None,
    models: Sequence[str] | None = None,
    n_positions: int | None = None,
    folds: int = 5,
    seed: int = 0,
) -> BrowsingChoice:
    """Choose how positions go together by the likelihood of held-out sessions, and say how clear the choice is.

    Each fold is judged by what is learned from the others: θ (and γ, C for row skipping), the relevance of every item
    of every list, and for "tabulated" ρ_kl = ψ_kl / (θ_k θ_l) of every two positions. A session scores
    Σ_{i<j} log P(c_i, c_j) / (n − 1), with P(1, 1) = ψ_kl r_i r_j: a likelihood of pairs, since θ and ψ say no more,
    and the whole session's under independent looking. Differences between models are paired by session; their errors
    are over sessions, or over lists where there are 30 or more of these and that is larger, times √(1 + folds /
    (folds − 1)), for what is learned from the other folds varies as well (Nadeau and Bengio 2003).

    "continuous" has a share of visits that look at nothing at all, "row_skipping" one C for all positions. The choice
    takes relevances inside a session as independent given the list and the items: visits that differ in how much they
    click speak for "continuous" or "tabulated", visits that end with the first click for looking apart.

    Args:
        source: `ClickSessions`, `SessionCounts`, or a click log.
        row_lengths: the grid, for row skipping; None to take it from the log, or to leave row skipping out.
        models: which to compare; all that can be by default.
        n_positions: leave out what was shown below this position.
        folds: into how many parts sessions are split at random.
        seed: for the split.
    """
    names = _models(source, row_lengths, models)
    if folds < 2:
        raise InputError(f"folds is {folds}; at least 2 are needed to hold sessions out")
    grid = grid_of(source, row_lengths, "common") if "row_skipping" in names else None
    if grid is not None:
        n_positions = grid.n_places if n_positions is None else min(n_positions, grid.n_places)
    sessions = on_grid(source, n_positions)
    values = {name: np.zeros(sessions.row_of_place.shape[0]) for name in names}
    for training, held_out in split(sessions, folds, np.random.default_rng(seed)):
        for name, model in _learn(training, names, grid).items():
            values[name] += held_out * model.values(sessions)
    return _judge(values, sessions, folds, _final(sessions, grid, row_lengths, source))


def _models(source: Any, row_lengths: Any, models: Sequence[str] | None) -> list[str]:
    has_grid = row_lengths is not None or getattr(source, "has_rows", False)
    names = [name for name in _MODELS if name != "row_skipping" or has_grid] if models is None else list(models)
    unknown = [name for name in names if name not in _MODELS]
    if unknown or len(set(names)) < 2:
        raise InputError(f"models is {names}; it needs two or more of {', '.join(map(repr, _MODELS))}")
    return names


def _learn(training: GridSessions, names: Sequence[str], grid: Grid | None) -> dict[str, PairModel]:
    """The models as a part of the sessions has them."""
    theta = _curve(training)
    n = len(theta)
    chance, found = click_chances(theta, training), {}
    if "independent" in names:
        found["independent"] = PairModel(chance, np.ones((n, n)))
    if "tabulated" in names:
        found["tabulated"] = PairModel(chance, free_association(chance, training)[0])
    if "continuous" in names:
        falling = training_curve(theta, None, smooth="isotonic", fill=None)[0]
        falling_chance = click_chances(falling, training)
        share, _ = looking_share(falling, falling_chance, training)
        found["continuous"] = PairModel(falling_chance, _reading_on(falling, share))
    if "row_skipping" in names and grid is not None:
        model = _row_skipping(training, grid)
        places = np.arange(1, n + 1)
        own = model.marginal(places)
        association = model.joint(places[:, None], places) / np.outer(own, own)
        found["row_skipping"] = PairModel(click_chances(own, training), association)
    return found


def _curve(training: GridSessions) -> FloatArray:
    estimate = em(counts_by_item(training), errors="information", n_positions=training.row_of_place.shape[1])
    return estimate.examination.marginal(estimate.positions)


def _row_skipping(training: GridSessions, grid: Grid) -> RowSkipping:
    fit = fit_row_skipping(training.that_count(), grid, by_list=False, errors=False)
    gamma, continuation = grid.continuation(fit.logits)
    return RowSkipping(gamma, continuation, grid.row_lengths)


def _reading_on(theta: FloatArray, share: float) -> FloatArray:
    """ρ_kl = min(θ_k, θ_l) / (share θ_k θ_l), θ being relative to those who look at all."""
    return 1 / (share * np.maximum.outer(theta, theta))


def looking_share(theta: FloatArray, chance: FloatArray, training: GridSessions) -> tuple[float, float]:
    """The most likely share of visits that look at position 1 if they read on from there, and its standard error."""
    from scipy.optimize import minimize_scalar

    def values(log_share: float) -> FloatArray:
        return PairModel(chance, _reading_on(theta, math.exp(log_share))).values(training)

    lowest = math.log(max(float(np.max(chance / theta[training.place])) * 0.5, 0.02))
    weight = training.weight
    found = minimize_scalar(lambda x: -float(weight @ values(x)), bounds=(lowest, 0.0), method="bounded")
    best = float(found.x)
    if best > -_SLIGHTLY:
        return 1.0, 0.0
    before, at, after = (values(best + h) for h in (-_SLIGHTLY, 0.0, _SLIGHTLY))
    score = (after - before) / (2 * _SLIGHTLY)
    bend = -float(weight @ (after - 2 * at + before)) / _SLIGHTLY**2
    error = math.sqrt(float(weight @ score**2)) / bend if bend > 0 else float("nan")
    return math.exp(best), math.exp(best) * error


def _judge(
    values: dict[str, FloatArray], sessions: GridSessions, folds: int, final: Mapping[str, Any]
) -> BrowsingChoice:
    """Means, paired differences to the highest with their errors, and the simplest model near it."""
    total = sessions.weight.sum()
    mean = {name: float(v.sum() / total) for name, v in values.items()}
    highest = max(mean, key=lambda name: mean[name])
    n_lists = int(sessions.list_of_session.max()) + 1
    errors, by_list = {}, {}
    for name, v in values.items():
        gap = (values[highest] - v) - sessions.weight * (mean[highest] - mean[name])
        errors[name] = float(np.sqrt((gap**2 / np.maximum(sessions.weight, 1)).sum()) / total)
        of_lists = np.bincount(sessions.list_of_session, gap, n_lists)
        by_list[name] = float(np.sqrt((of_lists**2).sum()) / total)
    use_lists = n_lists >= _ENOUGH_LISTS
    if use_lists:
        errors = {name: max(errors[name], by_list[name]) for name in errors}
    learning = math.sqrt(1 + folds / (folds - 1))
    errors = {name: learning * error for name, error in errors.items()}
    deficit = {name: mean[highest] - value for name, value in mean.items()}
    near = [name for name in values if deficit[name] <= _NEAR * errors[name]]
    best = min(near, key=lambda name: (_simplicity(name), deficit[name]))
    p_values = {
        name: math.erfc(deficit[name] / errors[name] / math.sqrt(2)) if errors[name] else 1.0 for name in values
    }
    return BrowsingChoice(
        best=best,
        log_likelihood=mean,
        deficit=deficit,
        deficit_errors=errors,
        p_values=p_values,
        errors=f"errors over {'lists or sessions, the larger' if use_lists else 'sessions'}",
        estimate=final[best](),
        sessions=int(total),
        folds=folds,
    )


def _simplicity(name: str) -> int:
    """Independent and continuous have no parameter that the other lacks but one."""
    return max(_MODELS.index(name), 1)


def _final(sessions: GridSessions, grid: Grid | None, row_lengths: Any, source: Any) -> dict[str, Any]:
    """How each model is estimated from all sessions."""
    counts = counts_by_item(sessions)
    n_lists = int(sessions.list_of_session.max()) + 1

    def marginal() -> PropensityEstimate:
        errors: Any = "list" if n_lists >= _ENOUGH_LISTS else "information"
        return em(counts, errors=errors, n_positions=sessions.row_of_place.shape[1])

    return {
        "independent": marginal,
        "continuous": lambda: _continuous(marginal(), sessions),
        "tabulated": lambda: _tabulated(marginal(), sessions),
        "row_skipping": lambda: row_skipping(source, row_lengths, errors="information"),
    }


def _continuous(marginal: PropensityEstimate, sessions: GridSessions) -> PropensityEstimate:
    theta = training_curve(marginal.theta, marginal.log_standard_errors, smooth="isotonic", fill=None)[0]
    share, error = looking_share(theta, click_chances(theta, sessions), sessions)
    note = f"of the visits, {share:.3f} look at position 1: the model's θ is θ_k / θ_1 times that"
    return replace(
        marginal,
        examination=Continuous(share * theta),
        parameters={"looking_share": (share, error)},
        notes=(*marginal.notes, note),
    )


def _tabulated(marginal: PropensityEstimate, sessions: GridSessions) -> PropensityEstimate:
    theta = marginal.examination.marginal(marginal.positions)
    association, errors = free_association(click_chances(theta, sessions), sessions)
    association = np.triu(association, 1) + np.triu(association, 1).T
    psi = association * np.outer(theta, theta)
    np.fill_diagonal(psi, theta)
    own = np.diagonal(marginal.log_covariance)
    log_errors = np.sqrt(np.triu(errors, 1) ** 2 + own[:, None] + own + 2 * marginal.log_covariance)
    log_errors = np.triu(log_errors, 1) + np.triu(log_errors, 1).T
    np.fill_diagonal(log_errors, marginal.log_standard_errors)
    table = within_bounds(theta, psi)
    moved = int((np.triu(np.abs(table - psi), 1) > 1e-9).sum())
    note = f"{moved} of {len(theta) * (len(theta) - 1) // 2} pairs were moved within the bounds of probability"
    return replace(
        marginal,
        examination=Tabulated(theta, table),
        psi=psi,
        psi_log_errors=log_errors,
        notes=(*marginal.notes, note) if moved else marginal.notes,
    )

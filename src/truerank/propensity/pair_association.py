"""How two positions go together in a log: ρ_kl = ψ_kl / (θ_k θ_l), from clicks on two items of one session."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truerank.propensity.grid_sessions import GridSessions
from truerank.types import FloatArray, ItemPositionCounts

_ROUNDS = 40
_WIDEST = 3.0
"""ρ is looked for between e^−3 and e^3."""


@dataclass(frozen=True, eq=False)
class PairModel:
    """P(click) of every row, and ρ for pairs of places: all that the likelihood of pairs needs of a browsing model."""

    chance: FloatArray
    association: FloatArray

    def values(self, sessions: GridSessions) -> FloatArray:
        """Of each session, Σ_{i<j} log P(c_i, c_j) / (n − 1).

        The division makes each row count once: under independent looking this is the likelihood of the session. Other
        models differ from it only in how two rows go together, which is what is compared; their likelihood of whole
        sessions would need more than θ and ψ say.
        """
        from truerank.propensity.pair_kernels import session_values

        values: FloatArray = session_values(
            self.chance, self.association, sessions.clicked, sessions.row_of_place, sessions.last_place
        )
        return values


def click_chances(theta: FloatArray, training: GridSessions) -> FloatArray:
    """θ_k r of every row, r from the sessions with weight: clicks over exposure, drawn to the mean by one exposure."""
    exposure = np.bincount(training.item, theta[training.place] * training.row_weight, len(training.item_clicks))
    mean = training.item_clicks.sum() / exposure.sum()
    relevance = (training.item_clicks + mean) / (exposure + 1)
    chance: FloatArray = np.clip(theta[training.place] * relevance[training.item], 1e-9, 1 - 1e-6)
    return chance


def free_association(chance: FloatArray, training: GridSessions) -> tuple[FloatArray, FloatArray]:
    """The most likely ρ of every two places, 1 where they were never shown together, and the standard error of log ρ.

    For each pair by itself, by Newton's method inside a bracket; errors are sandwiches over sessions that take the
    chances of clicks as known.
    """
    from truerank.propensity.pair_kernels import association_slopes

    n = training.row_of_place.shape[1]
    log_rho, low, high = np.zeros((n, n)), np.full((n, n), -_WIDEST), np.full((n, n), _WIDEST)
    data = (training.clicked, training.weight, training.row_of_place, training.last_place)
    for _ in range(_ROUNDS):
        gradient, bend, square = association_slopes(chance, np.exp(log_rho), *data).sum(axis=0)
        low, high = np.where(gradient > 0, log_rho, low), np.where(gradient < 0, log_rho, high)
        step = np.divide(gradient, bend, out=np.zeros_like(bend), where=bend > 0)
        trial = log_rho + step
        inside = (trial > low) & (trial < high) & (bend > 0)
        trial = np.where(inside, trial, np.where(gradient == 0, log_rho, (low + high) / 2))
        done = float(np.abs(trial - log_rho).max()) <= 1e-7
        log_rho = trial
        if done:
            break
    told = np.triu(bend > 0, 1)
    errors = np.full((n, n), np.nan)
    errors[told] = np.sqrt(square[told]) / bend[told]
    return np.where(told, np.exp(log_rho), 1.0), errors


def split(sessions: GridSessions, folds: int, rng: np.random.Generator) -> list[tuple[GridSessions, FloatArray]]:
    """For each fold: the other sessions, to learn from, and how many sessions of each kind it holds itself."""
    counts = rng.multinomial(sessions.weight.astype(np.int64), np.full(folds, 1 / folds)).T.astype(np.float64)
    return [(sessions.reweighted(sessions.weight - held_out), held_out) for held_out in counts]


def counts_by_item(sessions: GridSessions) -> ItemPositionCounts:
    """Impressions and clicks a row: what the estimators of θ add up."""
    session_list = sessions.list_of_session[sessions.session_of_row]
    weight = sessions.row_weight.astype(np.int64)
    return ItemPositionCounts(session_list, sessions.item, sessions.place + 1, weight, weight * sessions.clicked)

"""The most likely γ, C and relevances of a log under row skipping, and how sure γ and C are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truerank.errors import IdentificationError, TruerankError
from truerank.propensity.grid_sessions import GridSessions
from truerank.types import FloatArray, IntArray

FAINT = 1e-2
"""Misses added to every item, which keep its relevance below 1."""
EDGE = 9.0
"""Logits beyond this are probabilities of 0 or 1 as far as a log can tell."""
_CLOSE = 1e-3
"""How far from the maximum, in standard errors, the search may stop."""
_ROUNDS = 2_000
_NUDGE = 1e-4


@dataclass(frozen=True, eq=False)
class Grid:
    """The layout: the grid row of each place, where each row ends, and which of the C belongs to each place."""

    row_lengths: IntArray
    parameter: IntArray

    @property
    def n_places(self) -> int:
        """How many places there are."""
        return int(self.row_lengths.sum())

    @property
    def n_continuations(self) -> int:
        """How many different C there are."""
        return int(self.parameter.max()) + 1

    def continuation(self, logits: FloatArray) -> tuple[float, FloatArray]:
        """γ, and C at every place."""
        chances = expit(logits)
        return float(chances[0]), chances[1:][self.parameter]


@dataclass(frozen=True, eq=False)
class RowSkippingFit:
    """The logits of γ and the C, their covariance, each item's relevance, and the log-likelihood of the sessions."""

    logits: FloatArray
    covariance: FloatArray
    relevance: FloatArray
    log_likelihood: float


class Likelihood:
    """The log-likelihood of the sessions in the logits of γ, the C and the relevances of items with a click.

    All are scaled by about their standard errors, which is what makes the search short.
    """

    def __init__(self, sessions: GridSessions, grid: Grid) -> None:
        self.sessions, self.grid = sessions, grid
        self.free = np.flatnonzero(sessions.item_clicks)
        self.n_shared = 1 + grid.n_continuations
        clicks = sessions.item_clicks[self.free]
        self.scale = np.concatenate([np.full(self.n_shared, sessions.n_sessions**-0.5), (1.0 + clicks) ** -0.5])
        ends = np.cumsum(grid.row_lengths)
        self._grid_row = np.repeat(np.arange(len(ends)), grid.row_lengths)
        self._row_ends = ends

    def start(self) -> FloatArray:
        """A quarter of the rows skipped, nine of ten going on, and the click rates that go with it."""
        from truerank.examination import RowSkipping

        gamma, going_on = 0.25, 0.9
        theta = RowSkipping(gamma, going_on, self.grid.row_lengths).marginal(np.arange(1, self.grid.n_places + 1))
        exposure = np.bincount(self.sessions.item, theta[self.sessions.place] * self.sessions.row_weight)[self.free]
        rate = np.clip(self.sessions.item_clicks[self.free] / exposure, 1e-4, 0.9)
        return np.concatenate([[logit(gamma)], np.full(self.grid.n_continuations, logit(going_on)), logit(rate)])

    def relevance(self, x: FloatArray) -> FloatArray:
        """r of every item: 0 without a click."""
        relevance = np.zeros(len(self.sessions.item_clicks))
        relevance[self.free] = expit(x[self.n_shared :])
        return relevance

    def scores(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Each session's log-likelihood and gradient in the logits of γ and C, and the gradient in those of the r."""
        from truerank.propensity.row_skipping_kernels import session_scores

        sessions, relevance = self.sessions, self.relevance(x)
        gamma, continuation = self.grid.continuation(x[: self.n_shared])
        value, shared, examined = session_scores(
            gamma,
            continuation,
            self.grid.parameter,
            self.grid.n_continuations,
            self._grid_row,
            self._row_ends,
            relevance[sessions.item],
            sessions.clicked,
            sessions.row_of_place,
            sessions.last_place,
        )
        seen = np.bincount(sessions.item, examined * sessions.row_weight, len(relevance)).astype(np.float64)
        own: FloatArray = (sessions.item_clicks - relevance * (seen + FAINT))[self.free]
        return value * sessions.weight, shared * sessions.weight[:, None], own

    def value_gradient(self, x: FloatArray) -> tuple[float, FloatArray]:
        """The log-likelihood with a faint pull of the relevances from 1, and its gradient."""
        value, shared, own = self.scores(x)
        pull = FAINT * np.log1p(-self.relevance(x)[self.free]).sum()
        return float(value.sum() + pull), np.concatenate([shared.sum(axis=0), own])

    def curvature(self, x: FloatArray, direction: FloatArray) -> FloatArray:
        """−(second derivatives) · direction, from central differences of the gradient along it."""
        step = _NUDGE / max(float(np.abs(direction / self.scale).max()), 1e-300)
        ahead, behind = (self.value_gradient(x + h * direction)[1] for h in (step, -step))
        change: FloatArray = (behind - ahead) / (2 * step)
        return change


def fit_row_skipping(sessions: GridSessions, grid: Grid, *, by_list: bool, errors: bool = True) -> RowSkippingFit:
    """Maximise Σ_sessions log P(clicks) over γ, C and a relevance for every item of every list, by L-BFGS.

    The covariance of γ and C is that of the profile likelihood, in which the relevances follow them: H_p⁻¹ with
    H_p = H_φφ − H_φr H_rr⁻¹ H_rφ, or with `by_list` H_p⁻¹ (Σ_q s_q s_q') H_p⁻¹, s_q the gradient's share of list q.
    H is never built: products with it are differences of gradients, H_rr⁻¹ by conjugate gradients.
    """
    if not sessions.item_clicks.any():
        raise IdentificationError("nothing was clicked: this log cannot tell propensities")
    likelihood = Likelihood(sessions, grid)
    x = _climb(likelihood, likelihood.start())
    n = likelihood.n_shared
    value, shared, _ = likelihood.scores(x)
    covariance = np.full((n, n), np.nan)
    if errors:
        information = _profile_information(likelihood, x)
        covariance = _covariance(information, x[:n])
        gap = shared.sum(axis=0)
        short = float(np.sqrt(max(gap @ covariance @ gap, 0.0)))
        if short > 30 * _CLOSE:
            raise TruerankError(f"the search for γ and C stopped {short:.2g} standard errors from the maximum")
        if by_list:
            n_lists = int(sessions.list_of_session.max()) + 1
            of_lists = np.zeros((n_lists, n))
            np.add.at(of_lists, sessions.list_of_session, shared)
            covariance = covariance @ (of_lists.T @ of_lists) @ covariance * n_lists / max(n_lists - 1, 1)
    return RowSkippingFit(x[:n], covariance, likelihood.relevance(x), float(value.sum()))


def _climb(likelihood: Likelihood, start: FloatArray) -> FloatArray:
    from scipy.optimize import minimize

    scale = likelihood.scale

    def downhill(z: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = likelihood.value_gradient(z * scale)
        return -value, -gradient * scale

    limits = [(-14.0 / s, 14.0 / s) for s in scale]
    found = minimize(
        downhill,
        start / scale,
        jac=True,
        method="L-BFGS-B",
        bounds=limits,
        options={"maxiter": _ROUNDS, "maxfun": 2 * _ROUNDS, "maxcor": 30, "ftol": 0.0, "gtol": _CLOSE},
    )
    if found.nit >= _ROUNDS:
        raise TruerankError(f"the likelihood of row skipping has no maximum within {_ROUNDS} steps: {found.message}")
    best: FloatArray = found.x * scale
    return best


def _profile_information(likelihood: Likelihood, x: FloatArray) -> FloatArray:
    from scipy.sparse.linalg import LinearOperator, cg

    n = likelihood.n_shared
    # what the curvature would be if it were known who looked: near enough to make conjugate gradients short
    r, own_gradient = likelihood.relevance(x)[likelihood.free], likelihood.scores(x)[2]
    seen = (likelihood.sessions.item_clicks[likelihood.free] - own_gradient) / r
    scale = (r * (1 - r) * seen) ** -0.5

    def own(z: FloatArray) -> FloatArray:
        along = np.concatenate([np.zeros(n), z.ravel() * scale])
        # the ridge is that of an item whose clicks tell nothing more: it keeps flat directions from wandering
        curved: FloatArray = likelihood.curvature(x, along)[n:] * scale + 1e-6 * z.ravel()
        return curved

    operator = LinearOperator((len(scale), len(scale)), matvec=own, dtype=np.float64)
    columns = [likelihood.curvature(x, np.eye(1, len(x), k)[0] * likelihood.scale[0]) for k in range(n)]
    table = np.array(columns) / likelihood.scale[0]  # rows: φ, columns: everything
    profile = table[:, :n].copy()
    for k in range(n):
        follow, _ = cg(operator, table[k, n:] * scale, rtol=1e-4, maxiter=200)
        profile[:, k] -= table[:, n:] @ (follow * scale)
    return _symmetric(profile)


def _covariance(information: FloatArray, logits: FloatArray) -> FloatArray:
    """The inverse, with no variance for what is at its edge; what the log does not tell is refused."""
    inside = np.abs(logits) < EDGE
    covariance = np.zeros_like(information)
    part = information[np.ix_(inside, inside)]
    if part.size:
        lowest = np.linalg.eigvalsh(part)[0]
        if not lowest > 1e-8 * np.abs(part).max():
            raise IdentificationError(
                "γ and C cannot be told apart from relevance in this log. Hint: fewer parameters "
                "(continuation='common'), more sessions, or rankings that vary"
            )
        covariance[np.ix_(inside, inside)] = np.linalg.inv(part)
    return covariance


def _symmetric(table: FloatArray) -> FloatArray:
    return (table + table.T) / 2


def expit(x: FloatArray) -> FloatArray:
    """1 / (1 + e^−x)."""
    chance: FloatArray = 1 / (1 + np.exp(-np.asarray(x)))
    return chance


def logit(p: FloatArray | float) -> FloatArray:
    """log p − log(1 − p)."""
    p = np.asarray(p, dtype=np.float64)
    odds: FloatArray = np.log(p) - np.log1p(-p)
    return odds

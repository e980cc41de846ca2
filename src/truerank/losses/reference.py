"""The unbiased pairwise loss in plain NumPy: the formula of THEORY, over every ordered pair of every session.

It is what the compiled kernel is tested against, and what runs for pair functions that users bring.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from truerank.examination.base import Examination
from truerank.examination.lookup import clicked_row_propensities, joint_propensities
from truerank.losses.pair_functions import Jet, PairFunction
from truerank.ragged import blocks, offsets_from_sizes
from truerank.types import FloatArray, IntArray, Labels, Sessions

_PAIRS_AT_A_TIME = 2_000_000


def losses_and_derivatives(
    scores: FloatArray,
    sessions: Sessions,
    examination: Examination | None,
    pair: PairFunction,
    grade_weight: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The loss of each session, and the gradient and diagonal Hessian of each row.

    `grade_weight[a, b]` multiplies ℓ_ab.
    """
    value = np.zeros(sessions.n_sessions)
    gradient = np.zeros(sessions.n_rows)
    hessian = np.zeros(sessions.n_rows)
    inverse = 1 / clicked_row_propensities(examination, sessions)
    nothing = np.empty(0)
    needs_click = pair.l00(nothing, nothing) is None
    for session, i, j in _ordered_pairs(sessions):
        if needs_click:
            clicked = np.flatnonzero((sessions.labels[i] > 0) | (sessions.labels[j] > 0))
            session, i, j = session[clicked], i[clicked], j[clicked]
        jet = _corrected(scores, sessions, inverse, examination, pair, grade_weight, i, j)
        np.add.at(value, session, jet.value)
        np.add.at(gradient, i, jet.d_i)
        np.add.at(gradient, j, jet.d_j)
        np.add.at(hessian, i, jet.d_ii + np.where(i == j, 2 * jet.d_ij, 0))
        np.add.at(hessian, j, jet.d_jj)
    return value, gradient, hessian


def _corrected(
    scores: FloatArray,
    sessions: Sessions,
    inverse: FloatArray,
    examination: Examination | None,
    pair: PairFunction,
    grade_weight: FloatArray,
    i: IntArray,
    j: IntArray,
) -> Jet:
    """Z' A s(c_i, c_j) and its derivatives, for pairs of rows (i, j)."""
    a, b = sessions.labels[i], sessions.labels[j]
    a_i, a_j = inverse[i], inverse[j]  # 1 where nothing was clicked
    a_ij = np.where(i == j, a_i, a_i * a_j)
    if examination is not None and sessions.positions is not None:
        both = np.flatnonzero((a > 0) & (b > 0) & (i != j))
        a_ij[both] = 1 / joint_propensities(examination, sessions.positions[i[both]], sessions.positions[j[both]])

    # Written for two clicks. With a_j = 1 and a_ij = a_i it is the formula for (a, 0) too, and so for the others.
    none = np.zeros_like(a)
    terms = (
        (a_ij, a, b),
        (a_i - a_ij, a, none),
        (a_j - a_ij, none, b),
        (1 - a_i - a_j + a_ij, none, none),
    )
    total = np.zeros((6, len(i)))
    for coefficient, grade_i, grade_j in terms:
        total += coefficient * term(pair, grade_weight, grade_i, grade_j, scores[i], scores[j])
    return Jet(*total)


def term(
    pair: PairFunction, grade_weight: FloatArray, a: Labels, b: Labels, s_i: FloatArray, s_j: FloatArray
) -> FloatArray:
    """ℓ_ab(s_i, s_j) for grades a and b, as the six rows of a `Jet`."""
    total = np.zeros((6, len(s_i)))
    for function, where in (
        (pair.l11, (a == b) & (a > 0)),
        (pair.l10, a > b),
        (pair.l01, a < b),
        (pair.l00, (a == 0) & (b == 0)),
    ):
        jet = function(s_i[where], s_j[where])
        if jet is not None:
            total[:, where] = grade_weight[a[where], b[where]] * np.stack(jet)
    return total


def _ordered_pairs(sessions: Sessions) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
    """(session, row i, row j) for every ordered pair, i = j included, some sessions at a time."""
    sizes = sessions.sizes
    ends = offsets_from_sizes(sizes**2)
    for first, last in blocks(ends, _PAIRS_AT_A_TIME):
        session = np.repeat(np.arange(first, last), sizes[first:last] ** 2)
        k = np.arange(ends[first], ends[last]) - ends[session]
        start, size = sessions.offsets[session], sizes[session]
        yield session, start + k // size, start + k % size

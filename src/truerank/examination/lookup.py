"""Propensities for sessions: only where something was clicked, for nothing else needs them."""

from __future__ import annotations

from typing import Any

import numpy as np

from truerank.errors import ExaminationError
from truerank.examination.base import Examination, ExaminationModel
from truerank.examination.lookup_kernels import clicked_pair_rows, count_clicked_pairs
from truerank.ragged import offsets_from_sizes
from truerank.types import FloatArray, IntArray, Labels, Sessions

_TOLERANCE = 1e-9


def clicked_row_propensities(examination: Examination | None, sessions: Sessions) -> FloatArray:
    """p_i of every clicked row and 1 elsewhere; without a model, 1 everywhere."""
    propensities = np.ones(sessions.n_rows)
    if examination is None or sessions.n_rows == 0:
        return propensities
    positions = _positions(sessions)
    clicked = np.flatnonzero(sessions.labels)
    examination.marginal(positions.max()[None])  # refuses a position past the table even if nothing there is clicked
    propensities[clicked] = _probabilities(examination.marginal(positions[clicked]), len(clicked), "marginal")
    return propensities


def row_propensities(examination: Examination, sessions: Sessions) -> FloatArray:
    """p_i of every row."""
    return _probabilities(examination.marginal(_positions(sessions)), sessions.n_rows, "marginal")


def clicked_pair_propensities(examination: Examination | None, sessions: Sessions) -> tuple[FloatArray, IntArray]:
    """p_ij of the pairs of clicked rows i < j of each session, row by row, and where each session begins.

    There are Σ_q C_q (C_q − 1) / 2 of them, so no table over positions is ever built.
    """
    offsets = offsets_from_sizes(count_clicked_pairs(sessions.labels, sessions.offsets))
    if examination is None:
        return np.ones(offsets[-1]), offsets
    positions = _positions(sessions)
    row_i, row_j = clicked_pair_rows(sessions.labels, sessions.offsets, offsets)
    return joint_propensities(examination, positions[row_i], positions[row_j]), offsets


def joint_propensities(examination: Examination, positions_i: Labels, positions_j: Labels) -> FloatArray:
    """p_ij for pairs of positions; a model that is not one of ours is checked to be probabilities of something."""
    joint = _probabilities(examination.joint(positions_i, positions_j), len(positions_i), "joint")
    if isinstance(examination, ExaminationModel):
        return joint
    p_i, p_j = (_probabilities(examination.marginal(p), len(p), "marginal") for p in (positions_i, positions_j))
    wrong = (joint > np.minimum(p_i, p_j) + _TOLERANCE) | (joint < p_i + p_j - 1 - _TOLERANCE)
    if wrong.any():
        k = int(np.argmax(wrong))
        raise ExaminationError(
            f"examination.joint gives {joint[k]} at positions {positions_i[k]} and {positions_j[k]}, whose marginals "
            f"are {p_i[k]} and {p_j[k]}; it must lie between max(0, p_i + p_j − 1) and min(p_i, p_j)"
        )
    return joint


def _positions(sessions: Sessions) -> Labels:
    if sessions.positions is None:
        raise ExaminationError("an examination model needs positions, and these sessions have none")
    return sessions.positions


def _probabilities(values: Any, n: int, method: str) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (n,):
        raise ExaminationError(f"examination.{method} gave shape {array.shape} for {n} look-ups")
    wrong = ~((array > 0) & (array <= 1))
    if wrong.any():
        raise ExaminationError(
            f"examination.{method} gave {array[wrong][0]} (and {int(wrong.sum()) - 1} more outside (0, 1]); "
            "every look-up must be a probability above 0"
        )
    return array

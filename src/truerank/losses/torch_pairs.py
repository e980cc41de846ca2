"""Which pairs of rows the unbiased loss needs, and what each weighs: made in NumPy, handed over as tensors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from truerank.examination.base import Examination
from truerank.examination.lookup import clicked_row_propensities, joint_propensities
from truerank.ragged import blocks, offsets_from_sizes
from truerank.types import FloatArray, IntArray, Sessions

PAIRS_AT_A_TIME = 32_768
"""PyTorch gives work of this size to one thread, so that bits do not depend on how many there are."""


class SessionPairs(NamedTuple):
    """The pairs of rows (i, j) of a batch of sessions and the coefficients of their terms.

    `i` runs over the clicked rows, or over all if ℓ00 is not zero, and `j` over the rows of its session: no padding,
    O(C·N) pairs a session. `ordered` is the coefficient of ℓ10(s_i, s_j) + ℓ01(s_j, s_i), `both` of ℓ11(s_i, s_j),
    `neither` of ℓ00(s_i, s_j); the last two are None where those terms are zero. `session` is the session of each row.
    """

    i: Tensor
    j: Tensor
    ordered: Tensor
    both: Tensor | None
    neither: Tensor | None
    session: Tensor
    n_sessions: int

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> SessionPairs:
        """The same on another device, with coefficients of another type."""
        return SessionPairs(
            i=self.i.to(device),
            j=self.j.to(device),
            ordered=self.ordered.to(device, dtype),
            both=None if self.both is None else self.both.to(device, dtype),
            neither=None if self.neither is None else self.neither.to(device, dtype),
            session=self.session.to(device),
            n_sessions=self.n_sessions,
        )


def session_pairs(
    sessions: Sessions,
    examination: Examination | None,
    grade_weight: FloatArray,
    *,
    both: bool,
    neither: bool,
    clip: bool,
) -> SessionPairs:
    """List the pairs of `sessions`, a block of them at a time.

    `both` and `neither` say whether ℓ11 and ℓ00 are wanted, `clip` whether negative coefficients become 0.
    """
    session = np.repeat(np.arange(sessions.n_sessions), sessions.sizes)
    inverse = np.where(sessions.labels > 0, 1 / clicked_row_propensities(examination, sessions), 0.0)
    left = np.arange(sessions.n_rows) if neither else np.flatnonzero(sessions.labels)
    with_itself = both or neither
    begins, counts = sessions.offsets[session[left]], sessions.sizes[session[left]] - (not with_itself)
    ends = offsets_from_sizes(counts)
    rows = np.empty((2, ends[-1]), dtype=np.int32)
    coefficients = np.empty((1 + both + neither, ends[-1]))
    for first, last in blocks(ends, PAIRS_AT_A_TIME):
        here = slice(ends[first], ends[last])
        i = np.repeat(left[first:last], counts[first:last])
        j = np.arange(ends[first], ends[last]) + np.repeat(begins[first:last] - ends[first:last], counts[first:last])
        if not with_itself:
            j += j >= i
        rows[:, here] = i, j
        wanted = _coefficients(sessions, examination, grade_weight, inverse, i, j)
        coefficients[:, here] = wanted[[True, both, neither]]
    if clip:
        np.maximum(coefficients, 0, out=coefficients)
    tensors = torch.from_numpy(coefficients)
    return SessionPairs(
        i=torch.from_numpy(rows[0]),
        j=torch.from_numpy(rows[1]),
        ordered=tensors[0],
        both=tensors[1] if both else None,
        neither=tensors[-1] if neither else None,
        session=torch.from_numpy(session),
        n_sessions=sessions.n_sessions,
    )


def _coefficients(
    sessions: Sessions,
    examination: Examination | None,
    grade_weight: FloatArray,
    inverse: FloatArray,
    i: IntArray,
    j: IntArray,
) -> FloatArray:
    """Of ℓ10 (its mirror image has the same in the pair (j, i)), ℓ11 and ℓ00, one row each.

    With u_i = c_i / p_i, u_ij = c_i c_j / p_ij and grades a, b they are (u_i − u_ij) g_a0 + [a > b > 0] u_ij g_ab,
    [a = b] u_ij g_aa and (1 − u_i − u_j + u_ij) g_00, g being `grade_weight`.
    """
    a, b = sessions.labels[i], sessions.labels[j]
    u_i, u_j = inverse[i], inverse[j]
    u_ij = np.where((a > 0) & (b > 0), u_i, 0.0)  # so it is for i = j, and without an examination model
    if examination is not None and sessions.positions is not None:
        apart = np.flatnonzero((a > 0) & (b > 0) & (i != j))
        u_ij[apart] = 1 / joint_propensities(examination, sessions.positions[i[apart]], sessions.positions[j[apart]])
    graded = u_ij * grade_weight[a, b]
    return np.stack(
        [
            (u_i - u_ij) * grade_weight[a, 0] + np.where(a > b, graded, 0.0),
            np.where(a == b, graded, 0.0),
            (1 - u_i - u_j + u_ij) * grade_weight[0, 0],
        ]
    )

"""The matrices of the paper's Section 3: how examination distorts pair types, and how to undo it.

Pairs have four types, in this order: (1, 1), (1, 0), (0, 1), (0, 0).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from truerank.types import FloatArray


def distortion(p_i: npt.ArrayLike, p_j: npt.ArrayLike, p_ij: npt.ArrayLike) -> FloatArray:
    """E[B], shape (…, 4, 4): entry (t, u) is the chance that a pair of type u shows up in the clicks as type t.

    With 0/1 examination indicators e_i, e_j, e_i e_j in place of the probabilities, this is B itself.
    """
    p_i, p_j, p_ij = np.broadcast_arrays(*(np.asarray(p, dtype=np.float64) for p in (p_i, p_j, p_ij)))
    zero, one = np.zeros_like(p_i), np.ones_like(p_i)
    return _matrix(
        [
            [p_ij, zero, zero, zero],
            [p_i - p_ij, p_i, zero, zero],
            [p_j - p_ij, zero, p_j, zero],
            [1 - p_i - p_j + p_ij, 1 - p_i, 1 - p_j, one],
        ]
    )


def correction(p_i: npt.ArrayLike, p_j: npt.ArrayLike, p_ij: npt.ArrayLike) -> FloatArray:
    """A = E[B]^{-1}, shape (…, 4, 4): column u holds what a clicked pair of type u contributes to each ℓ."""
    a_i, a_j, a_ij = (1 / np.asarray(p, dtype=np.float64) for p in (p_i, p_j, p_ij))
    return distortion(a_i, a_j, a_ij)


def _matrix(rows: list[list[FloatArray]]) -> FloatArray:
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)

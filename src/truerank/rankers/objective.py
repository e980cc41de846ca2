"""The LambdaMART objective: from weighted pairs and scores to λ and Hessian."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from truerank.errors import InputError
from truerank.pairs.pair_weights import PairWeights
from truerank.ragged import check_number, read_scores
from truerank.types import FloatArray

LONGEST_LIST = 10_000


class LambdaObjective:
    """λ and Hessian of weighted pairs: a function of the scores and of nothing else.

    A pair of weight w pulls with λ = −σ w |D_i − D_j| / (1 + e^{σ (s_i − s_j)}), D being the NDCG discounts under the
    current ranking (Burges 2010; the maxDCG and the gains are in w). The Hessian of a negatively weighted pair counts
    by its size, so that a Newton step keeps its direction.

    Args:
        pairs: the weighted pairs.
        sigma: σ.
        truncation: pairs whose two items both rank below this are left out.
        list_norm: scale each list's λ by log2(1 + Σ|λ|) / Σ|λ|, as LightGBM's lambdarank does by default. On added-up
            sessions it is applied to their sum.
        distance_norm: divide each ΔZ by 0.01 + |s_i − s_j|, LightGBM's other habit.
        threads: how many threads to use; None for all.
    """

    def __init__(
        self,
        pairs: PairWeights,
        sigma: float = 1.0,
        truncation: int = 30,
        *,
        list_norm: bool = False,
        distance_norm: bool = False,
        threads: int | None = None,
    ) -> None:
        check_number(sigma, "sigma", 0, above=True)
        check_number(truncation, "truncation", 1, whole=True)
        check_list_lengths(pairs)
        longest = int(pairs.group.max(initial=1))
        self.pairs = pairs
        self.sigma = float(sigma)
        self.truncation = int(truncation)
        self.list_norm = list_norm
        self.distance_norm = distance_norm
        self.threads = threads
        self.row_offsets = pairs.row_offsets
        self.discounts: FloatArray = 1 / np.log2(2.0 + np.arange(longest))
        self.row_rank = np.empty(pairs.n_rows, dtype=np.int16)
        self._order, self._spare = np.empty((2, pairs.n_rows), dtype=np.int32)
        self._power = np.empty(pairs.n_rows)
        self._gradient, self._hessian = np.zeros((2, pairs.n_rows))

    def __call__(self, scores: Any, weight: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Gradient and Hessian of each row, in arrays that the next call overwrites.

        `weight` stands in for the pairs' own weights.
        """
        from truerank.rankers.lambda_kernels import lambdas_and_hessians

        checked = read_scores(scores, self.pairs.n_rows)
        with thread_limit(self.threads):
            lambdas_and_hessians(
                checked,
                self.row_offsets,
                self.pairs.offsets,
                self.pairs.i,
                self.pairs.j,
                self.pairs.weight if weight is None else weight,
                self.discounts,
                self.sigma,
                self.truncation,
                self.distance_norm,
                self.list_norm,
                self._order,
                self._spare,
                self._power,
                self.row_rank,
                self._gradient,
                self._hessian,
            )
        return self._gradient, self._hessian


def lambda_gradient(
    pairs: PairWeights, scores: Any, sigma: float = 1.0, truncation: int = 30
) -> tuple[FloatArray, FloatArray]:
    """The gradient and Hessian of the LambdaMART objective over weighted pairs, for each row of the lists.

    Args:
        pairs: the weighted pairs.
        scores: one number a row, the higher the better.
        sigma: σ.
        truncation: pairs whose two items both rank below this are left out.

    >>> from truerank import pair_weights
    >>> pairs = pair_weights([1, 0], None, [2], method="none")
    >>> gradient, hessian = lambda_gradient(pairs, [0.0, 0.0])
    >>> gradient.round(4).tolist(), hessian.round(4).tolist()
    ([-0.1845, 0.1845], [0.0923, 0.0923])
    """
    return LambdaObjective(pairs, sigma, truncation)(scores)


def check_list_lengths(pairs: PairWeights) -> None:
    """Refuse lists that are longer than rankers take."""
    longest = int(pairs.group.max(initial=1))
    if longest > LONGEST_LIST:
        raise InputError(
            f"a list has {longest} items; rankers take at most {LONGEST_LIST}. Hint: cut long sessions; lists that "
            "grew by merge='query' are shorter with merge='exact'"
        )


@contextmanager
def thread_limit(threads: int | None) -> Iterator[None]:
    """Let the kernels use at most this many threads inside the block; None or below 1 for all."""
    if threads is None or threads < 1:
        yield
        return
    from truerank.rankers.lambda_kernels import limit_threads

    before = limit_threads(threads)
    try:
        yield
    finally:
        limit_threads(before)

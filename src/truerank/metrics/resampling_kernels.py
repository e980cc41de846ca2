"""Compiled loops of the bootstrap."""

from __future__ import annotations

from typing import Any

from numba import prange

from truerank.compiled_kernels import compiled


@compiled(parallel=True)
def means_of_draws(values: Any, draws: Any, mean_out: Any) -> None:
    """Row b of `mean_out`: the mean of the rows of `values` that row b of `draws` names."""
    n_draws = draws.shape[1]
    n_columns = values.shape[1]
    for b in prange(len(draws)):
        for c in range(n_columns):
            mean_out[b, c] = 0.0
        for k in range(n_draws):
            row = draws[b, k]
            for c in range(n_columns):
                mean_out[b, c] += values[row, c]
        for c in range(n_columns):
            mean_out[b, c] /= n_draws

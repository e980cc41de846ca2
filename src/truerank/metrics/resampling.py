"""The bootstrap: how far a mean over lists could be off."""

from __future__ import annotations

import numpy as np

from truerank.types import FloatArray

_DRAWS_AT_ONCE = 4_000_000


def resampled_means(values: FloatArray, n_resamples: int, seed: int) -> FloatArray:
    """Means of the columns over rows drawn with replacement, n of n: one row a resample.

    All columns see the same rows, so that differences between columns are those of pairs. The bits depend on the seed
    alone; memory beyond the answer is bounded whatever the number of resamples.
    """
    from truerank.metrics.resampling_kernels import means_of_draws

    n_rows, n_columns = values.shape
    rng = np.random.default_rng(seed)
    table = np.ascontiguousarray(values)
    means = np.empty((n_resamples, n_columns))
    at_once = max(1, _DRAWS_AT_ONCE // n_rows)
    for start in range(0, n_resamples, at_once):
        out = means[start : start + at_once]
        means_of_draws(table, rng.integers(0, n_rows, size=(len(out), n_rows), dtype=np.int32), out)
    return means


def percentile_interval(resamples: FloatArray, level: float) -> FloatArray:
    """The central 1 − `level` of the resamples (the percentile interval), lower end first; NaN without resamples."""
    if not len(resamples):
        return np.full((2, *resamples.shape[1:]), np.nan)
    ends: FloatArray = np.quantile(resamples, [level / 2, 1 - level / 2], axis=0)
    return ends

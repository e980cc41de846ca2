"""θ where items are too many or too rare to have a relevance each: it is learned from their features."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank.errors import IdentificationError, InputError
from truerank.propensity.cells import Cells, cells_of
from truerank.propensity.curve import position_list
from truerank.propensity.sandwich import LogCurve
from truerank.types import FloatArray, ItemPositionCounts

Features = npt.NDArray[Any] | Callable[[npt.NDArray[Any], npt.NDArray[Any]], npt.NDArray[Any]]
_HELD_OUT = 0.2


def regression_em(
    counts: ItemPositionCounts,
    features: Features,
    *,
    n_positions: int | None,
    parameters: Mapping[str, Any] | None,
    replicates: int,
    seed: int,
) -> tuple[LogCurve, Cells, dict[str, Any]]:
    """log θ with relevance as gradient-boosted trees of features, and its covariance from a bootstrap over lists.

    See `truerank.propensity.lightgbm_relevance` for the steps. A fifth of the lists is held out to say how many trees
    there are, in replicates as well.
    """
    from truerank.propensity.lightgbm_relevance import boosted

    if replicates < 2:
        raise InputError(f"replicates is {replicates}; the errors need at least 2, better 30")
    cells = cells_of(counts, n_positions)
    _refuse_silent_positions(cells)
    rows = _rows_of(features, counts, cells)
    rng = np.random.default_rng(seed)
    n_lists = len(cells.list_offsets) - 1
    if n_lists < 5:
        raise InputError(f"the log has {n_lists} lists; a relevance that is learned from features needs many")
    items_of_list = np.diff(cells.list_offsets)
    held_out = np.zeros(n_lists, dtype=np.bool_)
    held_out[rng.permutation(n_lists)[: max(1, round(_HELD_OUT * n_lists))]] = True
    own = dict(parameters or {})
    n_trees = own.pop("n_estimators", None)
    ones = np.ones(cells.n_items)
    fit = boosted(cells, rows, own, n_trees, held_out=np.repeat(held_out, items_of_list), weight=ones)
    drawn = []
    for _ in range(replicates):
        times = np.bincount(rng.integers(n_lists, size=n_lists), minlength=n_lists).astype(np.float64)
        weight = np.repeat(times, items_of_list)
        drawn.append(boosted(cells, rows, own, fit.n_trees, held_out=weight > 0, weight=weight).log_theta)
    covariance: FloatArray = np.cov(np.array(drawn), rowvar=False)
    details = {"relevance": "features", "trees": fit.n_trees, "replicates": replicates}
    return LogCurve(fit.log_theta, covariance), cells, details


def _refuse_silent_positions(cells: Cells) -> None:
    clicks = np.bincount(cells.place, cells.clicks, cells.n_positions)
    silent = np.flatnonzero(clicks == 0) + 1
    if silent.size:
        raise IdentificationError(
            f"{position_list(silent)} was never clicked, so θ there cannot be told from 0. Hint: n_positions="
            f"{int(silent[0]) - 1}, or more of the log"
        )


def _rows_of(features: Features, counts: ItemPositionCounts, cells: Cells) -> npt.NDArray[Any]:
    """A row of features for each item of a list."""
    first = cells.row[cells.offsets[:-1]]
    lists, items = counts.list[first], counts.item[first]
    if callable(features):
        rows = np.asarray(features(lists, items))
    else:
        table = np.asarray(features)
        if items.dtype.kind not in "iu":
            raise InputError(
                f"items are {items.dtype}, and features an array whose rows are numbered. Hint: pass a function of "
                "(lists, items) that gives a row for each"
            )
        if len(items) and not 0 <= items.min() <= items.max() < len(table):
            raise InputError(f"features has {len(table)} rows and items go from {items.min()} to {items.max()}")
        rows = table[items]
    if rows.ndim != 2 or len(rows) != cells.n_items:
        raise InputError(f"features gave shape {rows.shape} for {cells.n_items} items; it needs a row for each")
    if not (rows != rows[0]).any():
        raise InputError("features are the same for all items: they cannot tell which are relevant")
    return rows

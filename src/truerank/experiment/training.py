"""From a click log and features to a ranker, in one call."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from truerank.errors import InputError
from truerank.log import ClickLog
from truerank.types import FloatArray

if TYPE_CHECKING:
    import pyarrow as pa

    from truerank.rankers.base import PairwiseRanker

Progress = Callable[[float, float, str], None]
RANKERS = {"lightgbm": "LambdaMARTRanker", "xgboost": "XGBRanker", "catboost": "CatBoostRanker"}


def train_on_log(
    log: ClickLog,
    features: Any,
    method: str = "robust",
    examination: Any = None,
    *,
    booster: str = "lightgbm",
    merge: str = "exact",
    progress: Progress | None = None,
    params: Mapping[str, Any] | None = None,
) -> PairwiseRanker:
    """Train a ranker on a click log: sessions of a query are summed out of core, and features looked up.

    Args:
        log: what `truerank.open_log` gives.
        features: files, a frame or an Ibis table with the columns query and item, as in the log, and one column a
            feature; see `PairWeights.features`.
        method, examination, merge: as in `LambdaMARTRanker`.
        booster: `lightgbm`, `xgboost` or `catboost`.
        progress: called as progress(done, in all, what): impressions summed, and then, by LightGBM, trees grown.
        params: of the booster, n_estimators included.
    """
    if booster not in RANKERS:
        raise InputError(f"booster is {booster!r}; it must be one of {', '.join(map(repr, RANKERS))}")
    ranker_class = getattr(importlib.import_module(f"truerank.rankers.{booster}"), RANKERS[booster])
    ranker: PairwiseRanker = ranker_class(method, examination, merge=merge, **(params or {}))
    tell = progress or (lambda done, total, what: None)
    pairs = log.compact(
        examination, method, merge=merge, progress=lambda done, total: tell(done, total, "summing sessions")
    )
    if pairs.n_pairs:  # otherwise training refuses, and says how many sessions there were
        pairs = pairs.select_lists(np.diff(pairs.offsets) > 0)
    table = pairs.features(features)
    more: dict[str, Any] = {}
    if booster == "lightgbm":
        more["feature_name"] = table.column_names
        more["callbacks"] = [lambda env: tell(env.iteration + 1, env.end_iteration, "growing trees")]
    return ranker.fit_pairs(_matrix(table), pairs, **more)


def _matrix(table: pa.Table) -> FloatArray:
    """Features as single-precision numbers, missing ones as NaN."""
    import pyarrow as pa

    if not table.num_columns:
        raise InputError("the features have no columns beside query and item")
    columns = []
    for name in table.column_names:
        kind = table[name].type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
            raise InputError(f"the feature {name!r} is {kind}; features must be numbers")
        columns.append(table[name].cast(pa.float32(), safe=False).to_numpy())
    return np.stack(columns, axis=1)

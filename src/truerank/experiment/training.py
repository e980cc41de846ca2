"""From a click log and features to a ranker, in one call."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from truerank.errors import FileFormatError, InputError, MissingDataError
from truerank.log import ClickLog
from truerank.pairs import PairWeights, pair_weights
from truerank.types import FloatArray

if TYPE_CHECKING:
    import pyarrow as pa

    from truerank.rankers.base import PairwiseRanker

RANKERS = {"lightgbm": "LambdaMARTRanker", "xgboost": "XGBRanker", "catboost": "CatBoostRanker"}
_KEYS = ("query", "item")


def train_on_log(
    log: ClickLog,
    features: str | os.PathLike[str] | pa.Table,
    method: str = "robust",
    examination: Any = None,
    *,
    booster: str = "lightgbm",
    merge: str = "exact",
    progress: Callable[[float, float], None] | None = None,
    params: Mapping[str, Any] | None = None,
) -> PairwiseRanker:
    """Train a ranker on a click log: sessions of a query are summed, and features joined to what was shown.

    Args:
        log: what `truerank.open_log` gives.
        features: a Parquet file or an Arrow table with the columns query and item, as in the log, and one column a
            feature; each item of a list once.
        method, examination, merge: as in `LambdaMARTRanker`.
        booster: `lightgbm`, `xgboost` or `catboost`.
        progress: called as progress(trees grown, trees in all), by LightGBM.
        params: of the booster, n_estimators included.
    """
    if booster not in RANKERS:
        raise InputError(f"booster is {booster!r}; it must be one of {', '.join(map(repr, RANKERS))}")
    ranker_class = getattr(importlib.import_module(f"truerank.rankers.{booster}"), RANKERS[booster])
    ranker: PairwiseRanker = ranker_class(method, examination, merge=merge, **(params or {}))
    pairs, X, names = pairs_and_features(log, _read_features(features), method, examination, merge)
    more: dict[str, Any] = {}
    if booster == "lightgbm":
        more["feature_name"] = names
        if progress is not None:
            more["callbacks"] = [lambda env: progress(env.iteration + 1, env.end_iteration)]
    return ranker.fit_pairs(X, pairs, **more)


def pairs_and_features(
    log: ClickLog, features: pa.Table, method: str, examination: Any, merge: str
) -> tuple[PairWeights, FloatArray, list[str]]:
    """The pairs of a log, the features of their rows, and the names of the features."""
    shown = _with_feature_rows(log, features)
    starts = np.flatnonzero(np.diff(shown["session"].combine_chunks().dictionary_encode().indices, prepend=-1))
    query = shown["query"].to_numpy()[starts]
    row = shown["feature_row"].to_numpy().astype(np.int64)
    pairs = pair_weights(
        shown["label"].to_numpy(),
        shown["position"].to_numpy(),
        np.diff(np.append(starts, len(row))),
        method,
        examination,
        query=np.unique(query, return_inverse=True)[1],
        item=row,
        merge=merge,
    )
    if pairs.n_pairs:  # otherwise training refuses, and says how many sessions there were
        pairs = pairs.select_lists(np.diff(pairs.offsets) > 0)
    names = [name for name in features.column_names if name not in _KEYS]
    needed = np.asarray(pairs.item)
    columns = [features[name].combine_chunks().take(needed).to_numpy(zero_copy_only=False) for name in names]
    return pairs, np.stack(columns, axis=1).astype(np.float32), names


def _with_feature_rows(log: ClickLog, features: pa.Table) -> pa.Table:
    """The rows of the log, session by session in the order shown, and the row of the features of each."""
    import pyarrow as pa
    import pyarrow.compute as pc

    table = log.checked.order_by(["session", "position"]).select("session", *_KEYS, "position", "label")
    rows = log.engine.collect(table)
    for key in _KEYS:
        if rows[key].type != features[key].type:
            raise InputError(f"{key} is {rows[key].type} in the log and {features[key].type} in the features")
    keys = features.select(_KEYS).append_column("feature_row", pa.array(np.arange(features.num_rows)))
    if keys.group_by(_KEYS).aggregate([]).num_rows < keys.num_rows:
        raise InputError("the features have several rows for an item of a query; they need one each")
    rows = rows.append_column("place", pa.array(np.arange(rows.num_rows)))
    joined = rows.join(keys, list(_KEYS), join_type="left outer").sort_by("place")
    lacking = joined.filter(pc.is_null(joined["feature_row"]))
    if lacking.num_rows:
        first = {key: lacking[key][0].as_py() for key in _KEYS}
        raise MissingDataError(
            f"{lacking.num_rows:,} impressions of the log have no features, the first of query {first['query']!r}, "
            f"item {first['item']!r}"
        )
    return joined


def _read_features(features: Any) -> pa.Table:
    """The features as an Arrow table with the columns that are needed."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if isinstance(features, str | os.PathLike):
        try:
            features = pq.read_table(features)
        except pa.ArrowInvalid as error:
            raise FileFormatError(f"{features} cannot be read as Parquet: {error}") from error
    lacking = [name for name in _KEYS if name not in features.column_names]
    if lacking or features.num_columns <= len(_KEYS):
        raise InputError(
            f"the features have the columns {', '.join(features.column_names[:8])} …; they need query, item, and one "
            "column a feature"
        )
    text = [f.name for f in features.schema if f.name not in _KEYS and not _is_number(f.type)]
    if text:
        raise InputError(f"the feature {text[0]!r} is {features.schema.field(text[0]).type}; features must be numbers")
    return features


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))

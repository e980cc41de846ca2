"""Find the features of rows of lists in a table of features, by the engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from truerank.errors import InputError
from truerank.log.engines import open_engine
from truerank.log.naming import require_columns
from truerank.log.schema import FILE
from truerank.log.sources import read_source

_ROW = "truerank_row"
_EXAMPLES = 3


def features_of(
    query: npt.NDArray[Any],
    item: npt.NDArray[Any],
    source: Any,
    engine: Any = "duckdb",
    *,
    query_column: str | None = "query",
    item_column: str = "item",
    **settings: Any,
) -> Any:
    """An Arrow table of features, a row for each (query, item), in their order, without the ids.

    See `PairWeights.features` for the arguments.
    """
    import pyarrow as pa

    ready = open_engine(engine, source, **settings)
    columns = {"item": item_column} if query_column is None else {"query": query_column, "item": item_column}
    keys = {column: {"query": query, "item": item}[name] for name, column in columns.items()}
    features = read_source(source, ready, as_text=_text_keys(keys))
    require_columns(features, {f"{name}_column": column for name, column in columns.items()})
    features = features.drop(FILE) if FILE in features.columns else features
    for name, ids in keys.items():
        _check_kind(features, name, ids)
    _refuse_repeats(features, list(keys), ready)
    wanted = ready.read_frame(pa.table({_ROW: np.arange(len(item)), **keys}))
    missing = wanted.anti_join(features, list(keys))
    count = ready.collect(missing.aggregate(n=missing.count()))["n"][0].as_py()
    if count:
        raise InputError(
            f"{count:,} of {len(item):,} rows have no features, such as {_examples(missing, keys, ready, _ROW)}. "
            "Hint: each item that was shown needs its features; query_column=None looks items up whatever the query"
        )
    found = wanted.inner_join(features, list(keys)).order_by(_ROW)
    return ready.collect(found.drop(_ROW, *keys))


def _refuse_repeats(features: Any, keys: list[str], engine: Any) -> None:
    counted = features.group_by(keys).aggregate(truerank_rows=features.count())
    repeated = counted.filter(counted.truerank_rows > 1)
    count = engine.collect(repeated.aggregate(n=repeated.count()))["n"][0].as_py()
    if count:
        raise InputError(
            f"{count:,} ids have more than one row of features, such as "
            f"{_examples(repeated, dict.fromkeys(keys), engine, *keys)}; each may have one"
        )


def _examples(rows: Any, keys: Any, engine: Any, *order: str) -> str:
    first = engine.collect(rows.order_by(*order).limit(_EXAMPLES).select(*keys)).to_pylist()
    return "; ".join(", ".join(f"{name} {value!r}" for name, value in row.items()) for row in first)


def _text_keys(keys: dict[str, npt.NDArray[Any]]) -> set[str]:
    return {name for name, ids in keys.items() if ids.dtype.kind == "U"}


def _check_kind(features: Any, name: str, ids: npt.NDArray[Any]) -> None:
    kind = features[name].type()
    if not (kind.is_string() if ids.dtype.kind == "U" else kind.is_integer()):
        raise InputError(f"{name} is {kind} in the features and {ids.dtype} in the pairs; ids must be alike")

"""Rows of feature tables, whatever library they come from."""

from __future__ import annotations

from typing import Any

import numpy as np

from truerank.errors import InputError
from truerank.types import IntArray

_ROWS_TO_COMPARE = 2_000


def table_shape(X: Any, name: str = "X") -> tuple[int, int]:
    """Rows and columns of a feature table."""
    shape = getattr(X, "shape", None)
    if shape is None:
        try:
            shape = np.shape(X)
        except ValueError as error:
            raise InputError(f"{name} needs rows of equal length: {error}") from None
    if len(shape) != 2:
        raise InputError(f"{name} has shape {tuple(shape)}; it needs one row of features for each item that was shown")
    return int(shape[0]), int(shape[1])


def column_names(X: Any) -> list[str] | None:
    """The names of the columns, if the table has names."""
    names = getattr(X, "column_names", None) or getattr(X, "columns", None)
    return None if names is None else [str(name) for name in names]


def take_rows(X: Any, rows: IntArray) -> Any:
    """The given rows, in that order: NumPy, SciPy sparse, pandas, Polars, Arrow, or a list of lists."""
    if len(rows) == table_shape(X)[0] and np.array_equal(rows, np.arange(len(rows))):
        return X
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "num_rows") and hasattr(X, "take"):
        return X.take(rows)
    if hasattr(X, "tocsr"):
        return X.tocsr()[rows]
    if hasattr(X, "__array__") or hasattr(X, "get_column"):
        return X[rows]
    return np.asarray(X)[rows]


def check_same_features(X: Any, rows: IntArray, others: IntArray, seed: int = 0) -> None:
    """Refuse merged rows whose features differ, looking at a sample of them."""
    differ = np.flatnonzero(rows != others)
    if len(differ) > _ROWS_TO_COMPARE:
        differ = np.sort(np.random.default_rng(seed).choice(differ, _ROWS_TO_COMPARE, replace=False))
    if not len(differ):
        return
    same = _rows_equal(take_rows(X, rows[differ]), take_rows(X, others[differ]))
    if not same.all():
        k = differ[int(np.argmin(same))]
        raise InputError(
            f"rows {rows[k]} and {others[k]} of X are the same item of the same query and have different features; "
            "sessions can only be added up when they share them. Hint: leave query= and item= out to train session "
            "by session, or make what differs (such as the user) a part of the query id"
        )


def _rows_equal(a: Any, b: Any) -> Any:
    if hasattr(a, "tocsr"):
        unequal = (a != b).tocsr()
        return np.asarray(unequal.getnnz(axis=1) == 0)
    if hasattr(a, "iloc"):
        a, b = a.reset_index(drop=True), b.reset_index(drop=True)
        return np.asarray(((a == b) | (a.isna() & b.isna())).all(axis=1))
    if hasattr(a, "to_pandas") and not isinstance(a, np.ndarray):
        columns = [(a[name].to_numpy(), b[name].to_numpy()) for name in column_names(a) or ()]
        return np.all([_equal(x, y) for x, y in columns], axis=0)
    return _equal(np.asarray(a), np.asarray(b)).all(axis=1)


def _equal(a: Any, b: Any) -> Any:
    return (a == b) | ((a != a) & (b != b))

"""The network of `truerank.NeuralRanker`: features brought to one scale, then scores."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from truerank.errors import InputError
from truerank.rankers.features import column_names, table_shape
from truerank.types import FloatArray

NORMALIZATIONS = ("quantile", "standard", None)
ROWS_AT_A_TIME = 65_536
_ROWS_TO_LEARN_FROM = 100_000
_KNOTS = 201
_SMALLEST_SPREAD = 0.05
"""Of places in (0, 1): a feature that hardly ever moves is not blown up by more than 20."""


class Inputs(nn.Module):  # type: ignore[misc]
    """Raw features in, features of mean 0 and about unit spread out; learned on the training rows.

    - `quantile`: a value counts by its place among the training values, so that heavy tails and units play no part;
      between and beyond the places it knows it interpolates, and stays at the ends.
    - `standard`: (x − mean) / standard deviation.
    - None: the features as they are.

    A missing value becomes 0, the mean; a feature with missing training values gets one more column that says so. A
    feature that was constant in training is 0 throughout. The module is a part of the model and moves with it.
    """

    def __init__(self, kind: str | None, tables: dict[str, Tensor]) -> None:
        super().__init__()
        self.kind = kind
        for name, table in tables.items():
            self.register_buffer(name, table)

    @property
    def n_outputs(self) -> int:
        """How many columns the network gets."""
        return len(self.center) + len(self.missing)

    def forward(self, X: Tensor) -> Tensor:
        """Bring rows of raw features, in single precision, to one scale."""
        if self.kind is None:
            return X
        gone = torch.isnan(X) if self.kind == "quantile" else ~torch.isfinite(X)
        placed = self._places(X) if self.kind == "quantile" else X
        scaled = torch.where(gone, 0.0, (placed - self.center) * self.scale)
        return torch.cat([scaled, gone[:, self.missing].to(X.dtype)], dim=1)

    def _places(self, X: Tensor) -> Tensor:
        """Where values stand among those of training, between 0 and 1; equal ones share the middle of their places."""
        x = X.T.contiguous()
        above = torch.searchsorted(self.knots, x, right=True)
        lower, upper = (above - 1).clamp(min=0), above.clamp(max=self.knots.shape[1] - 1)
        left, right = self.knots.gather(1, lower), self.knots.gather(1, upper)
        inside = (x > left) & torch.isfinite(right)
        share = torch.where(inside, (x - left) / (right - left), 0.0)
        start = self.places.gather(1, lower)
        return (start + share * (self.places.gather(1, upper) - start)).T


def learn_inputs(kind: str | None, X: Any, seed: int) -> Inputs:
    """The scales of the training rows `X`, from a sample of them where there are many."""
    if len(X) > _ROWS_TO_LEARN_FROM:
        X = X[np.sort(np.random.default_rng(seed).choice(len(X), _ROWS_TO_LEARN_FROM, replace=False))]
    n_features = X.shape[1]
    tables: dict[str, Any] = {
        "center": np.zeros(n_features),
        "scale": np.ones(n_features),
        "missing": np.empty(0, dtype=np.int64),
    }
    if kind is None:
        return Inputs(None, _tensors(tables))
    tables["missing"] = np.flatnonzero((np.isnan(X) if kind == "quantile" else ~np.isfinite(X)).any(axis=0))
    if kind == "quantile":
        tables["knots"], tables["places"] = _distributions(X)
    raw = tables | {"missing": np.empty(0, dtype=np.int64)}
    placed = X if kind == "standard" else Inputs(kind, _tensors(raw))(torch.from_numpy(X)).numpy()
    placed = np.where(np.isnan(X) if kind == "quantile" else ~np.isfinite(X), np.nan, placed)
    for k, column in enumerate(placed.T.astype(np.float64)):
        present = column[~np.isnan(column)]
        spread = present.std() if len(present) else 0.0
        # of rounding, if all values are the same
        varies = spread > 1e-6 * (abs(present).max(initial=0) + np.finfo(np.float32).tiny)
        tables["center"][k] = present.mean() if len(present) else 0.0
        smallest = _SMALLEST_SPREAD if kind == "quantile" else 0.0
        tables["scale"][k] = 1 / max(spread, smallest) if varies else 0.0
    return Inputs(kind, _tensors(tables))


def _distributions(X: Any) -> tuple[FloatArray, FloatArray]:
    """For each feature some values in ascending order, then at least one ∞, and their places in its distribution."""
    knots, places = np.full((X.shape[1], _KNOTS + 1), np.inf), np.ones((X.shape[1], _KNOTS + 1))
    levels = np.linspace(0, 1, _KNOTS)
    for k, column in enumerate(X.T):
        finite = column[np.isfinite(column)]
        values, of = np.unique(np.quantile(finite, levels) if len(finite) else np.zeros(1), return_inverse=True)
        of_level = levels if len(finite) else np.full(1, 0.5)
        knots[k, : len(values)] = values
        places[k, : len(values)] = np.bincount(of, weights=of_level) / np.bincount(of)
        places[k, len(values) :] = places[k, len(values) - 1]
    return knots, places


def _tensors(tables: dict[str, Any]) -> dict[str, Tensor]:
    """In single precision, but for indices; knots that are then the same are no harm."""
    return {
        name: torch.as_tensor(table, dtype=torch.int64 if name == "missing" else torch.float32)
        for name, table in tables.items()
    }


class ScoringNetwork(nn.Module):  # type: ignore[misc]
    """Raw features in, one score a row out: what `NeuralRanker.network_` is, to be served like any module."""

    def __init__(self, inputs: Inputs, body: nn.Module) -> None:
        super().__init__()
        self.inputs = inputs
        self.body = body

    def forward(self, X: Tensor) -> Tensor:
        """The score of each row, the higher the better."""
        return scores_of(self.body, self.inputs(X))

    def features_of(self, X: Tensor) -> Tensor:
        """What `inputs` makes of all rows, on the device of the network."""
        with torch.no_grad():
            return torch.cat([self.inputs(rows.to(self.inputs.center.device)) for rows in X.split(ROWS_AT_A_TIME)])


def scores_of(body: nn.Module, features: Tensor) -> Tensor:
    """One score a row, whether the module gives a column or a flat array."""
    scores = body(features)
    rows = len(features)
    if not isinstance(scores, Tensor) or scores.shape not in ((rows,), (rows, 1)):
        shape = tuple(scores.shape) if isinstance(scores, Tensor) else type(scores).__name__
        raise InputError(f"module gives {shape} for {rows} rows; it needs one score a row: ({rows},) or ({rows}, 1)")
    return scores.reshape(rows)


def build_body(
    module: nn.Module | Callable[[int], nn.Module] | None, n_inputs: int, hidden: Sequence[int], dropout: float
) -> nn.Module:
    """The user's module (a copy of it, or what their function makes), or a multilayer perceptron."""
    if isinstance(module, nn.Module):
        return copy.deepcopy(module)
    if module is not None:
        if not callable(module):
            raise InputError(f"module is {module!r}; it must be a torch.nn.Module or a function that makes one")
        made = module(n_inputs)
        if not isinstance(made, nn.Module):
            raise InputError(
                f"module made a {type(made).__name__} of {n_inputs} inputs; it must make a torch.nn.Module"
            )
        return made
    layers: list[nn.Module] = []
    for width in hidden:
        layers += [nn.Linear(n_inputs, width), nn.ReLU(), *([nn.Dropout(dropout)] if dropout else [])]
        n_inputs = width
    return nn.Sequential(*layers, nn.Linear(n_inputs, 1, bias=False))  # the same for all rows, it would change no order


def check_body(body: nn.Module, features: Tensor) -> None:
    """Refuse, before training, a module that does not make scores of a few rows of features."""
    body.eval()
    try:
        with torch.no_grad():
            scores_of(body, features)
    except (RuntimeError, TypeError) as error:
        raise InputError(f"module cannot take features of shape {tuple(features.shape)}: {error}") from None


def read_features(X: Any, name: str = "X") -> Any:
    """A feature table as an array of numbers in single precision; missing values are NaN."""
    if 0 in table_shape(X, name):
        raise InputError(f"{name} has shape {table_shape(X)}; it needs at least one row and one column")
    try:
        with np.errstate(over="ignore"):  # beyond 3e38 it is ∞
            array = np.ascontiguousarray(_as_array(X), dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{name} must hold numbers: {error}. Hint: encode categories as numbers first, "
            "as sklearn.preprocessing.OneHotEncoder does"
        ) from None
    return array


def _as_array(X: Any) -> Any:
    if hasattr(X, "toarray"):
        return X.toarray()
    if hasattr(X, "iloc"):
        return X.to_numpy(dtype=np.float32, na_value=np.nan)
    if hasattr(X, "column_names"):  # Arrow
        return np.column_stack([column.to_numpy() for column in X.columns])
    return X.to_numpy() if hasattr(X, "to_numpy") else X


def refuse_missing(array: Any, name: str) -> None:
    """Without normalisation nothing stands in for values that are not finite."""
    if np.isfinite(array).all():
        return
    row, column = (int(k) for k in np.argwhere(~np.isfinite(array))[0])
    raise InputError(
        f"{name}[{row}, {column}] is {array[row, column]}, and normalization=None lets nothing stand in for it. "
        "Hint: normalization='quantile'"
    )


def refuse_other_features(X: Any, n_features: int, names: Any) -> None:
    """Rows to score must have the columns of training, in the same order."""
    given = table_shape(X)[1]
    if given != n_features:
        raise InputError(f"X has {given} columns and the ranker was trained on {n_features}")
    theirs = column_names(X)
    if names is not None and theirs is not None and theirs != list(names):
        k = next(k for k, (a, b) in enumerate(zip(theirs, names, strict=True)) if a != b)
        raise InputError(
            f"column {k} of X is {theirs[k]!r} and was {names[k]!r} in training; the order must be the same"
        )

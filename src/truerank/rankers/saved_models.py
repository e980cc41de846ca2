"""Scores by models in files, whichever library wrote them."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

import numpy as np

from truerank.errors import FileFormatError, InputError
from truerank.rankers.features import table_shape
from truerank.types import FloatArray

_BY_ENDING = {".json": "xgboost", ".ubj": "xgboost", ".cbm": "catboost"}


def score_saved(path: str | os.PathLike[str], X: Any) -> FloatArray:
    """The score of each row of X by the model in a file.

    LightGBM's text files are known by how they begin, XGBoost's by .json or .ubj, CatBoost's by .cbm. Any other file
    is read as scores themselves, one number a line.
    """
    file = Path(path)
    with file.open("rb") as opened:
        head = opened.read(5)
    library = "lightgbm" if head == b"tree\n" else _BY_ENDING.get(file.suffix)
    if library is not None:
        predict = importlib.import_module(f"truerank.rankers.{library}").predict_saved
        return np.asarray(predict(file, X), dtype=np.float64)
    try:
        scores = np.loadtxt(file, dtype=np.float64, ndmin=1)
    except ValueError as error:
        raise FileFormatError(
            f"{file} is neither a model (LightGBM text, XGBoost .json or .ubj, CatBoost .cbm) nor one score a line: "
            f"{error}"
        ) from error
    rows = table_shape(X)[0]
    if scores.shape != (rows,):
        raise InputError(f"{file} has {scores.size} scores and the lists have {rows} rows; it needs one a row")
    return scores


def check_columns(path: Path, X: Any, wanted: int) -> None:
    """Refuse features of another number than a model was trained on."""
    given = table_shape(X)[1]
    if given != wanted:
        raise InputError(
            f"{path} was trained on {wanted} features and the lists have {given}. Hint: read them with "
            f"n_features={wanted} (`truerank evaluate --columns {wanted}`) if the last ones never occur in this file"
        )

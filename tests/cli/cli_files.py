"""Scores by the libraries themselves."""

from __future__ import annotations

import catboost
import lightgbm
import numpy as np
import xgboost


def scores_of(files, X):
    by_library = {
        "gbm.txt": lambda: lightgbm.Booster(model_file="gbm.txt").predict(X),
        "boost.json": lambda: xgboost.Booster(model_file="boost.json").predict(xgboost.DMatrix(X)),
        "cat.cbm": lambda: catboost.CatBoost().load_model("cat.cbm").predict(X),
        "scores.txt": lambda: np.loadtxt("scores.txt"),
    }
    return {file: by_library[file]() for file in files}

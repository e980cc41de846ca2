"""XGBoost on weighted pairs."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from truerank.errors import FileFormatError, InputError, MissingExtraError
from truerank.rankers.base import PairwiseRanker, Task
from truerank.rankers.ratios import PositionRatios
from truerank.rankers.saved_models import check_columns
from truerank.rankers.validation import ValidationSet

try:
    import xgboost
except ImportError:
    raise MissingExtraError("xgboost", "xgboost") from None

_RATIOS_ATTRIBUTE = "truerank_position_ratios"
_OWN_OBJECTIVE = "truerank's objective is what removes the position bias; choose it with method="
_OF_DMATRIX = ("missing", "enable_categorical", "feature_types")


class XGBRanker(PairwiseRanker):
    """XGBoost trained on weighted pairs.

    Besides the parameters of truerank it takes all of XGBoost's, `n_estimators` and `early_stopping_rounds` included,
    and `fit` takes XGBoost's `callbacks`. `booster_` is a plain XGBoost booster.
    """

    _fit_params = ("callbacks",)
    _refused: ClassVar = {
        "objective": _OWN_OBJECTIVE,
        "obj": _OWN_OBJECTIVE,
        "lambdarank_unbiased": "use method='ratio' with examination=None",
        "lambdarank_bias_norm": "use ratio_regularization=",
        "lambdarank_num_pair_per_sample": "use truncation=",
        "lambdarank_pair_method": "use truncation=",
        "lambdarank_normalization": "use list_norm=",
        "lambdarank_score_normalization": "use distance_norm=",
        "ndcg_exp_gain": "use gain=",
        "eval_metric": "use eval_metric= of fit",
    }

    def predict(self, X: Any) -> npt.NDArray[np.float32]:
        """The score of each row, with the trees up to the best iteration if training stopped early."""
        self._check_fitted()
        last = 0 if self.best_iteration_ is None else self.best_iteration_ + 1
        scores: npt.NDArray[np.float32] = self.booster_.predict(self._matrix(X), iteration_range=(0, last))
        return scores

    def get_booster(self) -> Any:
        """The XGBoost booster, as XGBRanker names it."""
        self._check_fitted()
        return self.booster_

    def save_model(self, path: str | os.PathLike[str]) -> None:
        """Write XGBoost's own file; the ratios of `ratio` are among its attributes."""
        self._check_fitted()
        self.booster_.save_model(os.fspath(path))

    @property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """The share of each feature in what `importance_type` names (`gain`, `weight`, `cover`, …), by column."""
        self._check_fitted()
        gain = self.booster_.get_score(importance_type=self.booster_params.get("importance_type") or "gain")
        names = self.booster_.feature_names or [f"f{k}" for k in range(self.n_features_in_)]
        values = np.array([gain.get(name, 0.0) for name in names])
        return values / values.sum() if values.any() else values

    def _stops_early(self, booster_fit_params: dict[str, Any]) -> bool:
        callbacks = [*(self.booster_params.get("callbacks") or ()), *(booster_fit_params.get("callbacks") or ())]
        by_callback = any(isinstance(callback, xgboost.callback.EarlyStopping) for callback in callbacks)
        return by_callback or bool(self.booster_params.get("early_stopping_rounds"))

    def _train(self, task: Task, booster_fit_params: dict[str, Any]) -> None:
        params = {
            name: value for name, value in self.booster_params.items() if value is not None and name not in _OF_DMATRIX
        }
        params.pop("importance_type", None)
        callbacks = [*(params.pop("callbacks", None) or ()), *(booster_fit_params.get("callbacks") or ())]
        rounds = params.pop("n_estimators", params.pop("num_boost_round", 100))
        stop = params.pop("early_stopping_rounds", None)
        params = {"verbosity": 1, "base_score": 0.0, **params, "disable_default_eval_metric": True}
        if task.booster_metrics:
            params["eval_metric"] = list(task.booster_metrics)

        objective = self._objective(task.pairs, params.get("n_jobs", params.get("nthread")))
        start = _start_from(task.init_model)
        ratios = self._ratio_objective(objective, _ratios_of(start))
        function = ratios or objective

        train = self._matrix(task.X, label=task.labels, group=task.pairs.group)
        valid = [
            self._matrix(v.shown.X, label=np.asarray(v.shown.labels), group=np.asarray(v.shown.group))
            for v in task.validation
        ]
        metric = _evaluation(valid, task.validation)
        results: dict[str, dict[str, list[float]]] = {}
        booster = xgboost.train(
            params,
            train,
            num_boost_round=rounds,
            obj=lambda scores, _: function(scores),
            evals=[(matrix, v.name) for matrix, v in zip(valid, task.validation, strict=True)],
            custom_metric=metric,
            maximize=task.validation[-1].metrics[-1].higher_is_better if metric else None,
            early_stopping_rounds=stop,
            evals_result=results,
            xgb_model=start,
            verbose_eval=False,
            callbacks=[_with_direction(callback, task.validation) for callback in callbacks],
        )
        stopped = booster.attr("best_iteration")
        self.booster_, self.evals_result_ = booster, results
        self.best_iteration_ = None if stopped is None else int(stopped)
        self.best_score_ = None if stopped is None else float(booster.best_score)
        self.position_ratios_ = None
        if ratios:
            last = booster.num_boosted_rounds() if stopped is None else int(stopped) + 1
            self.position_ratios_ = ratios.ratios.first(last - (start.num_boosted_rounds() if start else 0))
            booster.set_attr(**{_RATIOS_ATTRIBUTE: json.dumps(self.position_ratios_.to_dict())})

    def _matrix(self, X: Any, **fields: Any) -> Any:
        given = {name: value for name, value in self.booster_params.items() if name in _OF_DMATRIX}
        return xgboost.DMatrix(X, **given, **fields)


def _evaluation(matrices: list[Any], validation: tuple[ValidationSet, ...]) -> Any:
    """XGBoost's custom metric: which validation set it is about is known by its DMatrix."""
    if not any(v.metrics for v in validation):
        return None
    by_matrix = {id(matrix): v for matrix, v in zip(matrices, validation, strict=True)}

    def evaluate(scores: Any, matrix: Any) -> list[tuple[str, float]]:
        return [(metric.name, metric.score(scores)) for metric in by_matrix[id(matrix)].metrics]

    return evaluate


def _with_direction(callback: Any, validation: tuple[ValidationSet, ...]) -> Any:
    """An EarlyStopping that knows which way truerank's metrics are better; XGBoost guesses from the name."""
    if not isinstance(callback, xgboost.callback.EarlyStopping) or callback.maximize is not None or not validation:
        return callback
    metrics = {metric.name: metric for metric in validation[-1].metrics}
    watched = callback.metric_name or next(reversed(metrics), None)
    if watched not in metrics:
        return callback
    told = copy.copy(callback)
    told.maximize = metrics[watched].higher_is_better
    return told


def _start_from(model: Any) -> Any:
    """A booster of its own to go on from: without trees past the best iteration, and without memory of it."""
    if model is None:
        return None
    if isinstance(model, str | os.PathLike):
        booster = xgboost.Booster(model_file=os.fspath(model))
    elif isinstance(model, xgboost.Booster):
        booster = model.copy()
    elif isinstance(model, XGBRanker | xgboost.XGBModel):
        check_is_fitted(model)
        booster = model.get_booster().copy()
    else:
        raise InputError(
            f"init_model is a {type(model).__name__}; XGBoost goes on from its boosters, rankers and files"
        )
    stopped = booster.attr("best_iteration")
    if stopped is not None:
        ratios = booster.attr(_RATIOS_ATTRIBUTE)
        booster = booster[: int(stopped) + 1]
        booster.set_attr(**{_RATIOS_ATTRIBUTE: ratios, "best_iteration": None, "best_score": None})
    return booster


def _ratios_of(booster: Any) -> PositionRatios | None:
    """The position ratios that a model was left with, if it has any."""
    text = None if booster is None else booster.attr(_RATIOS_ATTRIBUTE)
    return None if text is None else PositionRatios.from_dict(json.loads(text))


def predict_saved(path: Path, X: Any) -> npt.NDArray[np.float32]:
    """The score of each row by the model in a file."""
    try:
        booster = xgboost.Booster(model_file=os.fspath(path))
    except xgboost.core.XGBoostError as error:
        raise FileFormatError(f"{path} is not a whole XGBoost model") from error
    check_columns(path, X, booster.num_features())
    scores: npt.NDArray[np.float32] = booster.predict(xgboost.DMatrix(X), validate_features=False)
    return scores

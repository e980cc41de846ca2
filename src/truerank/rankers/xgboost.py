"""XGBoost on weighted pairs."""

from __future__ import annotations

import json
import os
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from truerank.errors import MissingExtraError
from truerank.rankers.base import PairwiseRanker, Task
from truerank.rankers.ratios import PositionRatios
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
        """The share of each feature in the total gain, in the order of the columns."""
        self._check_fitted()
        gain = self.booster_.get_score(importance_type="gain")
        names = self.booster_.feature_names or [f"f{k}" for k in range(self.n_features_in_)]
        values = np.array([gain.get(name, 0.0) for name in names])
        return values / values.sum() if values.any() else values

    def _stops_early(self, booster_fit_params: dict[str, Any]) -> bool:
        callbacks = booster_fit_params.get("callbacks") or ()
        by_callback = any(isinstance(callback, xgboost.callback.EarlyStopping) for callback in callbacks)
        return by_callback or bool(self.booster_params.get("early_stopping_rounds"))

    def _train(self, task: Task, booster_fit_params: dict[str, Any]) -> None:
        params = {
            name: value for name, value in self.booster_params.items() if value is not None and name not in _OF_DMATRIX
        }
        rounds = params.pop("n_estimators", params.pop("num_boost_round", 100))
        stop = params.pop("early_stopping_rounds", None)
        params = {"verbosity": 1, "base_score": 0.0, **params, "disable_default_eval_metric": True}
        if task.booster_metrics:
            params["eval_metric"] = list(task.booster_metrics)

        objective = self._objective(task.pairs, params.get("n_jobs", params.get("nthread")))
        ratios = self._ratio_objective(objective, _ratios_of(task.init_model))
        function = ratios or objective

        train = self._matrix(task.X, label=task.labels, group=task.pairs.group)
        valid = [
            self._matrix(v.shown.X, label=np.asarray(v.shown.labels), group=np.asarray(v.shown.group))
            for v in task.validation
        ]
        metric = _evaluation(valid, task.validation)
        self.evals_result_: dict[str, dict[str, list[float]]] = {}
        self.booster_ = xgboost.train(
            params,
            train,
            num_boost_round=rounds,
            obj=lambda scores, _: function(scores),
            evals=[(matrix, v.name) for matrix, v in zip(valid, task.validation, strict=True)],
            custom_metric=metric,
            maximize=_last_is_better_high(task.validation) if metric else None,
            early_stopping_rounds=stop,
            evals_result=self.evals_result_,
            xgb_model=_plain_model(task.init_model),
            verbose_eval=False,
            **booster_fit_params,
        )
        stopped = self.booster_.attr("best_iteration")
        self.best_iteration_ = None if stopped is None else int(stopped)
        self.best_score_ = None if stopped is None else float(self.booster_.best_score)
        if ratios:
            self.position_ratios_ = ratios.ratios
            self.booster_.set_attr(**{_RATIOS_ATTRIBUTE: json.dumps(ratios.ratios.to_dict())})

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


def _last_is_better_high(validation: tuple[ValidationSet, ...]) -> bool:
    """XGBoost stops by the last metric of the last set."""
    return validation[-1].metrics[-1].higher_is_better


def _plain_model(model: Any) -> Any:
    """What XGBoost can go on from: a booster or a file."""
    return getattr(model, "booster_", model)


def _ratios_of(model: Any) -> PositionRatios | None:
    """The position ratios that a model was left with, if it has any."""
    if model is None:
        return None
    booster = _plain_model(model)
    if not isinstance(booster, xgboost.Booster):
        booster = xgboost.Booster(model_file=os.fspath(booster))
    text = booster.attr(_RATIOS_ATTRIBUTE)
    return None if text is None else PositionRatios.from_dict(json.loads(text))

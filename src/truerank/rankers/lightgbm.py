"""LightGBM on weighted pairs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, ClassVar

import lightgbm
import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from truerank.atomic import replace_whole
from truerank.errors import FileFormatError, InputError
from truerank.rankers.base import PairwiseRanker, Task
from truerank.rankers.lightgbm_binned import BinnedFeatures
from truerank.rankers.ratios import PositionRatios
from truerank.rankers.saved_models import check_columns
from truerank.rankers.validation import ValidationSet

_EARLY_STOPPING = ("early_stopping_round", "early_stopping_rounds", "early_stopping", "n_iter_no_change")
_THREADS = ("num_threads", "num_thread", "nthread", "nthreads", "n_jobs")
_RATIOS_LINE = "truerank_position_ratios:"
_OWN_OBJECTIVE = "truerank's objective is what removes the position bias; choose it with method="


class LambdaMARTRanker(PairwiseRanker):
    """LightGBM trained on weighted pairs, with the habits of LGBMRanker.

    Besides the parameters of truerank it takes all of LightGBM's, and `fit` takes LightGBM's `callbacks`,
    `categorical_feature` and `feature_name`. `fit_pairs` takes `truerank.rankers.lightgbm_binned.BinnedFeatures` too.
    `booster_` is a plain LightGBM booster.

    >>> import numpy as np
    >>> from truerank import Independent, inverse_rank
    >>> X, clicks = np.array([[0.0], [1.0]] * 50), [0, 1] * 50
    >>> ranker = LambdaMARTRanker(examination=Independent(inverse_rank(2)), n_estimators=5, min_child_samples=1)
    >>> scores = ranker.fit(X, clicks, group=[2] * 50, position=[1, 2] * 50).predict([[0.0], [1.0]])
    >>> bool(scores[1] > scores[0])
    True
    """

    _fit_params = ("callbacks", "categorical_feature", "feature_name")
    _refused: ClassVar = {
        "objective": _OWN_OBJECTIVE,
        **dict.fromkeys(("objective_type", "application", "app", "loss"), _OWN_OBJECTIVE),
        "sigmoid": "use sigma=",
        "lambdarank_truncation_level": "use truncation=",
        "lambdarank_norm": "use list_norm= and distance_norm=",
        "label_gain": "use gain=",
        **dict.fromkeys(("metric", "metrics", "metric_types"), "use eval_metric= of fit"),
    }

    def predict(self, X: Any, **kwargs: Any) -> npt.NDArray[np.float64]:
        """The score of each row; arguments go to LightGBM's `Booster.predict`."""
        self._check_fitted()
        scores: npt.NDArray[np.float64] = self.booster_.predict(X, **kwargs)
        return scores

    def save_model(self, path: str | os.PathLike[str]) -> None:
        """Write LightGBM's text file. With `ratio` it has one more line, the ratios, which LightGBM skips."""
        self._check_fitted()
        text = self.booster_.model_to_string()
        if self.position_ratios_ is not None:
            line = _RATIOS_LINE + json.dumps(self.position_ratios_.to_dict())
            head, found, tail = text.rpartition("\npandas_categorical:")
            text = f"{head}\n{line}{found}{tail}" if found else f"{text}\n{line}\n"
        with replace_whole(path) as temporary:
            temporary.write_text(text, encoding="utf-8")

    @property
    def feature_importances_(self) -> npt.NDArray[Any]:
        """LightGBM's importances, of the kind `importance_type` names (`split` or `gain`)."""
        self._check_fitted()
        kind = self.booster_params.get("importance_type", "split")
        importances: npt.NDArray[Any] = self.booster_.feature_importance(importance_type=kind)
        return importances

    @property
    def feature_name_(self) -> list[str]:
        """The names of the features."""
        self._check_fitted()
        names: list[str] = self.booster_.feature_name()
        return names

    def _stops_early(self, booster_fit_params: dict[str, Any]) -> bool:
        callbacks = booster_fit_params.get("callbacks") or ()
        by_callback = any(hasattr(callback, "stopping_rounds") for callback in callbacks)
        return by_callback or any(self.booster_params.get(name) for name in _EARLY_STOPPING)

    def _train(self, task: Task, booster_fit_params: dict[str, Any]) -> None:
        callbacks = list(booster_fit_params.pop("callbacks", None) or ())
        params = {name: value for name, value in self.booster_params.items() if value is not None}
        params.pop("importance_type", None)
        params.setdefault("verbosity", params.pop("verbose", -1))
        params |= _metric_params(task.booster_metrics)
        threads = next((params[name] for name in _THREADS if name in params), None)

        objective = self._objective(task.pairs, threads)
        start = _plain_model(task.init_model)
        ratios = self._ratio_objective(objective, _ratios_of(task.init_model))
        function = ratios or objective
        params["objective"] = lambda scores, _: function(scores)

        if isinstance(task.X, BinnedFeatures):
            train = task.X.dataset
        else:
            train = lightgbm.Dataset(task.X, label=task.labels, group=task.pairs.group, **booster_fit_params)
        valid = [
            train.create_valid(v.shown.X, label=np.asarray(v.shown.labels), group=np.asarray(v.shown.group))
            for v in task.validation
        ]
        results: dict[str, dict[str, list[float]]] = {}
        if valid:
            callbacks += [lightgbm.record_evaluation(results), _RefuseUnknownMetrics(task.booster_metrics)]
        booster = lightgbm.train(
            params,
            train,
            valid_sets=valid or None,
            valid_names=[v.name for v in task.validation] or None,
            feval=_evaluation(valid, task.validation),
            init_model=start,
            callbacks=callbacks,
        )
        self.booster_, self.evals_result_ = booster, results
        self.best_iteration_ = booster.best_iteration
        self.best_score_ = booster.best_score
        new_trees = booster.num_trees() - _n_trees(start)
        self.position_ratios_ = ratios.ratios.first(new_trees) if ratios else None


def _evaluation(datasets: list[Any], validation: tuple[ValidationSet, ...]) -> Any:
    """LightGBM's custom metric: which validation set it is about is known by its Dataset."""
    if not any(v.metrics for v in validation):
        return None
    by_dataset = {id(dataset): v for dataset, v in zip(datasets, validation, strict=True)}

    def evaluate(scores: Any, dataset: Any) -> list[tuple[str, float, bool]]:
        found = by_dataset[id(dataset)]
        return [(metric.name, metric.score(scores), metric.higher_is_better) for metric in found.metrics]

    return evaluate


def _metric_params(names: tuple[str, ...]) -> dict[str, Any]:
    """LightGBM's way to say `ndcg@5`: the metric and, apart, where to cut."""
    metrics = [name.partition("@")[0] for name in names]
    cuts = [int(at) for name in names if (at := name.partition("@")[2])]
    return {"metric": list(dict.fromkeys(metrics)) or "none"} | ({"eval_at": cuts} if cuts else {})


class _RefuseUnknownMetrics:
    """A callback that speaks up where LightGBM would go on without a metric it does not know."""

    order = 5
    before_iteration = False

    def __init__(self, wanted: tuple[str, ...]) -> None:
        self._wanted = wanted

    def __call__(self, env: Any) -> None:
        if env.iteration > env.begin_iteration or not self._wanted:
            return
        seen = {str(name) for _, name, *_ in env.evaluation_result_list or () if not str(name).startswith("unbiased_")}
        if len(seen) < len({name.partition("@")[0] for name in self._wanted}):
            raise InputError(
                f"LightGBM gave {sorted(seen)} for eval_metric {list(self._wanted)}; it does not know all of them"
            )


def _plain_model(model: Any) -> Any:
    """What LightGBM can go on from: a booster, or the path of its file."""
    if model is None or isinstance(model, lightgbm.Booster):
        return model
    if isinstance(model, str | os.PathLike):
        return str(model)
    if isinstance(model, LambdaMARTRanker | lightgbm.LGBMModel):
        check_is_fitted(model)
        return model.booster_
    raise InputError(f"init_model is a {type(model).__name__}; LightGBM goes on from its boosters, rankers and files")


def _n_trees(start: Any) -> int:
    if start is None:
        return 0
    booster = start if isinstance(start, lightgbm.Booster) else lightgbm.Booster(model_file=start)
    return int(booster.num_trees())


def _ratios_of(model: Any) -> PositionRatios | None:
    """The position ratios that a ranker, or a file that `save_model` wrote, was left with."""
    if isinstance(model, LambdaMARTRanker):
        return model.position_ratios_
    if isinstance(model, str | os.PathLike):
        for line in Path(model).read_text(encoding="utf-8").splitlines():
            if line.startswith(_RATIOS_LINE):
                return PositionRatios.from_dict(json.loads(line.removeprefix(_RATIOS_LINE)))
    return None


def predict_saved(path: Path, X: Any) -> npt.NDArray[np.float64]:
    """The score of each row by the model in a file."""
    try:
        booster = lightgbm.Booster(model_file=path)
    except lightgbm.basic.LightGBMError as error:
        raise FileFormatError(f"{path} is not a whole LightGBM model") from error
    check_columns(path, X, booster.num_feature())
    scores: npt.NDArray[np.float64] = booster.predict(X)
    return scores

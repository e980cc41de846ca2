"""CatBoost on weighted pairs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from truerank.errors import FileFormatError, InputError, MissingExtraError
from truerank.pairs import PairWeights, pair_weights
from truerank.rankers.base import PairwiseRanker, Task
from truerank.rankers.saved_models import check_columns
from truerank.rankers.validation import ValidationSet

try:
    import catboost
except ImportError:
    raise MissingExtraError("catboost", "catboost") from None

_OF_POOL = ("cat_features", "text_features", "embedding_features", "feature_names")
_TALK = {"verbose", "silent", "logging_level", "verbose_eval", "metric_period"}
_PAIR_LOSSES = ("PairLogit", "PairLogitPairwise")


class CatBoostRanker(PairwiseRanker):
    """CatBoost trained on weighted pairs: Σ w_ij log(1 + e^{−(s_i − s_j)}), its PairLogit.

    There is no ΔNDCG in it, so sigma, truncation, list_norm and distance_norm play no part, and neither does `ratio`.
    Validation is by the same loss on the debiased pairs of `eval_set`. Besides the parameters of truerank it takes
    CatBoost's; `loss_function` may be PairLogit or PairLogitPairwise. `booster_` is a plain CatBoost model.
    """

    _fit_params = ("callbacks", "early_stopping_rounds", "logging_level", "metric_period", "use_best_model", "verbose")
    _takes_metrics = False
    _refused: ClassVar = {"eval_metric": "CatBoost validates by its own loss on debiased pairs"}

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """The score of each row."""
        self._check_fitted()
        scores: npt.NDArray[np.float64] = self.booster_.predict(X)
        return scores

    def save_model(self, path: str | os.PathLike[str], **kwargs: Any) -> None:
        """Write CatBoost's own file."""
        self._check_fitted()
        self.booster_.save_model(os.fspath(path), **kwargs)

    @property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """CatBoost's change of predictions by feature."""
        self._check_fitted()
        return np.asarray(self.booster_.get_feature_importance(type="PredictionValuesChange"))

    def _stops_early(self, booster_fit_params: dict[str, Any]) -> bool:
        rounds = (*booster_fit_params.items(), *self.booster_params.items())
        return any(name in ("early_stopping_rounds", "od_wait") and value for name, value in rounds)

    def _train(self, task: Task, booster_fit_params: dict[str, Any]) -> None:
        params = {n: v for n, v in self.booster_params.items() if v is not None and n not in _OF_POOL}
        quiet = {} if params.keys() & _TALK else {"verbose": False}
        params = {"loss_function": "PairLogit", "allow_writing_files": False, **quiet, **params}
        loss = str(params["loss_function"]).partition(":")[0]
        if loss not in _PAIR_LOSSES:
            raise InputError(f"loss_function is {loss!r}; weighted pairs need one of {', '.join(_PAIR_LOSSES)}")
        if task.pairs.position_i is not None:
            raise InputError("method='ratio' changes weights during training, which CatBoost's pairs can't do")
        if not self.clip_negative and task.pairs.weight.min() < 0:
            raise InputError("some pairs weigh less than 0, which CatBoost does not take. Hint: clip_negative=True")
        model = catboost.CatBoost(params)
        model.fit(
            self._pool(task.X, task.labels, task.pairs),
            eval_set=[self._validation_pool(v, task.eval_labels) for v in task.validation] or None,
            init_model=getattr(task.init_model, "booster_", task.init_model),
            **booster_fit_params,
        )
        self.booster_ = model
        self.position_ratios_ = None
        self.best_iteration_ = model.get_best_iteration()
        self.best_score_ = model.get_best_score()
        self.evals_result_ = model.get_evals_result()

    def _validation_pool(self, valid: ValidationSet, eval_labels: str) -> Any:
        shown = valid.shown
        method = self.method if eval_labels == "clicks" else "none"
        gain = self.gain if eval_labels == "clicks" else "exp2"
        pairs = pair_weights(
            shown.labels,
            shown.positions,
            shown.group,
            method,
            self.examination,
            normalize=self.normalize,
            gain=gain,
            variance=self.variance,
        )
        return self._pool(shown.X, np.asarray(shown.labels), pairs.clip_negative()[0])

    def _pool(self, X: Any, labels: Any, pairs: PairWeights) -> Any:
        positive = pairs.weight > 0
        start = np.repeat(pairs.row_offsets[:-1], np.diff(pairs.offsets))[positive]
        given = {name: value for name, value in self.booster_params.items() if name in _OF_POOL}
        return catboost.Pool(
            X.tocsr() if hasattr(X, "tocsr") else X,
            label=labels,
            group_id=np.repeat(np.arange(pairs.n_lists), pairs.group),
            pairs=np.column_stack([start + pairs.i[positive], start + pairs.j[positive]]),
            pairs_weight=pairs.weight[positive],
            **given,
        )


def predict_saved(path: Path, X: Any) -> npt.NDArray[np.float64]:
    """The score of each row by the model in a file."""
    try:
        model = catboost.CatBoost().load_model(os.fspath(path))
    except catboost.CatBoostError as error:
        raise FileFormatError(f"{path} is not a whole CatBoost model") from error
    check_columns(path, X, len(model.feature_names_))
    scores: npt.NDArray[np.float64] = model.predict(X)
    return scores

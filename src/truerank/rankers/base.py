"""What every ranker has in common: parameters, the way from clicks to pairs, validation sets."""

from __future__ import annotations

import abc
import difflib
import inspect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from truerank.errors import InputError
from truerank.examination.base import Examination
from truerank.losses import UnbiasedPairwiseLoss
from truerank.metrics.ndcg import ndcg
from truerank.pairs import PairSummary, PairWeights
from truerank.pairs.methods import METHODS, pair_weights_and_rows
from truerank.rankers.features import check_same_features, column_names, table_shape, take_rows
from truerank.rankers.objective import LambdaObjective, check_list_lengths
from truerank.rankers.ratios import PositionRatios, RatioObjective
from truerank.rankers.shown import read_shown
from truerank.rankers.validation import ValidationMetrics, ValidationSet, split_metrics, validation_sets, warn_if_biased


@dataclass(frozen=True)
class Task:
    """What a booster is asked to train; `from_clicks` says that the pairs were made by `fit`, not by the user."""

    X: Any
    pairs: PairWeights
    labels: Any
    validation: tuple[ValidationSet, ...]
    booster_metrics: tuple[str, ...]
    eval_labels: str
    init_model: Any
    from_clicks: bool


class PairwiseRanker(BaseEstimator, abc.ABC):  # type: ignore[misc]
    """A scikit-learn estimator that turns clicks into weighted pairs and trains a booster on them.

    Args:
        method: `robust` (the paper's), `complete`, `ratio` (Hu et al. 2019), or `none`, which on clicks is plain
            LambdaMART and on judgments, with `gain="exp2"`, the skyline. See `truerank.pair_weights`.
        examination: how people look at the page. `robust` and `complete` need it; `ratio` fixes t⁺ to it if given.
        sigma: σ of the pairwise logistic loss.
        truncation: pairs whose two items both rank below this are left out of a gradient.
        normalize: `auto`, `session`, `list` or `none`; see `truerank.pair_weights`.
        merge: which sessions are added up when fit gets `query` and `item`: `exact` or `query`.
        gain: `linear` or `exp2`.
        variance: of `complete`: `none`, `clip` or `shrink`; see `truerank.pair_weights`.
        list_norm, distance_norm: LightGBM's two habits; see `truerank.rankers.objective.LambdaObjective`.
        ratio_regularization: p of `ratio`.
        clip_negative: set negative weights, which `complete` has with `variance="none"`, to 0. Unclipped, the loss has
            no lower bound.
        booster_params: whatever the booster itself takes.
    """

    _fit_params: ClassVar[tuple[str, ...]]
    """What `fit` and `fit_pairs` hand on to the booster's training."""
    _takes_metrics: ClassVar[bool] = True
    """Whether validation is by metrics with a name; otherwise it is by the booster's own loss."""
    _unbiased_metric_decides: ClassVar[bool] = False
    """Whether an unbiased metric, where there is one, is the only one that can stop training."""
    _refused: ClassVar[dict[str, str]]
    """Parameters of the booster that truerank decides, each with the reason."""
    _methods: ClassVar[tuple[str, ...]] = METHODS
    _model_attribute: ClassVar[str] = "booster_"

    def __init__(
        self,
        method: str = "robust",
        examination: Examination | None = None,
        *,
        sigma: float = 1.0,
        truncation: int = 30,
        normalize: str | None = "auto",
        merge: str = "exact",
        gain: str = "linear",
        variance: str = "shrink",
        list_norm: bool = False,
        distance_norm: bool = False,
        ratio_regularization: float = 0.0,
        clip_negative: bool = True,
        **booster_params: Any,
    ) -> None:
        self.method = method
        self.examination = examination
        self.sigma = sigma
        self.truncation = truncation
        self.normalize = normalize
        self.merge = merge
        self.gain = gain
        self.variance = variance
        self.list_norm = list_norm
        self.distance_norm = distance_norm
        self.ratio_regularization = ratio_regularization
        self.clip_negative = clip_negative
        self._booster_names: tuple[str, ...] = ()
        self._set_booster_params(booster_params)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters, the booster's included."""
        own: dict[str, Any] = {name: getattr(self, name) for name in self._own_names()}
        return own | self.booster_params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, the booster's included."""
        own = set(self._own_names())
        for name in own & params.keys():
            setattr(self, name, params[name])
        self._set_booster_params({name: value for name, value in params.items() if name not in own})
        return self

    @property
    def booster_params(self) -> dict[str, Any]:
        """The parameters that go to the booster."""
        return {name: getattr(self, name) for name in self._booster_names}

    def fit(
        self,
        X: Any,
        clicks: Any,
        group: Any = None,
        *,
        position: Any = None,
        query: Any = None,
        item: Any = None,
        qid: Any = None,
        eval_set: Sequence[tuple[Any, Any]] | tuple[Any, Any] | None = None,
        eval_group: Sequence[Any] | None = None,
        eval_qid: Sequence[Any] | None = None,
        eval_position: Sequence[Any] | None = None,
        eval_names: Sequence[str] | None = None,
        eval_metric: str | Sequence[str] | None = None,
        eval_labels: str = "clicks",
        init_model: Any = None,
        **booster_fit_params: Any,
    ) -> Self:
        """Train on clicks.

        Args:
            X: one row of features for each row of `clicks`.
            clicks: 0, 1 for a click, or higher grades.
            group: the size of each session, in order.
            position: where each row was shown, from 1; the order of the rows if not given.
            query: one id a session (or a row). With `item`, sessions over the same items are added up: the gradient
                stays what it was, on a fraction of the rows. (What counts rows, as a leaf's minimum, now counts items;
                and `complete` clips what is negative in the sum.)
            item: one id a row.
            qid: a session id a row, in any order, instead of `group`.
            eval_set: pairs (X, labels) to validate on.
            eval_group, eval_qid, eval_position: for each of them what group, qid and position are here.
            eval_names: a name for each of them.
            eval_metric: `unbiased_ndcg@k`, `unbiased_loss`, or a metric of the booster.
            eval_labels: what the labels of `eval_set` are: `clicks`, or `judgments`, which have no position bias.
            init_model: a model to go on from.
            booster_fit_params: what else the booster's training takes.
        """
        self._check_parameters(booster_fit_params, has_validation=eval_set is not None)
        method, normalize, variance = self._weighting()
        shown = read_shown(
            X,
            clicks,
            group,
            qid=qid,
            position=position,
            query=query,
            item=item,
            warn_without_position=method != "none",
        )
        pairs, row_of_input = pair_weights_and_rows(
            shown.labels,
            shown.positions,
            shown.group,
            method,
            self.examination,
            query=shown.query,
            item=shown.item,
            merge=self.merge,
            normalize=normalize,
            gain=self.gain,
            variance=variance,
        )
        _refuse_without_pairs(pairs, "clicks")
        source = np.arange(pairs.n_rows) if pairs.source_row is None else pairs.source_row
        check_same_features(shown.X, np.arange(len(row_of_input)), source[row_of_input])
        with_pairs = np.diff(pairs.offsets) > 0
        if not with_pairs.all():
            source = source[pairs.row_mask(with_pairs)]
            pairs = pairs.select_lists(with_pairs)
        own, boosters = self._metrics(eval_metric, eval_labels)
        if eval_set is not None and method != "none" and self._stops_early(booster_fit_params):
            deciding = [] if own and self._unbiased_metric_decides else boosters
            warn_if_biased(deciding, self.method, eval_labels, self.examination)
        debias = ValidationMetrics(tuple(own), self.examination, self._validation_loss(own), self.gain)
        validation = validation_sets(eval_set, eval_group, eval_qid, eval_position, eval_names, debias)
        for valid in validation:
            _refuse_other_columns(valid, shown.X)
        return self._fit(
            Task(
                take_rows(shown.X, source),
                pairs,
                np.asarray(shown.labels)[source],
                validation,
                tuple(boosters) if validation else (),
                eval_labels,
                init_model,
                from_clicks=True,
            ),
            booster_fit_params,
        )

    def fit_pairs(self, X: Any, pairs: PairWeights, *, init_model: Any = None, **booster_fit_params: Any) -> Self:
        """Train on weighted pairs; X has one row for each row of their lists, in order."""
        self._check_parameters(booster_fit_params, has_validation=False)
        if not isinstance(pairs, PairWeights):
            raise InputError(f"pairs is a {type(pairs).__name__}; it must be what truerank.pair_weights gives")
        if table_shape(X)[0] != pairs.n_rows:
            raise InputError(
                f"X has {table_shape(X)[0]} rows and the lists of the pairs have {pairs.n_rows}; they must match row "
                "by row. Hint: X[pairs.source_row] picks the rows of merged sessions"
            )
        _refuse_without_pairs(pairs, "labels")
        labels = np.zeros(pairs.n_rows)
        return self._fit(Task(X, pairs, labels, (), (), "clicks", init_model, from_clicks=False), booster_fit_params)

    def score(self, X: Any, labels: Any, group: Any = None, *, qid: Any = None) -> float:
        """The mean NDCG@10 of the labels, gain 2^label − 1; lists without a relevant item are left out."""
        shown = read_shown(X, labels, group, qid=qid)
        values = ndcg(self.predict(shown.X), shown.labels, shown.group)
        if np.isnan(values).all():
            raise InputError(f"none of the {len(values)} lists has a relevant item, so there is no NDCG")
        return float(np.nanmean(values))

    @abc.abstractmethod
    def predict(self, X: Any) -> Any:
        """The score of each row; the higher, the better."""

    @abc.abstractmethod
    def _train(self, task: Task, booster_fit_params: dict[str, Any]) -> None:
        """Train the booster and set what a fitted estimator has."""

    @abc.abstractmethod
    def _stops_early(self, booster_fit_params: dict[str, Any]) -> bool:
        """Whether a validation metric will stop training."""

    def _weighting(self) -> tuple[str, str | None, str]:
        """The method, the normalisation and what is done about variance as clicks become pairs."""
        return self.method, self.normalize, self.variance

    def _clips_negative(self, task: Task) -> bool:
        return self.clip_negative

    def _usual_metric(self, eval_labels: str) -> str | None:
        """What to validate by where nothing is named; None for an NDCG."""
        return None

    def _check_model_parameters(self) -> None:
        """Refuse what the model to be trained would trip over, before the clicks are read."""

    def _validation_loss(self, names: Sequence[str]) -> UnbiasedPairwiseLoss:
        """What `unbiased_loss` stands for, where it is among the names of metrics."""
        return UnbiasedPairwiseLoss(self.examination, "ranknet", self.sigma)

    def _fit(self, task: Task, booster_fit_params: dict[str, Any]) -> Self:
        check_list_lengths(task.pairs)
        clipped = 0
        if self._clips_negative(task):
            pairs, clipped = task.pairs.clip_negative()
            task = replace(task, pairs=pairs)
        if not task.pairs.weight.any():
            raise InputError(
                f"every pair weighs 0 ({clipped} were clipped from below 0), so there is nothing to learn. "
                "Hint: method='robust', or more sessions a query summed with query= and item="
            )
        self.n_clipped_pairs_ = clipped
        self.pair_summary_: PairSummary = task.pairs.summary()
        self.n_features_in_ = table_shape(task.X)[1]
        self.effective_sample_sizes_ = {
            v.name: v.effective_sample_size for v in task.validation if v.effective_sample_size is not None
        }
        self._keep_names(task.X)
        self._train(task, booster_fit_params)
        return self

    def _keep_names(self, X: Any) -> None:
        names = column_names(X)
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _objective(self, pairs: PairWeights, threads: int | None) -> LambdaObjective:
        return LambdaObjective(
            pairs,
            self.sigma,
            self.truncation,
            list_norm=self.list_norm,
            distance_norm=self.distance_norm,
            threads=threads,
        )

    def _ratio_objective(self, objective: LambdaObjective, start: PositionRatios | None) -> RatioObjective | None:
        """Hu et al.'s weights around the objective if the pairs are made for them."""
        pairs = objective.pairs
        if pairs.position_i is None or pairs.position_j is None:
            if self.method == "ratio":
                raise InputError("method='ratio' needs pairs made with method='ratio'; these have no positions")
            return None
        if self.method != "ratio":
            raise InputError(f"these pairs are made for method='ratio', and the ranker has method={self.method!r}")
        last = int(max(pairs.position_i.max(initial=1), pairs.position_j.max(initial=1)))
        theta = None if self.examination is None else self.examination.marginal(np.arange(1, last + 1))
        return RatioObjective(objective, self.ratio_regularization, theta, start)

    def _check_parameters(self, fit_params: dict[str, Any], has_validation: bool) -> None:
        known = [*inspect.signature(PairwiseRanker.fit).parameters, *self._fit_params]
        for name in set(fit_params) - set(self._fit_params):
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {close[0]}?" if close else f"; it hands on {', '.join(self._fit_params)}"
            raise TypeError(f"fit does not take {name}{hint}")
        if self.method not in self._methods:
            raise InputError(f"method is {self.method!r}; it must be one of {', '.join(map(repr, self._methods))}")
        for name in self._booster_names:
            if name in self._refused and getattr(self, name) is not None:
                raise InputError(f"{name}={getattr(self, name)!r} cannot be set: {self._refused[name]}")
        self._check_model_parameters()
        if self._stops_early(fit_params) and not has_validation:
            raise InputError("early stopping needs eval_set= of fit, to see when to stop")

    def _metrics(self, eval_metric: Any, eval_labels: str) -> tuple[list[str], list[str]]:
        if self._takes_metrics:
            eval_metric = self._usual_metric(eval_labels) if eval_metric is None else eval_metric
            return split_metrics(eval_metric, self.examination, eval_labels)
        if eval_metric is not None:
            raise InputError(f"eval_metric={eval_metric!r} cannot be used: {self._refused['eval_metric']}")
        return [], []

    def _set_booster_params(self, params: dict[str, Any]) -> None:
        for name, value in params.items():
            if hasattr(type(self), name):
                raise TypeError(f"{name} is not a parameter of {type(self).__name__}")
            close = difflib.get_close_matches(name, self._own_names(), n=1, cutoff=0.85)
            if close or not self._takes_more():
                hint = f"; did you mean {close[0]}?" if close else ""
                raise TypeError(f"{type(self).__name__} does not take {name}{hint}")
            setattr(self, name, value)
        self._booster_names = tuple(dict.fromkeys((*self._booster_names, *params)))

    @classmethod
    def _own_names(cls) -> list[str]:
        parameters = inspect.signature(cls.__init__).parameters.values()
        return [p.name for p in parameters if p.name != "self" and p.kind is not p.VAR_KEYWORD]

    @classmethod
    def _takes_more(cls) -> bool:
        parameters = inspect.signature(cls.__init__).parameters.values()
        return any(p.kind is p.VAR_KEYWORD for p in parameters)

    def _check_fitted(self) -> None:
        check_is_fitted(self, self._model_attribute)


def _refuse_without_pairs(pairs: PairWeights, name: str) -> None:
    if pairs.n_pairs == 0:
        sessions = int(pairs.sessions.sum())
        raise InputError(
            f"none of the {sessions} sessions gives a pair to learn from: each has no {name}, or one item, or the same "
            "label throughout. Hint: check that the label column is the click column"
        )


def _refuse_other_columns(valid: ValidationSet, X: Any) -> None:
    """Validation features must be the training features, in the same order."""
    theirs, ours = table_shape(valid.shown.X, f"eval_set {valid.name!r}")[1], table_shape(X)[1]
    if theirs != ours:
        raise InputError(f"eval_set {valid.name!r} has {theirs} columns and X has {ours}; they must be the same")
    names, wanted = column_names(valid.shown.X), column_names(X)
    if names is not None and wanted is not None and names != wanted:
        k = next(k for k, (a, b) in enumerate(zip(names, wanted, strict=True)) if a != b)
        raise InputError(
            f"column {k} of eval_set {valid.name!r} is {names[k]!r} and of X {wanted[k]!r}; the columns must stand in "
            "the same order"
        )

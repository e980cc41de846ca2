"""Validation on clicks that does not share their bias."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from truerank.errors import BiasedMetricWarning, InputError
from truerank.examination.base import Examination
from truerank.losses import UnbiasedPairwiseLoss
from truerank.metrics.inverse_propensity import InversePropensityNdcg
from truerank.rankers.shown import Shown, read_shown

Score = Callable[[Any], float]
LABELS = ("clicks", "judgments")


@dataclass(frozen=True)
class Metric:
    """A number to watch during training: a function of the scores of one validation set."""

    name: str
    score: Score
    higher_is_better: bool


@dataclass(frozen=True)
class ValidationSet:
    """Rows to validate on, and truerank's metrics for them."""

    name: str
    shown: Shown
    metrics: tuple[Metric, ...]
    effective_sample_size: float | None


def split_metrics(
    eval_metric: str | Sequence[str] | None, examination: Examination | None, eval_labels: str
) -> tuple[list[str], list[str]]:
    """Metric names as (truerank's own, the booster's); without a name, what fits the labels."""
    if eval_labels not in LABELS:
        raise InputError(f"eval_labels is {eval_labels!r}; it must be 'clicks' or 'judgments'")
    can_debias = examination is not None and eval_labels == "clicks"
    if eval_metric is None:
        eval_metric = "unbiased_ndcg@10" if can_debias else "ndcg@10"
    names = [eval_metric] if isinstance(eval_metric, str) else list(eval_metric)
    for name in names:
        at = name.partition("@") if isinstance(name, str) else None
        if at is None or (at[1] and not at[2].isdigit()):
            raise InputError(
                f"eval_metric holds {name!r}; it needs names such as 'unbiased_ndcg@10', 'ndcg@5' or 'map'"
            )
    own = [name for name in names if name.startswith("unbiased_")]
    if own and not can_debias:
        why = "judgments have no position bias" if eval_labels == "judgments" else "examination= is missing"
        raise InputError(f"eval_metric {own[0]!r} can't be used: {why}. Hint: eval_metric='ndcg@10'")
    return own, [name for name in names if name not in own]


@dataclass(frozen=True)
class ValidationMetrics:
    """Which of truerank's metrics to watch, and what they need."""

    names: tuple[str, ...]
    examination: Examination | None
    loss: UnbiasedPairwiseLoss
    gain: str


def validation_sets(
    eval_set: Any, eval_group: Any, eval_qid: Any, eval_position: Any, eval_names: Any, metrics: ValidationMetrics
) -> tuple[ValidationSet, ...]:
    """Read the validation sets that `fit` was given, one of each argument for each set."""
    if eval_set is None:
        return ()
    sets = [eval_set] if isinstance(eval_set, tuple) else list(eval_set)
    groups, qids, positions = (
        _one_each(values, name, len(sets))
        for values, name in ((eval_group, "eval_group"), (eval_qid, "eval_qid"), (eval_position, "eval_position"))
    )
    names = [f"valid_{k}" for k in range(len(sets))] if eval_names is None else list(eval_names)
    if len(set(names)) < len(names):
        raise InputError(f"eval_names are {names}; each validation set needs a name of its own")
    built = []
    for k, name in enumerate(_one_each(names, "eval_names", len(sets))):
        if not isinstance(sets[k], tuple | list) or len(sets[k]) != 2:
            raise InputError(f"entry {k} of eval_set must be a pair (X, labels)")
        X, labels = sets[k]
        shown = read_shown(
            X, labels, groups[k], qid=qids[k], position=positions[k], warn_without_position=bool(metrics.names)
        )
        built.append(_validation_set(name, shown, metrics))
    return tuple(built)


def _validation_set(name: str, shown: Shown, metrics: ValidationMetrics) -> ValidationSet:
    """Prepare the metrics for one set of sessions."""
    if not np.any(shown.labels):
        raise InputError(
            f"none of the {len(shown.group)} sessions of eval_set {name!r} has a click (or a relevant item), so there "
            "is nothing to validate on"
        )
    built, size = [], None
    for metric in metrics.names:
        kind, _, at = metric.partition("@")
        if kind == "unbiased_ndcg":
            score = InversePropensityNdcg(
                shown.labels, shown.positions, shown.group, metrics.examination, int(at or 10), metrics.gain
            )
            size = score.effective_sample_size
            built.append(Metric(metric, score, higher_is_better=True))
        elif metric == "unbiased_loss":
            built.append(Metric(metric, _mean_loss(shown, metrics.loss), higher_is_better=False))
        else:
            raise InputError(f"eval_metric {metric!r} is not known; truerank's are unbiased_ndcg@k and unbiased_loss")
    return ValidationSet(name, shown, tuple(built), size)


def _one_each(values: Any, name: str, n: int) -> list[Any]:
    if values is None:
        return [None] * n
    given = list(values)
    if len(given) != n:
        raise InputError(f"{name} has {len(given)} entries and eval_set {n}; it needs one for each")
    return given


def warn_if_biased(metrics: Sequence[str], method: str, eval_labels: str, examination: Examination | None) -> None:
    """Warn when a debiased model is about to be stopped by a metric that shares the bias of the clicks."""
    if metrics and eval_labels == "clicks":
        give = "" if examination is not None else "examination= with "
        warnings.warn(
            f"training will stop by {', '.join(metrics)} on clicks, which favours models that copy the position bias "
            f"that method={method!r} removes. Hint: {give}eval_metric='unbiased_ndcg@10', or eval_labels='judgments' "
            "if the validation labels are judgments and not clicks",
            BiasedMetricWarning,
            stacklevel=3,
        )


def _mean_loss(shown: Shown, loss: UnbiasedPairwiseLoss) -> Score:
    sessions = len(shown.group)

    def mean_loss(scores: Any) -> float:
        return loss.value(scores, shown.labels, shown.positions, shown.group) / sessions

    return mean_loss

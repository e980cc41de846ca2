"""Validation on clicks that does not share their bias."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from truerank.errors import BiasedMetricWarning, InputError
from truerank.examination.base import Examination
from truerank.losses import UnbiasedPairwiseLoss
from truerank.metrics.inverse_propensity import InversePropensityNdcg
from truerank.rankers.shown import Shown

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
    if eval_metric is None:
        eval_metric = "unbiased_ndcg@10" if examination is not None and eval_labels == "clicks" else "ndcg@10"
    names = [eval_metric] if isinstance(eval_metric, str) else list(eval_metric)
    own = [name for name in names if name.startswith("unbiased_")]
    return own, [name for name in names if name not in own]


def validation_set(
    name: str, shown: Shown, metrics: Sequence[str], examination: Examination | None, sigma: float
) -> ValidationSet:
    """Prepare truerank's metrics for one set of sessions."""
    built, size = [], None
    for metric in metrics:
        kind, _, at = metric.partition("@")
        if kind == "unbiased_ndcg" and (at.isdigit() or not at):
            score = InversePropensityNdcg(shown.labels, shown.positions, shown.group, examination, int(at or 10))
            size = score.effective_sample_size
            built.append(Metric(metric, score, higher_is_better=True))
        elif metric == "unbiased_loss":
            built.append(Metric(metric, _mean_loss(shown, examination, sigma), higher_is_better=False))
        else:
            raise InputError(f"eval_metric {metric!r} is not known; truerank's are unbiased_ndcg@k and unbiased_loss")
    return ValidationSet(name, shown, tuple(built), size)


def warn_if_biased(metrics: Sequence[str], method: str, eval_labels: str) -> None:
    """Warn when a debiased model is about to be stopped by a metric that shares the bias of the clicks."""
    if metrics and eval_labels == "clicks" and method != "none":
        warnings.warn(
            f"training will stop by {', '.join(metrics)} on clicks, which favours models that copy the position bias "
            f"that method={method!r} removes. Hint: eval_metric='unbiased_ndcg@10', or eval_labels='judgments' if the "
            "validation labels are judgments and not clicks",
            BiasedMetricWarning,
            stacklevel=3,
        )


def _mean_loss(shown: Shown, examination: Examination | None, sigma: float) -> Score:
    loss = UnbiasedPairwiseLoss(examination, "ranknet", sigma)
    sessions = len(shown.group)

    def mean_loss(scores: Any) -> float:
        return loss.value(scores, shown.labels, shown.positions, shown.group) / sessions

    return mean_loss

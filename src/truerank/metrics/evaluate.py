"""Models compared on judged lists: every metric, every test, in one call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from truerank.errors import InputError
from truerank.metrics.comparison import Comparison, Result, adjust_together
from truerank.metrics.names import Metric, read_metrics
from truerank.metrics.ranking import Judged, read_judged
from truerank.metrics.resampling import percentile_interval, resampled_means
from truerank.metrics.significance import check_correction, paired_t_test, read_family
from truerank.ragged import check_number
from truerank.types import FloatArray

EMPTY = {"drop": None, "zero": 0.0, "one": 1.0}


def evaluate(
    scores_by_model: Mapping[str, Any],
    labels: Any,
    group: Any,
    metrics: str | Iterable[str] = ("ndcg@10", "map"),
    baseline: str | None = None,
    *,
    gain: str = "exp2",
    empty: str = "drop",
    correction: str | None = "bonferroni",
    n_comparisons: int | None = None,
    level: float = 0.05,
    bootstrap: int = 1000,
    seed: int = 0,
) -> Comparison:
    """Compare models on judged lists: means, changes to a baseline, paired t-tests, bootstrap intervals.

    Every model is tested against the baseline under every metric, two-sided, the lists being the pairs. The p-values
    are corrected for all these tests at once; tests of further tables join by `n_comparisons`, or afterwards by
    `truerank.adjust_together`. Equal scores keep the order of the rows.

    Args:
        scores_by_model: for each model, by name, one score a row; or such scores of several training runs, a line of an
            array for each, whose values are averaged list by list: the lists, not the runs, are what is tested.
        labels: one number a row, 0 for irrelevant.
        group: the size of each list.
        metrics: any of `ndcg`, `map`, `mrr`, `err`, for the whole list or down to a rank, as `ndcg@10`, and
            `precision@k`, `recall@k`.
        baseline: the model that the others are compared with; by default the first.
        gain: that of NDCG: `exp2`, 2^label − 1, or `linear`, the label itself.
        empty: what becomes of lists without a relevant item, for which no metric is defined: `drop` leaves them out,
            `zero` and `one` give them that value. They are counted in any case.
        correction: `bonferroni`, `holm`, or None for p-values as they are.
        n_comparisons: how many tests there are in all tables together, if more than here.
        level: significant is what has a corrected p-value below it; intervals cover 1 − `level`.
        bootstrap: how many times the lists are drawn again for the intervals; 0 for no intervals.
        seed: where the draws begin.

    >>> labels, group = [1, 0, 0, 0, 2, 1, 0, 1, 0], [3, 3, 3]
    >>> models = {"as shown": -np.arange(9), "ours": [3, 2, 1, 1, 3, 2, 2, 3, 1]}
    >>> found = evaluate(models, labels, group, metrics=["ndcg@3", "mrr"])
    >>> round(found["ours", "mrr"].relative_change, 2), found["ours", "mrr"].significant
    (0.5, False)
    """
    asked = read_metrics(metrics, gain)
    models = _read_models(scores_by_model)
    compared = models[0] if baseline is None else baseline
    if compared not in models:
        raise InputError(f"baseline {compared!r} has no scores; there are {', '.join(map(repr, models))}")
    if empty not in EMPTY:
        raise InputError(f"empty is {empty!r}; it must be one of {', '.join(map(repr, EMPTY))}")
    check_correction(correction)
    family = read_family(n_comparisons, (len(models) - 1) * len(asked))
    check_number(level, "level", 0, above=True)
    if level >= 1:
        raise InputError(f"level is {level}; it must be below 1, such as 0.05")
    check_number(bootstrap, "bootstrap", 0, whole=True)
    check_number(seed, "seed", 0, whole=True)
    judged = read_judged(labels, group)
    values = _usable(_measured(scores_by_model, judged, asked), judged, empty)
    names = tuple(metric.name for metric in asked)
    comparison = Comparison(
        models=models,
        metrics=names,
        baseline=compared,
        results=_results(values, models, names, models.index(compared), int(bootstrap), int(seed), level),
        values=values,
        lists_used=values.shape[-1],
        lists_without_relevant=int((judged.relevant == 0).sum()),
        gain=gain,
        empty=empty,
        correction=correction,
        n_comparisons=family,
        level=float(level),
        bootstrap=int(bootstrap),
        seed=int(seed),
    )
    return adjust_together([comparison], correction, family)[0]


def _read_models(scores_by_model: Any) -> tuple[str, ...]:
    if not isinstance(scores_by_model, Mapping) or not scores_by_model:
        seen = "empty" if isinstance(scores_by_model, Mapping) else f"a {type(scores_by_model).__name__}"
        raise InputError(f"scores_by_model is {seen}; it must map the name of each model to its scores")
    for name in scores_by_model:
        if not (isinstance(name, str) and name.strip() and name.isprintable()):
            raise InputError(f"a model is named {name!r}; a name must be a line of text")
    return tuple(scores_by_model)


def _measured(scores_by_model: Mapping[str, Any], judged: Judged, metrics: tuple[Metric, ...]) -> FloatArray:
    """Models, metrics, lists; NaN for lists without a relevant item."""
    values = np.empty((len(scores_by_model), len(metrics), judged.n_lists))
    for (model, scores), of_model in zip(scores_by_model.items(), values, strict=True):
        try:
            rankings = [judged.ranked_by(run) for run in _runs(scores)]
        except InputError as error:
            raise InputError(f"model {model!r}: {error}") from None
        for metric, of_metric in zip(metrics, of_model, strict=True):
            of_metric[:] = np.mean([metric(ranking) for ranking in rankings], axis=0)
    return values


def _runs(scores: Any) -> Any:
    """The scores of each training run."""
    several = isinstance(scores, np.ndarray) and scores.ndim == 2 and scores.shape[1] > 1
    return scores if several and len(scores) else [scores]


def _usable(values: FloatArray, judged: Judged, empty: str) -> FloatArray:
    """What the means are taken over: lists without a relevant item dropped, or given their value."""
    defined = judged.relevant > 0
    if EMPTY[empty] is None:
        values = values[:, :, defined]
    else:
        values[:, :, ~defined] = EMPTY[empty]
    if values.shape[-1] < 2:
        raise InputError(
            f"{int(defined.sum())} of {judged.n_lists} lists have a relevant item (a label above 0) and empty is "
            f"{empty!r}; a comparison needs at least two lists. Hint: truerank.ndcg and its like measure single lists"
        )
    return values


def _results(
    values: FloatArray,
    models: tuple[str, ...],
    metrics: tuple[str, ...],
    base: int,
    bootstrap: int,
    seed: int,
    level: float,
) -> tuple[Result, ...]:
    """Model after model, metric after metric; p-values not yet corrected."""
    means = values.mean(axis=-1)
    differences = values - values[base]
    difference = differences.mean(axis=-1)
    relative = np.divide(difference, means[base], out=np.full_like(means, np.nan), where=means[base] != 0)
    p_value, effect_size = paired_t_test(differences)
    resampled = resampled_means(values.reshape(-1, values.shape[-1]).T, bootstrap, seed).reshape(-1, *means.shape)
    mean_ends = percentile_interval(resampled, level)
    difference_ends = percentile_interval(resampled - resampled[:, base, None], level)
    for of_baseline in (difference, relative, p_value, effect_size):
        of_baseline[base] = np.nan
    difference_ends[:, base] = np.nan
    return tuple(
        Result(
            model=model,
            metric=metric,
            mean=float(means[m, k]),
            mean_interval=(float(mean_ends[0, m, k]), float(mean_ends[1, m, k])),
            difference=float(difference[m, k]),
            difference_interval=(float(difference_ends[0, m, k]), float(difference_ends[1, m, k])),
            relative_change=float(relative[m, k]),
            effect_size=float(effect_size[m, k]),
            p_value=float(p_value[m, k]),
            adjusted_p_value=float(p_value[m, k]),
            significant=False,
        )
        for m, model in enumerate(models)
        for k, metric in enumerate(metrics)
    )

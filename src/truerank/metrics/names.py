"""Metrics by name: `ndcg@10`, `map`, `precision@5`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from truerank.errors import InputError
from truerank.losses.gains import gain_table
from truerank.metrics.average_precision import average_precision_of
from truerank.metrics.expected_reciprocal_rank import expected_reciprocal_rank_of
from truerank.metrics.ndcg import ndcg_of
from truerank.metrics.precision_recall import precision_of, recall_of
from truerank.metrics.ranking import Ranking
from truerank.metrics.reciprocal_rank import reciprocal_rank_of
from truerank.types import FloatArray

_MEASURES: dict[str, Callable[[Ranking, Any, str], FloatArray]] = {
    "ndcg": ndcg_of,
    "map": lambda ranking, at, _gain: average_precision_of(ranking, at),
    "mrr": lambda ranking, at, _gain: reciprocal_rank_of(ranking, at),
    "err": lambda ranking, at, _gain: expected_reciprocal_rank_of(ranking, at),
    "precision": lambda ranking, at, _gain: precision_of(ranking, at),
    "recall": lambda ranking, at, _gain: recall_of(ranking, at),
}
_NEED_CUTOFF = {"precision", "recall"}
_KNOWN = "ndcg, map, mrr and err, each for the whole list or as ndcg@10; precision@5 and recall@5; any number after @"
_PATTERN = re.compile(r"(?P<measure>[a-z]+)(@(?P<at>[1-9][0-9]*))?")


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric that a name stands for: `measure` with a cutoff `at`, None for the whole list."""

    measure: str
    at: int | None
    gain: str

    @property
    def name(self) -> str:
        """The name, as `ndcg@10`."""
        return self.measure if self.at is None else f"{self.measure}@{self.at}"

    def __call__(self, ranking: Ranking) -> FloatArray:
        """One value a list, NaN for lists without a relevant item."""
        return _MEASURES[self.measure](ranking, self.at, self.gain)


def read_metric(name: Any, gain: str = "exp2") -> Metric:
    """The metric of a name; `gain` is that of NDCG.

    >>> read_metric("NDCG@10")
    Metric(measure='ndcg', at=10, gain='exp2')
    """
    gain_table(1, gain)  # refuses an unknown gain, whichever metrics are asked for
    match = _PATTERN.fullmatch(name.strip().lower()) if isinstance(name, str) else None
    if match is None or match["measure"] not in _MEASURES:
        raise InputError(f"metric {name!r} is not known. Known are {_KNOWN}")
    if match["measure"] in _NEED_CUTOFF and match["at"] is None:
        raise InputError(f"metric {name!r} needs a number of ranks: {match['measure']}@10, say")
    return Metric(match["measure"], int(match["at"]) if match["at"] else None, gain)


def read_metrics(names: str | Iterable[str], gain: str = "exp2") -> tuple[Metric, ...]:
    """The metrics of some names, each given once."""
    metrics = tuple(read_metric(name, gain) for name in ([names] if isinstance(names, str) else names))
    if not metrics:
        raise InputError(f"metrics is empty; name at least one. Known are {_KNOWN}")
    seen: set[str] = set()
    for metric in metrics:
        if metric.name in seen:
            raise InputError(f"metric {metric.name!r} is given twice; each is compared once")
        seen.add(metric.name)
    return metrics


def metric_title(name: str) -> str:
    """A metric's name as papers write it.

    >>> metric_title("ndcg@10"), metric_title("precision@5")
    ('NDCG@10', 'Precision@5')
    """
    measure, at, cutoff = name.partition("@")
    return (measure.capitalize() if measure in _NEED_CUTOFF else measure.upper()) + at + cutoff

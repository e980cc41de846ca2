"""Models compared on the same lists: what `evaluate` finds, and how it is shown."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from truerank.errors import InputError
from truerank.metrics import table_formats
from truerank.metrics.significance import adjust_p_values, paired_t_test, read_family
from truerank.metrics.tables import Frame, Table, tabulate
from truerank.types import FloatArray

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Result:
    """One model under one metric.

    `difference` is the mean over lists of the model's value minus the baseline's, `relative_change` that difference
    over the baseline's mean (NaN if that is 0), `effect_size` Cohen's d of the differences (their mean over their
    standard deviation), `p_value` that of a paired two-sided t-test, `adjusted_p_value` the same after correction. The
    baseline itself has NaN for these. Intervals are bootstrap intervals, lower end first.
    """

    model: str
    metric: str
    mean: float
    mean_interval: Interval
    difference: float
    difference_interval: Interval
    relative_change: float
    effect_size: float
    p_value: float
    adjusted_p_value: float
    significant: bool


@dataclass(frozen=True, eq=False)
class Comparison:
    """Models by metrics: means, changes to the baseline, tests and intervals; what `truerank.evaluate` returns.

    `comparison["robust", "ndcg@10"]` is one `Result`. `n_comparisons` is the number of tests that the correction allows
    for, `lists_used` the lists behind each mean, and `lists_without_relevant` were dropped or counted, as `empty` says.
    """

    models: tuple[str, ...]
    metrics: tuple[str, ...]
    baseline: str
    results: tuple[Result, ...] = field(repr=False)
    values: FloatArray = field(repr=False)  # models, metrics, lists used
    lists_used: int
    lists_without_relevant: int
    gain: str
    empty: str
    correction: str | None
    n_comparisons: int
    level: float
    bootstrap: int
    seed: int

    @property
    def lists_dropped(self) -> int:
        """How many lists were left out for want of a relevant item."""
        return self.lists_without_relevant if self.empty == "drop" else 0

    def __getitem__(self, key: tuple[str, str]) -> Result:
        """The result of a model and a metric."""
        model, metric = key
        return self.results[self._row(model) * len(self.metrics) + self._column(metric)]

    def per_list(self, model: str, metric: str) -> FloatArray:
        """The value of each list used, in order."""
        values: FloatArray = self.values[self._row(model), self._column(metric)]
        return values

    def p_value(self, model: str, other: str, metric: str) -> float:
        """The p-value of a paired two-sided t-test between any two models, not adjusted."""
        return float(paired_t_test(self.per_list(model, metric) - self.per_list(other, metric))[0])

    def to_rows(self) -> list[dict[str, Any]]:
        """One dictionary a result, flat and ready for JSON or a data frame; None where there is no number."""
        return [_flat(result, self) for result in self.results]

    def table(self, frame: Frame | None = None) -> str:
        """Plain text: the baseline absolute, the others in percent of it; `*` marks what is significant.

        With `frame=("robust", "ratio")` the cells of `robust` that differ from `ratio` in a test of their own, at the
        same level and not adjusted, stand in brackets.
        """
        return table_formats.text(self._tabulated(frame))

    def to_markdown(self, frame: Frame | None = None) -> str:
        """A Markdown table: significant changes in bold, framed ones (see `table`) in brackets."""
        return table_formats.markdown(self._tabulated(frame))

    def to_latex(self, frame: Frame | None = None) -> str:
        r"""A LaTeX `tabular`: significant changes in bold, framed ones (see `table`) in a `\framebox`."""
        return table_formats.latex(self._tabulated(frame))

    def to_html(self, frame: Frame | None = None) -> str:
        """A self-contained fragment of HTML: significant changes in bold, framed ones (see `table`) outlined."""
        return table_formats.html(self._tabulated(frame))

    def __str__(self) -> str:
        """Show the table as plain text."""
        return self.table()

    def _repr_html_(self) -> str:
        return self.to_html()

    def _tabulated(self, frame: Frame | None) -> Table:
        return tabulate({"": self}, frame)

    def _row(self, model: str) -> int:
        if model not in self.models:
            raise InputError(f"model {model!r} is not in the comparison; there are {', '.join(map(repr, self.models))}")
        return self.models.index(model)

    def _column(self, metric: str) -> int:
        if metric not in self.metrics:
            known = ", ".join(map(repr, self.metrics))
            raise InputError(f"metric {metric!r} is not in the comparison; there are {known}")
        return self.metrics.index(metric)


def adjust_together(
    comparisons: Sequence[Comparison], correction: str | None = "bonferroni", n_comparisons: int | None = None
) -> tuple[Comparison, ...]:
    """The same comparisons, their p-values corrected as one family: that of all tests of all tables.

    Args:
        comparisons: what `truerank.evaluate` returned, whatever correction it was asked for.
        correction: `bonferroni`, `holm`, or None.
        n_comparisons: how many tests the family has, if more than those in `comparisons`.
    """
    wrong = [c for c in comparisons if not isinstance(c, Comparison)]
    if wrong or not comparisons:
        seen = type(wrong[0]).__name__ if wrong else "nothing"
        raise InputError(f"comparisons holds {seen}; it must be a list of what truerank.evaluate returns")
    levels = sorted({comparison.level for comparison in comparisons})
    if len(levels) > 1:
        raise InputError(f"the comparisons have levels {levels}; one family has one level")
    tested = [r.p_value for c in comparisons for r in c.results if r.model != c.baseline]
    family = read_family(n_comparisons, len(tested))
    adjusted = iter(adjust_p_values(tested, correction, family).tolist())
    return tuple(
        dataclasses.replace(
            comparison,
            results=tuple(
                result if result.model == comparison.baseline else _adjusted(result, next(adjusted), comparison.level)
                for result in comparison.results
            ),
            correction=correction,
            n_comparisons=family,
        )
        for comparison in comparisons
    )


def _adjusted(result: Result, p_value: float, level: float) -> Result:
    return dataclasses.replace(result, adjusted_p_value=p_value, significant=p_value < level)


def _flat(result: Result, comparison: Comparison) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for name, value in dataclasses.asdict(result).items():
        if name.endswith("_interval"):
            row |= zip((name.replace("interval", "low"), name.replace("interval", "high")), value, strict=True)
        else:
            row[name] = value
    row |= {"baseline": comparison.baseline, "lists": comparison.lists_used}
    return {name: None if isinstance(v, float) and not math.isfinite(v) else v for name, v in row.items()}

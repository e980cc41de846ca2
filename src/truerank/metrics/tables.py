"""Comparisons as a table, in the form of the paper: what stands in it, and what the caption says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from truerank.errors import InputError
from truerank.metrics.names import metric_title

if TYPE_CHECKING:
    from truerank.metrics.comparison import Comparison, Result

Frame: TypeAlias = tuple[str, str]
NOTHING = "—"


@dataclass(frozen=True, slots=True)
class Cell:
    """What a table says about a model under a metric, and how it is set."""

    text: str
    bold: bool = False
    framed: bool = False
    detail: str = ""


Row: TypeAlias = tuple[str, tuple[Cell, ...]]


@dataclass(frozen=True, slots=True)
class Table:
    """Blocks of rows, one block a comparison and one row a model, the baseline first.

    `heading` stands over the names of the blocks; None where there is one block, without a name.
    """

    heading: str | None
    titles: tuple[str, ...]
    blocks: tuple[tuple[str, tuple[Row, ...]], ...]
    comparisons: tuple[Comparison, ...]
    frame: Frame | None

    def caption(self, bold: str, framed: str, quoted: Callable[[str], str] = lambda name: name) -> str:
        """What was measured and tested; `bold` and `framed` say how cells are marked, `quoted` sets a name."""
        first = self.comparisons[0]
        parts = [_lists(self.comparisons)]
        if any(metric.startswith("ndcg") for metric in first.metrics):
            parts.append(f"NDCG with gain {first.gain}.")
        if len(first.models) > 1:
            parts.append(f"{quoted(first.baseline)} in absolute values, the others as change relative to it.")
            parts.append(f"{bold} p < {first.level:g}, paired two-sided t-test, {_correction(first)}.")
        if self.frame:
            model, other = map(quoted, self.frame)
            parts.append(f"{framed} {model} against {other}: p < {first.level:g}, the same test, not corrected.")
        return " ".join(parts)


def tabulate(comparisons: Mapping[str, Comparison], frame: Frame | None = None, heading: str | None = None) -> Table:
    """One table of one comparison or of several, such as the paper's with a block for each truncation position.

    Args:
        comparisons: for each block, by name, what `truerank.evaluate` returned; several must have been corrected as one
            family, by `truerank.adjust_together` or `n_comparisons`.
        frame: a model and another: the cells of the first are framed where the two differ in a test of their own.
        heading: what stands over the names of the blocks; None leaves the names out.
    """
    _check_blocks(comparisons, heading)
    return Table(
        heading,
        tuple(map(metric_title, next(iter(comparisons.values())).metrics)),
        tuple((name, _rows(comparison, frame)) for name, comparison in comparisons.items()),
        tuple(comparisons.values()),
        frame,
    )


def _check_blocks(comparisons: Mapping[str, Comparison], heading: str | None) -> None:
    """Refuse blocks that one caption cannot describe."""
    if not comparisons:
        raise InputError("comparisons is empty; a table needs at least one")
    if heading is None and len(comparisons) > 1:
        raise InputError(f"there are {len(comparisons)} blocks and no heading; say what their names mean")
    for text in (heading or "", *comparisons):
        if not text.isprintable():
            raise InputError(f"a block is named {text!r}; a name must be a line of text")
    first, *others = comparisons.values()
    for name in ("models", "metrics", "baseline", "gain", "empty", "correction", "n_comparisons", "level"):
        for other in others:
            if getattr(other, name) != getattr(first, name):
                raise InputError(
                    f"{name} is {getattr(first, name)!r} in one block and {getattr(other, name)!r} in another; the "
                    "blocks of a table share it"
                )
    tests = len(comparisons) * (len(first.models) - 1) * len(first.metrics)
    if first.correction is not None and first.n_comparisons < tests:
        raise InputError(
            f"the p-values are corrected for {first.n_comparisons} comparisons and the table shows {tests}. "
            "Hint: truerank.adjust_together corrects the comparisons of all tables as one family"
        )


def _rows(comparison: Comparison, frame: Frame | None) -> tuple[Row, ...]:
    framed = _framed(comparison, frame)
    others = [model for model in comparison.models if model != comparison.baseline]
    return tuple(
        (model, tuple(_cell(comparison, model, metric, (model, metric) in framed) for metric in comparison.metrics))
        for model in (comparison.baseline, *others)
    )


def _framed(comparison: Comparison, frame: Any) -> set[tuple[str, str]]:
    """Which cells are framed."""
    if frame is None:
        return set()
    if isinstance(frame, str) or len(frame) != 2 or frame[0] == frame[1]:
        raise InputError(f"frame is {frame!r}; it must name two models, such as ('robust', 'ratio')")
    model, other = frame
    return {(model, m) for m in comparison.metrics if comparison.p_value(model, other, m) < comparison.level}


def _cell(comparison: Comparison, model: str, metric: str, framed: bool) -> Cell:
    """The mean of the baseline, the relative change of another model; the exact numbers as detail."""
    result = comparison[model, metric]
    interval = f", {100 * (1 - comparison.level):g}% interval {{:.4f}} to {{:.4f}}" if comparison.bootstrap else ""
    detail = f"mean {result.mean:.4f}" + interval.format(*result.mean_interval)
    if model == comparison.baseline:
        return Cell(f"{result.mean:.3f}", framed=framed, detail=detail)
    detail += f"; difference {result.difference:+.4f}" + interval.format(*result.difference_interval)
    detail += f"; p = {result.p_value:.2g}, corrected {result.adjusted_p_value:.2g}; d = {result.effect_size:.2g}"
    return Cell(_percent(result), result.significant, framed, detail)


def _percent(result: Result) -> str:
    change = 100 * result.relative_change
    return f"{change:+z.2f}%" if change == change else NOTHING


def _lists(comparisons: tuple[Comparison, ...]) -> str:
    what = {"drop": "dropped", "zero": "counted as 0", "one": "counted as 1"}[comparisons[0].empty]
    used = _from_to([c.lists_used for c in comparisons])
    without = _from_to([c.lists_without_relevant for c in comparisons])
    return f"{used} lists" + (f" ({without} without a relevant item {what})." if without != "0" else ".")


def _from_to(counts: list[int]) -> str:
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _correction(comparison: Comparison) -> str:
    if comparison.correction is None:
        return "not corrected"
    return f"{comparison.correction.capitalize()} over {comparison.n_comparisons:,} comparisons"

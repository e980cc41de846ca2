"""What there is to see of a study: each figure with a title, how to read it, its charts, and its table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from truerank.report import charts
from truerank.report.data import Clicks, Curve, Duel, Gap, Joint, Score, Study, Training


@dataclass(frozen=True)
class Figure:
    """Charts that belong together, and the numbers they show; `least` is how narrow one of several may become.

    Where there are several charts, `titles` has one for each.
    """

    title: str
    how: str
    charts: tuple[Any, ...]
    head: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    titles: tuple[str, ...] = ()
    wide: bool = False
    least: str = ""


def figures_of(study: Study) -> Iterator[Figure]:
    """The figures for what the study has."""
    models = list(dict.fromkeys(score.model for score in study.scores))
    if study.gaps:
        yield _gaps(study.gaps, models)
    if study.scores:
        yield _scores(study.scores)
    if study.curve is not None:
        yield _curve(study.curve)
    if study.clicks is not None:
        yield _clicks(study.clicks)
    if study.joint is not None:
        yield _joint(study.joint)
    yield from map(_duel, study.duels)
    if study.training:
        yield _training(study.training, models)


def _gaps(gaps: Sequence[Gap], models: Sequence[str]) -> Figure:
    return Figure(
        "How much of the gap is closed",
        "The gap lies between a ranker trained on clicks as they are and one trained on labels, which nobody has in "
        "production. Lines are 95 % bootstrap intervals over test lists.",
        (charts.gap_bars(gaps, models or [g.model for g in gaps]),),
        ("model", "metric", "closed", "from", "to", "clicks", "labels"),
        tuple((g.model, g.metric, _percent(g.share), _percent(g.low), _percent(g.high), g.worst, g.best) for g in gaps),
    )


def _scores(scores: Sequence[Score]) -> Figure:
    return Figure(
        "The rankers compared",
        "Means over test lists with true labels; lines are 95 % bootstrap intervals. A star: the change from the first "
        "is significant (paired t-test, corrected for all comparisons).",
        (charts.score_bars(scores),),
        ("model", "metric", "mean", "from", "to", "change", "p", "significant"),
        tuple(
            (
                s.model,
                s.metric,
                s.mean,
                s.low,
                s.high,
                None if s.relative_change is None else f"{s.relative_change:+.2%}",
                s.p_value,
                "yes" if s.significant else "no",
            )
            for s in scores
        ),
    )


def _curve(curve: Curve) -> Figure:
    truth = curve.truth or (None,) * len(curve.theta)
    how = f"How likely each position is looked at, relative to the first, by {curve.method}; bars are 95 % intervals."
    return Figure(
        "How people look at the page",
        how + (" The truth is known here: these people were simulated." if curve.truth else ""),
        (charts.examination_curve(curve),),
        ("position", "θ", "from", "to", "truth", "weight 1/θ"),
        tuple(
            (k + 1, theta, low, high, true, 1 / theta)
            for k, (theta, low, high, true) in enumerate(zip(curve.theta, curve.low, curve.high, truth, strict=True))
        ),
    )


def _clicks(clicks: Clicks) -> Figure:
    relevant = clicks.relevant or (None,) * len(clicks.clicks)
    return Figure(
        "Clicks before and after weighting",
        "Clicks fall faster than relevance does, since fewer people look further down. Weighted by 1/θ, each click "
        "stands for those who would have clicked, had they looked.",
        (charts.clicks_by_position(clicks),),
        ("position", "shown", "clicks", "weighted clicks", "truly relevant"),
        tuple(
            (k + 1, shown, clicked, weighted, true if true is None else _percent(true))
            for k, (shown, clicked, weighted, true) in enumerate(
                zip(clicks.impressions, clicks.clicks, clicks.weighted, relevant, strict=True)
            )
        ),
    )


def _joint(joint: Joint) -> Figure:
    n = len(joint.psi)
    table = tuple((i + 1, *joint.psi[i]) for i in range(n))
    head = ("position", *(str(k + 1) for k in range(n)))
    if joint.row_lengths is None:
        how = f"P(both looked at) for every pair of positions: {joint.model}. What a pair of two clicks is weighed by."
        return Figure("Looking at two positions", how, (charts.joint_table(joint),), head, table)
    how = (
        f"The page as a grid, {joint.model}. The first panel: how likely each place is looked at; the others: how "
        "likely if the framed place is."
    )
    grids = charts.joint_grids(joint)
    return Figure(
        "Looking at two places of a grid", how, tuple(grids.values()), head, table, titles=tuple(grids), least="10rem"
    )


def _duel(duel: Duel) -> Figure:
    n = max(duel.wins + duel.ties + duel.losses, 1)
    how = (
        f"{duel.model} is better than {duel.against} on {duel.wins / n:.0%} of the test lists, worse on "
        f"{duel.losses / n:.0%}, equal on {duel.ties / n:.0%} (not drawn)."
    )
    rows = tuple(
        (f"{low:+.3f} to {high:+.3f}", count)
        for low, high, count in zip(duel.edges, duel.edges[1:], duel.counts, strict=False)
    )
    return Figure(
        "List by list",
        how,
        (charts.duel_histogram(duel),),
        (f"difference in {duel.metric}", "lists"),
        (("better", duel.wins), ("equal", duel.ties), ("worse", duel.losses), *rows),
    )


def _training(training: Sequence[Training], models: Sequence[str]) -> Figure:
    views = list(dict.fromkeys(curve.on for curve in training))
    names = models or [curve.model for curve in training]
    drawn = [charts.training_curves([curve for curve in training if curve.on == view], names) for view in views]
    return Figure(
        "Training, watched in different lights",
        "The same models after each tree. Clicks as they are praise the model that copies the bias; clicks weighted by "
        "1/θ see what labels would say, so they may decide when to stop.",
        tuple(drawn),
        ("watched on", "model", "metric", "first", "best", "after trees", "last"),
        tuple((c.on, c.model, c.metric, c.values[0], max(c.values), _trees_of_best(c), c.values[-1]) for c in training),
        titles=tuple(views),
        wide=True,
    )


def _trees_of_best(curve: Training) -> int:
    return (curve.values.index(max(curve.values)) + 1) * curve.step


def _percent(share: float) -> str:
    return f"{share:.1%}"

"""What the demo tells: lines for the terminal, and a study for the report."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from truerank.experiment.demo import CLICKS, LABELS, METRICS, ROBUST, UNBIASED, Outcome
from truerank.experiment.studies import curve_of, data_checks, floats, joint_of, weighted_clicks
from truerank.metrics import Comparison, ndcg, unbiased_ndcg
from truerank.metrics.resampling import percentile_interval, resampled_means
from truerank.propensity import position_counts
from truerank.report import Check, Clicks, Curve, Duel, Gap, Joint, Score, Study, Training
from truerank.types import FloatArray

VIEWS = ("clicks as they are", "clicks, weighted by 1/θ", "labels (nobody has them)")
_BINS = 20
_STEP = 5  # trees between two points of a training curve


def told(outcome: Outcome) -> Iterator[str]:
    """The story, line by line."""
    yield "\nHow people look, estimated from the log, and the truth that we know since we simulated them:\n"
    yield _propensity_table(outcome)
    yield "\nRankers on lists of the test set, by what people really wanted:\n"
    yield outcome.comparison.table()
    yield ""
    yield from story(outcome.comparison)


def story(comparison: Comparison) -> tuple[str, ...]:
    """How far the gap was, and how much of it was closed."""
    worst, best = (comparison[name, "ndcg@10"].mean for name in (CLICKS, LABELS))
    lines = [f"Trained on clicks as they are: NDCG@10 {worst:.3f}. Trained on labels, which nobody has: {best:.3f}."]
    if not has_gap(comparison, "ndcg@10"):
        return (*lines, "On so few lists the two cannot be told apart, so there is no gap to speak of.")
    lines.append(f"That gap of {best - worst:.3f} is what looking at the top first, and clicks being few, cost.")
    for name, needs in ((ROBUST, "with the estimated propensities"), (UNBIASED, "which learns its own ratios")):
        gap = gap_closed(comparison, name, "ndcg@10")
        lines.append(f"{name}, {needs}, closed {gap.share:.0%} of it (95 %: {gap.low:.0%} to {gap.high:.0%}).")
    return tuple(lines)


def has_gap(comparison: Comparison, metric: str) -> bool:
    """Whether labels are significantly better than clicks; otherwise a share of the gap is a share of noise."""
    better = comparison[LABELS, metric].mean > comparison[CLICKS, metric].mean
    return better and comparison.p_value(LABELS, CLICKS, metric) < comparison.level


def gap_closed(comparison: Comparison, model: str, metric: str) -> Gap:
    """The share of the way from clicks to labels, with a bootstrap interval over test lists."""
    values = np.stack([comparison.per_list(name, metric) for name in (CLICKS, model, LABELS)], axis=1)
    worst, reached, best = values.mean(axis=0).tolist()
    drawn = resampled_means(values, 1_000, comparison.seed)
    low, high = percentile_interval((drawn[:, 1] - drawn[:, 0]) / (drawn[:, 2] - drawn[:, 0]), 0.05).tolist()
    return Gap(model, _named(metric), (reached - worst) / (best - worst), low, high, worst, best)


def study_of(outcome: Outcome) -> Study:
    """All of it, for the report."""
    comparison = outcome.comparison
    world, size = outcome.world, outcome.size
    return Study(
        name=world.title,
        about=f"{world.about} {outcome.shown.n_lists:,} lists were shown {size.sessions_per_list} times each; the "
        f"rankers are judged on {comparison.lists_used:,} others.",
        story=story(comparison),
        curve=_curve(outcome),
        joint=_joint(outcome),
        clicks=_clicks(outcome),
        scores=tuple(
            Score(
                result.model,
                _named(result.metric),
                result.mean,
                *result.mean_interval,
                _number(result.relative_change),
                _number(result.adjusted_p_value),
                result.significant,
            )
            for result in comparison.results
        ),
        gaps=tuple(
            gap_closed(comparison, name, metric)
            for metric in ("ndcg@1", "ndcg@10")
            if has_gap(comparison, metric)
            for name in (UNBIASED, ROBUST)
        ),
        duels=(_duel(comparison),),
        training=tuple(_training(outcome)),
        checks=_checks(outcome),
        warnings=outcome.estimate.notes,
        table=comparison.table(),
    )


def _relative_truth(outcome: Outcome) -> FloatArray:
    """θ of the simulated people; relative to position 1 where the estimate is."""
    places = np.arange(1, outcome.world.places + 1)
    truth: FloatArray = outcome.world.people.marginal(places)
    return truth / truth[0] if outcome.estimate.theta[0] == 1 else truth


def _propensity_table(outcome: Outcome) -> str:
    low, high = outcome.estimate.interval()
    rows = zip(outcome.estimate.theta, low, high, _relative_truth(outcome), strict=True)
    lines = [f"{'position':>8}  {'θ':>6}  {'95 % interval':>15}  {'truth':>6}"]
    lines += [f"{k + 1:>8}  {t:>6.3f}  {a:>6.3f} – {b:<6.3f}  {true:>6.3f}" for k, (t, a, b, true) in enumerate(rows)]
    named = outcome.estimate.parameters.items()
    lines += [f"{name} = {value:.3f} ± {error:.3f}" for name, (value, error) in named]
    return "\n".join(lines)


def _curve(outcome: Outcome) -> Curve:
    how = "row-skipping likelihood" if outcome.world.grid else "the swap experiment"
    return curve_of(outcome.estimate, how, _relative_truth(outcome))


def _joint(outcome: Outcome) -> Joint:
    model = "row skipping, as estimated" if outcome.world.grid else "continuous browsing with the estimated θ"
    return joint_of(outcome.estimate.examination, outcome.world.places, model, outcome.world.grid)


def _clicks(outcome: Outcome) -> Clicks:
    log, counts = outcome.log, position_counts(outcome.log)
    grade = outcome.shown.labels.astype(np.float64)
    chance = (2**grade - 1) / (2 ** grade.max() - 1)
    relevant = np.bincount(log.positions, weights=chance[log.item])[counts.position] / counts.impressions
    return weighted_clicks(counts, outcome.estimate.examination, relevant)


def _duel(comparison: Comparison) -> Duel:
    difference = comparison.per_list(ROBUST, "ndcg@10") - comparison.per_list(CLICKS, "ndcg@10")
    reach = max(float(np.abs(difference).max()), 1e-9)
    edges = np.linspace(-reach, reach, _BINS + 1)
    counts, _ = np.histogram(difference[difference != 0], edges)
    wins, losses = int((difference > 0).sum()), int((difference < 0).sum())
    ties = len(difference) - wins - losses
    return Duel(ROBUST, CLICKS, "NDCG@10", wins, ties, losses, floats(edges), tuple(counts.tolist()))


def _training(outcome: Outcome) -> Iterator[Training]:
    """NDCG@10 of lists kept aside, after every few trees, on the three kinds of labels."""
    log, valid, examination = outcome.valid_log, outcome.valid, outcome.estimate.examination
    for name in (CLICKS, UNBIASED, ROBUST):
        booster = outcome.rankers[name].booster_
        scores, values = np.zeros(valid.n_rows), []
        for tree in range(0, outcome.size.trees, _STEP):
            scores += booster.predict(valid.X, start_iteration=tree, num_iteration=_STEP)
            shown = (scores[log.item], log.clicks, log.positions, log.group)
            golden = float(np.nanmean(ndcg(scores, valid.labels, valid.group, at=10)))
            values.append((unbiased_ndcg(*shown, None).value, unbiased_ndcg(*shown, examination).value, golden))
        for view, of_view in zip(VIEWS, zip(*values, strict=True), strict=True):
            yield Training(name, "NDCG@10", view, of_view, _STEP)


def _checks(outcome: Outcome) -> tuple[Check, ...]:
    log, estimate = outcome.log, outcome.estimate
    clicked = np.add.reduceat(log.clicks > 0, np.concatenate([[0], np.cumsum(log.group)[:-1]]))
    return data_checks(
        position_counts(log),
        log.n_sessions,
        float((clicked == 0).mean()),
        estimate.examination,
        float(estimate.log_standard_errors.max()),
    )


def _number(value: float) -> float | None:
    return None if np.isnan(value) else value


def _named(metric: str) -> str:
    return metric.upper() if metric in METRICS else metric

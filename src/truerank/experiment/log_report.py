"""A report on a click log of your own: how people look, clicks before and after weighting, the health of the data."""

from __future__ import annotations

import numpy as np

from truerank.errors import IdentificationError, InputError
from truerank.examination import ExaminationModel, RowSkipping
from truerank.experiment.studies import curve_of, data_checks, joint_of, versions, weighted_clicks
from truerank.log import ClickLog
from truerank.propensity import PropensityEstimate, estimate
from truerank.report import Check, Curve, Joint, Report, Study
from truerank.types import PositionCounts

_MOST_PLACES = 40
"""A table of pairs of more positions than this cannot be read."""


def report_on_log(log: ClickLog, examination: PropensityEstimate | ExaminationModel | None = None) -> Report:
    """What a click log holds, how people look at its pages, and what weighting its clicks does.

    Args:
        log: a click log; what is wrong with it is counted, rule by rule.
        examination: an estimate or a model of how people look; None to estimate it from the log. Where the log cannot
            tell, the report says why, and shows no curve.

    >>> from truerank import open_log
    >>> log = open_log({"session": [1, 1], "query": [1, 1], "item": [1, 2], "position": [1, 2], "label": [1, 0]})
    >>> report_on_log(log).studies[0].curve is None  # one session tells nothing about positions
    True
    """
    if not isinstance(log, ClickLog):
        raise InputError(f"log is a {type(log).__name__}; it must be what truerank.open_log gives")
    found, warnings = _how_people_look(log, examination)
    summary = log.summary()
    model = found.examination if isinstance(found, PropensityEstimate) else found
    counts, cut = _known(summary.positions, model)
    errors = found.log_standard_errors[found.measured] if isinstance(found, PropensityEstimate) else np.empty(0)
    checks = data_checks(
        counts, summary.sessions, summary.share_without_click, model, float(errors.max()) if errors.size else None
    )
    study = Study(
        name="The log",
        about=f"{summary.sessions:,} sessions of {summary.lists:,} queries; {summary.impressions:,} impressions of "
        f"{summary.items:,} items, {summary.clicks:,} of them clicked.",
        story=_story(counts, model),
        curve=None if found is None else _curve(found, len(counts.position)),
        joint=None if model is None else _joint(model, len(counts.position)),
        clicks=None if model is None else weighted_clicks(counts, model),
        checks=(*checks, *_rules(log)),
        warnings=(*warnings, *cut, *(found.notes if isinstance(found, PropensityEstimate) else ())),
    )
    said = "Clicks, and what they would be had everybody looked at everything." if model else "This log cannot tell θ."
    return Report("A click log", said, (study,), versions() | {"made by": "truerank.report_on_log"})


def _how_people_look(
    log: ClickLog, given: PropensityEstimate | ExaminationModel | None
) -> tuple[PropensityEstimate | ExaminationModel | None, tuple[str, ...]]:
    if given is not None:
        if not isinstance(given, PropensityEstimate | ExaminationModel):
            raise InputError(f"examination is a {type(given).__name__}; it must be an estimate, a model, or None")
        return given, ()
    try:
        return estimate(log), ()
    except IdentificationError as error:
        return None, (str(error),)


def _known(counts: PositionCounts, model: ExaminationModel | None) -> tuple[PositionCounts, tuple[str, ...]]:
    """Counts of positions 1, 2, 3, … as far as the model goes, those never shown with 0; a note on what is cut."""
    last = int(counts.position[-1])
    n = last if model is None else min(last, model.n_positions)
    every = np.arange(1, n + 1)
    shown, clicks = np.zeros((2, last + 1), dtype=np.int64)
    shown[counts.position], clicks[counts.position] = counts.impressions, counts.clicks
    cut = (f"positions {n + 1} to {last} are left out: how people look is known to position {n}",) if n < last else ()
    return PositionCounts(every, shown[every], clicks[every]), cut


def _story(counts: PositionCounts, model: ExaminationModel | None) -> tuple[str, ...]:
    if model is None or not counts.clicks.sum():
        return ()
    rate = counts.clicks / np.maximum(counts.impressions, 1)
    fair = rate / model.marginal(counts.position)
    last = len(rate)
    if last < 2 or not rate[0] or not rate[-1]:
        return ()
    return (
        f"The first position is clicked {rate[0] / rate[-1]:.1f} times as often as position {last}. Had both been "
        f"looked at alike, it would be {fair[0] / fair[-1]:.1f} times.",
    )


def _curve(found: PropensityEstimate | ExaminationModel, n: int) -> Curve:
    if isinstance(found, PropensityEstimate):
        return curve_of(found, found.method)
    theta = tuple(found.marginal(np.arange(1, n + 1)).tolist())
    return Curve(f"{type(found).__name__}, as given", theta, theta, theta)


def _joint(model: ExaminationModel, n: int) -> Joint:
    if isinstance(model, RowSkipping) and n == model.n_positions:
        return joint_of(model, n, type(model).__name__, tuple(int(length) for length in model.row_lengths))
    return joint_of(model, min(n, _MOST_PLACES), type(model).__name__)


def _rules(log: ClickLog) -> tuple[Check, ...]:
    """What is wrong with the log, rule by rule."""
    found = log.validate(examples=0).found
    if not found:
        return (Check("rules for logs", "all kept"),)
    return tuple(Check(p.says, f"{p.rows:,} rows", p.note, p.hint) for p in found)

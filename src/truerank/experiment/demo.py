"""The demo: a log with position bias, what it does to a ranker, and how much of that can be undone.

For a web search and for a shop: lists are generated and ranked as such pages are, none too well; simulated people look
at them, at the top more than further down, and click; a swap experiment is hidden in a part of the traffic. From that
log alone the propensities are estimated and rankers trained, and then judged by what the people really wanted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from truerank.datasets import generate_dataset
from truerank.datasets.shop import FEATURES, row_lengths
from truerank.examination import Continuous, ExaminationModel, RowSkipping, inverse_rank
from truerank.experiment.initial_ranking import in_order_of
from truerank.experiment.sources import row_places, take_lists
from truerank.experiment.studies import versions
from truerank.metrics import Comparison, evaluate
from truerank.pairs import pair_weights
from truerank.propensity import PropensityEstimate, row_skipping, swap
from truerank.rankers.lightgbm import LambdaMARTRanker
from truerank.report import Report, Study
from truerank.simulate import SwapExperiment, simulate_clicks
from truerank.types import ClickSessions, JudgedLists

Say = Callable[[str], None]
CLICKS, UNBIASED, ROBUST, LABELS = "Clicks as they are", "Unbiased LambdaMART", "Robust Unbiased LambdaMART", "Labels"
METRICS = ("ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "map")
_PLACES = 12
_FEW_LISTS = 40  # what the weak ranker learns from


@dataclass(frozen=True, slots=True)
class Size:
    """How much of everything there is."""

    train: int = 1_500
    valid: int = 150
    test: int = 1_200
    sessions_per_list: int = 100
    trees: int = 100


QUICK = Size(train=100, valid=20, test=100, sessions_per_list=60, trees=10)
WEAK = "a weak ranker"


@dataclass(frozen=True, slots=True)
class World:
    """Whom we simulate, and what for."""

    name: str
    title: str
    about: str
    people: ExaminationModel
    shown_first: str
    grid: tuple[int, ...] | None = None

    @property
    def places(self) -> int:
        """How many positions the page has."""
        return self.people.n_positions


def worlds() -> tuple[World, ...]:
    """Web search, read from the top; and a shop that shows bestsellers first, and whose rows are skipped."""
    rows = row_lengths(_PLACES)
    return (
        World(
            "web",
            "Web search",
            "Ten results in the order of a weak ranker, read from the top until the visitor leaves: one in k looks at "
            "position k (continuous browsing).",
            Continuous(inverse_rank(10)),
            WEAK,
        ),
        World(
            "shop",
            "Shop",
            "Twelve products in a grid of three rows, bestsellers first: one visitor in five skips a row, one in four "
            "leaves it after each product (row skipping).",
            RowSkipping(0.2, 0.75, rows),
            "sales",
            tuple(rows),
        ),
    )


@dataclass(frozen=True, eq=False)
class Outcome:
    """What happened in one world."""

    world: World
    size: Size
    shown: JudgedLists
    log: ClickSessions
    estimate: PropensityEstimate
    rankers: dict[str, LambdaMARTRanker]
    comparison: Comparison
    valid: JudgedLists
    valid_log: ClickSessions


def run_demo(seed: int = 0, *, quick: bool = False, say: Say | None = None) -> Report:
    """Run the demo and tell its story.

    Args:
        seed: the same seed tells the same story.
        quick: on a tenth of the data, to see it run; there is too little of it for the figures to mean much.
        say: called with each line of the story as it unfolds.
    """
    from truerank.experiment.demo_study import study_of, told

    say = say or (lambda line: None)
    start, size = time.perf_counter(), QUICK if quick else Size()
    studies = []
    for world in worlds():
        outcome = play(world, size, seed, say)
        for line in told(outcome):
            say(line)
        studies.append(study_of(outcome))
    made = {
        "command": f"truerank demo --seed {seed}" + " --quick" * quick,
        "seed": str(seed),
        **versions(),
        "data": f"generated: {size.train:,} lists to train on, {size.test:,} to test on, "
        f"{size.sessions_per_list} sessions a list",
        "time": f"{time.perf_counter() - start:.0f} s",
    }
    return Report("Clicks lie, and how much of it can be undone", _summary(studies), tuple(studies), made)


def _summary(studies: Sequence[Study]) -> str:
    """The result in a sentence."""
    parts = [
        f"{gap.share:.0%} ({study.name.lower()})"
        for study in studies
        for gap in study.gaps
        if gap.model == ROBUST and gap.metric == "NDCG@10"
    ]
    if not parts:
        return "On so little data rankers trained on clicks and on labels cannot be told apart."
    return (
        "Training on clicks as they are costs quality, compared with training on labels, which nobody has in "
        f"production. With nothing but the click log, {ROBUST} closed {' and '.join(parts)} of that gap in NDCG@10."
    )


def play(world: World, size: Size, seed: int, say: Say) -> Outcome:
    """One world from the log to the comparison."""
    say(f"\n{world.title.upper()}\n{world.about}")
    splits = generate_dataset(world.name, (_FEW_LISTS + size.train, size.valid, size.test), seed)
    is_first = np.arange(splits.train.n_lists) < _FEW_LISTS
    few, many = take_lists(splits.train, is_first), take_lists(splits.train, ~is_first)
    first = _first(world, few, size, seed)
    shown = as_ranked(many, first(many.X), world.places)
    valid = as_ranked(splits.valid or many, first((splits.valid or many).X), world.places)
    experiment = SwapExperiment(range(2, world.places + 1), share=0.2)
    log = simulate_clicks(shown, world.people, size.sessions_per_list, seed, require_click=False, swap=experiment)
    valid_log = simulate_clicks(valid, world.people, size.sessions_per_list, seed + 1, require_click=False)
    say(
        f"simulated {log.n_sessions:,} sessions of {shown.n_lists:,} lists, one in five in a swap experiment: "
        f"{int((log.clicks > 0).sum()):,} clicks"
    )
    estimate = estimated(world, log)
    rankers = {}
    for name, method in ((CLICKS, "none"), (UNBIASED, "ratio"), (ROBUST, "robust")):
        examination = estimate.examination if method == "robust" else None
        pairs = pair_weights(log.clicks, log.positions, log.group, method, examination, query=log.query, item=log.item)
        pairs = pairs.select_lists(np.diff(pairs.offsets) > 0)
        rankers[name] = _ranker(method, examination, size, seed).fit_pairs(shown.X[pairs.item], pairs)
    rankers[LABELS] = _ranker("none", None, size, seed, gain="exp2").fit(shown.X, shown.labels, group=shown.group)
    scores = {name: ranker.predict(splits.test.X) for name, ranker in rankers.items()}
    comparison = evaluate(scores, splits.test.labels, splits.test.group, METRICS)
    return Outcome(world, size, shown, log, estimate, rankers, comparison, valid, valid_log)


def _first(world: World, few: JudgedLists, size: Size, seed: int) -> Callable[[Any], Any]:
    """What the page was ranked by when the log was written: a feature, or a ranker that saw few labels."""
    if world.shown_first != WEAK:
        column = FEATURES.index(world.shown_first)
        return lambda X: X[:, column]
    weak = _ranker("none", None, size, seed, gain="exp2").set_params(n_estimators=10)
    return weak.fit(few.X, few.labels, group=few.group).predict


def estimated(world: World, log: ClickSessions) -> PropensityEstimate:
    """How people look, from the log: the swap experiment for a list, the sessions themselves for a grid."""
    if world.grid is None:
        return swap(log, browsing="continuous", smooth="isotonic")
    return row_skipping(log, world.grid)


def as_ranked(judged: JudgedLists, scores: Any, at: int) -> JudgedLists:
    """Lists in the order of the scores, cut."""
    ranked = in_order_of(judged, scores)
    kept = row_places(ranked) < at
    return JudgedLists(ranked.X[kept], ranked.labels[kept], np.minimum(judged.group, at), judged.query)


def _ranker(method: str, examination: Any, size: Size, seed: int, **more: Any) -> LambdaMARTRanker:
    return LambdaMARTRanker(
        method,
        examination,
        n_estimators=size.trees,
        learning_rate=0.1,
        num_leaves=31,
        min_child_samples=20,
        feature_fraction=0.5,
        seed=seed,
        verbosity=-1,
        **more,
    )

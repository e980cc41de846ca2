"""What the paper says about its experiment, held against the numbers of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from truerank.errors import InputError
from truerank.experiment.config import Config
from truerank.experiment.methods import METHODS
from truerank.experiment.tables import Comparisons
from truerank.metrics import Comparison
from truerank.metrics.significance import adjust_p_values, paired_t_test
from truerank.types import FloatArray

LEVEL = 0.05
NDCG = ("ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10")
HOLDS, IN_PART, OPEN, FAILS = "holds", "holds in part", "cannot be told", "does not hold"


@dataclass(frozen=True, slots=True)
class Statement:
    """One comparison that a claim is made of: the mean difference is said to be above 0."""

    where: str
    difference: float
    p_value: float
    """Two-sided, paired, Holm over all statements of all claims of a run."""

    @property
    def true(self) -> bool:
        """Whether the difference has the direction that is claimed."""
        return self.difference > 0

    @property
    def significant(self) -> bool:
        """Whether it is more than chance, in whichever direction."""
        return self.p_value < LEVEL


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim and what became of it."""

    claim: str
    statements: tuple[Statement, ...]

    @property
    def verdict(self) -> str:
        """What the numbers say.

        It holds if every difference goes the way that is claimed, and some significantly; in part if more are
        significant that way than the other; it cannot be told if none is; otherwise it does not hold.
        """
        confirmed = sum(s.true and s.significant for s in self.statements)
        opposed = sum(not s.true and s.significant for s in self.statements)
        if not confirmed and not opposed:
            return OPEN
        if all(s.true for s in self.statements):
            return HOLDS
        return IN_PART if confirmed > opposed else FAILS

    def __str__(self) -> str:
        """The verdict, in bold, with its counts."""
        true, n = sum(s.true for s in self.statements), len(self.statements)
        confirmed = sum(s.true and s.significant for s in self.statements)
        opposed = sum(not s.true and s.significant for s in self.statements)
        counts = f"{true} of {n} differences go that way, {confirmed} of them significantly"
        return f"**{self.verdict}**; {counts}" + (f"; {opposed} significantly the other way" if opposed else "")


Differences = Iterator[tuple[str, FloatArray]]
"""For each statement where it is made, and the difference in each test list."""


def check_claims(config: Config, comparisons: Comparisons) -> tuple[Finding, ...]:
    """Hold the paper's claims against a run; those that it lacks the models for are left out."""
    made = [(claim, list(find(config, comparisons))) for claim, find in CLAIMS.items()]
    made = [(claim, differences) for claim, differences in made if differences]
    each = [values for _, differences in made for _, values in differences]
    if not each:
        raise InputError("the experiment has none of the models that the paper's claims are about")
    p_values = iter(adjust_p_values([float(paired_t_test(values)[0]) for values in each], "holm").tolist())
    return tuple(
        Finding(claim, tuple(Statement(where, float(values.mean()), next(p_values)) for where, values in differences))
        for claim, differences in made
    )


def _robust_wins(config: Config, comparisons: Comparisons) -> Differences:
    return _against("continuous", comparisons, "robust", "ratio-0", sign=lambda _k: 1)


def _it_grows(config: Config, comparisons: Comparisons) -> Differences:
    for metric in NDCG:
        uplifts = [
            (truncation, _difference(comparison, "robust", "ratio-0", metric))
            for truncation, comparison in comparisons.get("continuous", {}).items()
            if _has(comparison, "robust", "ratio-0")
        ]
        uplifts.sort(key=lambda uplift: uplift[0])
        for (shorter, before), (longer, after) in pairwise(uplifts):
            yield f"continuous, {shorter} → {longer}, {metric}", after - before


def _regularised_gains(config: Config, comparisons: Comparisons) -> Differences:
    return _against("continuous", comparisons, "ratio-2", "ratio-0", sign=lambda _k: 1)


def _robust_when_independent(config: Config, comparisons: Comparisons) -> Differences:
    shortest = min(config.truncation_positions)
    return _against("independent", comparisons, "robust", "ratio-0", sign=lambda k: -1 if k == shortest else 1)


def _clicks_are_lowest(config: Config, comparisons: Comparisons) -> Differences:
    return _extreme(comparisons, "clicks", -1)


def _labels_are_highest(config: Config, comparisons: Comparisons) -> Differences:
    return _extreme(comparisons, "labels", 1)


CLAIMS: dict[str, Callable[[Config, Comparisons], Differences]] = {
    "Robust is better than unregularised Unbiased LambdaMART under continuous examination": _robust_wins,
    "… and the more so, the longer the lists": _it_grows,
    "Regularisation (L2) makes Unbiased LambdaMART better under continuous examination": _regularised_gains,
    "Under independent examination Robust is worse for the shortest lists and better for longer ones": (
        _robust_when_independent
    ),
    "What is trained on clicks as they are is lowest": _clicks_are_lowest,
    "What is trained on labels is highest": _labels_are_highest,
}


def _against(
    browsing: str, comparisons: Comparisons, model: str, other: str, sign: Callable[[int], int]
) -> Differences:
    for truncation, comparison in comparisons.get(browsing, {}).items():
        if _has(comparison, model, other):
            for metric in NDCG:
                values = sign(truncation) * _difference(comparison, model, other, metric)
                yield f"{browsing}, {truncation}, {metric}", values


def _extreme(comparisons: Comparisons, model: str, sign: int) -> Differences:
    """A model against the strongest rival for its place: the lowest or highest of the paper's other models."""
    for browsing, blocks in comparisons.items():
        for truncation, comparison in blocks.items():
            rivals = [m for m in ("ratio-0", "clicks", "ratio-1", "ratio-2", "robust", "labels") if m != model]
            rivals = [rival for rival in rivals if _has(comparison, rival)]
            if _has(comparison, model) and rivals:
                for metric in NDCG:
                    each = [sign * _difference(comparison, model, rival, metric) for rival in rivals]
                    yield f"{browsing}, {truncation}, {metric}", min(each, key=np.mean)


def _has(comparison: Comparison, *methods: str) -> bool:
    return all(METHODS[method].title in comparison.models for method in methods)


def _difference(comparison: Comparison, model: str, other: str, metric: str) -> FloatArray:
    first, second = (comparison.per_list(METHODS[method].title, metric) for method in (model, other))
    return first - second

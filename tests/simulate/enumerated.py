"""The exact distribution of simulated sessions on short lists, by writing out everything that can happen."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy import stats

from truerank import Continuous, Independent, RowSkipping, Tabulated

THETA = [0.7, 0.9, 0.4, 0.5]
GRID = RowSkipping(0.3, [0.9, 0.5, 1.0, 0.7], row_lengths=[1, 2, 1])
EVERY = np.arange(1, 5)


class AllOrNothing:
    """Sees the whole page or nothing of it; a user's own model, with `sample` alone."""

    def sample(self, n_sessions, n_positions, rng):
        return np.repeat(rng.random((n_sessions, 1)) < 0.6, n_positions, axis=1)


class OnlySample:
    """One of our models as a stranger would bring it: drawn through its sampler, not by its walk."""

    def __init__(self, model):
        self.model = model

    def sample(self, n_sessions, n_positions, rng):
        return self.model.sample(n_sessions, n_positions, rng)


MODELS = {
    "independent": Independent(THETA),
    "continuous": Continuous([0.8, 0.6, 0.6, 0.2]),
    "row skipping": GRID,
    "tabulated": Tabulated(GRID.marginal(EVERY), GRID.joint(EVERY[:, None], EVERY)),
    "all or nothing": AllOrNothing(),
}
WALKS = ("independent", "continuous", "row skipping")


def examined_patterns(model, n):
    """The probability of each set of examined places 0 … n − 1."""
    if isinstance(model, OnlySample):
        return examined_patterns(model.model, n)
    if isinstance(model, AllOrNothing):
        return {(): 0.4, tuple(range(n)): 0.6}
    if isinstance(model, Independent):
        return {
            seen: math.prod(p if v in seen else 1 - p for v, p in enumerate(THETA[:n]))
            for k in range(n + 1)
            for seen in itertools.combinations(range(n), k)
        }
    if isinstance(model, Continuous):
        theta = [1.0, *model.marginal(EVERY[:n]).tolist(), 0.0]
        return {tuple(range(d)): theta[d] - (theta[d + 1] if d < n else 0) for d in range(n + 1)}
    patterns = {}
    for chance, seen in grid_visits(0.3, [0.9, 0.5, 1.0, 0.7], [1, 2, 1]):
        inside = tuple(v for v in seen if v < n)
        patterns[inside] = patterns.get(inside, 0) + chance
    return patterns


def grid_visits(gamma, continuation, rows, first=0):
    """Every way through a grid, as (its probability, the places examined)."""
    if not rows:
        yield 1.0, ()
        return
    after = first + rows[0]
    for chance, seen in grid_visits(gamma, continuation, rows[1:], after):
        yield gamma * chance, seen
        through = math.prod(continuation[first:after])
        yield (1 - gamma) * through * chance, (*range(first, after), *seen)
    for last in range(first, after):
        reached = math.prod(continuation[first:last])
        yield (1 - gamma) * reached * (1 - continuation[last]), tuple(range(first, last + 1))


def label_patterns(model, at_least, order=None):
    """The probability of each session's labels.

    `at_least[item][l − 1]` is P(label ≥ l | examined); `order` is the item at each place.
    """
    n = len(at_least)
    exactly = [-np.diff([1.0, *row, 0.0]) for row in at_least]
    levels = range(len(exactly[0]))
    found = {}
    for seen, chance in examined_patterns(model, n).items():
        for labels in itertools.product(*(levels if v in seen else (0,) for v in range(n))):
            items = order if order is not None else range(n)
            given = math.prod(exactly[items[v]][labels[v]] for v in seen)
            found[labels] = found.get(labels, 0) + chance * given
    return found


def with_a_click(patterns):
    """The same given at least one click: what redrawing until there is one converges to."""
    clicked = {labels: chance for labels, chance in patterns.items() if any(labels)}
    return {labels: chance / sum(clicked.values()) for labels, chance in clicked.items()}


def fit(drawn, patterns):
    """The p-value of Pearson's test that the rows of `drawn` come from these patterns; rare ones count as one."""
    seen, counts = np.unique(np.asarray(drawn), axis=0, return_counts=True)
    observed = dict(zip(map(tuple, seen.tolist()), counts.tolist(), strict=True))
    possible = {labels for labels, chance in patterns.items() if chance > 0}
    assert observed.keys() <= possible, f"drawn though impossible: {observed.keys() - possible}"
    n = len(drawn)
    common = [labels for labels in possible if n * patterns[labels] >= 10]
    table = [(observed.get(labels, 0), n * patterns[labels]) for labels in common]
    rest = n - np.sum(table, axis=0)
    if rest[1] > 1e-6:
        table.append(tuple(rest))
    counts, expected = np.array(table).T
    return stats.chisquare(counts, expected * counts.sum() / expected.sum()).pvalue

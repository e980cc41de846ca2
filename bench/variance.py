"""The complete method against the paper's robust one: what its shrinkage gains, and never loses."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

import truerank as tr
import truerank.errors
from bench.data import judged
from bench.rankers import LIGHTGBM, THREADS
from truerank.datasets.shop import row_lengths
from truerank.experiment.initial_ranking import initial_ranking
from truerank.metrics.significance import adjust_p_values
from truerank.types import JudgedLists

DATA = {"rich": (2_000, 1, 2_500), "shop": (1_000, 1, 3_500), "web": (2_000, 1, 2_500)}
RICH_SHARES, RICH_ITEMS = (0.2, 0.3, 0.25, 0.15, 0.1), 40
"""`rich` are lists of `bench.data` in which much is relevant, as where people shop for clothes."""
FIRST_SEED = 100
"""The method was chosen on other generators; nothing of it was changed after a look at these."""
TRUNCATIONS, SESSIONS = (10, 30), (4, 16, 200)
"""With one session a list the weights are those of `robust`, which is a test."""
STOPPING = {"row skipping": 0.9, "row skipping, C = .75": 0.75}
BROWSING = ("independent", "continuous", *STOPPING)
COMPARED_AT = ((30, "independent", 4), (30, "independent", 200), (30, "continuous", 4), (30, "continuous", 200))
PARAMS = LIGHTGBM | {"min_data_in_leaf": 4}
"""The paper's, for a table that holds each list once: ⌈50 / 16⌉ rows in a leaf."""
AT = (1, 10)


@dataclass(frozen=True)
class Cell:
    """Lists cut at a position, logged for so many sessions by people who look at them in some way."""

    shown: JudgedLists
    rows: np.ndarray
    log: Any
    sessions: int
    test: JudgedLists

    def pairs(self, method: str, examination: Any, **options: Any) -> tr.PairWeights:
        log = self.log
        return tr.pair_weights(
            log.clicks, log.positions, log.group, method, examination, query=log.query, item=log.item, **options
        )

    def train(self, pairs: tr.PairWeights) -> Any:
        return tr.LambdaMARTRanker("none", **PARAMS).fit_pairs(self.shown.X[pairs.item], pairs)

    def ndcg(self, pairs: tr.PairWeights) -> dict[int, np.ndarray]:
        """NDCG with golden labels of each test list that has a relevant item."""
        scores = self.train(pairs).predict(self.test.X)
        values = {at: tr.ndcg(scores, self.test.labels, self.test.group, at) for at in AT}
        return {at: v[~np.isnan(v)] for at, v in values.items()}


def examination_of(browsing: str, n: int, min_propensity: float | None = None) -> Any:
    """How people look at a page of n items."""
    if browsing in STOPPING:
        return tr.RowSkipping(gamma=0.3, continuation=STOPPING[browsing], row_lengths=row_lengths(n))
    model = {"independent": tr.Independent, "continuous": tr.Continuous}[browsing]
    return model(tr.inverse_rank(n), min_propensity=min_propensity)


class World:
    """The lists of each data set and seed, ranked as production does, kept while they are in use."""

    def __init__(self, name: str, seed: int) -> None:
        train, test = _rich(seed) if name == "rich" else _generated(name, seed)
        self.train, self.test, self.seed = initial_ranking(train, 0.02, seed), test, seed

    def cell(self, truncation: int, browsing: str, sessions: int) -> Cell:
        """The paper's protocol: a session is drawn again until it has a click."""
        judged, model = self.train, examination_of(browsing, truncation)
        log = tr.simulate_clicks(judged, model, sessions, self.seed, at=truncation)
        return Cell(judged, np.unique(log.item), log, sessions, self.test)


def _generated(name: str, seed: int) -> tuple[JudgedLists, JudgedLists]:
    splits = tr.generate_dataset(name, lists=DATA[name], seed=FIRST_SEED + seed)
    return splits.train, splits.test


def _rich(seed: int) -> tuple[JudgedLists, JudgedLists]:
    n_train, _, n_test = DATA["rich"]
    parts = (judged(n, RICH_ITEMS, part, FIRST_SEED + seed, RICH_SHARES) for part, n in ((1, n_train), (2, n_test)))
    train, test = (JudgedLists(d.X.astype(np.float32), d.y, d.group, np.arange(d.n_lists)) for d in parts)
    return train, test


def robust(cell: Cell, assumed: Any) -> tr.PairWeights:
    return cell.pairs("robust", assumed)


def shrunken(cell: Cell, assumed: Any) -> tr.PairWeights:
    return cell.pairs("complete", assumed)


def golden(cell: Cell, _: Any) -> tr.PairWeights:
    """What infinitely many sessions would say: N ρ_i (1 − ρ_j)."""
    relevance = (2.0**cell.shown.labels - 1) / (2.0 ** cell.shown.labels.max() - 1)
    return _from_relevance(cell, relevance[cell.rows])


def self_normalised(cell: Cell, assumed: Any) -> tr.PairWeights:
    """Robust, the weights of each list divided by what 1/p averages to over its clicks (Swaminathan and Joachims)."""
    pairs, log = cell.pairs("robust", assumed), cell.log
    clicked = log.clicks > 0
    list_of_click = np.searchsorted(pairs.query, np.repeat(log.query, log.group)[clicked])
    inverse = 1 / assumed.marginal(log.positions[clicked])
    mean = np.bincount(list_of_click, inverse, pairs.n_lists) / np.bincount(list_of_click, minlength=pairs.n_lists)
    return replace(pairs, weight=pairs.weight / np.repeat(mean, np.diff(pairs.offsets)))


def doubly_robust(cell: Cell, assumed: Any) -> tr.PairWeights:
    """ρ_i = m_i + Σ (c − p m_i) / Σ max(p, 0.2), m_i from the scores of a robust ranker, calibrated in 50 bins."""
    scores = cell.train(cell.pairs("robust", assumed)).predict(cell.shown.X[cell.rows])
    row = np.searchsorted(cell.rows, cell.log.item)
    p = assumed.marginal(cell.log.positions)
    clicks, looks, capped = (np.bincount(row, v) for v in (cell.log.clicks, p, np.maximum(p, 0.2)))
    bins = np.searchsorted(np.quantile(scores, np.linspace(0, 1, 51)[1:-1]), scores)
    model = (np.bincount(bins, clicks) / np.maximum(np.bincount(bins, looks), 1e-9))[bins]
    return _from_relevance(cell, np.clip(model + (clicks - looks * model) / capped, 0, 1))


METHODS: dict[str, Callable[[Cell, Any], tr.PairWeights]] = {
    "robust": robust,
    "robust, by list": lambda cell, assumed: cell.pairs("robust", assumed, normalize="list"),
    "robust, not normalised": lambda cell, assumed: cell.pairs("robust", assumed, normalize="none"),
    "robust, p ≥ 0.2": lambda cell, assumed: cell.pairs("robust", _clipped(assumed)),
    "robust, self-normalised": self_normalised,
    "doubly robust, p ≥ 0.2": doubly_robust,
    "complete, none": lambda cell, assumed: cell.pairs("complete", assumed, variance="none").clip_negative()[0],
    "complete, clip": lambda cell, assumed: cell.pairs("complete", assumed, variance="clip"),
    "complete, shrink": shrunken,
}
IN_GAINS = ("robust", "complete, shrink")


def _clipped(model: Any) -> Any:
    n = model.n_positions
    with warnings.catch_warnings(action="ignore", category=tr.errors.ClippedPropensityWarning):
        return type(model)(model.marginal(np.arange(1, n + 1)), min_propensity=0.2)


def _from_relevance(cell: Cell, relevance: np.ndarray) -> tr.PairWeights:
    """N ρ_i (1 − ρ_j) of all pairs of each list, over its best expected DCG."""
    query = cell.shown.query[np.repeat(np.arange(cell.shown.n_lists), cell.shown.group)][cell.rows]
    _, group = np.unique(query, return_counts=True)
    weights, i, j = [], [], []
    for start, n in zip(np.cumsum(group) - group, group, strict=True):
        rho = relevance[start : start + n]
        best = (np.sort(rho)[::-1] / np.log2(2 + np.arange(n))).sum() or 1.0
        first, second = np.nonzero(~np.eye(n, dtype=bool))
        weights.append(cell.sessions * (rho[:, None] * (1 - rho) / best)[first, second])
        i.append(first)
        j.append(second)
    offsets = np.concatenate([[0], np.cumsum([len(w) for w in weights])])
    return tr.PairWeights(
        group=group, offsets=offsets, i=np.concatenate(i), j=np.concatenate(j), weight=np.concatenate(weights),
        item=cell.rows,
    )  # fmt: skip


class Runs:
    """NDCG of every method in every cell, list by list."""

    def __init__(self) -> None:
        self.values: dict[Any, dict[int, list[np.ndarray]]] = {}

    def add(self, key: Any, ndcg: dict[int, np.ndarray]) -> None:
        for at, values in ndcg.items():
            self.values.setdefault(key, {}).setdefault(at, []).append(values)

    def change(self, key: Any, base: Any, at: int) -> str:
        """The relative change of the mean, with a star where it is significant (paired t-test, p < .05)."""
        ours, theirs = (np.concatenate(self.values[k][at]) for k in (key, base))
        _, p = self.difference(key, base, at)
        return f"{100 * (ours.mean() / theirs.mean() - 1):+.2f}{'*' if p < 0.05 else ' '}"

    def difference(self, key: Any, base: Any, at: int) -> tuple[float, float]:
        """The mean difference and its p-value."""
        ours, theirs = (np.concatenate(self.values[k][at]) for k in (key, base))
        return float((ours - theirs).mean()), float(stats.ttest_rel(ours, theirs).pvalue)

    def mean(self, key: Any, at: int) -> str:
        return f"{np.concatenate(self.values[key][at]).mean():.4f}"


def main(seeds: int) -> None:
    """Print the three tables for each data set."""
    for name, lists in DATA.items():
        print(
            f"{name}: {lists[0]:,} lists to train on, {lists[2]:,} to test on, {seeds} generated worlds; initial "
            f"ranking by a linear ranker; {PARAMS['n_estimators']} trees; {THREADS} threads.\n"
            "NDCG of robust on golden labels, then changes in %; * p < .05 in a paired t-test over all lists."
        )
        runs = Runs()
        for seed in range(seeds):
            run_all(World(name, seed), runs)
        print_all(runs)


def run_all(world: World, runs: Runs) -> None:
    """Every model of one world."""
    _gains(world, runs)
    _mismatch(world, runs)
    _peers(world, runs)


def print_all(runs: Runs) -> None:
    """The tables of gains, of wrongly assumed browsing, and of other ways to tame variance."""
    _print_gains(runs)
    _print_few_sessions(runs)
    _print_mismatch(runs)
    _print_peers(runs)


def _gains(world: World, runs: Runs) -> None:
    for truncation in TRUNCATIONS:
        for browsing in BROWSING:
            for sessions in SESSIONS:
                cell, assumed = world.cell(truncation, browsing, sessions), examination_of(browsing, truncation)
                for method in IN_GAINS:
                    runs.add((truncation, browsing, sessions, method), cell.ndcg(METHODS[method](cell, assumed)))
        runs.add((truncation, "golden"), cell.ndcg(golden(cell, None)))


def _print_gains(runs: Runs) -> None:
    print("\ncut at  browsing                sessions   @1 robust  shrink  ceiling   @10 robust  shrink  ceiling")
    for truncation in TRUNCATIONS:
        for browsing in BROWSING:
            for sessions in SESSIONS:
                key = (truncation, browsing, sessions)
                base = (*key, "robust")
                line = f"{truncation:>6}  {browsing:<22}{sessions:>10}"
                for at in AT:
                    shrink, ceiling = (
                        runs.change(k, base, at) for k in ((*key, "complete, shrink"), (truncation, "golden"))
                    )
                    line += f"   {runs.mean(base, at):>9}{shrink:>8}{ceiling:>9}"
                print(line, flush=True)


def _print_few_sessions(runs: Runs) -> None:
    """Where there is little to learn from, nothing may be lost."""
    found = [
        runs.difference((*key, "complete, shrink"), (*key, "robust"), at)
        for key in itertools.product(TRUNCATIONS, BROWSING, SESSIONS[:-1])
        for at in AT
    ]
    p = adjust_p_values([p_value for _, p_value in found], "holm")
    better, worse = (sum(sign * d > 0 and q < 0.05 for (d, _), q in zip(found, p, strict=True)) for sign in (1, -1))
    print(
        f"with {' or '.join(map(str, SESSIONS[:-1]))} sessions a list: {better} of {len(found)} differences to robust "
        f"are significantly better, {worse} worse (Holm over all of them)"
    )


def _mismatch(world: World, runs: Runs) -> None:
    for true in BROWSING[:2]:
        for sessions in (16, 200):
            cell = world.cell(10, true, sessions)
            assumed = next(other for other in BROWSING[:2] if other != true)
            pairs = shrunken(cell, examination_of(assumed, 10))
            runs.add(("mismatch", true, sessions), cell.ndcg(pairs))


def _print_mismatch(runs: Runs) -> None:
    print("\nbrowsing cut at 10   assumed        sessions   @1 over robust   @10 over robust")
    for true in BROWSING[:2]:
        for assumed in BROWSING[:2]:
            for sessions in (16, 200):
                base, right = ((10, true, sessions, method) for method in ("robust", "complete, shrink"))
                key = right if assumed == true else ("mismatch", true, sessions)
                changes = [runs.change(key, base, at) for at in AT]
                print(f"{true:<20} {assumed:<14}{sessions:>9}{changes[0]:>17}{changes[1]:>18}", flush=True)


def _peers(world: World, runs: Runs) -> None:
    for truncation, browsing, sessions in COMPARED_AT:
        cell, assumed = world.cell(truncation, browsing, sessions), examination_of(browsing, truncation)
        for method in METHODS:
            key = (truncation, browsing, sessions, method)
            if method not in IN_GAINS:
                runs.add(key, cell.ndcg(METHODS[method](cell, assumed)))


def _print_peers(runs: Runs) -> None:
    print("\n" + " " * 26 + "".join(f"{b[:11]:>12},{n:>4}" for _, b, n in COMPARED_AT))
    for at in AT:
        for method in METHODS:
            cells = [
                runs.mean((*k, method), at) if method == "robust" else runs.change((*k, method), (*k, "robust"), at)
                for k in COMPARED_AT
            ]
            print(f"@{at:<3}{method:<22}" + "".join(f"{cell:>17}" for cell in cells), flush=True)

"""Sessions of a query that show different items: what the two ways of adding them up cost and give."""

from __future__ import annotations

import time

import numpy as np

import truerank as tr
from bench.data import Log, click_log, judged, with_initial_ranking
from bench.rankers import LIGHTGBM

LISTS, ITEMS, SHOWN, PER_LIST = 1_500, 12, 10, 16
WAYS = {"apart": None, "exact": "exact", "query": "query"}


def main(seeds: int) -> None:
    """Print lists, rows, pairs, time and NDCG for sessions apart, and merged in both ways."""
    print(
        f"{LISTS:,} queries of {ITEMS} items, {PER_LIST} sessions each showing {SHOWN} of them; "
        f"continuous examination, method robust, mean of {seeds} generated sets.\n"
        f"{'merge':<8}{'lists':>10}{'rows':>10}{'pairs':>12}{'s':>8}{'NDCG@1':>9}{'NDCG@10':>9}"
    )
    rows = {name: [_one(seed, merge) for seed in range(seeds)] for name, merge in WAYS.items()}
    for name, runs in rows.items():
        lists, n_rows, pairs, seconds, first, ten = np.mean(runs, axis=0)
        print(f"{name:<8}{lists:>10,.0f}{n_rows:>10,.0f}{pairs:>12,.0f}{seconds:>8.2f}{first:>9.4f}{ten:>9.4f}")


def _one(seed: int, merge: str | None) -> tuple[float, ...]:
    data = with_initial_ranking(judged(LISTS, ITEMS, seed), seed)
    examination = tr.Continuous(tr.inverse_rank(SHOWN))
    log = _some_items(data, examination, seed)
    ids = {} if merge is None else {"query": log.lists, "item": log.rows.ravel(), "merge": merge}
    began = time.perf_counter()
    pairs = tr.pair_weights(log.clicks.ravel(), log.positions, log.group, "robust", examination, **ids)
    items = log.rows.ravel()[pairs.source_row]
    model = tr.LambdaMARTRanker("robust", **LIGHTGBM).fit_pairs(data.X[items], pairs)
    took = time.perf_counter() - began
    test = judged(1_000, 24, 1_000 + seed)
    scores = model.predict(test.X)
    ndcg = (float(np.nanmean(tr.ndcg(scores, test.y, test.group, at))) for at in (1, 10))
    return pairs.n_lists, pairs.n_rows, pairs.n_pairs, took, *ndcg


def _some_items(data: object, examination: tr.Continuous, seed: int) -> Log:
    """A log in which each session leaves out some items of its query, the others keeping their order."""
    rng = np.random.default_rng([5, seed])
    full = click_log(data, tr.Independent(np.ones(ITEMS)), PER_LIST, seed)
    kept = np.sort(np.argsort(rng.random(full.rows.shape), axis=1)[:, :SHOWN], axis=1)
    rows, relevant = (np.take_along_axis(a, kept, axis=1) for a in (full.rows, full.clicks))
    return Log(full.lists, rows, relevant * examination.sample(len(rows), SHOWN, rng))

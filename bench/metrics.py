"""Metrics of judged lists: five at once, against scikit-learn and ranx."""

from __future__ import annotations

import warnings

import numpy as np

import truerank as tr
from bench.data import LABEL_SHARES
from bench.measure import seconds

LISTS, ITEMS = 7_000, 24
METRICS = ["ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "map"]


def main(_seeds: int) -> None:
    """The paper's five metrics on lists like those of its test set."""
    group, labels, scores = _lists()
    print(f"{len(group):,} lists of {group.mean():.0f} items on average, {len(METRICS)} metrics: {', '.join(METRICS)}")
    ours = seconds(lambda: tr.evaluate({"model": scores}, labels, group, METRICS, bootstrap=0), repeats=40)
    print(f"{'':<52}{'ms':>8}{'× truerank':>12}   (targets: scikit-learn 50, ranx with its set-up 20)")
    print(f"{'truerank, five metrics':<52}{ours * 1e3:>8.1f}{1:>12}")
    for name, took in _peers(group, labels, scores):
        print(f"{name:<52}{took * 1e3:>8.0f}{took / ours:>12.0f}", flush=True)
    models = {f"model {m}": np.random.default_rng(m).permutation(scores) for m in range(6)}
    print("\nSix models, five metrics, 25 paired t-tests")
    for bootstrap in (0, 1000):
        took = seconds(lambda b=bootstrap: tr.evaluate(models, labels, group, METRICS, bootstrap=b))
        print(f"{f'truerank.evaluate, {bootstrap:,} bootstrap resamples':<52}{took * 1e3:>8.0f}")


def _lists() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sizes with a long tail, grades 0 to 4, scores that know something of them."""
    rng = np.random.default_rng(0)
    group = 2 + rng.negative_binomial(2, 2 / ITEMS, LISTS)
    labels = rng.choice(len(LABEL_SHARES), p=LABEL_SHARES, size=group.sum())
    return group, labels, labels + 2 * rng.normal(size=len(labels))


def _peers(group: np.ndarray, labels: np.ndarray, scores: np.ndarray):
    from sklearn.metrics import ndcg_score

    ends = np.cumsum(group)
    lists = [slice(end - n, end) for n, end in zip(group, ends, strict=True)]
    gains = np.exp2(labels) - 1
    yield (
        "scikit-learn, a loop of ndcg_score, one metric",
        seconds(lambda: [ndcg_score(gains[None, rows], scores[None, rows], k=10) for rows in lists], repeats=1),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numba's, about ranx
        import ranx

        names = [m.replace("ndcg", "ndcg_burges") for m in METRICS]

        def set_up() -> tuple[ranx.Qrels, ranx.Run]:
            judged, run = {}, {}
            for q, rows in enumerate(lists):
                documents = [str(d) for d in range(rows.stop - rows.start)]
                judged[str(q)] = dict(zip(documents, labels[rows].tolist(), strict=True))
                run[str(q)] = dict(zip(documents, scores[rows].tolist(), strict=True))
            return ranx.Qrels(judged), ranx.Run(run)

        yield "ranx, five metrics, its set-up included", seconds(lambda: ranx.evaluate(*set_up(), names), repeats=3)
        ready = set_up()
        yield "ranx, five metrics, set up before", seconds(lambda: ranx.evaluate(*ready, names), repeats=3)
        theirs = ranx.evaluate(*ready, names)
    found = tr.evaluate({"model": scores}, labels, group, METRICS, empty="zero", bootstrap=0)
    apart = max(abs(found["model", m].mean - theirs[name]) for m, name in zip(METRICS, names, strict=True))
    print(f"(the means of truerank and ranx are at most {apart:.0e} apart)")

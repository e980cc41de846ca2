"""From sessions to weighted pairs: speed and memory."""

from __future__ import annotations

import numpy as np

import truerank as tr
from bench.data import click_log, judged
from bench.measure import PeakMemory, seconds

SESSIONS, ITEMS, PER_LIST = 1_000_000, 10, 16


def main(_seeds: int) -> None:
    """One million sessions of ten items, by method, apart and added up."""
    examination = tr.Continuous(tr.inverse_rank(ITEMS))
    log = click_log(judged(SESSIONS // PER_LIST, ITEMS, 0), examination, PER_LIST, 0)
    shuffled = np.random.default_rng(0).permutation(len(log.lists))
    query, item = log.lists[shuffled], log.rows[shuffled].ravel()
    labels = log.clicks[shuffled].ravel()
    group, positions = log.group, log.positions
    print(f"{len(group):,} sessions of {ITEMS} items to weighted pairs (target: 2 s)")
    print(f"{'method':<10}{'sessions':<22}{'s':>8}{'pairs':>14}{'bytes a pair':>14}{'peak MB':>10}")
    for method in ("robust", "complete", "ratio"):
        for name, ids in (
            ("apart", {}),
            ("added up, exact", {"query": query, "item": item}),
            ("added up, by query", {"query": query, "item": item, "merge": "query"}),
        ):
            took = seconds(lambda m=method, i=ids: tr.pair_weights(labels, positions, group, m, examination, **i))
            with PeakMemory() as memory:
                pairs = tr.pair_weights(labels, positions, group, method, examination, **ids)
            print(
                f"{method:<10}{name:<22}{took:>8.2f}{pairs.n_pairs:>14,}{pairs.nbytes / pairs.n_pairs:>14.1f}"
                f"{memory.megabytes:>10.0f}",
                flush=True,
            )

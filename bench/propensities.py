"""Propensities from a log: what each estimator costs on ten million sessions' counts and on a million sessions."""

from __future__ import annotations

import numpy as np

import truerank as tr
from bench.measure import seconds
from truerank.types import ClickSessions, ItemPositionCounts, SwapArms

POSITIONS = 10
THETA = tr.inverse_rank(POSITIONS)


def main(_seeds: int) -> None:
    """Estimators on counts, EM from sessions, and a plain EM in NumPy as the peer."""
    counts = counts_of_sessions(10_000_000, 20_000)
    print(
        f"Counts of 10 million sessions over 20,000 lists, {len(counts.list):,} of them by list, item and position\n"
        f"{'':<58}{'s':>8}{'largest error of θ':>20}"
    )
    arms = swap_arms(10_000_000)
    for name, work in {
        "swap": lambda: tr.propensity.swap(arms),
        "swap, 1,000 bootstrap replicates": lambda: tr.propensity.swap(arms, errors="bootstrap"),
        "harvest, a relevance an item": lambda: tr.propensity.harvest(counts),
        "harvest, all pairs": lambda: tr.propensity.harvest(counts, relevance="pair"),
        "em, a relevance an item": lambda: tr.propensity.em(counts),
        "diagnose": lambda: tr.propensity.diagnose(counts).estimate,
    }.items():
        _row(name, work)
    rounds, off = plain_em(counts, 100)
    print(f"{'peer: 100 rounds of EM in NumPy':<58}{rounds:>8.1f}{off:>19.2%}")
    sessions = sessions_in_memory(1_000_000, 10_000)
    print("\nOne million sessions of ten items in memory, 10,000 lists: counting included (target for em: 30 s)")
    _row("em, a relevance an item", lambda: tr.propensity.em(sessions))
    _row("em, errors over sessions", lambda: tr.propensity.em(sessions, errors="session"))
    _row("harvest", lambda: tr.propensity.harvest(sessions))
    few = sessions_in_memory(100_000, 1_000)
    print("\n100,000 sessions: what has to see whole sessions")
    rows = [5, 5]
    for name, work in {
        "row_skipping by maximum likelihood": lambda: tr.propensity.row_skipping(few, rows),
        "choose_browsing, three models": lambda: tr.propensity.choose_browsing(few),
    }.items():
        print(f"{name:<58}{seconds(work, repeats=1):>8.1f}", flush=True)


def _row(name: str, work) -> None:
    took = seconds(work, repeats=2)
    off = np.abs(work().theta / THETA - 1).max()
    print(f"{name:<58}{took:>8.2f}{off:>19.2%}", flush=True)


def counts_of_sessions(n_sessions: int, n_lists: int) -> ItemPositionCounts:
    """Lists in three rankings each, better items mostly higher; clicks cell by cell."""
    rng = np.random.default_rng(0)
    chance = rng.beta(1, 3, size=(n_lists, 1, POSITIONS))
    order = np.argsort(-(np.log(chance) + rng.gumbel(size=(n_lists, 3, POSITIONS))), axis=2)
    shown = rng.multinomial(n_sessions // n_lists, rng.dirichlet(np.ones(3), n_lists))
    impressions = np.zeros((n_lists, POSITIONS, POSITIONS), dtype=np.int64)
    lists = np.arange(n_lists)[:, None]
    for o in range(3):
        np.add.at(impressions, (lists, order[:, o], np.arange(POSITIONS)), shown[:, o, None])
    clicks = rng.binomial(impressions, chance.transpose(0, 2, 1) * THETA)
    q, item, place = np.nonzero(impressions)
    return ItemPositionCounts(q, q * POSITIONS + item, place + 1, impressions[q, item, place], clicks[q, item, place])


def sessions_in_memory(n_sessions: int, n_lists: int) -> ClickSessions:
    """Sessions of lists in one of three rankings, under continuous examination."""
    rng = np.random.default_rng(1)
    chance = rng.beta(1, 3, size=(n_lists, 1, POSITIONS))
    orders = np.argsort(-(np.log(chance) + rng.gumbel(size=(n_lists, 3, POSITIONS))), axis=2)
    query = rng.integers(n_lists, size=n_sessions)
    order = orders[query, rng.integers(3, size=n_sessions)]
    relevant = rng.random((n_sessions, POSITIONS)) < chance[query[:, None], 0, order]
    clicks = relevant & tr.Continuous(THETA).sample(n_sessions, POSITIONS, rng)
    return ClickSessions(
        clicks=clicks.ravel().astype(np.int8),
        positions=np.tile(np.arange(1, POSITIONS + 1, dtype=np.int16), n_sessions),
        group=np.full(n_sessions, POSITIONS, dtype=np.int32),
        query=query.astype(np.int32),
        item=(query[:, None] * POSITIONS + order).ravel().astype(np.int32),
    )


def swap_arms(n_sessions: int) -> SwapArms:
    """An experiment at every position, half of its sessions swapped."""
    rng = np.random.default_rng(2)
    k = np.arange(2, POSITIONS + 1)
    n = np.full(len(k), n_sessions // (2 * len(k)))
    top, target = 0.3, 0.2
    arms = [
        (n, rng.binomial(n, at_top), rng.binomial(n, THETA[1:] * below), 0 * n)
        for at_top, below in ((top, target), (target, top))
    ]
    columns = [np.concatenate([control, swapped]) for control, swapped in zip(*arms, strict=True)]
    return SwapArms(np.tile(k, 2), np.zeros(2 * len(k), dtype=np.int64), np.repeat([0, 1], len(k)), *columns)


def plain_em(counts: ItemPositionCounts, rounds: int) -> tuple[float, float]:
    """The textbook's EM over the same counts, vectorised: seconds, and how far off it still is."""
    _, item = np.unique(counts.item, return_inverse=True)
    place, shown, clicks = counts.position - 1, counts.impressions, counts.clicks
    missed = shown - clicks
    found = {}

    def work() -> None:
        theta, r = np.full(POSITIONS, 0.5), np.full(item.max() + 1, 0.5)
        of_place, of_item = np.bincount(place, shown), np.bincount(item, shown)
        for _ in range(rounds):
            p = theta[place] * r[item]
            looked = clicks + missed * theta[place] * (1 - r[item]) / (1 - p)
            liked = clicks + missed * r[item] * (1 - theta[place]) / (1 - p)
            theta, r = np.bincount(place, looked) / of_place, np.bincount(item, liked) / of_item
        found["theta"] = theta / theta[0]

    took = seconds(work, repeats=1)
    return took, float(np.abs(found["theta"] / THETA - 1).max())

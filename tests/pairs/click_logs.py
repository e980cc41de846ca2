"""Small click logs and slow, plain readings of weighted pairs: what the tests of `pairs` compare against."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

from truerank import Continuous, Independent, PairWeights, RowSkipping, inverse_rank, pair_weights

N_POSITIONS = 20
EXAMINATIONS = {
    "independent": Independent(inverse_rank(N_POSITIONS, 0.7)),
    "continuous": Continuous(inverse_rank(N_POSITIONS)),
    "row_skipping": RowSkipping(gamma=0.3, continuation=0.85, row_lengths=[4, 6, 3, 7]),
}


@dataclass(frozen=True)
class Log:
    """Sessions as a user has them: a flat array a column, one query a session, one item a row."""

    labels: Any
    positions: Any
    group: Any
    query: Any
    item: Any

    def pairs(self, method: str = "complete", **options: Any) -> PairWeights:
        """Weighted pairs of this log, merged by its ids."""
        return self.unmerged(method, **{"query": self.query, "item": self.item} | options)

    def unmerged(self, method: str = "complete", **options: Any) -> PairWeights:
        """Weighted pairs of this log, each session a list of its own; sums that nothing is done about."""
        examination = None if method in ("none", "ratio") else EXAMINATIONS["row_skipping"]
        usual = {"examination": examination, "variance": "none"}
        return pair_weights(self.labels, self.positions, self.group, **usual | options, method=method)

    def first_sessions(self, n: int) -> tuple[Log, Log]:
        """The log cut in two after `n` sessions."""
        row = int(self.group[:n].sum())
        head = Log(self.labels[:row], self.positions[:row], self.group[:n], self.query[:n], self.item[:row])
        tail = Log(self.labels[row:], self.positions[row:], self.group[n:], self.query[n:], self.item[row:])
        return head, tail

    def session_of_row(self) -> Any:
        """The session each row belongs to."""
        return np.repeat(np.arange(len(self.group)), self.group)


def random_log(seed: int, n_sessions: int = 60, n_queries: int = 4, grades: int = 3, n_items: int = 12) -> Log:
    """Sessions that show one of three subsets of their query's items, shuffled, at positions with gaps."""
    rng = np.random.default_rng(seed)
    pages = [[rng.permutation(n_items)[: rng.integers(1, n_items + 1)] for _ in range(3)] for _ in range(n_queries)]
    query = rng.integers(0, n_queries, n_sessions)
    shown = [rng.permutation(pages[q][rng.integers(3)]) for q in query]
    group = np.array([len(s) for s in shown])
    positions = [rng.permutation(N_POSITIONS)[: len(s)] + 1 for s in shown]
    labels = rng.integers(0, grades + 1, group.sum()) * (rng.random(group.sum()) < 0.4)
    return Log(labels, np.concatenate(positions), group, query, np.concatenate(shown))


def log_of(*sessions: tuple[Any, list[Any], list[int]]) -> Log:
    """A log written out by hand: (query, items, labels) for each session, shown from position 1."""
    query, items, labels = zip(*sessions, strict=True)
    positions = [np.arange(1, len(s) + 1) for s in items]
    return Log(
        np.concatenate(labels),
        np.concatenate(positions),
        np.array([len(s) for s in items]),
        list(query),
        [i for s in items for i in s],
    )


def dense(pairs: PairWeights, q: int) -> Any:
    """The pairs of list q as a matrix."""
    weight = np.zeros((pairs.group[q], pairs.group[q]))
    entries = slice(pairs.offsets[q], pairs.offsets[q + 1])
    np.add.at(weight, (pairs.i[entries], pairs.j[entries]), pairs.weight[entries])
    return weight


def added_up(log: Log, unmerged: PairWeights, merge: str) -> dict[Any, float]:
    """The sum of the sessions' pairs in a dictionary: by query, items of the session (`exact`), and the two items."""
    total: dict[Any, float] = defaultdict(float)
    rows = np.split(np.asarray(log.item), np.cumsum(log.group)[:-1])
    for q, items in enumerate(rows):
        page = frozenset(items.tolist()) if merge == "exact" else None
        for k in range(unmerged.offsets[q], unmerged.offsets[q + 1]):
            names = (items[unmerged.i[k]], items[unmerged.j[k]])
            total[np.asarray(log.query)[q], page, *names, *_positions(unmerged, k)] += unmerged.weight[k]
    return dict(total)


def by_name(pairs: PairWeights, merge: str | None = None) -> dict[Any, float]:
    """Merged pairs under the same keys; a pair may stand there once only."""
    total: dict[Any, float] = {}
    rows = np.split(pairs.item, pairs.row_offsets[1:-1])
    for q, items in enumerate(rows[: pairs.n_lists]):
        page = frozenset(items.tolist()) if (merge or pairs.merge) == "exact" else None
        for k in range(pairs.offsets[q], pairs.offsets[q + 1]):
            key = (pairs.query[q], page, items[pairs.i[k]], items[pairs.j[k]], *_positions(pairs, k))
            assert key not in total
            total[key] = pairs.weight[k]
    return total


def _positions(pairs: PairWeights, k: int) -> tuple[int, ...]:
    return () if pairs.position_i is None else (int(pairs.position_i[k]), int(pairs.position_j[k]))


FIELDS = ("group", "offsets", "i", "j", "weight", "query", "item", "position_i", "position_j", "sessions", "source_row")


def assert_same(a: PairWeights, b: PairWeights) -> None:
    """Every field equal, to the bit."""
    for name in FIELDS:
        left, right = getattr(a, name), getattr(b, name)
        assert (left is None) == (right is None), name
        if left is not None:
            np.testing.assert_array_equal(left, right, err_msg=name)
    assert (a.merge, a.sessions_without_pairs) == (b.merge, b.sessions_without_pairs)

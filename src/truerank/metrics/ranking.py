"""Judged lists, and what a ranker makes of them: the one pass that every metric starts from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from truerank.metrics.ranks import rank_rows
from truerank.ragged import check_number, read_scores, read_sessions
from truerank.types import FloatArray, IntArray, Labels


@dataclass(frozen=True)
class Judged:
    """Lists whose items carry a grade: 0 for irrelevant, higher for better."""

    labels: Labels
    offsets: IntArray

    @property
    def n_lists(self) -> int:
        """How many lists there are."""
        return len(self.offsets) - 1

    @cached_property
    def longest(self) -> int:
        """The size of the longest list."""
        return int(np.diff(self.offsets).max(initial=0))

    @cached_property
    def highest(self) -> int:
        """The best grade of all lists, at least 1."""
        return int(self.labels.max(initial=1))

    @cached_property
    def ranks(self) -> IntArray:
        """1, 2, 3, … inside each list: the rank of each row of a `Ranking`."""
        return np.arange(1, len(self.labels) + 1) - self._row_starts

    @cached_property
    def relevant(self) -> IntArray:
        """How many relevant items each list has."""
        counts: IntArray = self.total((self.labels > 0).astype(np.int64))
        return counts

    @cached_property
    def ideal(self) -> Ranking:
        """The ranking by the grades themselves."""
        return self._ranked(self.labels.astype(np.float64))

    def ranked_by(self, scores: Any) -> Ranking:
        """The lists from the highest score down; equal scores keep the order of the rows."""
        return self._ranked(read_scores(scores, len(self.labels)))

    def total(self, values: Any) -> Any:
        """The sum of the values of each list, one value a row."""
        return np.add.reduceat(values, self.offsets[:-1]) if self.n_lists else values[:0]

    def running_total(self, values: Any) -> Any:
        """The sum of the whole numbers from the top of the list down to each row, that row included."""
        totals = np.concatenate([[0], np.cumsum(values)])
        return totals[1:] - totals[self._row_starts]

    def share(self, part: Any, whole: Any) -> FloatArray:
        """`part` / `whole`, one a list; NaN for lists without a relevant item."""
        empty = np.full(self.n_lists, np.nan)
        value: FloatArray = np.divide(part, whole, out=empty, where=self.relevant > 0)
        return value

    @cached_property
    def _row_starts(self) -> IntArray:
        return np.repeat(self.offsets[:-1], np.diff(self.offsets))

    def _ranked(self, scores: FloatArray) -> Ranking:
        labels = np.empty_like(self.labels)
        labels[self._row_starts + rank_rows(scores, self.offsets)] = self.labels
        return Ranking(labels, self)


@dataclass(frozen=True, slots=True)
class Ranking:
    """The grades of judged lists, each list from its first rank to its last."""

    labels: Labels
    judged: Judged


def read_judged(labels: Any, group: Any) -> Judged:
    """Check labels and group sizes."""
    sessions = read_sessions(labels, None, group, needs_positions=False)
    return Judged(sessions.labels, sessions.offsets)


def read_cutoff(at: Any, longest: int) -> int:
    """Check k, the number of ranks that count; None is the whole list, and no list has more than `longest`."""
    if at is None:
        return longest
    check_number(at, "at", 1, whole=True)
    return min(int(at), longest)

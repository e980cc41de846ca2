"""Tame the variance of `complete`: bounds that keep preferences, and shrinkage to `robust` by learned strength.

Summed over the N sessions of a list, the complete weight S_ij estimates N (ρ_i − ρ_ij), ρ_i = P(r_i = 1) and
ρ_ij = P(r_i = r_j = 1), and the robust one R_ij the same with ρ_ij p_ij / p_i for ρ_ij. They differ by what sessions
with a click on both say: without bias and much variance in S, with bias and little variance in R. See docs/variance.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank.pairs.merge import side_by_side
from truerank.pairs.pair_weights import PairWeights
from truerank.ragged import offsets_from_sizes
from truerank.types import FloatArray, IntArray, Sessions

VARIANCES = ("none", "clip", "shrink")


@dataclass(frozen=True, slots=True)
class BothClicked:
    """Every two rows i before j of a session that were both clicked, and how their propensities differ.

    Attributes:
        session: the session they belong to.
        entry_ij, entry_ji: the entries of the two directions among the pairs of the lists.
        excess_ij, excess_ji: what `complete` adds to `robust` for them, normalised: g_i (1/p_i − 1/p_ij) and the other.
        disagreement: (1/p_i − 1/p_j) / max(1/p_i, 1/p_j): how wrong it is to leave them out, as `robust` does; of the
            direction in which the item that stands first in the list comes first.
    """

    session: IntArray
    entry_ij: IntArray
    entry_ji: IntArray
    excess_ij: FloatArray
    excess_ji: FloatArray
    disagreement: FloatArray

    @classmethod
    def find(
        cls,
        sessions: Sessions,
        pairs: PairWeights,
        row_of_input: IntArray,
        inverse: FloatArray,
        inverse_joint: FloatArray,
        gains: FloatArray,
        scale: FloatArray,
    ) -> BothClicked:
        """Find them, and their entries among `pairs`, which hold all of them in both directions."""
        from truerank.examination.lookup_kernels import clicked_pair_rows, count_clicked_pairs

        offsets = offsets_from_sizes(count_clicked_pairs(sessions.labels, sessions.offsets))
        i, j = clicked_pair_rows(sessions.labels, sessions.offsets, offsets)
        session = np.repeat(np.arange(sessions.n_sessions), np.diff(offsets))
        row_i, row_j = row_of_input[i], row_of_input[j]
        keys = _Entries.of(pairs)
        a_i, a_j = inverse[i], inverse[j]
        disagreement = (a_i - a_j) / np.maximum(a_i, a_j)
        return cls(
            session=session,
            entry_ij=keys.find(row_i, row_j),
            entry_ji=keys.find(row_j, row_i),
            excess_ij=scale[session] * gains[sessions.labels[i]] * (a_i - inverse_joint),
            excess_ji=scale[session] * gains[sessions.labels[j]] * (a_j - inverse_joint),
            disagreement=np.where(row_i < row_j, disagreement, -disagreement),
        )


@dataclass(frozen=True, slots=True)
class Evidence:
    """Both estimates of each pair, and for each list what tells their worth; parts of a log can be put together.

    Attributes:
        pairs: lists and pairs, weighing what `complete` says, within its bounds.
        robust: what `robust` says of the same pairs.
        squared: Σ over pairs of items of (Σ over sessions with both clicked of their disagreement)².
        spread: Σ over pairs and sessions of disagreement²: what `squared` would be if sessions had nothing in common.
    """

    pairs: PairWeights
    robust: FloatArray
    squared: FloatArray
    spread: FloatArray

    @classmethod
    def weigh(cls, pairs: PairWeights, both: BothClicked, list_of_session: IntArray, times: IntArray) -> Evidence:
        """From the sums of `complete`, not within bounds yet."""
        robust = pairs.weight - _sum(both.entry_ij, both.excess_ij, pairs.n_pairs)
        robust -= _sum(both.entry_ji, both.excess_ji, pairs.n_pairs)
        counts = times[both.session]
        sums = _sum(np.minimum(both.entry_ij, both.entry_ji), counts * both.disagreement, pairs.n_pairs)
        return cls(
            pairs=within_bounds(pairs),
            robust=np.maximum(robust, 0.0),  # what is left of a difference that is 0
            squared=_sum(_Entries.of(pairs).list_of_entry, sums**2, pairs.n_lists),
            spread=_sum(list_of_session[both.session], counts * both.disagreement**2, pairs.n_lists),
        )

    def divided(self, complete: FloatArray, robust: FloatArray) -> Evidence:
        """The same, the weights of each list divided by these."""
        counts = np.diff(self.pairs.offsets)
        pairs = replace(self.pairs, weight=self.pairs.weight / np.repeat(complete, counts))
        return replace(self, pairs=pairs, robust=self.robust / np.repeat(robust, counts))

    def shrunken(self) -> PairWeights:
        """(1 − λ) robust + λ complete, λ = (N − 1) / (N − 1 + n0) in a list of N sessions."""
        others = self.pairs.sessions - 1
        strength = strength_of_robust(self.pairs.sessions, self.squared, self.spread)
        trust = others / (others + strength) if np.isfinite(strength) else np.zeros(len(others))
        trust = np.repeat(trust, np.diff(self.pairs.offsets))
        return replace(self.pairs, weight=(1 - trust) * self.robust + trust * self.pairs.weight)


def strength_of_robust(sessions: IntArray, squared: FloatArray, spread: FloatArray) -> float:
    """n0: after how many sessions of a list the noise of `complete` is as large as the bias of `robust`.

    The mean of a pair's disagreement over N sessions has variance V / N, and is what `robust` is biased by. Its square
    is B + V / N on average, with B the squared bias; both are averaged over lists that have two sessions or more, each
    by its N − 1. It is infinite where nothing says that there is a bias.
    """
    several = sessions > 1
    n, squared, spread = sessions[several], squared[several], spread[several]
    bias = float(((squared - spread) / n).sum())
    noise = float((spread * (n - 1) / n).sum())
    return max(noise, np.finfo(float).tiny) / bias if bias > 0 else float("inf")


def within_bounds(pairs: PairWeights) -> PairWeights:
    """Lift both directions of a pair by the same until neither is negative: the bound ρ_ij ≤ min(ρ_i, ρ_j).

    Only what both directions have in common is changed, never by how much i is preferred to j.
    """
    negative = np.flatnonzero(pairs.weight < 0)
    if not len(negative):
        return pairs
    entries = _Entries.of(pairs)
    row_i, row_j = entries.row_i[negative], entries.row_j[negative]
    reverse, missing = entries.find(row_j, row_i), -pairs.weight[negative]
    lift = np.zeros(pairs.n_pairs)
    lift[negative] = missing
    lift[reverse] = np.maximum(lift[reverse], missing)
    return replace(pairs, weight=pairs.weight + lift)


def join_evidence(parts: Sequence[Evidence], merge: str | None) -> Evidence:
    """The lists of all parts, one after the other."""
    return Evidence(
        pairs=side_by_side([part.pairs for part in parts], merge),
        robust=np.concatenate([part.robust for part in parts]),
        squared=np.concatenate([part.squared for part in parts]),
        spread=np.concatenate([part.spread for part in parts]),
    )


def best_expected_dcg(
    sessions: Sessions,
    row_of_input: IntArray,
    group: IntArray,
    propensity: FloatArray,
    gains: FloatArray,
    times: IntArray,
) -> FloatArray:
    """The best DCG of each list's expected gains, (Σ g c + m) / (Σ p + 1) for each item, m = Σ g c / Σ p of its list.

    So each item counts as if it had been looked at once more, and found to be the average of its list; without that,
    the gains of items that are hardly looked at would be the largest. 1 where nothing was clicked.
    """
    n_rows, counts = int(group.sum()), np.repeat(times, sessions.sizes)
    list_of_row = np.repeat(np.arange(len(group)), group)
    found = _sum(row_of_input, counts * gains[sessions.labels], n_rows)
    looked = _sum(row_of_input, counts * propensity, n_rows)
    average = _sum(list_of_row, found, len(group)) / _sum(list_of_row, looked, len(group))
    gain = (found + average[list_of_row]) / (looked + 1)
    order = np.lexsort((-gain, list_of_row))
    rank = np.arange(n_rows) - np.repeat(offsets_from_sizes(group)[:-1], group)
    best = _sum(list_of_row, gain[order] / np.log2(2.0 + rank), len(group))
    return np.where(best > 0, best, 1.0)


@dataclass(frozen=True, slots=True)
class _Entries:
    """The pairs of all lists by the rows of their items; in each list they stand in the order of (i, j)."""

    row_i: IntArray
    row_j: IntArray
    list_of_entry: IntArray
    n_rows: int

    @classmethod
    def of(cls, pairs: PairWeights) -> _Entries:
        list_of_entry = np.repeat(np.arange(pairs.n_lists), np.diff(pairs.offsets))
        start = pairs.row_offsets[list_of_entry]
        return cls(start + pairs.i, start + pairs.j, list_of_entry, pairs.n_rows)

    def find(self, row_i: IntArray, row_j: IntArray) -> IntArray:
        """The entries of these pairs, which must be there."""
        keys = self.row_i * self.n_rows + self.row_j
        return np.searchsorted(keys, row_i * self.n_rows + row_j).astype(np.int64, copy=False)


def _sum(index: npt.NDArray[Any], values: FloatArray, n: int) -> FloatArray:
    return np.asarray(np.bincount(index, weights=values, minlength=n), dtype=np.float64)

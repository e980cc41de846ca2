"""The sums of the kernels, as plainly as the formulas: the truth that the kernels are tested against."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from truerank.propensity.cells import Cells
from truerank.types import FloatArray


def items_of(cells: Cells) -> Iterator[tuple[int, FloatArray, FloatArray]]:
    """Of each item: its list, and its impressions and clicks at every position."""
    for q in range(len(cells.list_offsets) - 1):
        for g in range(cells.list_offsets[q], cells.list_offsets[q + 1]):
            impressions, clicks = np.zeros((2, cells.n_positions))
            cell = slice(cells.offsets[g], cells.offsets[g + 1])
            impressions[cells.place[cell]] = cells.impressions[cell]
            clicks[cells.place[cell]] = cells.clicks[cell]
            yield q, impressions, clicks


def conditional_likelihood(theta: FloatArray, cells: Cells) -> tuple[float, FloatArray, FloatArray, FloatArray]:
    """Σ_g Σ_k C_gk log π_gk with π_gk = N_gk θ_k / Σ_l N_gl θ_l; gradient, negative Hessian, and Σ_q s_q s_q'."""
    n = cells.n_positions
    value, information, by_list = 0.0, np.zeros((n, n)), np.zeros((len(cells.list_offsets) - 1, n))
    for q, impressions, clicks in items_of(cells):
        share = impressions * theta / (impressions @ theta)
        value += float(clicks[clicks > 0] @ np.log(share[clicks > 0]))
        by_list[q] += clicks - clicks.sum() * share
        information += clicks.sum() * (np.diag(share) - np.outer(share, share))
    return value, by_list.sum(axis=0), information, by_list.T @ by_list


def pair_sums(cells: Cells, *, equal: bool) -> tuple[FloatArray, FloatArray]:
    """For each list and two positions: w = Σ_g h_g and c = Σ_g h_g C_gk / N_gk over the items shown at both."""
    n_lists, n = len(cells.list_offsets) - 1, cells.n_positions
    weight, clicked = np.zeros((2, n_lists, n, n))
    for q, impressions, clicks in items_of(cells):
        for k in range(n):
            for j in range(n):
                if k != j and impressions[k] and impressions[j]:
                    h = 1.0 if equal else impressions[k] * impressions[j] / (impressions[k] + impressions[j])
                    weight[q, k, j] += h
                    clicked[q, k, j] += h * clicks[k] / impressions[k]
    return weight, clicked


def likely_relevance(theta: FloatArray, impressions: FloatArray, clicks: FloatArray, faint: float) -> float:
    """The r of one item that maximises Σ_k C_k log(θ_k r) + (N_k − C_k) log(1 − θ_k r), by bisection.

    `faint` misses are added to every position it was shown at, and to one with θ = 1.
    """
    shown = impressions > 0
    chance, clicked = np.append(theta[shown], 1.0), np.append(clicks[shown], 0.0)
    misses = np.append(impressions[shown] - clicks[shown], 0.0) + faint
    low, high = 0.0, 1 / chance.max()
    for _ in range(200):
        r = (low + high) / 2
        slope = clicked.sum() - misses @ (chance * r / (1 - chance * r))
        low, high = (r, high) if slope > 0 else (low, r)
    return low


def position_based_likelihood(theta: FloatArray, cells: Cells, faint: float) -> tuple[float, FloatArray, FloatArray]:
    """Σ_g max_r of the position-based likelihood, its gradient in log θ, and Σ_q s_q s_q'."""
    value, by_list = 0.0, np.zeros((len(cells.list_offsets) - 1, cells.n_positions))
    for q, impressions, clicks in items_of(cells):
        r = likely_relevance(theta, impressions, clicks, faint)
        if not clicks.sum():
            continue
        misses = np.where(impressions > 0, impressions - clicks + faint, 0.0)
        value += float(clicks @ np.log(theta * r) + misses @ np.log1p(-theta * r) + faint * np.log1p(-r))
        by_list[q] += clicks - misses * theta * r / (1 - theta * r)
    return value, by_list.sum(axis=0), by_list.T @ by_list


def em_step(theta: FloatArray, relevance: FloatArray, cells: Cells) -> tuple[FloatArray, FloatArray]:
    """One round of EM: of what was not clicked, who looked (E e) and what was relevant (E r), and their shares."""
    seen, shown = np.zeros((2, cells.n_positions))
    new = np.zeros_like(relevance)
    for g, (_, impressions, clicks) in enumerate(items_of(cells)):
        missed, r = impressions - clicks, relevance[g]
        seen += clicks + missed * theta * (1 - r) / (1 - theta * r)
        shown += impressions
        new[g] = (clicks + missed * (1 - theta) * r / (1 - theta * r)).sum() / impressions.sum()
    return seen / shown, new


def row_skipping_likelihood(
    gamma: float, continuation: FloatArray, row_lengths: list[int], relevance: FloatArray, clicks: FloatArray
) -> tuple[float, FloatArray]:
    """P(clicks) of one session by adding up every way of looking at the grid, and P(examined | clicks)."""
    n = len(clicks)
    total, examined = 0.0, np.zeros(n)
    for chance, looked in _walks(gamma, continuation, row_lengths, n):
        seen = np.where(looked, np.where(clicks, relevance, 1 - relevance), np.where(clicks, 0.0, 1.0))
        total += chance * seen.prod()
        examined += chance * seen.prod() * looked
    return total, examined / total


def _walks(
    gamma: float, continuation: FloatArray, row_lengths: list[int], n: int
) -> Iterator[tuple[float, npt.NDArray[np.bool_]]]:
    """Each way of looking at the first n places: its chance, and what was looked at."""

    def walk(m: int, start: int, chance: float, looked: list[int]) -> Iterator[tuple[float, list[int]]]:
        if m == len(row_lengths) or start >= n:
            yield chance, looked
            return
        end = start + row_lengths[m]
        yield from walk(m + 1, end, chance * gamma, looked)
        chance *= 1 - gamma
        for v in range(start, end):
            looked = [*looked, v]
            yield chance * (1 - continuation[v]), looked
            chance *= continuation[v]
        yield from walk(m + 1, end, chance, looked)

    for chance, places in walk(0, 0, 1.0, []):
        looked = np.zeros(max(n, sum(row_lengths)), dtype=np.bool_)
        looked[places] = True
        yield chance, looked[:n]


def pair_likelihood(
    chance: FloatArray, association: FloatArray, places: list[int], clicks: list[bool]
) -> tuple[float, FloatArray]:
    """Σ_{i<j} log P(c_i, c_j) / (n − 1) of one session with P(1, 1) = ρ p_i p_j, and the four chances of each pair."""
    outcomes = []
    value = 0.0
    for a in range(len(places)):
        for b in range(a + 1, len(places)):
            both = association[places[a], places[b]] * chance[a] * chance[b]
            table = np.array([[1 - chance[a] - chance[b] + both, chance[b] - both], [chance[a] - both, both]])
            value += float(np.log(table[int(clicks[a]), int(clicks[b])]))
            outcomes.append(table)
    return value / (len(places) - 1), np.array(outcomes)

"""Generated judged lists and click logs for the benchmarks.

Relevance is non-linear in a dozen hidden qualities; 136 redundant features see them through noise. As in MSLR-WEB, half
of the features have fewer than 256 distinct values and many are mostly zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truerank.examination import ExaminationModel

LABEL_SHARES = (0.22, 0.50, 0.22, 0.04, 0.02)
N_FEATURES = 136
_LATENT = 12


@dataclass(frozen=True)
class Judged:
    """Lists of equal length with features and labels 0 … 4; row r belongs to list r // n_items."""

    X: np.ndarray
    y: np.ndarray
    n_items: int

    @property
    def n_lists(self) -> int:
        return len(self.y) // self.n_items

    @property
    def group(self) -> np.ndarray:
        return np.full(self.n_lists, self.n_items)


@dataclass(frozen=True)
class Log:
    """Sessions of equal length: `rows` of the judged lists in the order shown, and what was clicked."""

    lists: np.ndarray
    rows: np.ndarray
    clicks: np.ndarray

    @property
    def group(self) -> np.ndarray:
        return np.full(len(self.lists), self.rows.shape[1])

    @property
    def positions(self) -> np.ndarray:
        return np.tile(np.arange(1, self.rows.shape[1] + 1, dtype=np.int32), len(self.lists))


def judged(
    n_lists: int, n_items: int, seed: int, world: int = 0, label_shares: tuple[float, ...] = LABEL_SHARES
) -> Judged:
    """Lists from one `world` (how features and relevance hang together), drawn by `seed`."""
    fixed, rng = np.random.default_rng([world, 1]), np.random.default_rng([world, 2, seed])
    mixing = fixed.normal(size=(_LATENT, N_FEATURES)) * (fixed.random((_LATENT, N_FEATURES)) < 0.2)
    noise = fixed.uniform(0.1, 2.0, N_FEATURES)
    latent = rng.normal(size=(n_lists * n_items, _LATENT)) + 0.7 * np.repeat(
        rng.normal(size=(n_lists, _LATENT)), n_items, axis=0
    )
    seen = np.tanh(latent @ mixing + noise * rng.normal(size=(len(latent), N_FEATURES)))
    X = _as_counts(seen, np.exp(fixed.uniform(np.log(2), np.log(16_000), N_FEATURES)), fixed.beta(0.6, 0.9, N_FEATURES))
    utility = (
        latent[:, 0]
        + latent[:, 1] * (latent[:, 2] > 0)
        + np.abs(latent[:, 3])
        - 0.5 * latent[:, 4] ** 2
        + np.maximum(latent[:, 5], latent[:, 6])
        + 0.5 * rng.normal(size=len(latent))
    )
    y = np.searchsorted(np.quantile(utility, np.cumsum(label_shares)[:-1]), utility)
    return Judged(X, y.astype(np.int32), n_items)


def _as_counts(seen: np.ndarray, levels: np.ndarray, zeros: np.ndarray) -> np.ndarray:
    """Values in (−1, 1) as whole numbers up to `levels`, a share `zeros` of each column being 0."""
    lowest = np.array([np.quantile(column, 0.97 * share) for column, share in zip(seen.T, zeros, strict=True)])
    return np.ceil(np.clip((seen - lowest) / (1 - lowest), 0, None) * levels.astype(int))


def with_initial_ranking(data: Judged, seed: int) -> Judged:
    """The same lists, in the order of a weak ranker."""
    rng = np.random.default_rng([3, seed])
    score = (data.y + 1.5 * rng.normal(size=len(data.y))).reshape(-1, data.n_items)
    order = (np.argsort(-score, axis=1) + np.arange(data.n_lists)[:, None] * data.n_items).ravel()
    return Judged(data.X[order], data.y[order], data.n_items)


def click_log(data: Judged, examination: ExaminationModel, sessions_per_list: int, seed: int) -> Log:
    """The paper's protocol: each list shown `sessions_per_list` times, each time redrawn until it has a click."""
    rng = np.random.default_rng([4, seed])
    chance = ((2.0**data.y - 1) / 15).reshape(-1, data.n_items)
    lists = np.repeat(np.flatnonzero(chance.max(axis=1) > 0), sessions_per_list)
    clicks = np.zeros((len(lists), data.n_items), dtype=bool)
    waiting = np.arange(len(lists))
    while len(waiting):
        relevant = rng.random((len(waiting), data.n_items)) < chance[lists[waiting]]
        clicks[waiting] = relevant & examination.sample(len(waiting), data.n_items, rng)
        waiting = waiting[~clicks[waiting].any(axis=1)]
    rows = lists[:, None] * data.n_items + np.arange(data.n_items)
    return Log(lists, rows, clicks.astype(np.int32))

"""A small generated world in which position bias matters and the truth is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import truerank as tr

N_ITEMS = 8
EXAMINATION = tr.Continuous(tr.inverse_rank(N_ITEMS))


@dataclass(frozen=True)
class World:
    """Lists of items with features `X` and true utilities, and a click log over them, session after session."""

    X: np.ndarray
    utility: np.ndarray
    query: np.ndarray
    item: np.ndarray
    clicks: np.ndarray

    @property
    def group(self) -> np.ndarray:
        return np.full(len(self.query), N_ITEMS)

    @property
    def position(self) -> np.ndarray:
        return tr.list_order(self.group)

    @property
    def rows(self) -> np.ndarray:
        """Features of every row of the log."""
        return self.X[self.item]

    @property
    def log(self) -> dict[str, np.ndarray]:
        return {"group": self.group, "position": self.position}

    @property
    def ids(self) -> dict[str, np.ndarray]:
        return {"query": self.query, "item": self.item}


def world(n_lists: int = 60, sessions_per_list: int = 8, seed: int = 0, same_order: bool = True) -> World:
    """Relevance is a non-linear function of three of six features; the logged order is a poor one."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_lists * N_ITEMS, 6))
    utility = X[:, 0] + np.abs(X[:, 1]) + X[:, 2] * (X[:, 3] > 0)
    chance = 1 / (1 + np.exp(1.5 - 1.5 * utility))
    query = np.repeat(np.arange(n_lists), sessions_per_list)
    items = np.arange(n_lists * N_ITEMS).reshape(n_lists, N_ITEMS)[query]
    if not same_order:
        items = rng.permuted(items, axis=1)
    clicks = (rng.random(items.shape) < chance[items]) & EXAMINATION.sample(len(query), N_ITEMS, rng)
    return World(X, utility, query, items.ravel(), clicks.ravel().astype(int))

"""Generated judged lists: what the generators share.

A *world* says how features and relevance hang together; the seed draws it, once for all parts and sizes. Lists are
drawn in blocks, each from a generator of its own, addressed by seed, part and number of the block. So a smaller part is
the beginning of a larger one, blocks can be drawn in any order by any number of threads, and memory holds the result
and a few blocks.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from truerank.ragged import offsets_from_sizes
from truerank.types import FloatArray, IntArray, JudgedLists, Labels

Floats: TypeAlias = npt.NDArray[np.float32]
Progress: TypeAlias = Callable[[int, int], None]

PARTS = ("train", "valid", "test")
BLOCK = 256
PILOT_LISTS = 8_192
_QUERY_IDS_OF_A_PART = 100_000_000
_BLOCKS, _SIZES, _PILOT = 1, 2, 3


class World(Protocol):
    """How the lists of one seed come about."""

    @property
    def n_features(self) -> int:
        """How many columns X has."""

    @property
    def label_shares(self) -> tuple[float, ...]:
        """Which share of all items has label 0, 1, 2, …"""

    def draw_hidden(self, sizes: IntArray, rng: np.random.Generator) -> Any:
        """What stands behind the items of some lists, of these sizes."""

    def draw_utility(self, hidden: Any, rng: np.random.Generator) -> Floats:
        """How good each item is; labels cut it into grades."""

    def draw_features(self, hidden: Any, rng: np.random.Generator, X_out: Floats) -> None:
        """What can be seen of the items; X_out has a row for each, and is filled with zeros."""


@dataclass(frozen=True, slots=True)
class ListSizes:
    """How long lists are: `quantile` gives the size below which a share u of them stays.

    Sizes are drawn for as many lists at a time as the full part has, a quantile each, in random order. Those of the
    full part sum to `items` (if given), which moves some sizes by one.
    """

    lists: int
    quantile: Callable[[FloatArray], IntArray]
    items: int | None = None

    def draw(self, n_lists: int, address: tuple[int, ...]) -> IntArray:
        """The sizes of the first `n_lists` lists."""
        rounds = -(-n_lists // self.lists)
        sizes = [self._round(np.random.default_rng([*address, number])) for number in range(rounds)]
        return np.concatenate(sizes)[:n_lists]

    def _round(self, rng: np.random.Generator) -> IntArray:
        sizes = self.quantile((np.arange(self.lists) + 0.5) / self.lists)
        surplus = 0 if self.items is None else int(sizes.sum()) - self.items
        longer = np.flatnonzero(sizes > np.median(sizes))
        sizes[longer[: abs(surplus)]] -= np.sign(surplus)
        return rng.permutation(sizes)


def grade_limits(world: World, sizes: ListSizes, seed: int) -> Floats:
    """The utilities at which the next grade begins, from lists drawn for this alone."""
    rng = np.random.default_rng([seed, _PILOT])
    hidden = world.draw_hidden(sizes.draw(PILOT_LISTS, (seed, _PILOT)), rng)
    utility = world.draw_utility(hidden, rng)
    limits: Floats = np.quantile(utility, np.cumsum(world.label_shares)[:-1]).astype(np.float32)
    return limits


def draw_part(
    world: World, limits: Floats, list_sizes: ListSizes, n_lists: int, part: int, seed: int, tell: Callable[[int], None]
) -> JudgedLists:
    """The first `n_lists` lists of a part; `tell` is told of lists as they are done."""
    n_blocks = -(-n_lists // BLOCK)
    drawn_sizes = list_sizes.draw(n_blocks * BLOCK, (seed, _SIZES, part))
    sizes = drawn_sizes[:n_lists]
    offsets = offsets_from_sizes(sizes)
    X = np.zeros((offsets[-1], world.n_features), dtype=np.float32)
    labels = np.empty(offsets[-1], dtype=np.int32)

    def draw(number: int) -> int:
        first, last = number * BLOCK, min((number + 1) * BLOCK, n_lists)
        rows = slice(offsets[first], offsets[last])
        rng = np.random.default_rng([seed, _BLOCKS, part, number])
        _draw_block(world, limits, drawn_sizes[first : first + BLOCK], rng, X[rows], labels[rows])
        return last - first

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in pool.map(draw, range(n_blocks)):
            tell(done)
    query = part * _QUERY_IDS_OF_A_PART + np.arange(1, n_lists + 1)
    return JudgedLists(X, labels, sizes, query)


def _draw_block(
    world: World, limits: Floats, sizes: IntArray, rng: np.random.Generator, X_out: Floats, labels_out: Labels
) -> None:
    """Draw a whole block, and keep as many of its rows as there is room for."""
    hidden = world.draw_hidden(sizes, rng)
    utility = world.draw_utility(hidden, rng)
    labels_out[:] = np.searchsorted(limits, utility[: len(labels_out)], side="right")
    if len(X_out) == len(utility):
        world.draw_features(hidden, rng, X_out)
    else:
        X = np.zeros((len(utility), X_out.shape[1]), dtype=np.float32)
        world.draw_features(hidden, rng, X)
        X_out[:] = X[: len(X_out)]

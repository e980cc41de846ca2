"""Small click logs whose truth is known, drawn directly or as counts where the counts' distribution is exact."""

import numpy as np
import pytest

from truerank.types import ClickSessions, ItemPositionCounts, SwapArms


def swapped_order(n_positions, k1, k2):
    """Which item (0-based, in the ranker's order) stands at each position of a swapped session."""
    order = np.arange(n_positions)
    for low, top in ((k1, 1), (k2, 2)):
        if low:
            at_low, at_top = np.flatnonzero(order == low - 1)[0], top - 1
            order[[at_low, at_top]] = order[[at_top, at_low]]
    return order


def draw_sessions(model, relevance, markers, n_sessions, rng, shuffle=0.0):
    """Sessions over random lists; each takes part in one of the `markers` (k1, k2) at random, half of them swapped.

    `relevance` is P(relevant) by list and item; with chance `shuffle` a session shows its items in random order.
    """
    n_lists, n_positions = relevance.shape
    query = rng.integers(n_lists, size=n_sessions)
    orders = np.array([swapped_order(n_positions, *m) for m in [(0, 0), *markers]])
    if markers:
        which = rng.integers(1, len(markers) + 1, size=n_sessions)
        swapped = rng.integers(2, size=n_sessions)
        marker = np.column_stack([np.array([(0, 0), *markers])[which], swapped])
        order = orders[which * swapped]
    else:
        marker, order = None, np.tile(orders[0], (n_sessions, 1))
    mixed = rng.random(n_sessions) < shuffle
    order[mixed] = rng.permuted(order[mixed], axis=1)
    relevant = rng.random((n_sessions, n_positions)) < relevance[query[:, None], order]
    clicks = relevant & model.sample(n_sessions, n_positions, rng)
    return ClickSessions(
        clicks.ravel().astype(np.int32),
        np.tile(np.arange(1, n_positions + 1, dtype=np.int32), n_sessions),
        np.full(n_sessions, n_positions),
        query,
        (query[:, None] * n_positions + order).ravel(),
        marker,
    )


def draw_swap_arms(theta, top, target, both, n_sessions, rng, k2=0):
    """Counts of one experiment a position, exactly as sessions would give them.

    `top` and `target` are the chances of a click at position 1 on the item of position 1 and on that of position k,
    `both` the chance of clicks on the two in one session. Half of the sessions are swapped.
    """
    k = np.arange(2, len(theta) + 2)
    n = np.broadcast_to(n_sessions // 2, k.shape)
    columns = []
    for at_top, at_target in ((top, theta * target), (target, theta * top)):  # control, swapped
        cells = np.stack(
            np.broadcast_arrays(at_top - both, at_target - both, both, 1 - at_top - at_target + both), axis=-1
        )
        drawn = rng.multinomial(n, cells)
        columns.append([n, drawn[:, 0] + drawn[:, 2], drawn[:, 1] + drawn[:, 2], drawn[:, 2]])
    control, swapped = np.array(columns)
    both_arms = np.concatenate([control, swapped], axis=1)
    return SwapArms(np.tile(k, 2), np.full(2 * len(k), k2), np.repeat([0, 1], len(k)), *both_arms)


@pytest.fixture(name="draw_sessions")
def draw_sessions_fixture():
    return draw_sessions


@pytest.fixture(name="draw_swap_arms")
def draw_swap_arms_fixture():
    return draw_swap_arms


@pytest.fixture
def rng():
    return np.random.default_rng(20220711)


def draw_item_counts(theta, n_lists, sessions_per_list, rng, orders_per_list=3, relevance=(1, 3)):
    """Counts by list, item and position of a log whose rankings vary and follow relevance, with a click cell by cell.

    Each list is shown in a few orders that put relevant items on top, more or less; sessions choose among them.
    """
    n = len(theta)
    chance = rng.beta(*relevance, size=(n_lists, 1, n))
    noise = rng.gumbel(size=(n_lists, orders_per_list, n))
    order = np.argsort(-(np.log(chance) + noise), axis=2)
    sessions = rng.multinomial(sessions_per_list, rng.dirichlet(np.ones(orders_per_list), n_lists))
    impressions = np.zeros((n_lists, n, n), dtype=np.int64)  # list, item, place
    lists = np.arange(n_lists)[:, None]
    for o in range(orders_per_list):
        np.add.at(impressions, (lists, order[:, o], np.arange(n)), sessions[:, o, None])
    clicks = rng.binomial(impressions, chance.transpose(0, 2, 1) * theta)
    q, item, place = np.nonzero(impressions)
    return ItemPositionCounts(q, item, place + 1, impressions[q, item, place], clicks[q, item, place])


@pytest.fixture(name="draw_item_counts")
def draw_item_counts_fixture():
    return draw_item_counts

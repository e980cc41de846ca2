"""Generated judged lists by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from truerank.datasets.shop import ShopWorld, shop_sizes
from truerank.datasets.web import WebWorld, web_sizes
from truerank.datasets.worlds import PARTS, ListSizes, Progress, World, draw_part, grade_limits
from truerank.errors import InputError
from truerank.ragged import check_number
from truerank.types import Splits

GENERATORS: dict[str, tuple[Callable[[int], World], tuple[ListSizes, ListSizes, ListSizes]]] = {
    "shop": (ShopWorld.drawn, (shop_sizes(10_000), shop_sizes(1_500), shop_sizes(3_500))),
    "web": (WebWorld.drawn, (web_sizes(19_944, 473_134), web_sizes(2_994, 71_083), web_sizes(6_983, 165_660))),
}
"""For each name, how its world is drawn from a seed, and the full size of each part."""


def generate_dataset(
    name: str, lists: Sequence[int] | None = None, seed: int = 0, *, progress: Progress | None = None
) -> Splits:
    """Generate judged lists to train on, to tune on and to test on.

    | name | full size: lists | features | labels 0, 1, … |
    | --- | --- | --- | --- |
    | `web` | 19,944 / 2,994 / 6,983 | 700, 519 of them used | 22 / 50 / 22 / 4 / 2 % |
    | `shop` | 10,000 / 1,500 / 3,500 | 20, with names | 35 / 30 / 20 / 10 / 5 % |

    `web` has the shape of Yahoo's Learning to Rank Challenge, set 1, and at full size as many documents (473,134 /
    71,083 / 165,660): 24 a list on average and up to 139, features in [0, 1]. Relevance is not linear in what the
    features see, part of it is the query's, part of it nobody knows; many features repeat, in their way, what others
    say; 3 to 4 % of the lists have no relevant item. See `truerank.datasets.web`.

    `shop` is what searches in an online shop find, with a grid to show it in and a table of graded feedback: click,
    cart, purchase. See `truerank.datasets.shop`.

    The items of a list stand in random order: rank them before you show them.

    The seed decides how features and relevance hang together, the same in all parts and for any size, and what is
    drawn. Smaller parts are the first lists of larger ones.

    Args:
        name: `web` or `shop`.
        lists: how many lists to train on, to tune on and to test on; the full size by default.
        seed: a whole number from 0.
        progress: called as progress(lists done, lists in all).

    >>> splits = generate_dataset("shop", lists=(100, 20, 50), seed=1)
    >>> splits.train.n_lists, splits.valid.n_lists, splits.test.n_lists, splits.train.X.shape[1]
    (100, 20, 50, 20)
    """
    if name not in GENERATORS:
        raise InputError(
            f"there is no generator named {name!r}; there are {', '.join(GENERATORS)}. "
            "Hint: truerank.load_dataset reads the public data sets from files"
        )
    check_number(seed, "seed", 0, whole=True)
    draw_world, full_sizes = GENERATORS[name]
    counts = _read_counts([size.lists for size in full_sizes] if lists is None else lists)
    world = draw_world(int(seed))
    limits = grade_limits(world, full_sizes[0], int(seed))
    done = 0

    def tell(more: int) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(done, sum(counts))

    return Splits(
        *(
            draw_part(world, limits, sizes, count, part, int(seed), tell)
            for part, (sizes, count) in enumerate(zip(full_sizes, counts, strict=True))
        )
    )


def _read_counts(lists: Any) -> list[int]:
    try:
        counts = list(lists)
    except TypeError:
        counts = []
    if len(counts) != len(PARTS):
        raise InputError(f"lists is {lists!r}; it needs three numbers: how many lists to train on, tune on and test on")
    for count, part in zip(counts, PARTS, strict=True):
        check_number(count, f"lists, to {part},", 1, whole=True)
    return [int(count) for count in counts]

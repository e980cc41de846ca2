"""Sessions under any examination model, through its own `sample`: plain NumPy, redrawn until there is a click."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from truerank.errors import ExaminationError
from truerank.simulate.plan import Drawn, Plan, Portion, no_click_in_sight
from truerank.types import BoolArray, IntArray

MOST_DRAWS = 1_000_000
"""How often a session is redrawn at most."""
LEAST_TRIES = 1_024
"""How many sessions a round draws at least, after the first."""


def draw_sampled(plan: Plan, portion: Portion, out: Drawn) -> None:
    """Draw a portion of sessions.

    All its numbers come from one generator, so what is drawn depends on the seed and the number of the portion alone.
    Each round draws about as many sessions as the portion has: when few are still waiting for a click, each gets
    many tries and keeps the first that has one.
    """
    rng = np.random.Generator(np.random.Philox(plan.seed, counter=[0, portion.number, 0, 1]))
    lists = plan.lists.of_sessions(portion.first, portion.last)
    n, longest = len(lists), plan.lists.longest
    labels = np.empty((n, longest), dtype=np.int8)
    waiting, tries = np.arange(n), 0
    while len(waiting):
        if tries >= MOST_DRAWS:
            raise no_click_in_sight(plan, lists[waiting[0]])
        repeats = max(n, LEAST_TRIES) // len(waiting) if tries else 1
        tries += repeats
        arms, drawn = _draw_once(plan, np.repeat(lists[waiting], repeats), rng)
        kept = drawn.any(axis=1).reshape(-1, repeats) | (not plan.require_click)
        done = kept.any(axis=1)
        first = (np.arange(len(waiting)) * repeats + kept.argmax(axis=1))[done]
        labels[waiting[done]] = drawn[first]
        out.arm[waiting[done]] = arms[first]
        waiting = waiting[~done]
    inside = np.arange(longest) < plan.lists.size[lists, None]
    out.clicks[:] = labels[inside]
    out.positions[:] = np.broadcast_to(np.arange(1, longest + 1), inside.shape)[inside]
    out.item[:] = (plan.lists.start[lists, None] + plan.arms.order[out.arm])[inside]


def _draw_once(plan: Plan, lists: IntArray, rng: np.random.Generator) -> tuple[IntArray, npt.NDArray[np.int8]]:
    """One try for each of the lists: the arm of the experiments, and the labels, 0 past the end of a list."""
    n, longest, size = len(lists), plan.lists.longest, plan.lists.size[lists]
    summed = np.cumsum(plan.arms.chance)
    arms = np.searchsorted(summed, rng.random(n) * summed[-1], side="right")
    arms = np.where(plan.arms.reach[arms] <= size, arms, 0)
    places = np.arange(longest)
    seen = _examined(plan.examination, n, longest, rng) & (places < size[:, None])
    shown, place = np.nonzero(seen)
    rows = plan.lists.start[lists[shown]] + plan.arms.order[arms[shown], place]
    draw = rng.random(len(rows))
    labels = np.zeros((n, longest), dtype=np.int8)
    labels[shown, place] = sum(draw < plan.feedback.at(rows, place, 1 + k) for k in range(plan.feedback.levels))
    return arms, labels


def _examined(examination: Any, n: int, longest: int, rng: np.random.Generator) -> BoolArray:
    examined = np.asarray(examination.sample(n, longest, rng))
    if examined.shape != (n, longest):
        raise ExaminationError(f"examination.sample({n}, {longest}, rng) gave shape {examined.shape}")
    if examined.dtype != np.bool_ and not np.isin(examined, (0, 1)).all():
        raise ExaminationError(f"examination.sample gave {examined.dtype} other than 0 and 1; it needs booleans")
    return examined.astype(np.bool_)

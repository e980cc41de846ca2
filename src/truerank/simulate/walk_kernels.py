"""Sessions of people who walk through a page, drawn in parallel; see `truerank.simulate.walks`.

Sessions that must have a click are not redrawn until they have one. They are drawn from what redrawing converges to,
the distribution given a click: with the chance of a click still to come at hand for every place (from the last to the
first), each step of the walk is taken given that one comes; after the first click the walk is free.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from truerank.compiled_kernels import compiled
from truerank.simulate.random_kernels import happens, new_stream, seek, uniform

STRIP = 512
"""Sessions that one thread draws in one go; it has no influence on what is drawn."""


@compiled(parallel=True, error_model="numpy")
def draw_walks(
    key: Any,
    lists: Any,
    feedback: Any,
    walk: Any,
    arms: Any,
    require_click: bool,
    first: int,
    rows_before: int,
    clicks_out: Any,
    positions_out: Any,
    item_out: Any,
    arm_out: Any,
) -> Any:
    """Draw the sessions from number `first` on, one an entry of `arm_out`; their rows are those after `rows_before`.

    What is drawn for a session has an address of its own, so the strips may run in any order. Returns the place of a
    list that can have no click although it must, or -1.
    """
    number, start, size, session_offsets, row_offsets = lists
    chance, if_relevant, if_irrelevant = feedback
    enter, go_on, row_end = walk
    n_sessions, longest = len(arm_out), len(enter)
    n_strips = (n_sessions + STRIP - 1) // STRIP
    hopeless = np.full(n_strips, -1, dtype=np.int64)
    for strip in prange(n_strips):
        stream = new_stream()
        click = np.empty((longest, chance.shape[1]))
        from_item, from_row = np.zeros(longest + 1), np.zeros(longest + 1)
        summed = np.cumsum(arms.chance)
        q = ready_q = ready_arm = -1
        for k in range(strip * STRIP, min((strip + 1) * STRIP, n_sessions)):
            session = first + k
            if q < 0 or session >= session_offsets[q + 1]:
                q = int(np.searchsorted(session_offsets, session, side="right")) - 1
                if require_click:
                    _weigh_arms(start[q], size[q], feedback, walk, arms, click, from_item, from_row, summed)
                    if summed[-1] == 0:
                        hopeless[strip] = q
                        break
            nth = session - session_offsets[q]
            seek(stream, number[q], nth)
            arm = _draw_arm(key, stream, summed)
            if arms.reach[arm] > size[q]:
                arm = 0
            if q != ready_q or arm != ready_arm:
                _fill_click(start[q], size[q], arm, arms.order, chance, if_relevant, if_irrelevant, click)
                _fill_to_come(size[q], click, enter, go_on, row_end, from_item, from_row)
                ready_q, ready_arm = q, arm
            row = row_offsets[q] + nth * size[q] - rows_before
            for v in range(size[q]):
                clicks_out[row + v] = 0
                positions_out[row + v] = v + 1
                item_out[row + v] = start[q] + arms.order[arm, v]
            _walk(
                key, stream, size[q], click, enter, go_on, row_end, require_click, from_item, from_row, clicks_out, row
            )
            arm_out[k] = arm
    return hopeless.max() if n_strips else -1


@compiled()
def _weigh_arms(
    start: int,
    size: int,
    feedback: Any,
    walk: Any,
    arms: Any,
    click: Any,
    from_item: Any,
    from_row: Any,
    summed_out: Any,
) -> None:
    """P(one of the arms up to this one, and a click) for each arm of the experiments; the last is P(a click)."""
    as_ranked = total = 0.0
    for arm in range(len(summed_out)):
        to_come = as_ranked
        if arm == 0 or (arms.swapped[arm] and arms.reach[arm] <= size):
            _fill_click(
                start, size, arm, arms.order, feedback.chance, feedback.if_relevant, feedback.if_irrelevant, click
            )
            to_come = _fill_to_come(size, click, walk.enter, walk.go_on, walk.row_end, from_item, from_row)
        if arm == 0:
            as_ranked = to_come
        total += arms.chance[arm] * to_come
        summed_out[arm] = total


@compiled()
def _draw_arm(key: Any, stream: Any, summed: Any) -> Any:
    if len(summed) == 1:
        return 0
    return np.searchsorted(summed, uniform(key, stream) * summed[-1], side="right")


@compiled()
def _fill_click(
    start: int, size: int, arm: int, order: Any, chance: Any, if_relevant: Any, if_irrelevant: Any, click_out: Any
) -> None:
    """P(feedback of at least level l + 1 | examined) at each place, for the items that the arm shows there."""
    for v in range(size):
        row = start + order[arm, v]
        for level in range(chance.shape[1]):
            click_out[v, level] = if_relevant[v] * chance[row, level]
        click_out[v, 0] += if_irrelevant[v] * (1 - chance[row, 0])


@compiled()
def _fill_to_come(
    size: int, click: Any, enter: Any, go_on: Any, row_end: Any, from_item_out: Any, from_row_out: Any
) -> Any:
    """P(a click from here on): for who looks at a place, and for who stands before the row that starts there."""
    from_row_out[size] = 0.0
    for v in range(size - 1, -1, -1):
        row_ends = row_end[v] == v + 1 or v + 1 == size
        onward = from_row_out[v + 1] if row_ends else from_item_out[v + 1]
        from_item_out[v] = click[v, 0] + (1 - click[v, 0]) * go_on[v] * onward
        if v == 0 or row_end[v - 1] == v:
            passing_by = from_row_out[min(row_end[v], size)]
            from_row_out[v] = enter[v] * from_item_out[v] + (1 - enter[v]) * passing_by
    return from_row_out[0]


@compiled(error_model="numpy")
def _walk(
    key: Any,
    stream: Any,
    size: int,
    click: Any,
    enter: Any,
    go_on: Any,
    row_end: Any,
    click_to_come: bool,
    from_item: Any,
    from_row: Any,
    clicks_out: Any,
    row: int,
) -> None:
    """One person's way through the page; what is clicked is written from `row` on."""
    v = 0
    while v < size:
        end = min(row_end[v], size)
        if not happens(key, stream, enter[v] * from_item[v] / from_row[v] if click_to_come else enter[v]):
            v = end
            continue
        while v < end:
            if click[v, 0] > 0:
                draw = uniform(key, stream) * (from_item[v] if click_to_come else 1.0)
                level = 0
                while level < click.shape[1] and draw < click[v, level]:
                    level += 1
                if level > 0:
                    clicks_out[row + v] = level
                    click_to_come = False
            if not click_to_come and not happens(key, stream, go_on[v]):
                return
            v += 1

"""Simulated click logs in memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from truerank.simulate.draws import drawer
from truerank.simulate.plan import Drawn, Plan, plan_sessions
from truerank.simulate.swaps import Experiment
from truerank.types import ClickSessions


def simulate_clicks(
    judged: Any,
    examination: Any,
    sessions_per_list: Any = 16,
    seed: Any = 0,
    *,
    group: Any = None,
    require_click: bool = True,
    drop_irrelevant: bool = True,
    at: int | None = None,
    relevance: Any = "exp2",
    max_grade: int | None = None,
    feedback: Any = None,
    noise: float = 0.0,
    trust: Any = None,
    swap: Experiment | Iterable[Experiment] | None = None,
) -> ClickSessions:
    """Show judged lists to simulated people: click = examined × relevant, c = e · r.

    The defaults are the paper's protocol (Kurennoy et al. 2022, Section 6): each list is shown 16 times in the order
    of its rows, relevance is drawn anew in each session with P(r = 1) = (2^y − 1) / (2^y_max − 1), and a session is
    redrawn until it has a click; lists without a relevant item, which never have one, are left out and counted in
    `lists_dropped`. The same seed gives the same sessions whatever the number of threads.

    Args:
        judged: `JudgedLists`, or their labels, together with `group`.
        examination: how people look at a page: a model of truerank, or anything with `sample`.
        sessions_per_list: how often each list is shown: one number, or one for each list.
        seed: a whole number from 0.
        group: the size of each list, if `judged` is an array of labels.
        require_click: redraw each session, its arm of a swap experiment included, until it has a click; False keeps
            sessions as they come. For the models of truerank (other than `Tabulated`) sessions are drawn given that
            there is a click, which is the same and takes no longer for rare clicks.
        drop_irrelevant: leave out lists none of whose items (those shown) can be relevant.
        at: cut lists to this many items; None shows them whole.
        relevance: P(r = 1) of an item: `exp2` as above, `linear` for y / y_max, or one probability a row.
        max_grade: y_max; the highest label by default. Give it if these lists are only a part of the data.
        feedback: in place of `relevance`, graded feedback: a table with a row for each judged grade from 0 and a
            column for each label 1, 2, …: P(at least this label | examined). [[0, 0], [0.5, 0.1]]: an item of grade 1
            is clicked (1) half of the time, and one click in five ends in a purchase (2).
        noise: P(click | examined, irrelevant).
        trust: two curves, P(click | examined, relevant) and P(click | examined, irrelevant), each a number or one for
            each position: trust bias (Agarwal et al. 2019). It takes the place of `noise`.
        swap: a `SwapExperiment`, a `JointSwapExperiment` or several, marked in the result. A list too short for a swap
            is shown as ranked and is in no experiment.

    >>> from truerank import Continuous, inverse_rank
    >>> sessions = simulate_clicks([0, 2, 1], Continuous(inverse_rank(3)), sessions_per_list=2, seed=1, group=[3])
    >>> sessions.group.tolist(), sessions.positions.tolist(), sessions.item.tolist()
    ([3, 3], [1, 2, 3, 1, 2, 3], [0, 1, 2, 0, 1, 2])
    >>> sessions.clicks.tolist()
    [0, 1, 1, 0, 1, 1]
    """
    return draw_sessions(
        plan_sessions(
            judged,
            examination,
            sessions_per_list,
            seed,
            group=group,
            require_click=require_click,
            drop_irrelevant=drop_irrelevant,
            at=at,
            relevance=relevance,
            max_grade=max_grade,
            feedback=feedback,
            noise=noise,
            trust=trust,
            swap=swap,
        )
    )


def draw_sessions(plan: Plan) -> ClickSessions:
    """All sessions of a plan."""
    drawn, draw = Drawn.room_for(plan.n_sessions, plan.n_rows), drawer(plan)
    for portion in plan.portions():
        draw(portion, drawn.part(*plan.place_of(portion)))
    lists = plan.lists.of_sessions(0, plan.n_sessions)
    return ClickSessions(
        clicks=drawn.clicks,
        positions=drawn.positions,
        group=plan.lists.size.astype(np.int32)[lists],
        query=plan.lists.number.astype(np.int32)[lists],
        item=drawn.item,
        swap=None if len(plan.arms.chance) == 1 else plan.arms.marker[drawn.arm],
        lists_dropped=plan.lists_dropped,
    )

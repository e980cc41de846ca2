"""Draw the sessions of a plan: our own models by their walk, in compiled code; any other through its `sample`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from truerank.simulate.plan import Drawn, Plan, Portion, no_click_in_sight
from truerank.simulate.sampled import draw_sampled
from truerank.simulate.walks import Walk, walk_of

Draw = Callable[[Portion, Drawn], None]


def drawer(plan: Plan) -> Draw:
    """The function that draws portions of this plan."""
    walk = walk_of(plan.examination, plan.lists.longest)
    return partial(draw_sampled, plan) if walk is None else partial(draw_walked, plan, walk)


def draw_walked(plan: Plan, walk: Walk, portion: Portion, out: Drawn) -> None:
    """Draw a portion of sessions whose readers walk through the page."""
    from truerank.simulate.random_kernels import key_of
    from truerank.simulate.walk_kernels import draw_walks

    hopeless = draw_walks(
        key_of(plan.seed),
        plan.lists,
        plan.feedback,
        walk,
        plan.arms,
        plan.require_click,
        portion.first,
        plan.lists.rows_before(portion.first),
        out.clicks,
        out.positions,
        out.item,
        out.arm,
    )
    if hopeless >= 0:
        raise no_click_in_sight(plan, hopeless)

"""One door to the estimators: the best that a log allows, or a refusal that says why there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from truerank.errors import IdentificationError, InputError
from truerank.propensity.counts import arms_of
from truerank.propensity.em import em
from truerank.propensity.estimate import PropensityEstimate
from truerank.propensity.harvest import harvest
from truerank.propensity.joint_swap import joint_swap
from truerank.propensity.row_skipping import row_skipping
from truerank.propensity.swap import swap
from truerank.types import SwapArms

_ESTIMATORS: dict[str, Callable[..., PropensityEstimate]] = {
    "swap": swap,
    "joint_swap": joint_swap,
    "harvest": harvest,
    "em": em,
    "row_skipping": row_skipping,
}


def estimate(source: Any, method: str = "auto", **options: Any) -> PropensityEstimate:
    """θ from a log by the named method, or by the best that it allows; a log that tells nothing is refused.

    "auto" takes a swap experiment if the log has one that tells θ, since it needs no assumption about why rankings
    vary, and otherwise harvests their natural variation. Where neither can tell θ, `IdentificationError` says why and
    what to do: no number is made up.

    Args:
        source: a click log, `ClickSessions`, or the counts that the method takes.
        method: "auto", "swap", "joint_swap", "harvest", "em" or "row_skipping".
        options: for the method; "auto" takes those that "swap" and "harvest" share: `browsing`, `smooth` and `fill`.

    >>> from truerank.types import ItemPositionCounts
    >>> counts = ItemPositionCounts([0, 0], [7, 7], [1, 2], [1000, 1000], [400, 100])
    >>> estimate(counts).theta.round(6).tolist()
    [1.0, 0.25]
    """
    if method == "auto":
        return _best(source, options)
    if method not in _ESTIMATORS:
        raise InputError(f"method is {method!r}; it must be one of 'auto', {', '.join(map(repr, _ESTIMATORS))}")
    return _ESTIMATORS[method](source, **options)


def _best(source: Any, options: dict[str, Any]) -> PropensityEstimate:
    arms = arms_of(source)
    if arms is None or not (arms.k2 == 0).any():
        return harvest(source, **options)
    try:
        return swap(arms, **options)
    except IdentificationError as error:
        if isinstance(source, SwapArms):
            raise
        why = str(error)
    try:
        found = harvest(source, **options)
    except IdentificationError as error:
        raise IdentificationError(f"neither way tells θ. Swap experiment: {why}. Natural variation: {error}") from None
    return replace(found, notes=(f"harvested, since the swap experiment does not tell θ: {why}", *found.notes))

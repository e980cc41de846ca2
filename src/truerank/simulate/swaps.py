"""Swap experiments: the ranking is changed at random for some of the traffic, so that propensities can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from truerank.errors import InputError
from truerank.ragged import check_number
from truerank.types import BoolArray, FloatArray, IntArray

_ROUNDING = 1e-9


@dataclass(frozen=True)
class SwapExperiment:
    """Swap the item at position k with the one at position 1 (Joachims et al. 2017).

    In half of the sessions of the experiment, by the toss of a coin; the other half, the control arm, is shown as
    ranked. The item that the ranker puts at k is clicked at k in one arm and at 1 in the other, in the ratio θ_k / θ_1.

    Args:
        positions: the positions k to compare with 1.
        share: which part of the traffic is in the experiment.
        allocation: how that part is shared out, a number a position; evenly by default.

    >>> SwapExperiment(range(2, 11), share=0.1).positions
    (2, 3, 4, 5, 6, 7, 8, 9, 10)
    """

    positions: Sequence[int]
    share: float = 0.1
    allocation: Sequence[float] | None = None

    def __post_init__(self) -> None:
        """Check what is asked for."""
        positions = tuple(_read_position(k, "positions", above=1) for k in _read_sequence(self.positions, "positions"))
        object.__setattr__(self, "positions", positions)
        _check(self, positions, "positions")

    @property
    def targets(self) -> list[tuple[int, int]]:
        """What is swapped, as marked in a log: (k, 0)."""
        return [(k, 0) for k in self.positions]


@dataclass(frozen=True)
class JointSwapExperiment:
    """Swap the items at positions (k1, k2) with those at (1, 2) (the paper, Section 3.4).

    In half of the sessions of the experiment; the other half is shown as ranked. Both items of the pair are clicked in
    one arm and in the other in the ratio ψ(k1, k2) / ψ(1, 2). The items from k1 and k2 go to positions 1 and 2, and
    whatever they push out of there fills the places left, in the order of the ranking: first 1 and k1 are swapped, then
    2 and k2, which also says what happens if k1 is 1 or 2.

    Args:
        pairs: pairs (k1, k2) with k1 < k2, other than (1, 2).
        share: which part of the traffic is in the experiment.
        allocation: how that part is shared out, a number a pair; evenly by default.

    >>> JointSwapExperiment([(1, 3), (3, 7)], share=0.2).pairs
    ((1, 3), (3, 7))
    """

    pairs: Sequence[tuple[int, int]]
    share: float = 0.1
    allocation: Sequence[float] | None = None

    def __post_init__(self) -> None:
        """Check what is asked for."""
        pairs = tuple(_read_pair(pair) for pair in _read_sequence(self.pairs, "pairs"))
        object.__setattr__(self, "pairs", pairs)
        _check(self, pairs, "pairs")

    @property
    def targets(self) -> list[tuple[int, int]]:
        """What is swapped, as marked in a log: (k1, k2)."""
        return list(self.pairs)


Experiment: TypeAlias = SwapExperiment | JointSwapExperiment


class Arms(NamedTuple):
    """The arms of all experiments; arm 0 is the traffic that is in none.

    `order[arm, v]` is the place in the ranking of the item shown at place v; `reach` is the lowest position an arm
    touches, `marker` its row (k1, k2, swapped) of `ClickSessions.swap`.
    """

    chance: FloatArray
    swapped: BoolArray
    reach: IntArray
    order: IntArray
    marker: npt.NDArray[np.int16]

    def texts(self) -> list[str | None]:
        """The markers as a log table has them: `5:control`, `3,7:swapped`, or nothing."""
        return [_marker_text(*row) for row in self.marker.tolist()]


def read_arms(swap: Experiment | Iterable[Experiment] | None, longest: int) -> Arms:
    """The arms of one experiment, of several, or of none, for lists of up to `longest` items."""
    experiments = _read_experiments(swap)
    shares = sum(experiment.share for experiment in experiments)
    if shares > 1 + _ROUNDING:
        raise InputError(f"the experiments of swap take {shares:g} of the traffic; their shares may sum to 1 at most")
    markers, chances = [(0, 0, 0)], [max(0.0, 1 - shares)]
    for experiment in experiments:
        allocation = np.ones(len(experiment.targets)) if experiment.allocation is None else experiment.allocation
        parts = np.asarray(allocation, dtype=np.float64) / np.sum(allocation)
        for (first, second), part in zip(experiment.targets, parts.tolist(), strict=True):
            markers += [(first, second, 0), (first, second, 1)]
            chances += [experiment.share * part / 2] * 2
    if len(set(markers)) < len(markers):
        twice = next(m for m in markers if markers.count(m) > 1)
        raise InputError(f"two experiments of swap compare {_marker_text(*twice)}; each comparison may be made once")
    reach = np.array([max(marker[:2]) for marker in markers])
    if reach.max() > longest:
        raise InputError(f"swap names position {reach.max()}, and the longest list has {longest} items")
    return Arms(
        chance=np.array(chances, dtype=np.float64),
        swapped=np.array([bool(marker[2]) for marker in markers]),
        reach=reach,
        order=np.array([_order(*marker, longest) for marker in markers]),
        marker=np.array(markers, dtype=np.int16),
    )


def _order(first: int, second: int, swapped: int, longest: int) -> IntArray:
    order = np.arange(longest)
    if swapped:
        for target, source in ((0, first - 1), (1, second - 1)):
            if source >= 0:
                order[[target, source]] = order[[source, target]]
    return order


def _marker_text(first: int, second: int, swapped: int) -> str | None:
    if not first:
        return None
    return f"{first},{second}" * bool(second) + f"{first}" * (not second) + (":swapped" if swapped else ":control")


def _read_experiments(swap: Any) -> list[Experiment]:
    if swap is None:
        return []
    experiments = [swap] if isinstance(swap, Experiment) or not isinstance(swap, Iterable) else list(swap)
    if not all(isinstance(experiment, Experiment) for experiment in experiments):
        raise InputError(f"swap is {swap!r}; it needs a SwapExperiment, a JointSwapExperiment, or a list of them")
    return experiments


def _read_sequence(values: Any, name: str) -> list[Any]:
    try:
        found = list(values)
    except TypeError:
        raise InputError(f"{name} is {values!r}; it needs a list") from None
    if not found:
        raise InputError(f"{name} is empty; name at least one")
    return found


def _read_position(value: Any, name: str, above: int = 0) -> int:
    check_number(value, name, above, above=True, whole=True)
    return int(value)


def _read_pair(pair: Any) -> tuple[int, int]:
    numbers = _read_sequence(pair, "pairs")
    if len(numbers) != 2:
        raise InputError(f"pairs holds {pair!r}; each is two positions (k1, k2)")
    first, second = (_read_position(value, "pairs") for value in numbers)
    if first >= second:
        raise InputError(f"pairs holds {(first, second)}; k1 must be below k2")
    if (first, second) == (1, 2):
        raise InputError("pairs holds (1, 2), which is compared with itself; leave it out")
    return first, second


def _check(experiment: Experiment, targets: tuple[Any, ...], name: str) -> None:
    if len(set(targets)) < len(targets):
        raise InputError(f"{name} is {targets}; each may be named once")
    check_number(experiment.share, "share", 0, above=True)
    if experiment.share > 1:
        raise InputError(f"share is {experiment.share}; it is a part of the traffic, 1 at most")
    if experiment.allocation is None:
        return
    allocation = tuple(_read_sequence(experiment.allocation, "allocation"))
    for part in allocation:
        check_number(part, "allocation", 0, above=True)
    if len(allocation) != len(targets):
        raise InputError(f"allocation has {len(allocation)} numbers for {len(targets)} {name}; it needs one each")
    object.__setattr__(experiment, "allocation", allocation)

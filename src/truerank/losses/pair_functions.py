"""Pair functions: the terms ℓ11, ℓ10, ℓ01, ℓ00 of a pairwise loss, with their derivatives.

ℓ_ab(s_i, s_j) is the cost of scoring a pair s_i, s_j when its relevances are a and b.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from truerank.errors import InputError
from truerank.types import FloatArray


class Jet(NamedTuple):
    """A function of (s_i, s_j) at given points, with its first and second derivatives."""

    value: FloatArray
    d_i: FloatArray
    d_j: FloatArray
    d_ii: FloatArray
    d_jj: FloatArray
    d_ij: FloatArray

    @classmethod
    def of_difference(cls, value: FloatArray, slope: FloatArray, curvature: FloatArray) -> Jet:
        """The jet of a function of s_i − s_j, from that function's value, slope and curvature."""
        return cls(value, slope, -slope, curvature, curvature, -curvature)

    def swapped(self) -> Jet:
        """The same function with the names of i and j exchanged."""
        return Jet(self.value, self.d_j, self.d_i, self.d_jj, self.d_ii, self.d_ij)


class PairFunction(abc.ABC):
    """The four terms of a pairwise loss. To bring your own, subclass and give `l10`.

    Each method takes two arrays of scores and returns a `Jet`. `l01` defaults to `l10` with i and j exchanged;
    `l11` and `l00` default to None, which stands for zero, and lets the loss skip the pairs without a click.

    >>> class Exponential(PairFunction):
    ...     def l10(self, s_i, s_j):
    ...         cost = np.exp(s_j - s_i)
    ...         return Jet.of_difference(cost, -cost, cost)
    >>> Exponential().l01(np.array([1.0]), np.array([0.0])).value.round(3).tolist()
    [2.718]
    """

    @abc.abstractmethod
    def l10(self, s_i: FloatArray, s_j: FloatArray) -> Jet:
        """The cost when i is the more relevant."""

    def l01(self, s_i: FloatArray, s_j: FloatArray) -> Jet:
        """The cost when j is the more relevant."""
        return self.l10(s_j, s_i).swapped()

    def l11(self, s_i: FloatArray, s_j: FloatArray) -> Jet | None:
        """The cost when both are relevant, and equally so; None for zero."""
        return None

    def l00(self, s_i: FloatArray, s_j: FloatArray) -> Jet | None:
        """The cost when neither is relevant; None for zero."""
        return None


@dataclass(frozen=True)
class _DifferencePairFunction(PairFunction):
    """A built-in: a function of d = σ (s_i − s_j), which the kernel knows by its code."""

    code: ClassVar[int]
    sigma: float = 1.0

    def __post_init__(self) -> None:
        if not (isinstance(self.sigma, int | float | np.number) and np.isfinite(self.sigma) and self.sigma > 0):
            raise InputError(f"sigma is {self.sigma}; it must be a number above 0")

    def l10(self, s_i: FloatArray, s_j: FloatArray) -> Jet:
        """The cost when i is the more relevant."""
        value, slope, curvature = self._of(self.sigma * (s_i - s_j))
        return Jet.of_difference(value, self.sigma * slope, self.sigma**2 * curvature)

    @abc.abstractmethod
    def _of(self, d: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Value, slope and curvature in d."""


class RankNet(_DifferencePairFunction):
    """RankNet (Burges 2010): ℓ10 = log(1 + e^{−d}), d = σ (s_i − s_j)."""

    code = 0

    def _of(self, d: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        wrong = np.exp(-np.logaddexp(0, d))
        return np.logaddexp(0, -d), -wrong, wrong * (1 - wrong)


class Hinge(_DifferencePairFunction):
    """Hinge: ℓ10 = max(0, 1 − d), d = σ (s_i − s_j)."""

    code = 1

    def _of(self, d: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        short = np.maximum(0, 1 - d)
        return short, np.where(short > 0, -1.0, 0.0), np.zeros_like(d)


class SquaredHinge(_DifferencePairFunction):
    """Squared hinge: ℓ10 = max(0, 1 − d)², d = σ (s_i − s_j)."""

    code = 2

    def _of(self, d: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        short = np.maximum(0, 1 - d)
        return short**2, -2 * short, np.where(short > 0, 2.0, 0.0)


class Square(_DifferencePairFunction):
    """Square: ℓ10 = (1 − d)², d = σ (s_i − s_j)."""

    code = 3

    def _of(self, d: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        return (1 - d) ** 2, -2 * (1 - d), np.full_like(d, 2.0)


class RankNetWithTies(RankNet):
    """RankNet that also asks ties to be ties: ℓ11 = ℓ00 = ½ log(1 + e^{−d}) + ½ log(1 + e^{d}).

    This is the cross-entropy against "either could be first", before RankNet drops equal pairs (Burges 2010).
    """

    code = 4

    def l11(self, s_i: FloatArray, s_j: FloatArray) -> Jet:
        """The cost when both are relevant, and equally so."""
        one_way, other_way = self.l10(s_i, s_j), self.l01(s_i, s_j)
        return Jet(*((a + b) / 2 for a, b in zip(one_way, other_way, strict=True)))

    def l00(self, s_i: FloatArray, s_j: FloatArray) -> Jet:
        """The cost when neither is relevant: the same."""
        return self.l11(s_i, s_j)


class Sigmoid(_DifferencePairFunction):
    """Sigmoid: ℓ10 = 1 / (1 + e^d), d = σ (s_i − s_j). Between 0 and 1, so no coefficient makes it unbounded."""

    code = 5

    def _of(self, d: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        wrong, right = np.exp(-np.logaddexp(0, d)), np.exp(-np.logaddexp(0, -d))
        return wrong, -wrong * right, wrong * right * (right - wrong)


class Ramp(_DifferencePairFunction):
    """Ramp: ℓ10 = min(1, max(0, (1 − d) / 2)), d = σ (s_i − s_j). Between 0 and 1, and straight in between."""

    code = 6

    def _of(self, d: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        return np.clip((1 - d) / 2, 0, 1), np.where(np.abs(d) < 1, -0.5, 0.0), np.zeros_like(d)


_BY_NAME: dict[str, type[_DifferencePairFunction]] = {
    "ranknet": RankNet,
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "square": Square,
    "ranknet_with_ties": RankNetWithTies,
    "sigmoid": Sigmoid,
    "ramp": Ramp,
}


def named_pair_function(pair: str | PairFunction, sigma: float) -> PairFunction:
    """A pair function by its name and σ; one that is already built is taken as it is."""
    if isinstance(pair, PairFunction):
        if sigma != 1.0:
            raise InputError(f"sigma={sigma} is for pair functions given by name; build this one with the σ it needs")
        return pair
    if not isinstance(pair, str) or pair not in _BY_NAME:
        raise InputError(f"pair is {pair!r}; it must be a PairFunction or one of {', '.join(map(repr, _BY_NAME))}")
    return _BY_NAME[pair](sigma)


def kernel_code(pair: PairFunction) -> int | None:
    """The code by which the compiled kernel knows a built-in (and not what others derive from it)."""
    return pair.code if isinstance(pair, _DifferencePairFunction) and type(pair) in _BY_NAME.values() else None

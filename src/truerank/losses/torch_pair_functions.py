"""Pair functions in PyTorch: the terms ℓ11, ℓ10, ℓ01, ℓ00 of a pairwise loss; autograd differentiates them."""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from truerank.errors import InputError
from truerank.losses import pair_functions


class PairFunction(abc.ABC):
    """The four terms of a pairwise loss. To bring your own, subclass and give `l10`.

    Each method takes two tensors of scores and returns one of costs. `l01` defaults to `l10` with i and j exchanged;
    `l11` and `l00` default to None, which stands for zero, and lets the loss skip the pairs without a click.

    >>> class Exponential(PairFunction):
    ...     def l10(self, s_i, s_j):
    ...         return torch.exp(s_j - s_i)
    >>> Exponential().l01(torch.tensor([1.0]), torch.tensor([0.0]))
    tensor([2.7183])
    """

    @abc.abstractmethod
    def l10(self, s_i: Tensor, s_j: Tensor) -> Tensor:
        """The cost when i is the more relevant."""

    def l01(self, s_i: Tensor, s_j: Tensor) -> Tensor:
        """The cost when j is the more relevant."""
        return self.l10(s_j, s_i)

    def l11(self, s_i: Tensor, s_j: Tensor) -> Tensor | None:
        """The cost when both are relevant, and equally so; None for zero."""
        return None

    def l00(self, s_i: Tensor, s_j: Tensor) -> Tensor | None:
        """The cost when neither is relevant; None for zero."""
        return None


def _ranknet(d: Tensor) -> Tensor:
    return -functional.logsigmoid(d)  # softplus(−d) is cut off beyond 20


_COSTS: dict[str, Callable[[Tensor], Tensor]] = {
    "ranknet": _ranknet,
    "hinge": lambda d: torch.relu(1 - d),
    "squared_hinge": lambda d: torch.relu(1 - d) ** 2,
    "square": lambda d: (1 - d) ** 2,
    "ranknet_with_ties": _ranknet,
    "sigmoid": lambda d: torch.sigmoid(-d),
    "ramp": lambda d: (torch.clamp(1 - d, 0, 2)) / 2,
}


@dataclass(frozen=True)
class NamedPairFunction(PairFunction):
    """A built-in, by the name and σ of its twin in `truerank.losses.pair_functions`."""

    name: str
    sigma: float = 1.0

    def l10(self, s_i: Tensor, s_j: Tensor) -> Tensor:
        """The cost when i is the more relevant."""
        return _COSTS[self.name](self.sigma * (s_i - s_j))

    def l11(self, s_i: Tensor, s_j: Tensor) -> Tensor | None:
        """The cost when both are relevant, and equally so."""
        if self.name != "ranknet_with_ties":
            return None
        return (self.l10(s_i, s_j) + self.l01(s_i, s_j)) / 2

    def l00(self, s_i: Tensor, s_j: Tensor) -> Tensor | None:
        """The cost when neither is relevant: the same."""
        return self.l11(s_i, s_j)


def read_pair_function(pair: str | PairFunction, sigma: float) -> PairFunction:
    """A pair function by its name and σ; one that is already built is taken as it is."""
    if isinstance(pair, PairFunction):
        if sigma != 1.0:
            raise InputError(f"sigma={sigma} is for pair functions given by name; build this one with the σ it needs")
        return pair
    if isinstance(pair, pair_functions.PairFunction):
        raise InputError(
            f"pair is {pair!r}, which works on NumPy arrays. Hint: give its name and sigma=, or subclass "
            "truerank.torch.PairFunction"
        )
    pair_functions.named_pair_function(pair, sigma)  # refuses what its twin refuses
    return NamedPairFunction(pair, float(sigma))

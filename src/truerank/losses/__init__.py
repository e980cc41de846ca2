"""Pairwise losses that the position bias of clicks does not bias."""

from truerank.losses.pair_functions import (
    Hinge,
    Jet,
    PairFunction,
    Ramp,
    RankNet,
    RankNetWithTies,
    Sigmoid,
    Square,
    SquaredHinge,
)
from truerank.losses.unbiased import UnbiasedPairwiseLoss

__all__ = [
    "Hinge",
    "Jet",
    "PairFunction",
    "Ramp",
    "RankNet",
    "RankNetWithTies",
    "Sigmoid",
    "Square",
    "SquaredHinge",
    "UnbiasedPairwiseLoss",
]

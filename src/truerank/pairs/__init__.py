"""Weighted pairs, the waist: methods turn sessions into them, rankers train on them."""

from truerank.pairs.methods import pair_weights
from truerank.pairs.pair_weights import PairSummary, PairWeights

__all__ = ["PairSummary", "PairWeights", "pair_weights"]

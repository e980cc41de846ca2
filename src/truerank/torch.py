"""truerank for PyTorch: the unbiased pairwise loss as a module, `pip install 'truerank[torch]'`.

`truerank.NeuralRanker` trains a network on it; take the loss from here to train your own.
"""

from __future__ import annotations

from truerank.errors import MissingExtraError

try:
    import torch as torch
except ImportError:
    raise MissingExtraError("torch", "torch") from None

from truerank.losses.torch_pair_functions import PairFunction
from truerank.losses.torch_pairs import SessionPairs
from truerank.losses.torch_unbiased import UnbiasedPairwiseLoss

__all__ = ["PairFunction", "SessionPairs", "UnbiasedPairwiseLoss"]

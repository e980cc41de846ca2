"""Metrics on ragged lists, and the comparison of models by them."""

from truerank.metrics.average_precision import average_precision
from truerank.metrics.comparison import Comparison, adjust_together
from truerank.metrics.evaluate import evaluate
from truerank.metrics.expected_reciprocal_rank import expected_reciprocal_rank
from truerank.metrics.inverse_propensity import InversePropensityNdcg, UnbiasedNdcg, unbiased_ndcg
from truerank.metrics.ndcg import ndcg
from truerank.metrics.precision_recall import precision, recall
from truerank.metrics.reciprocal_rank import reciprocal_rank

__all__ = [
    "Comparison",
    "InversePropensityNdcg",
    "UnbiasedNdcg",
    "adjust_together",
    "average_precision",
    "evaluate",
    "expected_reciprocal_rank",
    "ndcg",
    "precision",
    "recall",
    "reciprocal_rank",
    "unbiased_ndcg",
]

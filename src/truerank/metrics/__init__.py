"""Metrics on ragged lists."""

from truerank.metrics.inverse_propensity import InversePropensityNdcg, UnbiasedNdcg, unbiased_ndcg
from truerank.metrics.ndcg import ndcg

__all__ = ["InversePropensityNdcg", "UnbiasedNdcg", "ndcg", "unbiased_ndcg"]

"""Metrics on ragged lists."""

from truerank.metrics.inverse_propensity import InversePropensityNdcg, UnbiasedNdcg, unbiased_ndcg

__all__ = ["InversePropensityNdcg", "UnbiasedNdcg", "unbiased_ndcg"]

"""Thin doors from weighted pairs to the libraries that train on them; import a door from the file of its name."""

from truerank.rankers.objective import LambdaObjective, lambda_gradient
from truerank.rankers.ratios import PositionRatios, RatioObjective
from truerank.rankers.saved_models import score_saved

__all__ = ["LambdaObjective", "PositionRatios", "RatioObjective", "lambda_gradient", "score_saved"]

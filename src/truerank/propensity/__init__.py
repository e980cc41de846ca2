"""Where propensities come from: estimators that read counts of a click log and say how sure they are."""

from truerank.propensity.counts import item_position_counts, position_counts, swap_arms
from truerank.propensity.curve import curve
from truerank.propensity.em import em
from truerank.propensity.estimate import PropensityEstimate
from truerank.propensity.harvest import harvest
from truerank.propensity.joint_swap import joint_swap
from truerank.propensity.swap import swap

__all__ = [
    "PropensityEstimate",
    "curve",
    "em",
    "harvest",
    "item_position_counts",
    "joint_swap",
    "position_counts",
    "swap",
    "swap_arms",
]

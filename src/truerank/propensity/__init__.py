"""Where propensities come from: estimators that read counts of a click log and say how sure they are."""

from truerank.propensity.browsing import BrowsingChoice, choose_browsing
from truerank.propensity.counts import item_position_counts, position_counts, swap_arms
from truerank.propensity.curve import curve
from truerank.propensity.diagnose import Diagnosis, diagnose
from truerank.propensity.door import estimate
from truerank.propensity.em import em
from truerank.propensity.estimate import PropensityEstimate, load_estimate
from truerank.propensity.harvest import harvest
from truerank.propensity.joint_swap import joint_swap
from truerank.propensity.plan import SwapPlan, plan
from truerank.propensity.row_skipping import row_skipping
from truerank.propensity.swap import swap

__all__ = [
    "BrowsingChoice",
    "Diagnosis",
    "PropensityEstimate",
    "SwapPlan",
    "choose_browsing",
    "curve",
    "diagnose",
    "em",
    "estimate",
    "harvest",
    "item_position_counts",
    "joint_swap",
    "load_estimate",
    "plan",
    "position_counts",
    "row_skipping",
    "swap",
    "swap_arms",
]

"""Click logs of simulated people who look at judged lists."""

from truerank.simulate.clicks import simulate_clicks
from truerank.simulate.log_files import simulate_log, write_features
from truerank.simulate.swaps import JointSwapExperiment, SwapExperiment

__all__ = ["JointSwapExperiment", "SwapExperiment", "simulate_clicks", "simulate_log", "write_features"]

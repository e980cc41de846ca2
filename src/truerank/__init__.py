"""truerank: unbiased rankers from biased click logs.

The public names live here and are imported when first used, so `import truerank` is instant.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from truerank import (
        propensity as propensity,
    )
    from truerank.datasets import (
        generate_dataset as generate_dataset,
        load_dataset as load_dataset,
        read_ranked as read_ranked,
        read_svmlight as read_svmlight,
        write_svmlight as write_svmlight,
    )
    from truerank.examination import (
        Continuous as Continuous,
        Examination as Examination,
        Independent as Independent,
        RowSkipping as RowSkipping,
        Tabulated as Tabulated,
        geometric as geometric,
        inverse_rank as inverse_rank,
        load_examination as load_examination,
    )
    from truerank.experiment.demo import (
        run_demo as run_demo,
    )
    from truerank.experiment.initial_ranking import (
        initial_ranking as initial_ranking,
    )
    from truerank.experiment.log_report import (
        report_on_log as report_on_log,
    )
    from truerank.experiment.reproduce import (
        Reproduction as Reproduction,
        reproduce as reproduce,
    )
    from truerank.experiment.training import (
        train_on_log as train_on_log,
    )
    from truerank.log import (
        ClickLog as ClickLog,
        open_log as open_log,
        open_pages as open_pages,
        open_ubi as open_ubi,
    )
    from truerank.losses import (
        Hinge as Hinge,
        Jet as Jet,
        PairFunction as PairFunction,
        Ramp as Ramp,
        RankNet as RankNet,
        RankNetWithTies as RankNetWithTies,
        Sigmoid as Sigmoid,
        Square as Square,
        SquaredHinge as SquaredHinge,
        UnbiasedPairwiseLoss as UnbiasedPairwiseLoss,
    )
    from truerank.metrics import (
        Comparison as Comparison,
        UnbiasedNdcg as UnbiasedNdcg,
        adjust_together as adjust_together,
        average_precision as average_precision,
        evaluate as evaluate,
        expected_reciprocal_rank as expected_reciprocal_rank,
        ndcg as ndcg,
        precision as precision,
        recall as recall,
        reciprocal_rank as reciprocal_rank,
        unbiased_ndcg as unbiased_ndcg,
    )
    from truerank.pairs import (
        PairWeights as PairWeights,
        pair_weights as pair_weights,
    )
    from truerank.pairs.store import (
        SessionStore as SessionStore,
    )
    from truerank.ragged import (
        list_order as list_order,
    )
    from truerank.rankers import (
        lambda_gradient as lambda_gradient,
        score_saved as score_saved,
    )
    from truerank.rankers.catboost import (
        CatBoostRanker as CatBoostRanker,
    )
    from truerank.rankers.lightgbm import (
        LambdaMARTRanker as LambdaMARTRanker,
    )
    from truerank.rankers.torch import (
        NeuralRanker as NeuralRanker,
    )
    from truerank.rankers.xgboost import (
        XGBRanker as XGBRanker,
    )
    from truerank.report import (
        Report as Report,
    )
    from truerank.simulate import (
        JointSwapExperiment as JointSwapExperiment,
        SwapExperiment as SwapExperiment,
        simulate_clicks as simulate_clicks,
        simulate_log as simulate_log,
        write_features as write_features,
    )

__version__ = "0.1.0"

_HOME = {
    "truerank": ("propensity",),
    "truerank.datasets": (
        "generate_dataset",
        "load_dataset",
        "read_ranked",
        "read_svmlight",
        "write_svmlight",
    ),
    "truerank.examination": (
        "Continuous",
        "Examination",
        "Independent",
        "RowSkipping",
        "Tabulated",
        "geometric",
        "inverse_rank",
        "load_examination",
    ),
    "truerank.experiment.demo": ("run_demo",),
    "truerank.experiment.log_report": ("report_on_log",),
    "truerank.experiment.training": ("train_on_log",),
    "truerank.experiment.initial_ranking": ("initial_ranking",),
    "truerank.experiment.reproduce": ("Reproduction", "reproduce"),
    "truerank.log": (
        "ClickLog",
        "open_log",
        "open_pages",
        "open_ubi",
    ),
    "truerank.losses": (
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
    ),
    "truerank.metrics": (
        "Comparison",
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
    ),
    "truerank.pairs": (
        "PairWeights",
        "pair_weights",
    ),
    "truerank.pairs.store": ("SessionStore",),
    "truerank.ragged": ("list_order",),
    "truerank.rankers": ("lambda_gradient", "score_saved"),
    "truerank.rankers.catboost": ("CatBoostRanker",),
    "truerank.rankers.lightgbm": ("LambdaMARTRanker",),
    "truerank.rankers.torch": ("NeuralRanker",),
    "truerank.rankers.xgboost": ("XGBRanker",),
    "truerank.report": ("Report",),
    "truerank.simulate": (
        "JointSwapExperiment",
        "SwapExperiment",
        "simulate_clicks",
        "simulate_log",
        "write_features",
    ),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = ["__version__", *sorted(_MODULE_OF)]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'truerank' has no attribute {name!r}")
    home = _MODULE_OF[name]
    if home == "truerank":  # a part of the package, not something in it
        value = importlib.import_module(f"{home}.{name}")
    else:
        value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return sorted(__all__)

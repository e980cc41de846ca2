"""truerank: unbiased rankers from biased click logs.

The public names live here and are imported when first used, so `import truerank` is instant.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from truerank.examination import (
        Continuous as Continuous,
    )
    from truerank.examination import (
        Examination as Examination,
    )
    from truerank.examination import (
        Independent as Independent,
    )
    from truerank.examination import (
        RowSkipping as RowSkipping,
    )
    from truerank.examination import (
        Tabulated as Tabulated,
    )
    from truerank.examination import (
        geometric as geometric,
    )
    from truerank.examination import (
        inverse_rank as inverse_rank,
    )
    from truerank.examination import (
        load_examination as load_examination,
    )
    from truerank.losses import (
        Hinge as Hinge,
    )
    from truerank.losses import (
        Jet as Jet,
    )
    from truerank.losses import (
        PairFunction as PairFunction,
    )
    from truerank.losses import (
        RankNet as RankNet,
    )
    from truerank.losses import (
        RankNetWithTies as RankNetWithTies,
    )
    from truerank.losses import (
        Square as Square,
    )
    from truerank.losses import (
        SquaredHinge as SquaredHinge,
    )
    from truerank.losses import (
        UnbiasedPairwiseLoss as UnbiasedPairwiseLoss,
    )
    from truerank.pairs import PairWeights as PairWeights
    from truerank.pairs import pair_weights as pair_weights
    from truerank.ragged import list_order as list_order

__version__ = "0.1.0"

_HOME = {
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
    "truerank.losses": (
        "Hinge",
        "Jet",
        "PairFunction",
        "RankNet",
        "RankNetWithTies",
        "Square",
        "SquaredHinge",
        "UnbiasedPairwiseLoss",
    ),
    "truerank.pairs": ("PairWeights", "pair_weights"),
    "truerank.ragged": ("list_order",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = ["__version__", *sorted(_MODULE_OF)]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'truerank' has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return sorted(__all__)

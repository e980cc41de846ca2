"""The methods that an experiment compares: to compare another one, add an entry to METHODS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from truerank.examination import ExaminationModel
from truerank.pairs import PairWeights, pair_weights
from truerank.types import ClickSessions, JudgedLists


@dataclass(frozen=True, slots=True)
class Method:
    """A row of the tables: how clicks, or labels, become weighted pairs, and how a ranker is trained on them."""

    title: str
    method: str
    """That of `truerank.pair_weights` and `truerank.LambdaMARTRanker`."""
    knows_examination: bool = True
    learns_from_labels: bool = False
    weights: Mapping[str, Any] = field(default_factory=dict)
    """What else `pair_weights` gets."""
    ranker: Mapping[str, Any] = field(default_factory=dict)
    """What else the ranker gets."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A row of the tables that LightGBM trains by itself, session by session, correcting for positions."""

    title: str
    learns_from_labels = False


def _hu(title: str, p: int, theta_known: bool = True) -> Method:
    return Method(
        f"Unbiased LambdaMART ({title})", "ratio", knows_examination=theta_known, ranker={"ratio_regularization": p}
    )


METHODS: dict[str, Method | Peer] = {
    "ratio-0": _hu("no regularisation", 0),
    "clicks": Method("LambdaMART (click data)", "none", knows_examination=False),
    "ratio-1": _hu("L1-regularisation", 1),
    "ratio-2": _hu("L2-regularisation", 2),
    "robust": Method("Robust Unbiased LambdaMART", "robust"),
    "labels": Method("LambdaMART (labelled data)", "none", knows_examination=False, learns_from_labels=True),
    "ratio-estimated": _hu("t⁺ estimated too", 0, theta_known=False),
    "complete": Method("Complete Unbiased LambdaMART", "complete", weights={"variance": "none"}),
    "complete-shrunken": Method("Complete Unbiased LambdaMART, shrunken", "complete"),
    "lightgbm-position": Peer("LightGBM lambdarank, position="),
}
PAPER = ("ratio-0", "clicks", "ratio-1", "ratio-2", "robust", "labels")
"""The paper's rows in its order; the first is the one that the others are compared with."""


def pairs_of_clicks(method: Method, sessions: ClickSessions, examination: ExaminationModel) -> PairWeights:
    """The pairs of all sessions, added up list by list."""
    return pair_weights(
        sessions.clicks,
        sessions.positions,
        sessions.group,
        method.method,
        examination if method.knows_examination else None,
        query=sessions.query,
        item=sessions.item,
        **method.weights,
    )


def pairs_of_labels(shown: JudgedLists, sessions_per_list: int) -> PairWeights:
    """The pairs of golden labels, gain 2^y − 1, as often as each list is shown."""
    pairs = pair_weights(shown.labels, None, shown.group, "none", gain="exp2")
    return replace(pairs, weight=sessions_per_list * pairs.weight)

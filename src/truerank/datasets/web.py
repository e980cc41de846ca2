"""The generated data set `web`, in the shape of Yahoo's Learning to Rank Challenge, set 1.

Each document has hidden qualities, each query hidden intents. Relevance is a sum of what `RULES` says of them, of
something that all results of the query share, and of something that no feature knows. The features see the qualities
through noise, each of them many times over.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from truerank.datasets.worlds import Floats, ListSizes
from truerank.types import FloatArray, IntArray

N_SLOTS = 700
LONGEST_LIST = 139
_QUALITIES, _INTENTS = 24, 8
_LIKENESS = 0.15
"""Which share of the variance of a quality lies between queries: results of one query resemble each other."""

RULES: dict[str, tuple[int, float, Callable[[Floats, Floats, Floats, float], Any]]] = {
    "the more the better": (5, 0.05, lambda a, b, intent, at: a),
    "enough of it": (4, 0.05, lambda a, b, intent, at: np.maximum(a - at, 0)),
    "neither too much nor too little": (4, 0.08, lambda a, b, intent, at: np.exp(-2 * (a - at) ** 2)),
    "both": (5, 0.08, lambda a, b, intent, at: np.minimum(a, b)),
    "one times the other": (4, 0.08, lambda a, b, intent, at: a * b),
    "one or the other, as the query is": (6, 0.12, lambda a, b, intent, at: np.where(intent > 0, a, b)),
}
"""How many terms of each kind there are, their share of the variance of relevance, and their formula for two qualities,
an intent and a level."""
_OF_THE_QUERY, _UNKNOWN = 0.14, 0.40
_IN_VAIN, _LACKING = 0.036, 4.0
"""Which share of queries nothing answers, and how much less relevant their results are."""

_TRIALS = 10_000

_FEATURES = {"smooth": 260, "in steps": 50, "mostly zero": 50, "of the query": 30, "unrelated": 9, "repeated": 120}
"""How many features there are of each kind; the repeated ones say what one before them says, in another way."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """What stands behind some lists: their sizes; then a row a quality or intent, a column a document."""

    sizes: IntArray
    qualities: Floats
    intents: Floats
    shared: Floats


@dataclass(frozen=True, slots=True)
class _Term:
    """One summand of relevance."""

    rule: str
    a: int
    b: int
    intent: int
    at: float
    weight: float

    def of(self, hidden: Hidden) -> Floats:
        formula = RULES[self.rule][2]
        a, b, intent = hidden.qualities[self.a], hidden.qualities[self.b], hidden.intents[self.intent]
        value: Floats = np.asarray(formula(a, b, intent, self.at), dtype=np.float32)
        return value


@dataclass(frozen=True, slots=True)
class _View:
    """One feature: what it sees, through how much noise, and in which form it is given."""

    kind: str
    slot: int
    a: int
    b: int
    weight_b: float
    noise: float
    at: float
    levels: int


@dataclass(frozen=True, slots=True)
class WebWorld:
    """How features and relevance hang together, for one seed."""

    terms: tuple[_Term, ...]
    views: tuple[_View, ...]
    n_features: int = N_SLOTS
    label_shares: tuple[float, ...] = (0.22, 0.50, 0.22, 0.04, 0.02)

    @classmethod
    def drawn(cls, seed: int) -> WebWorld:
        """The world of a seed."""
        rng = np.random.default_rng([seed, 0])
        terms = [
            _draw_term(rule, share / count, rng) for rule, (count, share, _) in RULES.items() for _ in range(count)
        ]
        kinds = [kind for kind, count in _FEATURES.items() for _ in range(count)]
        slots = rng.choice(N_SLOTS, len(kinds), replace=False).tolist()
        views = [_draw_view(kind, slot, rng) for kind, slot in zip(kinds, slots, strict=True)]
        return cls(tuple(terms), tuple(views))

    def draw_hidden(self, sizes: IntArray, rng: np.random.Generator) -> Hidden:
        """Qualities, some of each shared by the documents of a query; intents, and what all documents share."""
        n = int(sizes.sum())
        of_query = rng.standard_normal((_QUALITIES + _INTENTS + 1, len(sizes)), dtype=np.float32)
        of_query = np.repeat(of_query, sizes, axis=1)
        qualities = rng.standard_normal((_QUALITIES, n), dtype=np.float32)
        qualities *= np.float32(np.sqrt(1 - _LIKENESS))
        qualities += np.float32(np.sqrt(_LIKENESS)) * of_query[:_QUALITIES]
        in_vain = np.repeat(rng.random(len(sizes), dtype=np.float32) < _IN_VAIN, sizes)
        shared = np.float32(np.sqrt(_OF_THE_QUERY)) * of_query[-1] - np.float32(_LACKING) * in_vain
        return Hidden(sizes, qualities, of_query[_QUALITIES:-1], shared)

    def draw_utility(self, hidden: Hidden, rng: np.random.Generator) -> Floats:
        """The sum of the terms, with what the query adds and what no feature knows."""
        utility = np.float32(np.sqrt(_UNKNOWN)) * rng.standard_normal(len(hidden.shared), dtype=np.float32)
        utility += hidden.shared
        for term in self.terms:
            utility += np.float32(term.weight) * term.of(hidden)
        return utility

    def draw_features(self, hidden: Hidden, rng: np.random.Generator, X_out: Floats) -> None:
        """Each feature in its slot, in [0, 1]."""
        for view in self.views:
            if view.kind == "repeated":
                X_out[:, view.slot] = _repeat(view, X_out[:, self.views[view.a].slot], rng)
            else:
                X_out[:, view.slot] = _see(view, hidden, rng)


def web_sizes(lists: int, items: int) -> ListSizes:
    """Lists of 24 documents on average, 1 to 139 of them."""
    return ListSizes(lists, _size_quantile, items)


def _size_quantile(share: FloatArray) -> IntArray:
    from scipy import stats

    sizes: IntArray = np.clip(1 + stats.gamma.ppf(share, 1.8, scale=12.9), 1, LONGEST_LIST).astype(np.int64)
    return sizes


def _draw_term(rule: str, variance: float, rng: np.random.Generator) -> _Term:
    a, b = rng.choice(_QUALITIES, 2, replace=False).tolist()
    term = _Term(rule, a, b, int(rng.integers(_INTENTS)), float(rng.uniform(-0.5, 0.8)), 1.0)
    trial = rng.standard_normal((_QUALITIES + _INTENTS, _TRIALS), dtype=np.float32)
    spread = float(
        term.of(Hidden(np.ones(_TRIALS, dtype=np.int64), trial[:_QUALITIES], trial[_QUALITIES:], trial[0])).std()
    )
    sign = 1 if rng.random() < 0.7 else -1
    return _Term(rule, a, b, term.intent, term.at, sign * float(np.sqrt(variance)) / spread)


def _draw_view(kind: str, slot: int, rng: np.random.Generator) -> _View:
    seen = {"of the query": _INTENTS, "repeated": _FEATURES["smooth"]}.get(kind, _QUALITIES)
    a, b = rng.choice(seen, 2, replace=False).tolist()
    return _View(
        kind=kind,
        slot=slot,
        a=a,
        b=b,
        weight_b=float(rng.normal() * (rng.random() < 0.4)),
        noise=float(np.exp(rng.uniform(np.log(0.5), np.log(4)))),
        at=float(rng.uniform(0.3, 1.8)),
        levels=int(rng.integers(2, 13)),
    )


def _repeat(view: _View, values: Floats, rng: np.random.Generator) -> Floats:
    blur = np.float32(0.12 * view.noise)
    out: Floats = (1 - blur) * values ** np.float32(view.at) + blur * rng.random(len(values), dtype=np.float32)
    return out


def _see(view: _View, hidden: Hidden, rng: np.random.Generator) -> Any:
    of_query = view.kind == "of the query"
    behind = hidden.intents if of_query else hidden.qualities
    seen: Any = rng.standard_normal(len(hidden.sizes) if of_query else len(hidden.shared), dtype=np.float32)
    if of_query:
        seen = np.repeat(seen, hidden.sizes)
    if view.kind == "unrelated":
        return _squashed(seen)
    seen *= np.float32(view.noise)
    seen += behind[view.a]
    if view.weight_b:
        seen += np.float32(view.weight_b) * behind[view.b]
    seen /= np.float32(np.sqrt(1 + view.weight_b**2 + view.noise**2))
    if view.kind == "mostly zero":
        return np.tanh(np.maximum(seen - np.float32(view.at), 0))
    if view.kind == "in steps":
        return np.floor((view.levels + 1) * np.minimum(_squashed(seen), np.float32(0.999))) / np.float32(view.levels)
    return _squashed(seen)


def _squashed(values: Floats) -> Floats:
    """Into (0, 1), close to what shares of a normal distribution lie below."""
    out: Floats = 1 / (1 + np.exp(np.float32(-1.702) * values))
    return out

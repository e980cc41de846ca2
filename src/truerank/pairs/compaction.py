"""From counted sessions to weighted pairs, some queries after the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from truerank.examination.base import Examination
from truerank.pairs.merge import side_by_side, without_source
from truerank.pairs.methods import pair_weights
from truerank.pairs.pair_weights import PairWeights
from truerank.types import SessionCounts


def compact(
    portions: Iterable[SessionCounts], method: str, examination: Examination | None, **options: Any
) -> PairWeights:
    """The weighted pairs of counted sessions, added up by query and item; no query may be in two portions.

    `options` are those of `pair_weights`: merge, normalize, gain.
    """
    parts = [_compact_portion(counts, method, examination, options) for counts in portions]
    return parts[0] if len(parts) == 1 else side_by_side(parts, parts[0].merge)


def _compact_portion(
    counts: SessionCounts, method: str, examination: Examination | None, options: dict[str, Any]
) -> PairWeights:
    pairs = pair_weights(
        counts.label,
        counts.position,
        counts.group,
        method,
        examination,
        query=counts.query,
        item=counts.item,
        sessions=counts.sessions,
        **options,
    )
    return without_source(pairs)

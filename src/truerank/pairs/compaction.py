"""From counted sessions to weighted pairs, some queries after the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from truerank.examination.base import Examination
from truerank.pairs.merge import side_by_side, without_source
from truerank.pairs.methods import pairs_or_evidence
from truerank.pairs.pair_weights import PairWeights
from truerank.pairs.variance import Evidence, join_evidence
from truerank.types import SessionCounts


def compact(
    portions: Iterable[SessionCounts], method: str, examination: Examination | None, **options: Any
) -> PairWeights:
    """The weighted pairs of counted sessions, added up by query and item; no query may be in two portions.

    `options` are those of `pair_weights`: merge, normalize, gain, variance. What is learned for `shrink` is learned
    from all portions together.
    """
    parts = [_compact_portion(counts, method, examination, options) for counts in portions]
    evidence = [part for part in parts if isinstance(part, Evidence)]
    if evidence:
        return without_source(join_evidence(evidence, evidence[0].pairs.merge).shrunken())
    pairs = [part for part in parts if isinstance(part, PairWeights)]
    return without_source(pairs[0] if len(pairs) == 1 else side_by_side(pairs, pairs[0].merge))


def _compact_portion(
    counts: SessionCounts, method: str, examination: Examination | None, options: dict[str, Any]
) -> PairWeights | Evidence:
    return pairs_or_evidence(
        counts.label,
        counts.position,
        counts.group,
        method,
        examination,
        query=counts.query,
        item=counts.item,
        sessions=counts.sessions,
        **options,
    )[0]

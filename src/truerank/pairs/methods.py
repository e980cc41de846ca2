"""Debiasing methods: from sessions to weighted pairs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from truerank.errors import InputError
from truerank.examination.base import Examination, check_examination
from truerank.examination.lookup import clicked_pair_propensities, clicked_row_propensities
from truerank.losses.gains import gain_table
from truerank.pairs.merge import MERGES, Matching, match_sessions, sum_matched
from truerank.pairs.pair_weights import PairWeights, place_dtype
from truerank.ragged import offsets_from_sizes, read_sessions, read_whole_numbers
from truerank.types import FloatArray, IntArray, Sessions

METHODS = ("none", "ratio", "robust", "complete")
NORMALIZATIONS = ("session", "list", "none")
_LARGEST_KEPT_POSITION = 65_535
_MOST_SESSIONS = 2**31 - 1


def pair_weights(
    labels: Any,
    positions: Any,
    group: Any,
    method: str = "robust",
    examination: Examination | None = None,
    *,
    query: Any = None,
    item: Any = None,
    sessions: Any = None,
    merge: str = "exact",
    normalize: str | None = "session",
    gain: str = "linear",
) -> PairWeights:
    """Turn sessions into weighted pairs.

    With g the gains of the labels, the weight of "i should beat j" before normalisation is, for labels a and b,

    - `none`: g_a − g_b where a > b. On clicks, plain LambdaMART; on judgments with `gain="exp2"`, the skyline.
    - `ratio`: the same, kept apart by positions, for Hu et al.'s ratios, which move during training.
    - `robust`: g_a / p_i where b = 0, and (g_a − g_b) / p_ij where a > b > 0 (the paper, Section 5).
    - `complete`: `robust` plus g_a (1/p_i − 1/p_ij) for every pair of clicks: the coefficient of ℓ10 in the unbiased
      loss. It can be negative.

    Sessions without a click, or with one item, give no pairs; they are counted in `.sessions_without_pairs`.

    Args:
        labels: one number a row: 0, 1 for a click, higher grades.
        positions: one number a row: where it was shown, from 1; gaps are fine. None is fine for `none`.
        group: the number of rows of each session.
        method: see above.
        examination: how people look at the page; needed by `robust` and `complete`.
        query: one id a session. With `item`, sessions over the same items are added up.
        item: one id a row.
        sessions: how many sessions each of these stands for, if equal ones were counted (`ClickLog.session_counts`).
        merge: what "the same items" means: `exact`, one list for each query and set of items, which leaves the gradient
            what it was; `query`, one list a query with every item its sessions ever show: ranks and so ΔZ then run over
            all of them, and a pair has weight only from sessions that showed both.
        normalize: divide by the best DCG the labels allow: of each `session` (the paper), the mean of its sessions for
            each `list`, or `none`. (Lists that are added later with `+` keep the means of their own.)
        gain: `linear`, the label itself, or `exp2`, 2^label − 1.

    >>> from truerank import Independent
    >>> pairs = pair_weights([0, 1], [1, 2], [2], examination=Independent([1, 0.5]))
    >>> pairs.i.tolist(), pairs.j.tolist(), pairs.weight.tolist()
    ([1], [0], [2.0])
    """
    return pair_weights_and_rows(
        labels,
        positions,
        group,
        method,
        examination,
        query=query,
        item=item,
        sessions=sessions,
        merge=merge,
        normalize=normalize,
        gain=gain,
    )[0]


def pair_weights_and_rows(
    labels: Any,
    positions: Any,
    group: Any,
    method: str,
    examination: Examination | None,
    *,
    query: Any,
    item: Any,
    sessions: Any = None,
    merge: str,
    normalize: str | None,
    gain: str,
) -> tuple[PairWeights, IntArray]:
    """`pair_weights`, and for each input row the row of the lists that stands for it."""
    _check_arguments(method, examination, query, item, merge, normalize)
    needs_positions = method != "none"
    shown = read_sessions(labels, positions, group, needs_positions=needs_positions)
    times = _read_times(sessions, shown.n_sessions)
    gains = gain_table(int(shown.labels.max(initial=1)), gain)
    matching = None if query is None else match_sessions(query, item, shown.offsets, merge)
    best = _max_dcg(shown, gains)
    by_session = normalize == "session" or (normalize == "list" and matching is None)
    scale = times / np.where(best > 0, best, 1) if by_session else times.astype(np.float64)
    pairs = _session_pairs(shown, method, examination, gains, scale, times)
    if matching is None:
        return pairs, np.arange(shown.n_rows)
    has_pairs = np.diff(pairs.offsets) > 0
    merged = sum_matched(pairs, matching, query, item, merge)
    if normalize == "list":
        merged = _divide_by_mean(merged, matching, best, np.where(has_pairs, times, 0))
    list_of_row = np.repeat(matching.list_of_session, shown.sizes)
    return merged, merged.row_offsets[list_of_row] + matching.place


def _session_pairs(
    sessions: Sessions,
    method: str,
    examination: Examination | None,
    gains: FloatArray,
    scale: FloatArray,
    times: IntArray,
) -> PairWeights:
    """Each session as a list of its own."""
    from truerank.pairs.session_kernels import COMPLETE, NONE, ROBUST, count_pairs, fill_pairs

    code = {"none": NONE, "ratio": NONE, "robust": ROBUST, "complete": COMPLETE}[method]
    dtype = place_dtype(int(sessions.sizes.max(initial=1)))
    inverse = 1 / clicked_row_propensities(None if code == NONE else examination, sessions)
    joint, joint_offsets = _joint(sessions, code, examination)
    counts = count_pairs(sessions.labels, sessions.offsets, code)
    offsets = offsets_from_sizes(counts)
    i, j, weight = np.empty(offsets[-1], dtype), np.empty(offsets[-1], dtype), np.empty(offsets[-1])
    fill_pairs(
        sessions.labels,
        sessions.offsets,
        code,
        gains,
        inverse,
        1 / joint,
        joint_offsets,
        scale,
        offsets,
        i,
        j,
        weight,
    )
    kept = method == "ratio"
    return PairWeights(
        group=sessions.sizes,
        offsets=offsets,
        i=i,
        j=j,
        weight=weight,
        position_i=_positions_of(sessions, offsets, i) if kept else None,
        position_j=_positions_of(sessions, offsets, j) if kept else None,
        sessions=times,
        sessions_without_pairs=int(times[counts == 0].sum()),
        source_row=np.arange(sessions.n_rows),
    )


def _read_times(sessions: Any, n_sessions: int) -> IntArray:
    """How many sessions each one stands for."""
    if sessions is None:
        return np.ones(n_sessions, dtype=np.int64)
    times = read_whole_numbers(sessions, "sessions", smallest=1, largest=_MOST_SESSIONS).astype(np.int64)
    if len(times) != n_sessions:
        raise InputError(f"sessions has {len(times)} counts and group has {n_sessions} sizes; both need one a session")
    return times


def _joint(sessions: Sessions, code: int, examination: Examination | None) -> tuple[FloatArray, IntArray]:
    from truerank.pairs.session_kernels import COMPLETE, NONE

    binary = sessions.labels.max(initial=0) <= 1
    if code == NONE or (code != COMPLETE and binary):
        return np.empty(0), np.zeros(sessions.n_sessions + 1, dtype=np.int64)  # never read
    return clicked_pair_propensities(examination, sessions)


def _positions_of(sessions: Sessions, offsets: IntArray, places: Any) -> Any:
    from truerank.pairs.session_kernels import take_positions

    positions = sessions.positions
    if positions is None or positions.max(initial=1) > _LARGEST_KEPT_POSITION:
        raise InputError(f"method='ratio' keeps positions up to {_LARGEST_KEPT_POSITION}; a larger one was given")
    kept = np.empty(offsets[-1], dtype=np.uint16)
    take_positions(positions, sessions.offsets, offsets, places, kept)
    return kept


def _max_dcg(sessions: Sessions, gains: FloatArray) -> FloatArray:
    from truerank.pairs.session_kernels import max_dcg

    best: FloatArray = max_dcg(sessions.labels, sessions.offsets, gains)
    return best


def _divide_by_mean(pairs: PairWeights, matching: Matching, best: FloatArray, times: IntArray) -> PairWeights:
    """Divide each list by the mean best DCG of those of its sessions that gave pairs, `times` each."""
    total = np.bincount(matching.list_of_session, weights=best * times, minlength=pairs.n_lists)
    count = np.bincount(matching.list_of_session, weights=times, minlength=pairs.n_lists)
    mean = np.where(count > 0, total / np.maximum(count, 1), 1.0)
    return replace(pairs, weight=pairs.weight / np.repeat(mean, np.diff(pairs.offsets)))


def _check_arguments(
    method: str, examination: Examination | None, query: Any, item: Any, merge: str, normalize: str | None
) -> None:
    for name, value, known in (
        ("method", method, METHODS),
        ("normalize", normalize or "none", NORMALIZATIONS),
        ("merge", merge, MERGES),
    ):
        if value not in known:
            raise InputError(f"{name} is {value!r}; it must be one of {', '.join(map(repr, known))}")
    check_examination(examination)
    if method in ("robust", "complete") and examination is None:
        raise InputError(
            f"method={method!r} needs examination=, how people look at the page. "
            "Hint: truerank.Independent(truerank.inverse_rank(10)) is a usual first guess; method='none' needs nothing"
        )
    if (query is None) != (item is None):
        given, missing = ("query", "item") if item is None else ("item", "query")
        raise InputError(f"{given} was given without {missing}; adding up sessions needs both")

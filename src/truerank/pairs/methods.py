"""Debiasing methods: from sessions to weighted pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from truerank.errors import InputError
from truerank.examination.base import Examination, check_examination
from truerank.examination.lookup import clicked_pair_propensities, clicked_row_propensities, row_propensities
from truerank.losses.gains import gain_table
from truerank.pairs.merge import MERGES, match_sessions, sum_matched
from truerank.pairs.pair_weights import PairWeights, place_dtype
from truerank.pairs.variance import VARIANCES, BothClicked, Evidence, best_expected_dcg, within_bounds
from truerank.ragged import offsets_from_sizes, read_sessions, read_whole_numbers
from truerank.types import FloatArray, IntArray, Sessions

METHODS = ("none", "ratio", "robust", "complete")
NORMALIZATIONS = ("auto", "session", "list", "none")
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
    normalize: str | None = "auto",
    gain: str = "linear",
    variance: str = "shrink",
) -> PairWeights:
    """Turn sessions into weighted pairs.

    With g the gains of the labels, the weight of "i should beat j" before normalisation is, for labels a and b,

    - `none`: g_a − g_b where a > b. On clicks, plain LambdaMART; on judgments with `gain="exp2"`, the skyline.
    - `ratio`: the same, kept apart by positions, for Hu et al.'s ratios, which move during training.
    - `robust`: g_a / p_i where b = 0, and (g_a − g_b) / p_ij where a > b > 0 (the paper, Section 5).
    - `complete`: `robust` plus g_a (1/p_i − 1/p_ij) for every pair of clicks: the coefficient of ℓ10 in the unbiased
      loss. Summed over the sessions of a list it estimates how often i is relevant and j is not; `variance` says what
      is done about its noise.

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
        normalize: divide by the best DCG the labels allow: of each `session` (the paper), of each `list` (the mean of
            its sessions; for `complete` with clip or shrink, the best DCG of what its items are estimated to gain), or
            `none`. `auto` is list for `complete` with clip or shrink, and session for everything else. (Lists that are
            added later with `+` keep their own.)
        gain: `linear`, the label itself, or `exp2`, 2^label − 1.
        variance: of `complete` only. `none`: the sums as they are, some negative. `clip`: where one direction of a pair
            is negative, both are lifted until neither is; by how much i is preferred to j stays. `shrink`: clipped,
            then drawn to `robust`, the more the fewer sessions a list has, by a strength learned from all lists given.
            Lists of one session then are `robust` to the letter.

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
        variance=variance,
    )[0]


def pair_weights_and_rows(
    labels: Any, positions: Any, group: Any, method: str, examination: Examination | None, **options: Any
) -> tuple[PairWeights, IntArray]:
    """`pair_weights`, and for each input row the row of the lists that stands for it."""
    made, row_of_input = pairs_or_evidence(labels, positions, group, method, examination, **options)
    return (made.shrunken() if isinstance(made, Evidence) else made), row_of_input


def pairs_or_evidence(
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
    variance: str,
) -> tuple[PairWeights | Evidence, IntArray]:
    """Weighted pairs, or where they are to be shrunken, what that takes; and the row of the lists of each input row."""
    _check_arguments(method, examination, query, item, merge, normalize, variance)
    shown = read_sessions(labels, positions, group, needs_positions=method != "none")
    times = _read_times(sessions, shown.n_sessions)
    gains = gain_table(int(shown.labels.max(initial=1)), gain)
    matching = None if query is None else match_sessions(query, item, shown.offsets, merge)
    if method != "complete":
        variance = "none"
    if normalize == "auto":
        normalize = "session" if variance == "none" else "list"
    if variance == "shrink" and matching is None and (times == 1).all():
        method, variance = "robust", "none"
    best = _max_dcg(shown, gains)
    apart = normalize == "list" and variance == "none" and matching is None
    scale = times / np.where(best > 0, best, 1) if normalize == "session" or apart else times.astype(np.float64)
    looked = _look_up(shown, method, examination)
    pairs = _session_pairs(shown, method, looked, gains, scale, times)
    has_pairs = np.diff(pairs.offsets) > 0
    if matching is None:
        list_of_session, row_of_input = np.arange(shown.n_sessions), np.arange(shown.n_rows)
    else:
        pairs, list_of_session = sum_matched(pairs, matching, query, item, merge), matching.list_of_session
        row_of_input = pairs.row_offsets[np.repeat(list_of_session, shown.sizes)] + matching.place
    mean = np.ones(pairs.n_lists)
    if normalize == "list" and not apart:
        mean = _mean_by_list(list_of_session, best, np.where(has_pairs, times, 0), pairs.n_lists)
    if variance == "none":
        return _divided(pairs, mean), row_of_input
    expected = np.ones(pairs.n_lists)
    if normalize == "list" and examination is not None:
        propensity = row_propensities(examination, shown)
        expected = best_expected_dcg(shown, row_of_input, pairs.group, propensity, gains, times)
    if variance == "clip":
        return _divided(within_bounds(pairs), expected), row_of_input
    both = BothClicked.find(shown, pairs, row_of_input, looked.inverse, looked.inverse_joint, gains, scale)
    return Evidence.weigh(pairs, both, list_of_session, times).divided(expected, mean), row_of_input


@dataclass(frozen=True, slots=True)
class _LookedUp:
    """1 / p_i of the clicked rows, and 1 / p_ij of every two of a session where the method reads it."""

    code: int
    inverse: FloatArray
    inverse_joint: FloatArray
    joint_offsets: IntArray


def _look_up(sessions: Sessions, method: str, examination: Examination | None) -> _LookedUp:
    from truerank.pairs.session_kernels import COMPLETE, NONE, ROBUST

    code = {"none": NONE, "ratio": NONE, "robust": ROBUST, "complete": COMPLETE}[method]
    inverse = 1 / clicked_row_propensities(None if code == NONE else examination, sessions)
    binary = sessions.labels.max(initial=0) <= 1
    if code == NONE or (code != COMPLETE and binary):
        return _LookedUp(code, inverse, np.empty(0), np.zeros(sessions.n_sessions + 1, dtype=np.int64))
    joint, offsets = clicked_pair_propensities(examination, sessions)
    return _LookedUp(code, inverse, 1 / joint, offsets)


def _session_pairs(
    sessions: Sessions, method: str, looked: _LookedUp, gains: FloatArray, scale: FloatArray, times: IntArray
) -> PairWeights:
    """Each session as a list of its own."""
    from truerank.pairs.session_kernels import count_pairs, fill_pairs

    dtype = place_dtype(int(sessions.sizes.max(initial=1)))
    counts = count_pairs(sessions.labels, sessions.offsets, looked.code)
    offsets = offsets_from_sizes(counts)
    i, j, weight = np.empty(offsets[-1], dtype), np.empty(offsets[-1], dtype), np.empty(offsets[-1])
    fill_pairs(
        sessions.labels,
        sessions.offsets,
        looked.code,
        gains,
        looked.inverse,
        looked.inverse_joint,
        looked.joint_offsets,
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


def _mean_by_list(list_of_session: IntArray, best: FloatArray, times: IntArray, n_lists: int) -> FloatArray:
    """The mean best DCG of those sessions of each list that gave pairs, `times` each; 1 where none did."""
    total = np.bincount(list_of_session, weights=best * times, minlength=n_lists)
    count = np.bincount(list_of_session, weights=times, minlength=n_lists)
    mean: FloatArray = np.where(count > 0, total / np.maximum(count, 1), 1.0)
    return mean


def _divided(pairs: PairWeights, by: FloatArray) -> PairWeights:
    return replace(pairs, weight=pairs.weight / np.repeat(by, np.diff(pairs.offsets)))


def _check_arguments(
    method: str,
    examination: Examination | None,
    query: Any,
    item: Any,
    merge: str,
    normalize: str | None,
    variance: str,
) -> None:
    for name, value, known in (
        ("method", method, METHODS),
        ("normalize", normalize or "none", NORMALIZATIONS),
        ("merge", merge, MERGES),
        ("variance", variance, VARIANCES),
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

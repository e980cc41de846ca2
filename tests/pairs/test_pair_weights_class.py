"""What a `PairWeights` promises whatever made it: checked, locked, small."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from click_logs import FIELDS, assert_same, random_log

from truerank import PairWeights, pair_weights
from truerank.errors import InputError

TWO_LISTS = {"group": [2, 3], "offsets": [0, 1, 3], "i": [0, 2, 1], "j": [1, 0, 2], "weight": [1.0, -2.0, 0.5]}


def test_a_hand_made_one_is_taken_as_given():
    pairs = PairWeights(**TWO_LISTS)
    assert (pairs.n_lists, pairs.n_rows, pairs.n_pairs) == (2, 5, 3)
    assert pairs.row_offsets.tolist() == [0, 2, 5]
    assert pairs.sessions.tolist() == [1, 1]
    assert {name: getattr(pairs, name).tolist() for name in TWO_LISTS} == TWO_LISTS


REFUSED = {
    "more places than weights": ({"i": [0, 2]}, r"i has shape \(2,\); .* it needs \(3,\)"),
    "fewer offsets": ({"offsets": [0, 3]}, r"offsets has shape \(2,\); .* it needs \(3,\)"),
    "a query too many": ({"query": list("abc")}, r"query has shape \(3,\); .* it needs \(2,\)"),
    "an item a list": ({"item": list("ab")}, r"item has shape \(2,\); .* it needs \(5,\)"),
    "sources for some rows": ({"source_row": [0, 1]}, r"source_row has shape \(2,\); .* it needs \(5,\)"),
    "a position a list": ({"position_j": [1, 2]}, r"position_j has shape \(2,\); .* it needs \(3,\)"),
    "one sessions for all": ({"sessions": [4]}, r"sessions has shape \(1,\); .* it needs \(2,\)"),
    "weights in a table": ({"weight": [[1.0, 2.0, 3.0]]}, "weight has shape"),
    "group in a table": ({"group": [[2, 3]]}, "group has shape"),
    "an empty list": ({"group": [0, 5]}, r"group\[0\] is 0; every value must be a whole number from 1"),
    "half an item": ({"group": [2.5, 3]}, "group"),
    "offsets that start late": ({"offsets": [1, 1, 3]}, "they run from 1 to 3"),
    "offsets that end early": ({"offsets": [0, 1, 2]}, "must rise from 0 to the number of pairs, 3"),
    "offsets that fall": ({"offsets": [0, 4, 3]}, "offsets must rise"),
    "a NaN weight": ({"weight": [1.0, np.nan, 1.0]}, r"weight\[1\] is nan; every weight must be finite"),
    "an infinite weight": ({"weight": [1.0, 1.0, -np.inf]}, r"weight\[2\] is -inf"),
    "an item against itself": ({"j": [1, 2, 2]}, r"pair 1 is \(2, 2\) in list 1 of 3 items"),
    "a place past its list": ({"j": [2, 0, 2]}, r"pair 0 is \(0, 2\) in list 0 of 2 items; .* counted from 0"),
    "a negative place": ({"i": [0, -1, 1]}, "i must hold whole numbers from 0 to 255"),
    "a place past 8 bits": ({"j": [1, 0, 258]}, "j must hold whole numbers from 0"),
    "half a place": ({"i": [0.0, 2.0, 1.5]}, "i must hold whole numbers from 0"),
    "positions of one side": ({"position_i": [1, 2, 3]}, "position_j"),
    "a position past 16 bits": ({"position_i": [70_000, 1, 1], "position_j": [1, 1, 1]}, "position_i"),
    "a list past 16 bits": ({"group": [2, 65_537]}, r"group\[1\] is 65537; .* from 1 to 65536"),
}


@pytest.mark.parametrize(("change", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(change, message):
    with pytest.raises(InputError, match=message):
        PairWeights(**TWO_LISTS | change)


def test_nothing_in_it_can_be_changed():
    pairs = random_log(20).pairs("ratio")
    with pytest.raises(dataclasses.FrozenInstanceError):
        pairs.weight = pairs.weight
    for name in FIELDS:
        with pytest.raises(ValueError, match="read-only"):
            getattr(pairs, name)[0] = getattr(pairs, name)[0]


def one_click(n, method="none"):
    return pair_weights(np.arange(n) == n - 1, np.arange(1, n + 1), [n], method)


LENGTHS = (10, 256, 257, 300, 60_000, 65_536)


@pytest.mark.parametrize(
    ("n", "method", "most"), [(n, "none", 12) for n in LENGTHS] + [(n, "ratio", 16) for n in LENGTHS[:-1]]
)
def test_a_pair_takes_at_most_twelve_bytes_and_sixteen_with_positions(n, method, most):
    pairs = one_click(n, method)
    assert pairs.n_pairs == n - 1
    assert (set(pairs.i.tolist()), pairs.j.tolist()) == ({n - 1}, list(range(n - 1)))
    assert pairs.nbytes <= most * pairs.n_pairs
    assert pairs.summary().bytes_per_pair == pairs.nbytes / pairs.n_pairs


@pytest.mark.parametrize("merge", ["exact", "query"])
def test_the_longest_list_can_be_merged(merge):
    n = 65_536
    log = {"query": [1, 1], "item": np.r_[np.arange(n), np.arange(n)[::-1]]}
    labels = np.zeros(2 * n, dtype=int)
    labels[[0, n]] = 1
    pairs = pair_weights(labels, None, [n, n], "none", merge=merge, **log)
    assert (pairs.n_lists, pairs.n_pairs) == (1, 2 * (n - 1))
    assert (pairs.weight == 1).all()
    assert pairs.nbytes <= 12 * pairs.n_pairs


def test_longer_lists_are_refused_even_if_only_merging_makes_them():
    with pytest.raises(InputError, match="a list has 65537 items; at most 65536 fit"):
        one_click(65_537)
    items = np.r_[np.arange(40_000), np.arange(30_000, 70_000)]
    labels = np.arange(80_000) % 40_000 == 0
    with pytest.raises(InputError, match=r"a list has 70000 items; .*merge='exact'"):
        pair_weights(labels, None, [40_000] * 2, "none", query=[1, 1], item=items, merge="query")


def test_ratio_keeps_positions_to_65535():
    assert pair_weights([1, 0], [65_535, 1], [2], "ratio").position_i.tolist() == [65_535]
    with pytest.raises(InputError, match="keeps positions up to 65535"):
        pair_weights([1, 0], [65_536, 1], [2], "ratio")


@pytest.mark.parametrize("method", ["complete", "ratio"])
def test_selected_lists_keep_all_that_is_theirs(method):
    pairs = random_log(21).pairs(method)
    keep = np.arange(pairs.n_lists) % 2 == 1
    chosen, rows = pairs.select_lists(keep), pairs.row_mask(keep)
    entries = np.repeat(keep, np.diff(pairs.offsets))
    masks = {"group": keep, "query": keep, "sessions": keep, "item": rows, "source_row": rows}
    for name in set(FIELDS) - {"offsets"}:
        if getattr(pairs, name) is not None:
            kept = getattr(pairs, name)[masks.get(name, entries)]
            np.testing.assert_array_equal(getattr(chosen, name), kept, err_msg=name)
    np.testing.assert_array_equal(np.diff(chosen.offsets), np.diff(pairs.offsets)[keep])
    assert (chosen.n_rows, chosen.merge) == (rows.sum(), pairs.merge)


def test_all_or_none_of_the_lists_can_be_selected():
    pairs = random_log(21).pairs()
    assert_same(pairs.select_lists(np.ones(pairs.n_lists, bool)), pairs)
    none = pairs.select_lists(np.zeros(pairs.n_lists, bool))
    assert (none.n_lists, none.n_rows, none.n_pairs, none.offsets.tolist()) == (0, 0, 0, [0])


@pytest.mark.parametrize("keep", [[True], [0, 1], [[True, False]]], ids=["too short", "numbers", "a table"])
def test_lists_are_selected_by_a_boolean_each(keep):
    with pytest.raises(InputError, match="it needs a boolean a list"):
        PairWeights(**TWO_LISTS).select_lists(keep)


def test_row_masks_spread_lists_over_rows():
    assert PairWeights(**TWO_LISTS).row_mask([False, True]).tolist() == [False, False, True, True, True]


def test_clipping_sets_negative_weights_to_zero_and_counts_them():
    pairs = random_log(22).pairs("complete")
    clipped, count = pairs.clip_negative()
    assert count == (pairs.weight < 0).sum() > 0
    np.testing.assert_array_equal(clipped.weight, np.maximum(pairs.weight, 0))
    assert_same(dataclasses.replace(clipped, weight=pairs.weight), pairs)
    assert clipped.clip_negative() == (clipped, 0)


def test_the_summary_counts_what_is_there():
    labels, group = [1, 0, 2, 0, 0, 1], [3, 2, 1]
    summary = pair_weights(labels, None, group, "none", normalize="none").summary()
    assert (summary.lists, summary.rows, summary.pairs) == (3, 6, 3)
    assert (summary.sessions, summary.sessions_without_pairs, summary.lists_without_pairs) == (3, 2, 2)
    assert (summary.smallest_weight, summary.median_weight, summary.largest_weight) == (1, 1, 2)
    assert (summary.total_weight, summary.negative_pairs, summary.bytes_per_pair) == (4, 0, 10)
    lines = dict(line.rsplit(maxsplit=1) for line in str(summary).splitlines())
    assert (lines["pairs"], lines["largest weight"], lines["sessions without pairs"]) == ("3", "2", "2")
    assert len(lines) == len(dataclasses.fields(summary))


def test_the_summary_of_nothing_prints():
    summary = pair_weights([], [], [], "none").summary()
    assert (summary.lists, summary.pairs, summary.total_weight, summary.bytes_per_pair) == (0, 0, 0, 0)
    assert np.isnan(summary.median_weight)
    assert "nan" in str(summary)


def test_the_summary_counts_negative_pairs_and_merged_sessions():
    pairs = random_log(22).pairs("complete")
    assert pairs.summary().negative_pairs == (pairs.weight < 0).sum()
    assert pairs.summary().sessions == 60

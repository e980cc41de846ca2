"""`+`: the pairs of two days are the pairs of both days."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from click_logs import Log, assert_same, by_name, log_of, random_log

from truerank import PairWeights, list_order, pair_weights
from truerank.errors import InputError

MERGES = ("exact", "query")
DAYS = {
    "the same lists": ([("q", ["a", "b", "c"], [1, 0, 2])], [("q", ["c", "a", "b"], [1, 0, 0])]),
    "other queries": ([("q", ["a", "b"], [1, 0])], [("r", ["a", "b"], [0, 1])]),
    "overlapping items": ([("q", ["a", "b"], [1, 0])], [("q", ["b", "c", "a"], [1, 0, 1]), ("q", ["b", "a"], [0, 1])]),
    "a day without clicks": ([("q", ["a", "b"], [1, 0])], [("q", ["b", "a"], [0, 0])]),
}


def per_list(pairs):
    """Sessions of each list, whatever its place."""
    items = np.split(pairs.item, pairs.row_offsets[1:-1])
    return {(pairs.query[q], frozenset(items[q].tolist())): pairs.sessions[q] for q in range(pairs.n_lists)}


def assert_equal_as_sets(a, b):
    assert by_name(a) == pytest.approx(by_name(b), rel=1e-9, abs=1e-12)
    assert per_list(a) == per_list(b)
    assert (a.merge, a.sessions_without_pairs) == (b.merge, b.sessions_without_pairs)


@pytest.mark.parametrize("merge", MERGES)
@pytest.mark.parametrize("method", ["none", "ratio", "complete"])
@pytest.mark.parametrize("days", DAYS.values(), ids=DAYS.keys())
def test_two_days_add_up_to_both(days, method, merge):
    first, second = (log_of(*day).pairs(method, merge=merge) for day in days)
    both = log_of(*days[0], *days[1]).pairs(method, merge=merge)
    assert_equal_as_sets(first + second, both)
    assert_equal_as_sets(second + first, both)


@pytest.mark.parametrize("merge", MERGES)
@pytest.mark.parametrize("method", ["ratio", "complete"])
def test_random_days_add_up_to_both(method, merge):
    log = random_log(11)
    first, second = (day.pairs(method, merge=merge) for day in log.first_sessions(25))
    both = log.pairs(method, merge=merge)
    assert_equal_as_sets(first + second, both)
    assert_equal_as_sets(second + first, both)
    assert (first + second).source_row is None


@pytest.mark.parametrize("merge", MERGES)
def test_many_days_add_up_in_any_order(merge):
    log = random_log(12)
    days = [cut[0] for cut in (log.first_sessions(20), log.first_sessions(20)[1].first_sessions(20))]
    days.append(log.first_sessions(40)[1])
    a, b, c = (day.pairs(merge=merge) for day in days)
    assert_equal_as_sets((a + b) + c, log.pairs(merge=merge))
    assert_equal_as_sets(c + (a + b), log.pairs(merge=merge))


@pytest.mark.parametrize("merge", MERGES)
def test_adding_nothing_changes_nothing(merge):
    log = random_log(13)
    nothing = Log(*(np.empty(0, dtype=np.int64) for _ in range(5)))
    assert_equal_as_sets(log.pairs(merge=merge) + nothing.pairs(merge=merge), log.pairs(merge=merge))


def test_without_ids_equal_lists_add_up_row_by_row():
    first, second = ([1, 0, 0, 1, 0], [0, 2, 1, 1, 0])
    group = [3, 2]
    made = [pair_weights(day, list_order(group), group, "ratio", normalize="none") for day in (first, second)]
    total = made[0] + made[1]
    assert (total.group.tolist(), total.sessions.tolist()) == (group, [2, 2])
    assert (total.query, total.item, total.merge) == (None, None, None)
    found = list(zip(total.i.tolist(), total.j.tolist(), total.weight.tolist(), strict=True))
    assert found == [(0, 1, 1), (0, 2, 1), (1, 0, 2), (1, 2, 1), (2, 0, 1), (0, 1, 2)]
    assert total.position_i.tolist() == [1, 1, 2, 2, 3, 1]


def test_added_positions_stay_apart():
    first = log_of(("q", ["a", "b"], [1, 0])).pairs("ratio")
    second = log_of(("q", ["b", "a"], [0, 1])).pairs("ratio")
    total = first + second
    assert (total.position_i.tolist(), total.position_j.tolist()) == ([1, 2], [2, 1])
    assert_equal_as_sets(total, second + first)


def plain(*, group=(2,), merge="exact", **options):
    return pair_weights([1] + [0] * (sum(group) - 1), None, list(group), "none", merge=merge, **options)


IDS = {"query": ["q"], "item": ["a", "b"]}
NUMBERS = {"query": [1], "item": [1, 2]}
UNLIKE = {
    "other list sizes": (plain(), plain(group=(3,)), "these have different list sizes"),
    "more lists": (plain(), plain(group=(2, 2)), "these have different list sizes"),
    "exact and query": (plain(**IDS), plain(merge="query", **IDS), "merged by 'exact' to pairs merged by 'query'"),
    "ids and none": (plain(**IDS), plain(), "merged by 'exact' to pairs merged by None"),
    "positions and none": (pair_weights([1, 0], [1, 2], [2], "ratio"), plain(), "one of the two has positions"),
    "numbers and text": (plain(**NUMBERS), plain(**IDS), "query ids are int64 on one side and <U1 on the other"),
}


@pytest.mark.parametrize(("a", "b", "message"), UNLIKE.values(), ids=UNLIKE.keys())
def test_unlike_pairs_do_not_add_up(a, b, message):
    for left, right in ((a, b), (b, a)):
        with pytest.raises(InputError, match=message if left is a else None):
            left + right


def test_only_pairs_can_be_added():
    with pytest.raises(TypeError):
        plain() + 1


def test_adding_leaves_the_operands_alone():
    first, second = (day.pairs() for day in random_log(14).first_sessions(30))
    before = dataclasses.replace(first)
    first + second
    assert_same(first, before)


def of_dtype(dtype, items):
    return plain(query=np.array([7], dtype=dtype), item=np.array(items, dtype=dtype))


def test_signed_and_unsigned_ids_keep_every_bit():
    """np.concatenate makes float64 of int64 and uint64, which cannot tell these items apart."""
    total = of_dtype(np.int64, [2**62 + 1, 2**62 + 5000]) + of_dtype(np.uint64, [2**62 + 3, 2**62 + 5003])
    assert total.n_lists == 2
    assert total.item.tolist() == [2**62 + 1, 2**62 + 5000, 2**62 + 3, 2**62 + 5003]


def test_small_signed_and_unsigned_ids_stay_whole_numbers():
    total = of_dtype(np.int64, [1, 2]) + of_dtype(np.uint64, [2, 1])
    assert total.n_lists == 1
    assert total.item.dtype.kind in "iu"


def test_lists_that_carry_different_ids_are_not_added_as_one():
    """Pairs built by hand have ids and no `merge`."""
    one = {"group": [2], "offsets": [0, 1], "i": [0], "j": [1], "weight": [1.0]}
    first = PairWeights(**one, query=["shoes"], item=["a", "b"])
    second = PairWeights(**one, query=["hats"], item=["c", "d"])
    try:
        total = first + second
    except InputError:
        return
    assert sorted(total.query.tolist()) == ["hats", "shoes"]

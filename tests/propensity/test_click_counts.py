"""Counts: what is counted is what is there, whoever counts; what cannot be is refused."""

from collections import Counter

import numpy as np
import pytest

import truerank as tr
from truerank.errors import InputError
from truerank.propensity.counts import counts_of
from truerank.types import ClickSessions, ItemPositionCounts, PositionCounts, SwapArms


@pytest.fixture
def log(draw_sessions, rng):
    relevance = rng.uniform(0.2, 0.9, size=(4, 5))
    return draw_sessions(tr.Independent(tr.inverse_rank(5)), relevance, [(3, 0), (2, 4), (1, 5)], 400, rng, shuffle=0.5)


def rows(log):
    session = np.repeat(np.arange(log.n_sessions), log.group)
    return zip(log.query[session].tolist(), log.item.tolist(), log.positions.tolist(), log.clicks.tolist(), strict=True)


def test_position_counts_are_those_of_a_plain_loop(log):
    shown, clicked = Counter(), Counter()
    for _, _, position, click in rows(log):
        shown[position] += 1
        clicked[position] += click
    counts = tr.propensity.position_counts(log)
    assert dict(zip(counts.position.tolist(), counts.impressions.tolist(), strict=True)) == shown
    assert dict(zip(counts.position.tolist(), counts.clicks.tolist(), strict=True)) == clicked


@pytest.mark.parametrize("name", ["numbers", "text"])
def test_item_counts_are_those_of_a_plain_loop(log, name):
    if name == "text":
        log = ClickSessions(
            log.clicks, log.positions, log.group, log.query.astype(str), np.char.add("item ", log.item.astype(str))
        )
    shown, clicked = Counter(), Counter()
    for query, item, position, click in rows(log):
        shown[query, item, position] += 1
        clicked[query, item, position] += click
    counts = tr.propensity.item_position_counts(log)
    keys = list(zip(counts.list.tolist(), counts.item.tolist(), counts.position.tolist(), strict=True))
    assert len(set(keys)) == len(keys)
    assert dict(zip(keys, counts.impressions.tolist(), strict=True)) == shown
    assert dict(zip(keys, counts.clicks.tolist(), strict=True)) == clicked


def test_swap_arms_are_those_of_a_plain_loop(log):
    found = Counter()
    clicks = log.clicks.reshape(-1, 5)
    for (k1, k2, swapped), click in zip(log.swap.tolist(), clicks, strict=True):
        top = click[0] and (click[1] if k2 else True)
        target = click[k1 - 1] and (click[k2 - 1] if k2 else True)
        arm = (k1, k2, swapped)
        found.update(dict.fromkeys([(arm, "sessions")], 1))
        found[arm, "top_clicks"] += bool(top)
        found[arm, "target_clicks"] += bool(target)
        found[arm, "both_clicks"] += bool(top and target)
    counts = tr.propensity.swap_arms(log)
    arms = list(zip(counts.k1.tolist(), counts.k2.tolist(), counts.swapped.tolist(), strict=True))
    assert len(set(arms)) == len(arms) == 6
    for name in ("sessions", "top_clicks", "target_clicks", "both_clicks"):
        assert [found[arm, name] for arm in arms] == getattr(counts, name).tolist()


def test_sessions_too_short_for_their_experiment_are_left_out():
    log = ClickSessions([1, 1, 1, 1, 1], [1, 2, 1, 2, 3], [2, 3], [0, 0], [0, 1, 0, 1, 2], [[3, 0, 0], [3, 0, 0]])
    assert tr.propensity.swap_arms(log).sessions.tolist() == [1]


def test_an_empty_log_has_no_counts():
    log = ClickSessions(*([np.empty(0, np.int32)] * 5), np.empty((0, 3), int))
    assert len(tr.propensity.position_counts(log).position) == 0
    assert len(tr.propensity.item_position_counts(log).position) == 0
    assert len(tr.propensity.swap_arms(log).k1) == 0


def test_a_log_that_counts_by_itself_is_asked(log):
    class Log:
        def item_position_counts(self):
            return tr.propensity.item_position_counts(log)

    expected = tr.propensity.item_position_counts(log)
    np.testing.assert_array_equal(counts_of(Log(), ItemPositionCounts).clicks, expected.clicks)
    with pytest.raises(InputError, match="got a Log; this needs SwapArms, ClickSessions, or an object with the meth"):
        counts_of(Log(), SwapArms)


SWAP = {"k1": [3, 3], "k2": [0, 0], "swapped": [0, 1], "sessions": [9, 9]}
SWAP |= {"top_clicks": [4, 4], "target_clicks": [2, 2], "both_clicks": [1, 1]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sessions": [3, 9]}, r"top_clicks\[0\] is 4, more than the 3 times"),
        ({"k1": [1, 3]}, r"swap marker 0 is \(1, 0, 0\)"),
        ({"k2": [3, 0]}, r"swap marker 0 is \(3, 3, 0\)"),
        ({"k1": [1, 3], "k2": [2, 0]}, r"other than \(1, 2\)"),
        ({"swapped": [0, 2]}, r"swap marker 1 is \(3, 0, 2\)"),
        ({"both_clicks": [3, 1]}, r"both_clicks\[0\] is 3 where 4 and 2 of 9.*between 0 and 2"),
        ({"both_clicks": [1, -1]}, r"both_clicks\[1\] is -1; it cannot be negative"),
        ({"top_clicks": [4, 4.5]}, "top_clicks has dtype float64; it needs whole numbers"),
        ({"top_clicks": [4]}, "differ in length"),
    ],
)
def test_swap_arms_that_cannot_be_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        counts_of(SwapArms(**(SWAP | change)), SwapArms)


def test_whole_numbers_as_floats_are_fine():
    counts = counts_of(PositionCounts([1.0, 2.0], [5.0, 5.0], [1.0, 0.0]), PositionCounts)
    assert counts.clicks.dtype == np.int64


def test_positions_below_one_are_refused():
    with pytest.raises(InputError, match="positions count from 1; got 0"):
        counts_of(PositionCounts([0, 1], [5, 5], [1, 1]), PositionCounts)


@pytest.mark.parametrize("swap", [[[3, 0]], [[3.0, 0.0, 1.0]], [3, 0, 1]])
def test_markers_of_another_shape_are_refused(swap):
    with pytest.raises(InputError, match="three whole numbers a session"):
        tr.propensity.swap_arms(ClickSessions([1], [1], [1], [0], [0], swap))


def test_a_log_without_an_experiment_is_refused():
    with pytest.raises(InputError, match="no swap experiment"):
        tr.propensity.swap(ClickSessions([1], [1], [1], [0], [0]))


def test_ids_that_do_not_fit_the_rows_are_refused():
    with pytest.raises(InputError, match="query has 2 values and item 1"):
        tr.propensity.item_position_counts(ClickSessions([1], [1], [1], [0, 1], [0]))

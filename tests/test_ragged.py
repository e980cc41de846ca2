"""The door for ragged lists: what it takes, and the message for each thing it refuses."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from truerank.errors import InputError, TruerankError
from truerank.ragged import list_order, offsets_from_sizes, read_group, read_scores, read_sessions

LABELS, POSITIONS, GROUP = [1, 0, 2], [2, 1, 4], [2, 1]
COLUMNS = {
    "a list": list,
    "a tuple": tuple,
    "NumPy": np.array,
    "a NumPy column": lambda v: np.array(v)[:, None],
    "whole floats": lambda v: np.array(v, dtype=np.float32),
    "small integers": lambda v: np.array(v, dtype=np.uint8),
    "every second element": lambda v: np.repeat(v, 2)[::2],
    "read-only": lambda v: np.frombuffer(np.array(v).tobytes(), dtype=np.int64),
    "Python objects": lambda v: np.array(v, dtype=object),
    "pandas": pd.Series,
    "pandas with an index": lambda v: pd.Series(v, index=range(10, 10 + len(v))),
    "pandas nullable": lambda v: pd.Series(v, dtype="Int64"),
    "pandas frame": lambda v: pd.DataFrame({"only": v}),
    "Polars": pl.Series,
    "Arrow": pa.array,
    "Arrow chunks": lambda v: pa.chunked_array([v[:1], v[1:]]),
}


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS.keys())
def test_sessions_may_be_columns_of(column):
    sessions = read_sessions(column(LABELS), column(POSITIONS), column(GROUP))
    assert (sessions.labels.tolist(), sessions.positions.tolist()) == (LABELS, POSITIONS)
    assert (sessions.offsets.tolist(), sessions.sizes.tolist()) == ([0, 2, 3], GROUP)
    assert (sessions.n_sessions, sessions.n_rows) == (2, 3)
    assert (sessions.labels.dtype, sessions.offsets.dtype) == (np.int32, np.int64)


@pytest.mark.parametrize("clicks", [[True, False, True], pd.Series([True, False, True], dtype="boolean")])
def test_clicks_may_be_booleans(clicks):
    assert read_sessions(clicks, POSITIONS, GROUP).labels.tolist() == [1, 0, 1]


def test_nothing_is_a_log_of_no_sessions():
    sessions = read_sessions([], [], [])
    assert (sessions.n_sessions, sessions.n_rows, sessions.offsets.tolist()) == (0, 0, [0])


def test_positions_may_be_left_out_where_they_play_no_part():
    assert read_sessions(LABELS, None, GROUP, needs_positions=False).positions is None


def test_positions_may_have_gaps_and_start_anew_in_each_session():
    assert read_sessions([0] * 5, [9, 2, 50, 2, 9], [3, 2]).positions.tolist() == [9, 2, 50, 2, 9]


MISSING = pd.Series([1, None, 2], dtype="Int64")
NOT_WHOLE = {
    "NaN": ([1, np.nan, 2], r"\[1\] is nan; every value must be a whole number"),
    "None": ([1, None, 2], r"\[1\] is nan"),
    "missing in pandas": (MISSING, r"\[1\] is nan"),
    "missing in Polars": (pl.Series([1, None, 2]), r"\[1\] is nan"),
    "missing in Arrow": (pa.array([1, None, 2]), r"\[1\] is nan"),
    "infinite": ([1, 2, np.inf], r"\[2\] is inf"),
    "negative": ([3, 1, -4], r"\[2\] is -4; every value must be a whole number from \d to \d+"),
    "fractional": ([1, 2.5, 3], r"\[1\] is 2\.5; every value must be a whole number"),
    "many wrong": ([0.5, 1.5, 1], r"\[0\] is 0\.5 \(and 1 more rows\)"),
    "huge": ([1, 2, 2**40], rf"\[2\] is {2**40}"),
    "words": (["one", "two", "three"], " has dtype <U5; it needs whole numbers"),
    "digits as text": (["1", "2", "3"], "needs whole numbers"),
    "complex": ([1, 1 + 2j, 3], "whole number"),
    "dates": (np.array(["2024-01-01"] * 3, dtype="M8[D]"), "whole number"),
    "a table": ([[1, 2, 3]], r" has shape \(1, 3\); it needs one value a row"),
    "a number": (7, r" has shape \(\); it needs one value a row"),
    "a ragged list": ([[1], [2, 3]], ""),
}


@pytest.mark.parametrize("name", ["labels", "positions", "group"])
@pytest.mark.parametrize(("values", "message"), NOT_WHOLE.values(), ids=NOT_WHOLE.keys())
def test_each_column_must_hold_whole_numbers(name, values, message):
    columns = {"labels": [1, 0, 2], "positions": [1, 2, 3], "group": [1, 1, 1]} | {name: values}
    with pytest.raises(InputError, match=f"{name}.*{message}"):
        read_sessions(**columns)


REFUSED = {
    "position 0": ({"positions": [1, 0, 1]}, r"positions\[1\] is 0; .* from 1 to"),
    "an empty session": ({"group": [3, 0]}, r"group\[1\] is 0; .* from 1 to"),
    "a label over 1000": ({"labels": [0, 0, 1001]}, r"labels\[2\] is 1001; .* from 0 to 1000"),
    "sizes that fall short": ({"group": [1, 1]}, "group sizes sum to 2 and there are 3 rows; .*Hint: group holds"),
    "sizes that run over": ({"group": [2, 2]}, "group sizes sum to 4 and there are 3 rows"),
    "an id a row for a group": ({"group": [7, 7, 8]}, r"sum to 22 and there are 3 rows; .*not an id a row"),
    "too few positions": ({"positions": [1, 2]}, "positions has 2 rows and labels has 3"),
    "no positions": ({"positions": None}, r"positions are missing.*Hint: .*truerank\.list_order\(group\)"),
    "a position twice": ({"positions": [3, 3, 1]}, r"position 3 is given twice in session 0 \(rows 0 to 1\)"),
}


@pytest.mark.parametrize(("change", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_sessions_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        read_sessions(**{"labels": LABELS, "positions": POSITIONS, "group": GROUP} | change)


@pytest.mark.parametrize("n", [2, 3, 31, 32, 33, 34, 500])
@pytest.mark.parametrize("shuffled", [False, True])
def test_a_position_twice_names_session_position_and_rows(n, shuffled):
    rng = np.random.default_rng(n)
    positions = rng.permutation(n) + 1 if shuffled else np.arange(1, n + 1)
    assert read_sessions([0] * n, positions, [n]).n_rows == n
    early, late = 0, n - 1
    positions[late] = positions[early]
    message = rf"position {positions[early]} is given twice in session 1 \(rows 3 to {n + 2}\)"
    with pytest.raises(InputError, match=message):
        read_sessions([0] * (n + 5), [1, 2, 3, *positions, 1, 2], [3, n, 2])


@pytest.mark.parametrize("n", [10, 40])
@pytest.mark.parametrize(("early", "late"), [(2, 5), (5, 2)])
def test_of_two_repeats_the_first_to_be_seen_is_named(n, early, late):
    positions = np.arange(1, n + 1)
    positions[[n - 3, n - 1]] = positions[[early, late]]
    with pytest.raises(InputError, match=f"position {early + 1} is given twice"):
        read_sessions([0] * n, positions, [n])


def test_the_first_session_with_a_repeat_is_named():
    with pytest.raises(InputError, match="position 5 is given twice in session 1 "):
        read_sessions([0] * 7, [1, 5, 5, 4, 5, 9, 9], [2, 3, 2])


def test_every_refusal_is_a_truerank_error_and_a_value_error():
    with pytest.raises(TruerankError):
        read_group([0], 0)
    with pytest.raises(ValueError):
        read_group([0], 0)


def test_groups_become_offsets():
    assert read_group([2, 3, 1], 6).tolist() == [0, 2, 5, 6]
    assert offsets_from_sizes([]).tolist() == [0]


def test_large_groups_do_not_overflow():
    with pytest.raises(InputError, match=f"group sizes sum to {2 * (2**31 - 1)} and there are 1 rows"):
        read_group([2**31 - 1] * 2, 1)


SCORES = {name: column for name, column in COLUMNS.items() if name not in ("a NumPy column", "pandas frame")}


@pytest.mark.parametrize("column", SCORES.values(), ids=SCORES.keys())
def test_scores_may_be_a_column_of(column):
    scores = read_scores(column(LABELS), 3)
    assert (scores.tolist(), scores.dtype) == (LABELS, np.float64)


BAD_SCORES = {
    "NaN": ([0.5, np.nan, 1.0], r"scores\[1\] is nan; every score must be finite.*Hint"),
    "infinite": ([0.5, 1.0, -np.inf], r"scores\[2\] is -inf"),
    "too few": ([0.5], r"scores has shape \(1,\); it needs one score a row: \(3,\)"),
    "a table": (np.zeros((3, 2)), r"scores has shape \(3, 2\)"),
    "words": (["high", "low", "low"], "scores"),
    "missing in pandas": (MISSING, "scores"),
    "a ragged list": ([[1.0], [2.0, 3.0]], "scores"),
}


@pytest.mark.parametrize(("scores", "message"), BAD_SCORES.values(), ids=BAD_SCORES.keys())
def test_scores_are_refused(scores, message):
    with pytest.raises(InputError, match=message):
        read_scores(scores, 3)


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS.keys())
def test_list_order_counts_from_one_in_each_list(column):
    assert list_order(column([3, 1, 2])).tolist() == [1, 2, 3, 1, 1, 2]


def test_list_order_of_nothing_is_nothing():
    assert list_order([]).tolist() == []


def test_list_order_is_what_read_sessions_takes():
    group = [4, 1, 7]
    assert read_sessions([0] * 12, list_order(group), group).n_sessions == 3


@pytest.mark.parametrize("group", [[2, 0], [-1], [1.5], ["two"], [[1, 2]]])
def test_list_order_refuses_what_is_no_group(group):
    with pytest.raises(InputError, match="group"):
        list_order(group)

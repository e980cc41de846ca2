"""Logs full of mistakes, and the rules and repairs written out as loops over rows."""

from __future__ import annotations

import re
from collections import defaultdict
from datetime import datetime

import pyarrow as pa

SCHEMA = pa.schema({
    "session": pa.int64(), "query": pa.string(), "item": pa.int64(), "position": pa.string(), "label": pa.float64(),
    "swap": pa.string(), "timestamp": pa.string(),
})  # fmt: skip
LARGEST = 3


def random_dirty_log(rng, n_rows=120):
    """Rows with little in them that is right: ids missing, positions and labels of all kinds, repeats."""
    pick = lambda values: values[rng.integers(len(values))]  # noqa: E731
    return pa.Table.from_pylist(
        [
            {
                "session": pick([None, *range(20)]),
                "query": pick([None, "", *"aaaaaab"]),
                "item": pick([None, *range(1, 8)]),
                "position": pick([None, "x", "1.5", "-1", "0", "3000000000", *"1234", "5.0", " 6 "]),
                "label": pick([None, 0.0, 0.0, 1.0, 2.0, 0.5, -1.0, 4.0, float("nan")]),
                "swap": pick([None, "", "", "", "5:control", "3,7:swapped", "1:control", "swapped"]),
                "timestamp": pick([None, "2024-05-01T10:00:00Z", "yesterday"]),
            }
            for _ in range(n_rows)
        ],
        schema=SCHEMA,
    )


def whole(value):
    """A whole number, or None."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return int(number) if number == number and number == int(number) else None


def position(row):
    return whole(row["position"])


def label(row):
    return whole(row["label"])


def is_marker(swap):
    match = re.fullmatch(r"(\d+)(?:,(\d+))?:(control|swapped)", swap)
    if not match:
        return False
    k1, k2 = int(match[1]), int(match[2] or 0)
    return (k2 == 0 and k1 >= 2) or (1 <= k1 < k2 and k2 > 2)


def is_time(text):
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def unseen_click(row):
    return (label(row) or 0) > 0 and (row["position"] is None or row["item"] is None)


def bad_label(row):
    return label(row) is None or not 0 <= label(row) <= LARGEST


ROW_RULES = {
    "missing_session": lambda r: r["session"] is None,
    "missing_query": lambda r: r["query"] in (None, ""),
    "missing_item": lambda r: r["item"] is None,
    **{f"unreadable_{name}": lambda r: False for name in ("session", "query", "item")},  # whole numbers and text
    "unseen_click": unseen_click,
    "missing_position": lambda r: r["position"] is None and not unseen_click(r),
    "unreadable_position": lambda r: r["position"] is not None and position(r) is None,
    "position_below_one": lambda r: position(r) is not None and position(r) < 1,
    "position_too_large": lambda r: position(r) is not None and position(r) >= 2**31,
    "missing_label": lambda r: r["label"] is None,
    "unreadable_label": lambda r: r["label"] is not None and label(r) is None,
    "label_out_of_range": lambda r: label(r) is not None and bad_label(r),
    "bad_swap_marker": lambda r: bool(r["swap"]) and not is_marker(r["swap"]),
    "unreadable_timestamp": lambda r: r["timestamp"] is not None and not is_time(r["timestamp"]),
}


def by(rows, *keys):
    """Rows by the values of keys, where none of them is missing."""
    groups = defaultdict(list)
    for row in rows:
        values = tuple(key(row) if callable(key) else row[key] for key in keys)
        if None not in values and "" not in values:
            groups[values].append(row)
    return groups


def several(rows, value):
    return {s for (s,), group in by(rows, "session").items() if len({value(r) for r in group} - {None}) > 1}


def queries_of(row):
    return row["query"] or None


def broken_rules(rows):
    """For each rule the rows and sessions that break it."""
    found = {}
    for name, wrong in ROW_RULES.items():
        bad = [row for row in rows if wrong(row)]
        found[name] = (len(bad), len({r["session"] for r in bad} - {None}))
    for name, value in (("several_queries", queries_of), ("several_swap_markers", lambda r: r["swap"] or "")):
        sessions = several(rows, value)
        found[name] = (sum(r["session"] in sessions for r in rows), len(sessions))
    for name, key in (("repeated_item", "item"), ("repeated_position", position)):
        repeats = {k: len(g) - 1 for k, g in by(rows, "session", key).items() if len(g) > 1}
        found[name] = (sum(repeats.values()), len({session for session, _ in repeats}))
    gaps = [
        max(0, max(positions) - len({p for p in positions if p >= 1}))
        for group in by(rows, "session").values()
        if (positions := [position(r) for r in group if position(r) is not None])
    ]
    found["position_gap"] = (sum(gaps), sum(gap > 0 for gap in gaps))
    return found


# repairs: each takes rows and gives back rows and the ones it touched


def dropped(rows, wrong):
    return [r for r in rows if not wrong(r)], [r for r in rows if wrong(r)]


def changed(rows, wrong, change):
    return [r | change(r) if wrong(r) else r for r in rows], [r for r in rows if wrong(r)]


def one_up(row):
    return {"position": str(position(row) + 1)}


def from_zero(rows):
    least = {
        s: min((p for r in group if (p := position(r)) is not None), default=None)
        for (s,), group in by(rows, "session").items()
    }
    return {s for s, p in least.items() if p == 0}


def order_of_repeats(row):
    place, grade = position(row), label(row)
    return (place is None, place or 0, grade is None, -(grade or 0))


def without_repeats(rows, max_label):
    keep, touched, raised = set(), [], {}
    for group in by(rows, "session", "item").values():
        first, *others = sorted(group, key=order_of_repeats)
        keep.add(id(first))
        touched += others
        labels = [label(r) for r in group if label(r) is not None]
        if max_label and labels:
            raised[id(first)] = {"label": float(max(labels))}
    alone = [r for r in rows if r["session"] is None or r["item"] is None]
    kept = [r for r in rows if id(r) in keep or r in alone]
    return [r | raised.get(id(r), {}) for r in kept], touched


def split(rows):
    sessions = several(rows, queries_of)
    return changed(
        rows,
        lambda r: r["session"] in sessions and bool(r["query"]),
        lambda r: {"session": f"{r['session']}\x1f{r['query']}"},
    )


def in_sessions(sessions):
    return lambda r: r["session"] in sessions


def shared_places(rows):
    return {session for (session, _), group in by(rows, "session", position).items() if len(group) > 1}


def wrong_markers(rows):
    sessions = several(rows, lambda r: r["swap"] or "")
    return lambda r: bool(r["swap"]) and (r["session"] in sessions or not is_marker(r["swap"]))


REPAIRS = {
    ("zero_based_positions", True): lambda rows: changed(rows, lambda r: position(r) is not None, one_up),
    ("zero_based_positions", "sessions"): lambda rows: changed(
        rows, lambda r, s=None: r["session"] in from_zero(rows) and position(r) is not None, one_up
    ),
    ("clicks_without_impression", "drop"): lambda rows: dropped(rows, unseen_click),
    ("drop_missing_ids", True): lambda rows: dropped(
        rows, lambda r: r["session"] is None or not r["query"] or r["item"] is None
    ),
    ("bad_positions", "drop"): lambda rows: dropped(rows, lambda r: not 1 <= (position(r) or 0) < 2**31),
    ("bad_labels", "drop"): lambda rows: dropped(rows, bad_label),
    ("bad_labels", "zero"): lambda rows: changed(rows, bad_label, lambda r: {"label": 0.0}),
    ("bad_labels", "clip"): lambda rows: changed(
        rows,
        lambda r: label(r) is not None and bad_label(r),
        lambda r: {"label": float(min(max(label(r), 0), LARGEST))},
    ),
    ("several_queries", "split"): split,
    ("several_queries", "drop"): lambda rows: dropped(rows, in_sessions(several(rows, queries_of))),
    ("repeated_items", "first"): lambda rows: without_repeats(rows, max_label=False),
    ("repeated_items", "max_label"): lambda rows: without_repeats(rows, max_label=True),
    ("repeated_positions", "drop_sessions"): lambda rows: dropped(rows, in_sessions(shared_places(rows))),
    ("swap_markers", "clear"): lambda rows: changed(rows, wrong_markers(rows), lambda r: {"swap": None}),
    ("bad_timestamps", "clear"): lambda rows: changed(
        rows, ROW_RULES["unreadable_timestamp"], lambda r: {"timestamp": None}
    ),
}

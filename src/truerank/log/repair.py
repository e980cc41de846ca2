"""Mend a click log, only in ways that were asked for, and count what each of them did."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import ibis

from truerank.errors import InputError
from truerank.log.engines import Engine
from truerank.log.rules import LARGEST_POSITION, Facts, places
from truerank.log.schema import IDS
from truerank.log.swap_markers import has_marker, is_marker


@dataclass(frozen=True, slots=True)
class Repair:
    """What one repair did: to how many rows, of how many sessions."""

    option: str
    effect: str
    rows: int
    sessions: int

    def __str__(self) -> str:
        """One line."""
        return f"{self.option:<42}{self.rows:>12,} rows {self.sessions:>10,} sessions  {self.effect}"


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What the repairs of a log did, in the order in which they were done."""

    repairs: tuple[Repair, ...]

    def __getitem__(self, option: str) -> Repair:
        """What the repair of that name did, such as `repaired["bad_labels"]`."""
        for repair in self.repairs:
            if repair.option.split("=")[0] == option:
                return repair
        raise KeyError(f"{option!r} is none of the repairs: {', '.join(r.option for r in self.repairs)}")

    def __str__(self) -> str:
        """A line a repair."""
        return "\n".join(map(str, self.repairs)) or "no repairs"


@dataclass(frozen=True)
class Step:
    """A repair to be counted: the rows that it changes or drops."""

    option: str
    effect: str
    rows: Any

    def count(self, engine: Engine) -> Repair:
        """Count them."""
        sessions = self.rows.select(session=Facts(self.rows).identifier("session"))
        counts = sessions.aggregate(rows=sessions.count(), sessions=sessions.session.nunique())
        found = engine.collect(counts).to_pylist()[0]
        return Repair(self.option, self.effect, found["rows"], found["sessions"])


def repair(raw: Any, asked: dict[str, Any], largest_label: int) -> tuple[Any, tuple[Step, ...]]:
    """The log with the repairs that were asked for, and these, one by one; each looks at what the ones before left."""
    steps: list[Step] = []
    for option, choices in OPTIONS.items():
        choice = asked[option]
        if choice is None or choice is False:
            continue
        if choice not in choices:
            raise InputError(f"{option} is {choice!r}; it must be one of {', '.join(map(repr, choices))}, or None")
        column, how = choices[choice]
        if column not in raw.columns:
            raise InputError(f"{option} was asked for, but the log has no column {column}")
        mend = how(Facts(raw, largest_label))
        touched = mend.rows.fill_null(False)
        changed = {name: _replaced(raw[name], touched, new) for name, new in mend.columns.items()}
        kept = {name: _replaced(raw[name], new.notnull(), new) for name, new in mend.others.items()}
        steps.append(Step(f"{option}={choice!r}", mend.effect, _only(raw, touched)))
        raw = raw.mutate(**changed) if changed else _only(raw, ~touched, **kept)
    return raw, tuple(steps)


def _only(raw: Any, rows: Any, **columns: Any) -> Any:
    """Some rows; which ones becomes a column first, since not every engine has filters that look at several rows."""
    marked = raw.mutate(**columns, truerank_kept=rows)
    return marked.filter(marked.truerank_kept).drop("truerank_kept")


@dataclass(frozen=True)
class Mend:
    """Which rows to touch, what that means, and the columns they get instead; without any they are dropped.

    `others` are columns of the rows that are not dropped; null leaves them as they are.
    """

    rows: Any
    effect: str = "dropped"
    columns: Mapping[str, Any] = field(default_factory=dict)
    others: Mapping[str, Any] = field(default_factory=dict)


def _replaced(old: Any, touched: Any, new: Any) -> Any:
    """A column with new values where it is touched; text stays text, so that what could not be read is still there."""
    if old.type().is_string() or old.type().is_boolean():
        new = new.cast(old.type())
    elif new.type().is_string():
        old = old.cast("string")
    return ibis.ifelse(touched, new, old)


def _zero_based(facts: Facts) -> Mend:
    position = facts.read("position")
    return Mend(position.notnull(), "moved from 0, 1, … to 1, 2, …", {"position": position.cast("int64") + 1})


def _zero_based_sessions(facts: Facts) -> Mend:
    position, session = facts.read("position"), facts.identifier("session")
    from_zero = session.notnull() & (_over_session(facts, position.min()) == 0)
    return Mend(
        from_zero & position.notnull(), "moved from 0, 1, … to 1, 2, …", {"position": position.cast("int64") + 1}
    )


def _unseen_clicks(facts: Facts) -> Mend:
    return Mend(facts.unseen_click)


def _missing_ids(facts: Facts) -> Mend:
    session, query, item = (facts.identifier(name).notnull() for name in IDS)
    return Mend(~(session & query & item))


def _bad_positions(facts: Facts) -> Mend:
    return Mend(~facts.read("position").between(1, LARGEST_POSITION).fill_null(False))


def _bad_labels(facts: Facts) -> Any:
    return ~facts.read("label").between(0, facts.largest_label).fill_null(False)


def _labels_dropped(facts: Facts) -> Mend:
    return Mend(_bad_labels(facts))


def _labels_zeroed(facts: Facts) -> Mend:
    return Mend(_bad_labels(facts), "labels set to 0", {"label": ibis.literal(0)})


def _labels_clipped(facts: Facts) -> Mend:
    label = facts.read("label")
    inside = ibis.ifelse(label < 0, 0, facts.largest_label)
    return Mend(label.notnull() & _bad_labels(facts), f"labels moved into 0 … {facts.largest_label}", {"label": inside})


def _several_queries(facts: Facts) -> Any:
    query = facts.identifier("query")
    several = _over_session(facts, query.min()) != _over_session(facts, query.max())
    return facts.there("session") & several


def _queries_split(facts: Facts) -> Mend:
    session, query = (facts.identifier(name).cast("string") for name in ("session", "query"))
    rows = _several_queries(facts) & query.notnull()
    return Mend(rows, "made a session for each query", {"session": session + SPLIT + query})


def _queries_dropped(facts: Facts) -> Mend:
    return Mend(_several_queries(facts), "sessions dropped")


def _repeated_items(facts: Facts) -> Mend:
    """All rows of an item in a session but the one with the smallest position (and there the largest label)."""
    session, item = facts.identifier("session"), facts.identifier("item")
    position, label = facts.read("position"), facts.read("label")
    first = ibis.row_number().over(
        group_by=[session, item], order_by=[position.asc(nulls_first=False), label.desc(nulls_first=False)]
    )
    return Mend(session.notnull() & item.notnull() & (first > 0))


def _repeated_items_with_largest_label(facts: Facts) -> Mend:
    session, item = facts.identifier("session"), facts.identifier("item")
    largest = facts.read("label").max().over(group_by=[session, item])
    one_item = session.notnull() & item.notnull()
    return Mend(
        _repeated_items(facts).rows,
        "dropped; the first has the largest label",
        others={"label": ibis.ifelse(one_item, largest, ibis.null(largest.type()))},
    )


def _repeated_positions(facts: Facts) -> Mend:
    rows = places(facts)
    return Mend(facts.identifier("session").isin(rows.filter(rows.rows > 1).session), "sessions dropped")


def _markers(facts: Facts) -> Mend:
    swap = facts.read("swap").fill_null("")
    several = facts.there("session") & (_over_session(facts, swap.min()) != _over_session(facts, swap.max()))
    return Mend(has_marker(swap) & (several | ~is_marker(swap)), "markers cleared", {"swap": ibis.null("string")})


def _timestamps(facts: Facts) -> Mend:
    return Mend(facts.unreadable("timestamp"), "timestamps cleared", {"timestamp": ibis.null("string")})


def _over_session(facts: Facts, value: Any) -> Any:
    return value.over(group_by=facts.identifier("session"))


SPLIT = "\x1f"
"""Between session and query where a session of several queries is split; stands in no id."""

OPTIONS: Mapping[str, Mapping[Any, tuple[str, Callable[[Facts], Mend]]]] = {
    "zero_based_positions": {True: ("position", _zero_based), "sessions": ("position", _zero_based_sessions)},
    "clicks_without_impression": {"drop": ("label", _unseen_clicks)},
    "drop_missing_ids": {True: ("session", _missing_ids)},
    "bad_positions": {"drop": ("position", _bad_positions)},
    "bad_labels": {
        "drop": ("label", _labels_dropped),
        "zero": ("label", _labels_zeroed),
        "clip": ("label", _labels_clipped),
    },
    "several_queries": {"split": ("query", _queries_split), "drop": ("query", _queries_dropped)},
    "repeated_items": {"first": ("item", _repeated_items), "max_label": ("item", _repeated_items_with_largest_label)},
    "repeated_positions": {"drop_sessions": ("position", _repeated_positions)},
    "swap_markers": {"clear": ("swap", _markers)},
    "bad_timestamps": {"clear": ("timestamp", _timestamps)},
}
"""Every repair in the order in which they are done: its choices, the column it is about, and what it does."""

"""What can be wrong with a click log: one rule for each kind of mistake."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ibis
from ibis import _

from truerank.log.schema import IDS, has_id, read_column
from truerank.log.swap_markers import has_marker, is_marker

LARGEST_LABEL = 1_000
"""The largest label that the rest of truerank takes."""
LARGEST_POSITION = 2**31 - 1
"""The largest position, too."""


@dataclass(frozen=True)
class Facts:
    """The columns of a log as they are, and as they were read: null where what was there could not be read."""

    raw: Any
    largest_label: int = LARGEST_LABEL

    def there(self, name: str) -> Any:
        """Whether a row has anything in a column."""
        return has_id(self.raw[name])

    def read(self, name: str) -> Any:
        """A column in its own type."""
        return read_column(self.raw, name)

    def identifier(self, name: str) -> Any:
        """A column of ids, null where it is empty."""
        return ibis.ifelse(self.there(name), self.read(name), ibis.null(self.read(name).type()))

    def unreadable(self, name: str) -> Any:
        """Whether a column has something that is not of its type."""
        return self.there(name) & self.read(name).isnull()

    @property
    def unseen_click(self) -> Any:
        """Whether a row is a click on something that was not shown anywhere."""
        shown = self.there("position") & self.there("item")
        return (self.read("label") > 0).fill_null(False) & ~shown


@dataclass(frozen=True)
class Rule:
    """A rule for rows or for sessions.

    Attributes:
        name: what reports call the mistake.
        says: what is wrong.
        hint: what to do about it.
        about: the columns it is about; without them the rule does not apply.
        wrong: which rows break it; None for rules about sessions, which `validation` counts.
        note: whether it may well be as it should be.
    """

    name: str
    says: str
    hint: str
    about: tuple[str, ...]
    wrong: Callable[[Facts], Any] | None = None
    note: bool = False


def _missing(name: str) -> Rule:
    return Rule(
        f"missing_{name}",
        f"no {name}",
        _IDS,
        (name,),
        lambda facts: ~facts.there(name),
    )


def _unreadable(name: str, says: str, hint: str) -> Rule:
    return Rule(f"unreadable_{name}", says, hint, (name,), lambda facts: facts.unreadable(name))


_IDS = "repair(drop_missing_ids=True)"
_POSITIONS = "repair(bad_positions='drop')"
_LABELS = "repair(bad_labels='drop'), or 'zero', or 'clip' for those out of range"

ROW_RULES = (
    _missing("session"),
    _missing("query"),
    _missing("item"),
    *(_unreadable(name, f"a {name} that is a number, but no whole one", _IDS) for name in IDS),
    Rule(
        "unseen_click",
        "a click on something without an impression",
        "repair(clicks_without_impression='drop')",
        ("label", "position", "item"),
        lambda facts: facts.unseen_click,
    ),
    Rule(
        "missing_position",
        "an impression without a position",
        _POSITIONS,
        ("position",),
        lambda facts: ~facts.there("position") & ~facts.unseen_click,
    ),
    _unreadable("position", "a position that is no whole number", _POSITIONS),
    Rule(
        "position_below_one",
        "a position below 1",
        "repair(zero_based_positions=True) if they count from 0, otherwise " + _POSITIONS,
        ("position",),
        lambda facts: facts.read("position") < 1,
    ),
    Rule(
        "position_too_large",
        "a position beyond any page",
        _POSITIONS,
        ("position",),
        lambda facts: facts.read("position") > LARGEST_POSITION,
    ),
    Rule(
        "missing_label",
        "no label",
        "repair(bad_labels='zero') if it means no click, otherwise 'drop'",
        ("label",),
        lambda facts: ~facts.there("label"),
    ),
    _unreadable("label", "a label that is no whole number", _LABELS),
    Rule(
        "label_out_of_range",
        "a label below 0 or above the largest",
        _LABELS,
        ("label",),
        lambda facts: (facts.read("label") < 0) | (facts.read("label") > facts.largest_label),
    ),
    Rule(
        "bad_swap_marker",
        "a swap marker that is none",
        "repair(swap_markers='clear')",
        ("swap",),
        lambda facts: has_marker(facts.read("swap")) & ~is_marker(facts.read("swap")),
    ),
    _unreadable("timestamp", "a timestamp that is none", "repair(bad_timestamps='clear')"),
    *(
        _unreadable(name, f"a layout {name} that is no whole number", "open the log without it")
        for name in ("row", "column")
    ),
)

SESSION_RULES = (
    Rule(
        "several_queries",
        "a session with more than one query",
        "repair(several_queries='split') makes each query a session of its own, 'drop' drops these sessions",
        ("session", "query"),
    ),
    Rule(
        "several_swap_markers",
        "a session with more than one swap marker",
        "repair(swap_markers='clear')",
        ("session", "swap"),
    ),
    Rule(
        "repeated_item",
        "an item more than once in a session (rows beyond the first)",
        "repair(repeated_items='first') or 'max_label'",
        ("session", "item"),
    ),
    Rule(
        "repeated_position",
        "a position more than once in a session (rows beyond the first)",
        "repair(repeated_positions='drop_sessions')",
        ("session", "position"),
    ),
    Rule(
        "position_gap",
        "a session with positions left out (how many)",
        "fine if the impressions there were not logged on purpose",
        ("session", "position"),
        note=True,
    ),
    Rule(
        "several_files",
        "a session whose rows are in more than one file",
        "fine here; days that are counted apart must not share sessions",
        ("session",),
        note=True,
    ),
)


def places(facts: Facts) -> Any:
    """How many rows each position of each session has."""
    rows = facts.raw.select(session=facts.identifier("session"), position=facts.read("position"))
    rows = rows.filter(rows.session.notnull() & rows.position.notnull())
    return rows.group_by(["session", "position"]).aggregate(rows=_.count())

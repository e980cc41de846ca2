"""Count what is wrong with a click log, rule by rule, and show examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import ibis
from ibis import _

from truerank.errors import InputError
from truerank.log.engines import Engine
from truerank.log.rules import LARGEST_LABEL, ROW_RULES, SESSION_RULES, Facts, Rule, places
from truerank.log.schema import COLUMNS, FILE, has_id


@dataclass(frozen=True, slots=True)
class Problem:
    """What breaks one rule: how many rows, in how many sessions, and the first few of them.

    `note` marks what may well be as it should be.
    """

    rule: str
    says: str
    rows: int
    sessions: int
    note: bool
    hint: str
    examples: tuple[Mapping[str, Any], ...] = ()

    def __str__(self) -> str:
        """A line of counts, then the examples and the hint."""
        mark = "note" if self.note else "wrong"
        lines = [f"{mark:<6}{self.rule:<22}{self.rows:>12,} rows {self.sessions:>10,} sessions  {self.says}"]
        lines += [
            "        " + ", ".join(f"{k}={v!r}" for k, v in row.items() if v is not None) for row in self.examples
        ]
        return "\n".join([*lines, f"        Hint: {self.hint}"])


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """What is wrong with a log: `problems` has every rule that applies, also those that nothing breaks."""

    rows: int
    sessions: int
    problems: tuple[Problem, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong; notes are fine."""
        return all(problem.rows == 0 or problem.note for problem in self.problems)

    @property
    def found(self) -> tuple[Problem, ...]:
        """The rules that something breaks."""
        return tuple(problem for problem in self.problems if problem.rows)

    def __getitem__(self, rule: str) -> Problem:
        """What breaks one rule."""
        for problem in self.problems:
            if problem.rule == rule:
                return problem
        raise KeyError(f"{rule!r} is none of the rules that were checked: {', '.join(p.rule for p in self.problems)}")

    def to_dict(self) -> dict[str, Any]:
        """All of it as numbers, text and lists."""
        return {
            "rows": self.rows,
            "sessions": self.sessions,
            "ok": self.ok,
            "problems": [asdict(p) for p in self.problems],
        }

    def __str__(self) -> str:
        """What was found, with examples and hints."""
        found = self.found
        head = f"{self.rows:,} rows in {self.sessions:,} sessions: "
        head += (
            f"{len(found)} of {len(self.problems)} rules broken" if found else f"all {len(self.problems)} rules kept"
        )
        return "\n".join([head, *map(str, found)])


def validate(
    raw: Any,
    engine: Engine,
    left_out: Mapping[str, Any],
    *,
    largest_label: int = LARGEST_LABEL,
    examples: int = 3,
) -> ValidationReport:
    """Check every rule that applies to a log, in three passes over it and one for each rule that is broken."""
    if type(largest_label) is not int or not 1 <= largest_label <= LARGEST_LABEL:
        raise InputError(f"largest_label is {largest_label!r}; it must be a whole number from 1 to {LARGEST_LABEL}")
    facts = Facts(raw, largest_label)
    rules = [rule for rule in (*ROW_RULES, *SESSION_RULES) if set(rule.about) <= set(raw.columns)]
    if FILE not in raw.columns:
        rules = [rule for rule in rules if rule.name != "several_files"]
    totals = _one_row(engine, _by_session(facts, rules))
    totals |= _one_row(engine, _by_position(facts)) | _one_row(engine, _by_item(facts))
    problems = []
    for rule in rules:
        rows, sessions = totals[f"{rule.name}_rows"] or 0, totals[f"{rule.name}_sessions"] or 0
        shown = _examples(engine, _offenders(facts, rule), examples) if rows else ()
        problems.append(Problem(rule.name, rule.says, rows, sessions, rule.note, rule.hint, shown))
    problems += _left_out(engine, left_out, examples)
    return ValidationReport(totals["rows"] or 0, totals["sessions"] or 0, tuple(problems))


def _by_session(facts: Facts, rules: list[Rule]) -> Any:
    """Rows and sessions, those that break each rule about rows, and sessions that have two of what they need one of."""
    flags = {rule.name: rule.wrong(facts).fill_null(False) for rule in rules if rule.wrong is not None}
    single = {rule.name: _one_a_session(facts, rule.name) for rule in rules if rule.name in _ONE_A_SESSION}
    rows = facts.raw.select(
        session=facts.identifier("session"), **flags, **{f"{n}_value": c for n, c in single.items()}
    )
    sessions = rows.group_by("session").aggregate(
        rows=_.count(),
        **{name: rows[name].sum() for name in flags},
        **{name: rows[f"{name}_value"].min() != rows[f"{name}_value"].max() for name in single},
    )
    named = sessions.session.notnull()
    several = {name: (sessions[name] & named).fill_null(False) for name in single}
    return sessions.aggregate(
        sessions=named.sum(),
        **{f"{name}_rows": sessions[name].sum() for name in flags},
        **{f"{name}_sessions": ((sessions[name] > 0) & named).sum() for name in flags},
        **{f"{name}_rows": sessions.rows.sum(where=wrong) for name, wrong in several.items()},
        **{f"{name}_sessions": wrong.sum() for name, wrong in several.items()},
        rows=sessions.rows.sum(),
    )


_ONE_A_SESSION = {"several_queries": "query", "several_swap_markers": "swap", "several_files": FILE}


def _one_a_session(facts: Facts, rule: str) -> Any:
    column = _ONE_A_SESSION[rule]
    if column == FILE:
        return facts.raw[FILE]
    return facts.read("swap").fill_null("") if column == "swap" else facts.identifier("query")


def _sessions_of_places(facts: Facts) -> Any:
    """Of each session the rows beyond the first at a position, the largest position, and how many there are from 1."""
    return (
        places(facts)
        .group_by("session")
        .aggregate(repeated=(_.rows - 1).sum(), largest=_.position.max(), different=(_.position >= 1).sum())
    )


def _by_position(facts: Facts) -> Any:
    sessions = _sessions_of_places(facts)
    gap = ibis.greatest(sessions.largest - sessions.different, 0)
    return sessions.aggregate(
        repeated_position_rows=sessions.repeated.sum(),
        repeated_position_sessions=(sessions.repeated > 0).sum(),
        position_gap_rows=gap.sum(),
        position_gap_sessions=(gap > 0).sum(),
    )


def _repeated_items(facts: Facts) -> Any:
    """Items of sessions that have more than one row."""
    rows = facts.raw.select(session=facts.identifier("session"), item=facts.identifier("item"))
    rows = rows.filter(rows.session.notnull() & rows.item.notnull())
    return rows.group_by(["session", "item"]).aggregate(rows=_.count()).filter(_.rows > 1)


def _by_item(facts: Facts) -> Any:
    items = _repeated_items(facts)
    return items.aggregate(repeated_item_rows=(items.rows - 1).sum(), repeated_item_sessions=items.session.nunique())


def _offenders(facts: Facts, rule: Rule) -> Any:
    """What breaks a rule: rows of the log, or what sessions have too many or too few of."""
    if rule.wrong is not None:
        kept = [name for name in (*COLUMNS, FILE) if name in facts.raw.columns]
        return (
            facts.raw.filter(rule.wrong(facts).fill_null(False))
            .select(*kept)
            .rename({"file": FILE} if FILE in kept else {})
        )
    if rule.name == "repeated_item":
        return _repeated_items(facts)
    if rule.name == "repeated_position":
        return places(facts).filter(_.rows > 1)
    if rule.name == "position_gap":
        sessions = _sessions_of_places(facts).filter(_.largest > _.different)
        return sessions.select("session", largest_position=_.largest, positions=_.different)
    value = _one_a_session(facts, rule.name)
    rows = facts.raw.select(session=facts.identifier("session"), value=value)
    rows = rows.filter(has_id(rows.session))
    sessions = rows.group_by("session").aggregate(first=_.value.min(), last=_.value.max())
    return sessions.filter(_.first != _.last)


def _examples(engine: Engine, rows: Any, how_many: int) -> tuple[Mapping[str, Any], ...]:
    """The first rows in the order of all their columns, so that each run shows the same."""
    return tuple(engine.collect(rows.order_by(*rows.columns).limit(how_many)).to_pylist())


def _left_out(engine: Engine, left_out: Mapping[str, Any], examples: int) -> Iterator[Problem]:
    for reason, rows in left_out.items():
        count = engine.collect(rows.aggregate(rows=rows.count()))["rows"][0].as_py()
        shown = _examples(engine, rows, examples) if count else ()
        yield Problem("left_out", reason, count, 0, True, "not part of the log", shown)


def _one_row(engine: Engine, expression: Any) -> dict[str, Any]:
    return engine.collect(expression).to_pylist()[0]  # type: ignore[no-any-return]

"""What a report shows: numbers and words that a run produced, kept as JSON so that it can be shown again."""

from __future__ import annotations

import dataclasses
import json
import os
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truerank.atomic import replace_whole
from truerank.errors import FileFormatError

FORMAT = "truerank.report"
FORMAT_VERSION = 1
Numbers = tuple[float, ...]
Table = tuple[Numbers, ...]


@dataclass(frozen=True, slots=True)
class Curve:
    """θ at positions 1, 2, 3, …: as estimated, with the ends of its intervals, and the truth if it is known."""

    method: str
    theta: Numbers
    low: Numbers
    high: Numbers
    truth: Numbers | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Joint:
    """P(both examined) for pairs of positions; `row_lengths` if the page is a grid."""

    model: str
    psi: Table
    row_lengths: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Clicks:
    """Clicks by position: as they are, and weighted by 1/θ; `relevant` is the true share of relevant items."""

    impressions: tuple[int, ...]
    clicks: tuple[int, ...]
    weighted: Numbers
    relevant: Numbers | None = None


@dataclass(frozen=True, slots=True)
class Score:
    """A model under a metric, with its interval and its change relative to the baseline."""

    model: str
    metric: str
    mean: float
    low: float
    high: float
    relative_change: float | None
    p_value: float | None
    significant: bool


@dataclass(frozen=True, slots=True)
class Gap:
    """How much of the way from clicks to labels a model goes: 0 no better than clicks, 1 as good as labels.

    `worst` and `best` are the values of the two ends, `low` and `high` a bootstrap interval of the share.
    """

    model: str
    metric: str
    share: float
    low: float
    high: float
    worst: float
    best: float


@dataclass(frozen=True, slots=True)
class Duel:
    """A model against another, list by list: how often it is better, and by how much."""

    model: str
    against: str
    metric: str
    wins: int
    ties: int
    losses: int
    edges: Numbers
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Training:
    """A metric every `step` trees; `on` says of what: clicks as they are, clicks weighted, or labels nobody has."""

    model: str
    metric: str
    on: str
    values: Numbers
    step: int = 1


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to know about the data: what, how much, and whether to worry."""

    what: str
    value: str
    fine: bool = True
    why: str = ""


@dataclass(frozen=True, slots=True)
class Study:
    """All that is known about one data set."""

    name: str
    about: str
    story: tuple[str, ...] = ()
    curve: Curve | None = None
    joint: Joint | None = None
    clicks: Clicks | None = None
    scores: tuple[Score, ...] = ()
    gaps: tuple[Gap, ...] = ()
    duels: tuple[Duel, ...] = ()
    training: tuple[Training, ...] = ()
    checks: tuple[Check, ...] = ()
    warnings: tuple[str, ...] = ()
    table: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What a run found, ready to be looked at: `save` keeps it, `to_html` shows it.

    >>> report = Report("A log", "One study.", (Study("web", "ten results"),), {"seed": "0"})
    >>> report.save("report.json")
    >>> Report.load("report.json") == report
    True
    """

    title: str
    summary: str
    studies: tuple[Study, ...]
    made: Mapping[str, str]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything as JSON, whole or not at all."""
        document = {"format": FORMAT, "version": FORMAT_VERSION, **dataclasses.asdict(self)}
        with replace_whole(path) as temporary:
            temporary.write_text(json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1) + "\n", "utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Report:
        """Read what `save` wrote."""
        try:
            document = json.loads(Path(path).read_text(encoding="utf-8"))
            found = (document.pop("format"), document.pop("version"))
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise FileFormatError(f"{path} is not a report saved by truerank: {error!r}") from error
        if found != (FORMAT, FORMAT_VERSION):
            raise FileFormatError(f"{path} has format and version {found}; this reads {(FORMAT, FORMAT_VERSION)}")
        try:
            report: Report = _read(cls, document)
            return report
        except (KeyError, TypeError, ValueError) as error:
            raise FileFormatError(f"{path} is a damaged report: {error!r}") from error

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write one HTML page that needs nothing else, no network either."""
        from truerank.report.page import render

        page = render(self)
        with replace_whole(path) as temporary:
            temporary.write_text(page, encoding="utf-8")


def _read(kind: Any, value: Any) -> Any:
    """The value that JSON kept, in the type that it had."""
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return kind(**{name: _read(hints[name], inner) for name, inner in value.items()})  # type: ignore[operator]
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        return tuple(_read(arguments[0], inner) for inner in value)
    if origin is types.UnionType:
        return None if value is None else _read(arguments[0], value)
    return value

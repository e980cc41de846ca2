"""A click log in a few numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from ibis import _

from truerank.log.counts import position_counts
from truerank.log.engines import Engine
from truerank.log.intervals import wilson_interval
from truerank.types import FloatArray, PositionCounts


@dataclass(frozen=True, slots=True)
class LogSummary:
    """What a click log holds.

    Attributes:
        sessions, lists, items: how many sessions, different queries and different items there are.
        list_items: how many different items of lists: the rows of features that training needs.
        pages: how many different sets of items were shown for a query.
        impressions, clicks: rows, and rows with a label above 0.
        sessions_without_click: sessions all of whose labels are 0.
        positions: impressions and clicks by position.
    """

    sessions: int
    lists: int
    items: int
    list_items: int
    pages: int
    impressions: int
    clicks: int
    sessions_without_click: int
    positions: PositionCounts

    @property
    def share_without_click(self) -> float:
        """The share of the sessions in which nothing was clicked."""
        return self.sessions_without_click / max(self.sessions, 1)

    @property
    def merge_factor(self) -> float:
        """Sessions per different list with `merge="exact"`: what summing sessions that show the same items saves."""
        return self.sessions / max(self.pages, 1)

    @property
    def merge_factor_by_query(self) -> float:
        """Sessions per different list with `merge="query"`, one list a query."""
        return self.sessions / max(self.lists, 1)

    @property
    def click_rates(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """For each position its click rate, and the lower and upper end of its 95 % Wilson interval."""
        counts = self.positions
        return counts.clicks / np.maximum(counts.impressions, 1), *wilson_interval(counts.clicks, counts.impressions)

    def to_dict(self) -> dict[str, Any]:
        """All of it as numbers, text and lists, ready for JSON."""
        rate, low, high = self.click_rates
        names = ("sessions", "lists", "items", "list_items", "pages", "impressions", "clicks")
        counts = self.positions
        return {
            **{name: getattr(self, name) for name in names},
            "share_without_click": self.share_without_click,
            "merge_factor": self.merge_factor,
            "merge_factor_by_query": self.merge_factor_by_query,
            "positions": [
                dict(zip(("position", "impressions", "clicks", "click_rate", "low", "high"), row, strict=True))
                for row in zip(
                    *(a.tolist() for a in (counts.position, counts.impressions, counts.clicks, rate, low, high)),
                    strict=True,
                )
            ],
        }

    def __str__(self) -> str:
        """The numbers one a line, then a line a position."""
        what = (
            ("sessions", f"{self.sessions:,}"),
            ("  without a click", f"{self.share_without_click:.1%}"),
            ("lists", f"{self.lists:,}"),
            ("items", f"{self.items:,}"),
            ("items of lists", f"{self.list_items:,}"),
            ("different pages", f"{self.pages:,}"),
            ("impressions", f"{self.impressions:,}"),
            ("clicks", f"{self.clicks:,}"),
            ("sessions per page", f"{self.merge_factor:.1f}"),
            ("sessions per list", f"{self.merge_factor_by_query:.1f}"),
        )
        lines = [f"{name:<20}{value:>14}" for name, value in what]
        lines += ["", "position  impressions       clicks  click rate  95 % interval"]
        counts = self.positions
        rows = zip(counts.position, counts.impressions, counts.clicks, *self.click_rates, strict=True)
        lines += [f"{k:>8}{n:>13,}{c:>13,}{r:>12.4f}  {a:.4f}–{b:.4f}" for k, n, c, r, a, b in rows]
        return "\n".join(lines)


def summarize(table: Any, engine: Engine) -> LogSummary:
    """Count a log.

    Sessions show the same page if they have the same query, number, smallest, largest and sum of the hashes of their
    items: two pages are taken for one with a chance of about 1 in 2⁶⁴ each (2³² where hashes have 32 bits).
    """
    sessions = table.group_by(["session", "query"]).aggregate(
        rows=table.count(),
        clicks=(table.label > 0).sum(),
        least=table.item.min(),
        most=table.item.max(),
        hashes=table.item.hash().sum(),
    )
    pages = sessions.group_by(["query", "rows", "least", "most", "hashes"]).aggregate(
        sessions=_.count(), impressions=_.rows.sum(), clicks=_.clicks.sum(), without=(_.clicks == 0).sum()
    )
    of_lists = table.select("query", "item").distinct()
    parts = {
        **_one_row(engine, pages.aggregate(
            sessions=_.sessions.sum(), pages=_.count(), impressions=_.impressions.sum(), clicks=_.clicks.sum(),
            sessions_without_click=_.without.sum(),
        )),
        **_one_row(engine, of_lists.aggregate(
            list_items=_.count(), lists=_.query.nunique(), items=_.item.nunique(),
        )),
    }  # fmt: skip
    return LogSummary(**{name: value or 0 for name, value in parts.items()}, positions=position_counts(table, engine))


def _one_row(engine: Engine, expression: Any) -> dict[str, int]:
    return engine.collect(expression).to_pylist()[0]  # type: ignore[no-any-return]

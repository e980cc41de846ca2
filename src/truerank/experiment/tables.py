"""Tables 1 and 2 of the paper: one for each way of looking at a page, a block for each truncation position."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from truerank.atomic import replace_whole
from truerank.experiment.cells import Cell, cell_for
from truerank.experiment.config import Config
from truerank.experiment.methods import METHODS
from truerank.metrics import Comparison, adjust_together, evaluate
from truerank.metrics.table_formats import html, latex, markdown, text
from truerank.metrics.tables import Table, tabulate
from truerank.types import FloatArray, JudgedLists

METRICS = ("ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "map")
FRAME = ("robust", "ratio-2")
Comparisons: TypeAlias = Mapping[str, Mapping[int, Comparison]]
"""By browsing model and truncation position."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format of tables: its file, and how titles and tables are set."""

    file: str
    title: Callable[[str], str]
    table: Callable[[Table], str]


FORMATS = {
    "text": Format("tables.txt", str, text),
    "markdown": Format("tables.md", lambda title: f"**{title}**", markdown),
    "latex": Format("tables.tex", lambda title: f"% {title}", latex),
    "html": Format("tables.html", lambda title: f"<h2>{title}</h2>", html),
}


def compare(config: Config, test: JudgedLists, scores: Callable[[Cell], FloatArray]) -> Comparisons:
    """Evaluate every model on the golden labels of the test lists; values are means over seeds, list by list.

    Lists without a relevant item are dropped, NDCG has gain 2^y − 1, and p-values are corrected for all tests of all
    tables at once.
    """

    def one(browsing: str, truncation: int) -> Comparison:
        models = {
            METHODS[method].title: np.stack(
                [scores(cell_for(truncation, browsing, method, seed)) for seed in config.seeds]
            )
            for method in config.methods
        }
        return evaluate(models, test.labels, test.group, METRICS)

    places = [(browsing.name, truncation) for browsing in config.browsing for truncation in config.truncation_positions]
    adjusted = dict(zip(places, adjust_together([one(*place) for place in places]), strict=True))
    return {b.name: {t: adjusted[b.name, t] for t in config.truncation_positions} for b in config.browsing}


def tables_of(config: Config, comparisons: Comparisons) -> dict[str, Table]:
    """A table for each browsing model, under its title."""
    frame = (METHODS[FRAME[0]].title, METHODS[FRAME[1]].title) if set(FRAME) <= set(config.methods) else None
    return {
        f"Table {number}. Examination: {browsing}": tabulate(
            {str(truncation): comparison for truncation, comparison in blocks.items()}, frame, "Trunc. pos."
        )
        for number, (browsing, blocks) in enumerate(comparisons.items(), start=1)
    }


def formatted(tables: Mapping[str, Table], form: str) -> str:
    """All tables with their titles, in one of FORMATS."""
    way = FORMATS[form]
    return "\n\n".join(f"{way.title(title)}\n\n{way.table(table)}" for title, table in tables.items()) + "\n"


def write_tables(tables: Mapping[str, Table], folder: Path) -> None:
    """Write the tables in every format."""
    for form, way in FORMATS.items():
        with replace_whole(folder / way.file) as temporary:
            temporary.write_text(formatted(tables, form), encoding="utf-8")

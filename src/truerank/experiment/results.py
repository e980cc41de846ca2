"""Run experiments, or go on where they were, and write a page that says which of the paper's claims hold.

python -m truerank.experiment.results experiments/web.toml --runs results --out docs/results.md
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from truerank.atomic import replace_whole
from truerank.experiment.claims import CLAIMS, HOLDS, Finding, check_claims
from truerank.experiment.methods import METHODS
from truerank.experiment.reproduce import Reproduction, reproduce

_HEAD = """# Results: which of the paper's claims hold

Written by `make results`, which runs experiments of `experiments/` (`truerank reproduce`), or goes on where they were,
and holds the claims of Section 6 of the paper against the numbers. Nothing but the notes on data is typed by hand.

A claim is made of differences in mean NDCG@1, 3, 5 and 10 between two models, one for each truncation position (and way
of looking at a page). Each is tested with a paired two-sided t-test over the test lists, Holm-corrected over all
differences of all claims of a data set. A claim **holds** if all its differences go that way and some significantly; it
**holds in part** if more of them are significant that way than the other; it **cannot be told** if none is significant;
otherwise it **does not hold**. The tests speak of other test lists, not of other clicks: where there is one seed,
another one may move what is close.
"""

_PROTOCOL = """## How it was run

The protocol is the paper's: the logged ranking cut at a position, lists without a relevant item dropped, each list
shown as often as given, P(relevant) = (2^y − 1) / (2^y_max − 1), examination 1/rank, each session redrawn until it has
a click; tests on whole lists with golden labels. What is not the paper's:

- The data are not Yahoo C14, which may not be passed on; the logged ranking is that of a linear Ranking SVM trained on
  a part of the lists (1 % in the paper's), which stay among those that are shown.
- The sessions of a list are summed before training, which leaves the gradient what it is. A leaf's least number of
  rows, 50 of the log, is ⌈50 / sessions⌉ of the summed table, and bagging leaves out items, not single impressions.
- All rows, also the two of LambdaMART, are trained by the same objective without LightGBM's own normalisation, so that
  they differ in the weights of their pairs alone. Labels count as often as a list is shown.
"""


@dataclass(frozen=True, slots=True)
class _Part:
    """What one experiment has to say."""

    run: Reproduction
    findings: tuple[Finding, ...]

    @property
    def title(self) -> str:
        return self.run.config.title or self.run.config.dataset.name

    def text(self) -> str:
        """The section of this experiment."""
        note, gaps = self.run.config.note.strip(), _closed_gaps(self.run)
        findings = [f"- {finding.claim}: {finding}." for finding in self.findings]
        lines = [f"## {self.title}", "", *([note, ""] if note else []), *findings, *gaps, "", self._effort(), ""]
        return "\n".join([*lines, self.run.tables("markdown")])

    def _effort(self) -> str:
        config, trained = self.run.config, self.run.trained.values()
        seconds, cpu = (sum(getattr(t, name) for t in trained) for name in ("seconds", "cpu_seconds"))
        peak = max(model.peak_megabytes for model in trained)
        memory = f", and at most {peak / 1000:.1f} GB a process" if peak else ""
        seeds, trees = ", ".join(map(str, config.seeds)), int(config.booster["n_estimators"])
        return (
            f"{config.sessions_per_list} sessions a list; seeds {seeds}; {len(trained)} models of {trees} trees took "
            f"{cpu / 60:.1f} minutes of CPU time ({seconds / 60:.1f} minutes by the clock, added up){memory}."
        )


def write_results(configs: Sequence[Path], runs: Path, out: Path, jobs: int = 1) -> None:
    """Run the experiments and write the page."""
    parts = []
    for config in configs:
        run = reproduce(config, runs / config.stem, jobs=jobs, progress=_Told(config.stem))
        parts.append(_Part(run, check_claims(run.config, run.comparisons)))
    out.parent.mkdir(parents=True, exist_ok=True)
    with replace_whole(out) as temporary:
        temporary.write_text("\n".join([_HEAD, _overview(parts), *(p.text() for p in parts), _PROTOCOL]), "utf-8")


def _overview(parts: Sequence[_Part]) -> str:
    """Claims by data sets."""
    lines = ["| claim | " + " | ".join(part.title for part in parts) + " |", "| --- |" + " --- |" * len(parts)]
    for claim in CLAIMS:
        found = [next((f.verdict for f in part.findings if f.claim == claim), "—") for part in parts]
        cells = [f"**{verdict}**" if verdict == HOLDS else verdict for verdict in found]
        lines.append(f"| {claim} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _closed_gaps(run: Reproduction) -> list[str]:
    """How much of the distance in NDCG@10 between p = 0 and Robust regularisation closes, where there is one."""
    told = []
    for truncation, comparison in run.comparisons.get("continuous", {}).items():
        titles = [METHODS[name].title for name in ("ratio-0", "robust", "ratio-1", "ratio-2")]
        if not set(titles) <= set(comparison.models):
            return []
        start, goal, *regularised = (comparison[title, "ndcg@10"].mean for title in titles)
        if goal > start:
            shares = (f"{(mean - start) / (goal - start):.0%}" for mean in regularised)
            told.append(f"{' and '.join(shares)} at {truncation}")
    if not told:
        return []
    return [f"- Of the way from Unbiased LambdaMART to Robust in NDCG@10, L1 and L2 go {', '.join(told)}."]


class _Told:
    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, done: float, total: float, what: str) -> None:
        print(f"{self._name}: {done / total:4.0%}  {what}", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the experiments named on the command line and write the page."""
    parser = argparse.ArgumentParser(prog="python -m truerank.experiment.results", description=__doc__)
    parser.add_argument("configs", nargs="+", type=Path, help="experiments, as TOML files")
    parser.add_argument("--runs", type=Path, default=Path("results"), help="the folder of their folders")
    parser.add_argument("--out", type=Path, default=Path("docs/results.md"), help="the page to write")
    parser.add_argument("--jobs", type=int, default=1, help="how many models are trained at a time")
    options = parser.parse_args(arguments)
    write_results(options.configs, options.runs, options.out, options.jobs)


if __name__ == "__main__":
    main()

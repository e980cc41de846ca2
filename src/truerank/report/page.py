"""A report as one HTML page: words, charts, and for every chart its table; scripts and styles are all inside."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from typing import Any

from truerank.report.data import Report, Study
from truerank.report.figures import Figure, figures_of

# Nothing may be fetched: what is not in the page does not load, in any browser.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)


@dataclass
class _Charts:
    """The charts of a page, by the id of their place."""

    specs: dict[str, Any] = field(default_factory=dict)

    def place(self, chart: Any, says: str) -> str:
        """Keep a chart, and give the HTML of its place."""
        name = f"chart-{len(self.specs) + 1}"
        self.specs[name] = {**chart.to_dict(), "description": says, "config": _CONFIG, "background": "transparent"}
        return f'<div class="chart" id="{name}"></div>'


_FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif'
_CONFIG = {
    "font": _FONT,
    "view": {"stroke": None},
    "axis": {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "domain": False, "labelLimit": 140},
    "axisX": {"grid": False, "domain": True},
    "axisBand": {"domain": False, "ticks": False, "labelFontSize": 13},
    "legend": {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"},
    "autosize": {"type": "fit-x", "contains": "padding", "resize": True},
}


def render(report: Report) -> str:
    """The page."""
    charts = _Charts()
    studies = "".join(_study(study, charts) for study in report.studies)
    links = "".join(f'<a href="#{_anchor(study)}">{escape(study.name)}</a>' for study in report.studies)
    style, script = (files("truerank.report").joinpath(name).read_text("utf-8") for name in ("page.css", "page.js"))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<link rel="icon" href="data:,">
<title>{escape(report.title)} · truerank</title>
<style>
{style}</style>
</head>
<body>
<header>
<p class="brand">truerank report</p>
<h1>{escape(report.title)}</h1>
<p class="lead">{escape(report.summary)}</p>
<nav>{links}<a href="#made">How it was made</a></nav>
</header>
<main>
{studies}</main>
<footer id="made">
<h2>How it was made</h2>
{_table(["", ""], [(name, value) for name, value in report.made.items()])}
</footer>
<script type="application/json" id="charts">{_safe(charts.specs)}</script>
<script>{_drawing_library()}</script>
<script>
{script}</script>
</body>
</html>
"""


def _study(study: Study, charts: _Charts) -> str:
    story = "".join(f"<li>{escape(line)}</li>" for line in study.story)
    figures = "".join(_figure(figure, charts) for figure in figures_of(study))
    return f"""<section id="{_anchor(study)}">
<h2>{escape(study.name)}</h2>
<p>{escape(study.about)}</p>
{_facts(study)}
{f'<ul class="story">{story}</ul>' if story else ""}
<div class="figures">
{figures}{_health(study)}{_comparison(study)}</div>
</section>
"""


def _facts(study: Study) -> str:
    """The shares of the gap by the last metric, large."""
    metric = study.gaps[-1].metric if study.gaps else ""
    boxes = "".join(
        f'<div class="fact"><b>{gap.share:.0%}</b><span>of the gap closed by {escape(gap.model)} '
        f"({escape(gap.metric)}, {gap.low:.0%} to {gap.high:.0%})</span></div>"
        for gap in study.gaps
        if gap.metric == metric
    )
    return f'<div class="facts">{boxes}</div>' if boxes else ""


def _figure(figure: Figure, charts: _Charts) -> str:
    titles = figure.titles or ("",) * len(figure.charts)
    says = f"{figure.title}. {figure.how}"
    places = "".join(
        f"<div>{f'<h4>{escape(title)}</h4>' if title else ''}{charts.place(chart, says)}</div>"
        for title, chart in zip(titles, figure.charts, strict=True)
    )
    several = " several" if len(figure.charts) > 1 else ""
    return f"""<figure{' class="wide"' if figure.wide else ""}>
<figcaption><h3>{escape(figure.title)}</h3><p>{escape(figure.how)}</p></figcaption>
<div class="panels{several}"{f' style="--least:{figure.least}"' if figure.least else ""}>{places}</div>
<details><summary>The numbers</summary>{_table(figure.head, figure.rows)}</details>
</figure>
"""


def _health(study: Study) -> str:
    if not (study.checks or study.warnings):
        return ""
    rows = "".join(
        f'<tr><td>{escape(check.what)}</td><td>{escape(check.value)}</td><td class="words '
        f'{"fine" if check.fine else "worry"}">{"✓" if check.fine else "⚠"} {escape(check.why)}</td></tr>'
        for check in study.checks
    )
    warnings = "".join(f"<li>{escape(warning)}</li>" for warning in study.warnings)
    return f"""<figure class="wide">
<figcaption><h3>Health of the data</h3></figcaption>
<div class="scroll"><table><tbody>{rows}</tbody></table></div>
{f"<p>Worth knowing:</p><ul>{warnings}</ul>" if warnings else ""}
</figure>
"""


def _comparison(study: Study) -> str:
    if not study.table:
        return ""
    return f"""<figure class="wide">
<figcaption><h3>The comparison, in the paper's form</h3></figcaption>
<pre>{escape(study.table)}</pre>
</figure>
"""


def _table(head: Any, rows: Any) -> str:
    top = "".join(f"<th>{escape(str(name))}</th>" for name in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(_shown(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    top = f"<thead><tr>{top}</tr></thead>" if any(head) else ""
    return f'<div class="scroll"><table>{top}<tbody>{body}</tbody></table></div>'


def _shown(cell: Any) -> str:
    if cell is None:
        return "–"
    return f"{cell:.4g}" if isinstance(cell, float) else f"{cell:,}" if isinstance(cell, int) else str(cell)


def _anchor(study: Study) -> str:
    return "study-" + "".join(c if c.isascii() and c.isalnum() else "-" for c in study.name.lower())


def _safe(value: Any) -> str:
    """JSON that cannot end the script it stands in."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _drawing_library() -> str:
    """Vega, Vega-Lite and vega-embed, of the version that Altair writes for, or the newest known."""
    import altair
    import vl_convert

    wanted = ".".join(altair.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    known = vl_convert.get_vegalite_versions()
    version = wanted if wanted in known else known[-1]
    script: str = vl_convert.javascript_bundle(vl_version=version)  # type: ignore[call-arg]
    return script.replace("</script", "<\\/script")

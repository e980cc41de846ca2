"""The charts of a report, as Vega-Lite: each one view as wide as its place, its colours told apart by everyone.

Texts and axes take their colours from the page (`page.css`), so that one drawing is right in the light, in the dark and
in print. Series differ by colour and by shape or dash; all colours keep a contrast of 3 to both backgrounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from truerank.report.data import Clicks, Curve, Duel, Gap, Joint, Score, Training

Row = dict[str, Any]

# After Okabe and Ito, made to stand on white and on black.
VERMILLION, PURPLE, BLUE, GREY, GREEN, AMBER = "#D55E00", "#B65A9C", "#1B7FC4", "#7F858D", "#0F9B74", "#B97A00"
PALETTE = (VERMILLION, PURPLE, BLUE, GREY, GREEN, AMBER)
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [1, 3])
SHAPES = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down")
INK = "currentColor"
_MOST_LABELLED = 10


def examination_curve(curve: Curve) -> alt.LayerChart:
    """θ by position with its intervals, beside the truth where it is known."""
    rows: list[Row] = [
        {"position": k + 1, "θ": theta, "low": low, "high": high, "series": "estimated"}
        for k, (theta, low, high) in enumerate(zip(curve.theta, curve.low, curve.high, strict=True))
    ]
    names = ["estimated"]
    if curve.truth is not None:
        rows += [{"position": k + 1, "θ": theta, "series": "truth"} for k, theta in enumerate(curve.truth)]
        names.append("truth")
    base = _chart(rows).encode(x=_position(len(curve.theta)))
    lines = _lines(base, "θ", "looked at (θ)", names, (BLUE, GREEN), scale=alt.Scale(domain=[0, 1.05], clamp=True))
    bars = (
        base.transform_filter("datum.low != null")
        .mark_rule(strokeWidth=6, opacity=0.35, color=BLUE)
        .encode(y=alt.Y("low:Q", title="looked at (θ)"), y2="high:Q")
    )
    return _finished(bars + lines, 260)


def joint_table(joint: Joint) -> alt.LayerChart:
    """ψ for every pair of positions."""
    rows = [
        {"one": i + 1, "other": j + 1, "ψ": value} for i, line in enumerate(joint.psi) for j, value in enumerate(line)
    ]
    base = _chart(rows).encode(
        x=alt.X("one:O", title="position", axis=alt.Axis(labelAngle=0)), y=alt.Y("other:O", title="other position")
    )
    cells = base.mark_rect().encode(color=_share("ψ", "both looked at"), tooltip=["one:O", "other:O", _rounded("ψ")])
    if len(joint.psi) > _MOST_LABELLED:
        return _finished(alt.layer(cells), 340)
    return _finished(cells + _cell_text(base, "ψ"), 340)


def joint_grids(joint: Joint) -> dict[str, alt.LayerChart]:
    """A grid, by title: how likely each place is looked at, and how likely given that some place is."""
    places = [(row, column) for row, length in enumerate(joint.row_lengths or ()) for column in range(length)]
    n = len(places)
    theta = [joint.psi[k][k] for k in range(n)]
    rows_of_page = sorted({row for row, _ in places})
    anchors = [places.index((row, 0)) for row in (rows_of_page[0], rows_of_page[len(rows_of_page) // 2])]
    panels = {"looked at": _grid(places, theta, None)}
    for anchor in dict.fromkeys([*anchors, n - 1]):
        values = [joint.psi[anchor][k] / theta[anchor] for k in range(n)]
        panels[f"… if place {anchor + 1} is"] = _grid(places, values, anchor)
    return panels


def clicks_by_position(clicks: Clicks) -> alt.LayerChart:
    """Clicks as they are and weighted, relative to position 1."""
    rates = [c / max(n, 1) for c, n in zip(clicks.clicks, clicks.impressions, strict=True)]
    weighted = [w / max(n, 1) for w, n in zip(clicks.weighted, clicks.impressions, strict=True)]
    series = {"clicks as they are": rates, "clicks, weighted by 1/θ": weighted}
    if clicks.relevant is not None:
        series["relevant in truth"] = list(clicks.relevant)
    rows = [
        {"position": k + 1, "value": value / values[0], "series": name}
        for name, values in series.items()
        if values[0] > 0
        for k, value in enumerate(values)
    ]
    base = _chart(rows).encode(x=_position(len(rates)))
    lines = _lines(base, "value", "relative to position 1", list(series), (VERMILLION, BLUE, GREEN))
    return _finished(lines, 260)


def score_bars(scores: Sequence[Score]) -> alt.LayerChart:
    """Means with intervals, model beside model for each metric; a star where the change is significant."""
    models, metrics = _unique(s.model for s in scores), _unique(s.metric for s in scores)
    rows = [
        {"model": s.model, "metric": s.metric, "mean": s.mean, "low": s.low, "high": s.high, "said": _said(s)}
        for s in scores
    ]
    base = _grouped(rows, metrics, models)
    widest = max(s.high for s in scores)
    x = alt.X("mean:Q", title="mean over test lists", scale=_with_room(0.0, widest, 95))
    bars = base.mark_bar(opacity=0.85).encode(x=x, color=_colour(models), tooltip=["model:N", "metric:N", "said:N"])
    rules = base.mark_rule(color=INK, strokeWidth=1.5).encode(x=alt.X("low:Q"), x2="high:Q")
    text = base.mark_text(align="left", dx=6, color=INK, fontSize=11).encode(x=alt.X("high:Q"), text="said:N")
    return _finished(bars + rules + text, _tall(metrics, models))


def gap_bars(gaps: Sequence[Gap], models: Sequence[str]) -> alt.LayerChart:
    """How much of the gap each model closes; the colours are those that `models` have in the other charts."""
    metrics = _unique(g.metric for g in gaps)
    shown = _unique(g.model for g in gaps)
    rows = [
        {"model": g.model, "metric": g.metric, "share": g.share, "low": g.low, "high": g.high, "said": f"{g.share:.0%}"}
        for g in gaps
    ]
    base = _grouped(rows, metrics, shown)
    low, high = min(0.0, *(g.low for g in gaps)), max(1.05, *(g.high for g in gaps))
    x = alt.X(
        "share:Q",
        title="0 %: clicks as they are · 100 %: labels",
        axis=alt.Axis(format="%", values=[0, 0.25, 0.5, 0.75, 1]),
        scale=_with_room(low, high, 45),
    )
    bars = base.mark_bar(opacity=0.85).encode(x=x, color=_colour(models, shown))
    rules = base.mark_rule(color=INK, strokeWidth=1.5).encode(x=alt.X("low:Q"), x2="high:Q")
    text = base.mark_text(align="left", dx=6, color=INK, fontSize=12, fontWeight="bold")
    labels = text.encode(x=alt.X("high:Q"), text="said:N")
    goal = _chart([{"x": 1.0}]).mark_rule(color=INK, strokeDash=[4, 3]).encode(x="x:Q")
    return _finished(bars + rules + labels + goal, _tall(metrics, shown))


def duel_histogram(duel: Duel) -> alt.LayerChart:
    """Lists by how much one model is better or worse; lists without a difference are left out."""
    rows = [
        {"from": low, "to": high, "lists": count, "who": duel.model if low >= 0 else duel.against}
        for low, high, count in zip(duel.edges, duel.edges[1:], duel.counts, strict=False)
        if count
    ]
    colour = alt.Color(
        "who:N",
        scale=alt.Scale(domain=[duel.model, duel.against], range=[BLUE, VERMILLION]),
        legend=_legend(),
    )
    bars = _chart(rows).mark_bar(binSpacing=1).encode(
        x=alt.X("from:Q", bin="binned", title=f"difference in {duel.metric} of a list"),
        x2="to:Q",
        y=alt.Y("lists:Q", title="lists"),
        color=colour,
        tooltip=[_rounded("from"), _rounded("to"), "lists:Q"],
    )  # fmt: skip
    zero = _chart([{"x": 0}]).mark_rule(color=INK).encode(x="x:Q")
    return _finished(bars + zero, 240)


def training_curves(curves: Sequence[Training], models: Sequence[str]) -> alt.LayerChart:
    """A metric by the number of trees, a line a model."""
    shown = _unique(c.model for c in curves)
    rows = [
        {"trees": (k + 1) * c.step, "value": value, "series": c.model}
        for c in curves
        for k, value in enumerate(c.values)
    ]
    colours = [PALETTE[list(models).index(name) % len(PALETTE)] for name in shown]
    base = _chart(rows).encode(x=alt.X("trees:Q", title="trees"))
    scale = alt.Scale(zero=False)
    return _finished(_lines(base, "value", curves[0].metric, shown, colours, scale=scale, points=False), 240)


def _chart(rows: list[Row]) -> alt.Chart:
    return alt.Chart(alt.InlineData(values=rows))


def _finished(chart: alt.LayerChart, height: int) -> alt.LayerChart:
    finished: alt.LayerChart = chart.properties(width="container", height=height)
    return finished


def _with_room(low: float, high: float, pixels: int) -> alt.Scale:
    """A scale that leaves room for words behind the longest bar, however narrow the chart."""
    top = f"{low} + {high - low} * width / max(width - {pixels}, 40)"
    return alt.Scale(domainMin=low, domainMax=alt.ExprRef(top), nice=False)


def _legend(columns: Any = None, **more: Any) -> alt.Legend:
    """A legend above the chart, one below the other where the chart is narrow."""
    columns = columns or alt.ExprRef("width < 330 ? 1 : 2")
    return alt.Legend(orient="top", title=None, columns=columns, labelLimit=300, **more)


def _position(n: int) -> alt.X:
    ticks = list(range(1, n + 1)) if n <= _MOST_LABELLED else [1, *range(5, n + 1, 5)]
    return alt.X(
        "position:Q",
        title="position",
        axis=alt.Axis(values=ticks, format="d"),
        scale=alt.Scale(domain=[0.5, n + 0.5], nice=False),
    )


def _lines(
    base: alt.Chart,
    field: str,
    title: str,
    names: Sequence[str],
    colours: Sequence[str],
    scale: Any = alt.Undefined,
    points: bool = True,
) -> alt.LayerChart:
    """A line a series, told apart by colour and by the shape of its points, or by dash where there are none."""
    domain, n = list(names), len(names)
    legend = _legend(symbolSize=90) if points else _legend(1)  # lines alone are drawn in narrow panels
    y = alt.Y(f"{field}:Q", title=title, scale=scale)
    colour = alt.Color("series:N", scale=alt.Scale(domain=domain, range=list(colours)[:n]), legend=legend)
    lines = base.mark_line(strokeWidth=2).encode(y=y, color=colour)
    if not points:
        dashes = alt.Scale(domain=domain, range=list(DASHES[:n]))
        return alt.layer(lines.encode(strokeDash=alt.StrokeDash("series:N", scale=dashes, legend=legend)))
    shape = alt.Shape("series:N", scale=alt.Scale(domain=domain, range=list(SHAPES[:n])), legend=legend)
    dots = base.mark_point(filled=True, size=60, opacity=1)
    tooltip = ["series:N", "position:Q", _rounded(field)]
    return lines + dots.encode(y=y, color=colour, shape=shape, tooltip=tooltip)


def _grouped(rows: list[Row], metrics: Sequence[str], models: Sequence[str]) -> alt.Chart:
    grouped: alt.Chart = _chart(rows).encode(
        y=alt.Y("metric:N", sort=list(metrics), title=None),
        yOffset=alt.YOffset("model:N", sort=list(models), scale=alt.Scale(domain=list(models), paddingInner=0.15)),
    )
    return grouped


def _colour(models: Sequence[str], shown: Sequence[str] | None = None) -> alt.Color:
    names = list(models if shown is None else shown)
    colours = [PALETTE[list(models).index(name) % len(PALETTE)] for name in names]
    legend = _legend(symbolType="square")
    return alt.Color("model:N", scale=alt.Scale(domain=names, range=colours), legend=legend)


def _grid(places: list[tuple[int, int]], values: list[float], anchor: int | None) -> alt.LayerChart:
    rows = [
        {"column": column + 1, "row": row + 1, "place": k + 1, "share": values[k]}
        for k, (row, column) in enumerate(places)
    ]
    base = _chart(rows).encode(
        x=alt.X("column:O", title=None, axis=alt.Axis(labels=False, ticks=False, domain=False)),
        y=alt.Y("row:O", title=None, axis=alt.Axis(labels=False, ticks=False, domain=False)),
    )
    cells = base.mark_rect().encode(color=_share("share", None), tooltip=["place:O", _rounded("share")])
    chart = cells + _cell_text(base, "share")
    if anchor is not None:
        here = base.transform_filter(f"datum.place == {anchor + 1}")
        chart = chart + here.mark_rect(filled=False, stroke=VERMILLION, strokeWidth=3)
    height = 34 * (max(row for row, _ in places) + 1)
    return _finished(chart, height)


def _share(field: str, title: str | None) -> alt.Color:
    legend = None if title is None else alt.Legend(title=title, orient="top", gradientLength=160, format=".1f")
    return alt.Color(f"{field}:Q", scale=alt.Scale(scheme="cividis", domain=[0, 1]), legend=legend)


def _cell_text(base: alt.Chart, field: str) -> alt.Chart:
    contrast = alt.condition(f"datum['{field}'] > 0.5", alt.value("#000"), alt.value("#fff"))
    text: alt.Chart = base.mark_text(fontSize=10).encode(text=alt.Text(f"{field}:Q", format=".2f"), color=contrast)
    return text


def _rounded(field: str) -> alt.Tooltip:
    return alt.Tooltip(f"{field}:Q", format=".4f")


def _said(score: Score) -> str:
    change = "" if score.relative_change is None else f"  {score.relative_change:+.1%}{'*' * score.significant}"
    return f"{score.mean:.3f}{change}"


def _tall(metrics: Sequence[str], models: Sequence[str]) -> int:
    return len(metrics) * (18 * len(models) + 14)


def _unique(names: Any) -> list[str]:
    return list(dict.fromkeys(names))

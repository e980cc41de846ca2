"""A table as plain text, Markdown, LaTeX and HTML."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from html import escape

from truerank.metrics.tables import NOTHING, Cell, Table

_MARKDOWN_ESCAPES = str.maketrans({c: f"\\{c}" for c in r"\`*_[]<>|#~&$"})
_SIGNS = "0123456789+-"  # high and low ones have letters of their own, which LaTeX's usual fonts lack
_LATEX_ESCAPES = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}"}
    | {">": r"\textgreater{}", "|": r"\textbar{}", NOTHING: "---"}
    | {"[": "{[}", "]": "{]}", "*": "{*}"}  # a row that began with [ or * would be read as an argument of the \\ above
    | {raised: f"\\textsuperscript{{{sign}}}" for raised, sign in zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", _SIGNS, strict=True)}
    | {lowered: f"\\textsubscript{{{sign}}}" for lowered, sign in zip("₀₁₂₃₄₅₆₇₈₉₊₋", _SIGNS, strict=True)}
)
_CLASS = "truerank-comparison"
_STYLE = (
    f".{_CLASS} {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }} "
    f".{_CLASS} caption {{ caption-side: bottom; text-align: left; padding-top: 0.5em; font-size: 0.85em; }} "
    f".{_CLASS} th, .{_CLASS} td {{ padding: 0.2em 0.8em; text-align: right; }} "
    f".{_CLASS} th[scope^=row] {{ text-align: left; vertical-align: top; font-weight: normal; }} "
    f".{_CLASS} thead th, .{_CLASS} tbody + tbody {{ border-top: 1px solid; border-bottom: 1px solid; }} "
    f".{_CLASS} .framed {{ outline: 1px solid; outline-offset: -2px; }}"
)


def text(table: Table) -> str:
    """Aligned columns; `*` for significant, brackets for framed."""

    def cell(cell: Cell) -> str:  # marks take a place in every cell, so that the digits stand under each other
        return _bracketed(cell, cell.text + ("*" if cell.bold else " "), " " if table.frame else "")

    after = "  " if table.frame else " "
    grid = _grid(table, [title + after for title in table.titles], str, cell)
    widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
    n_names = len(widths) - len(table.titles)
    lines = [
        "  ".join(
            cell.ljust(width) if column < n_names else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in grid
    ]
    caption = textwrap.fill(table.caption("*", "[ ]"), max(79, len(lines[1])), break_on_hyphens=False)
    return "\n".join([*lines, "", caption])


def markdown(table: Table) -> str:
    """A table of GitHub's Markdown; bold for significant, brackets for framed."""

    def cell(cell: Cell) -> str:
        return _bracketed(cell, f"**{cell.text}**" if cell.bold else cell.text)

    head, *rows = _grid(table, list(table.titles), _in_markdown, cell)
    rule = ["---"] * (len(head) - len(table.titles)) + ["---:"] * len(table.titles)
    note = table.caption("**Bold:**", "[ ]", _in_markdown)
    return "\n".join(["| " + " | ".join(line) + " |" for line in (head, rule, *rows)] + ["", note])


def latex(table: Table) -> str:
    r"""A `tabular`, its caption as a comment; bold for significant, `\framebox` for framed."""
    lines = [f"% {table.caption('Bold:', 'Framed:')}"]
    if table.heading is not None:
        lines.append(r"% \usepackage{multirow}")
    grid = _grid(table, [_in_latex(title) for title in table.titles], _in_latex, _latex_cell)
    columns = "l" * (len(grid[0]) - len(table.titles)) + "c" * len(table.titles)
    lines += [f"\\begin{{tabular}}{{{columns}}}", " & ".join(grid.pop(0)) + r" \\", r"\hline", r"\hline"]
    for _, rows in table.blocks:
        block, grid = grid[: len(rows)], grid[len(rows) :]
        if table.heading is not None:
            block[0][0] = f"\\multirow{{{len(rows)}}}{{*}}{{{block[0][0]}}}"
        lines += [*(" & ".join(row) + r" \\" for row in block), r"\hline"]
    return "\n".join([*lines, r"\end{tabular}"])


def html(table: Table) -> str:
    """A `table` with its style; bold for significant, an outline for framed, the numbers behind a cell as its title."""
    heads = [*([] if table.heading is None else [table.heading]), "Model", *table.titles]
    head = "".join(f'<th scope="col">{escape(title)}</th>' for title in heads)
    lines = [
        f"<style>{_STYLE}</style>",
        f'<table class="{_CLASS}">',
        f"<caption>{escape(table.caption('Bold:', 'Outlined:'))}</caption>",
        f"<thead><tr>{head}</tr></thead>",
    ]
    for name, rows in table.blocks:
        first = "" if table.heading is None else f'<th scope="rowgroup" rowspan="{len(rows)}">{escape(name)}</th>'
        lines.append("<tbody>")
        for model, cells in rows:
            lines.append(f'<tr>{first}<th scope="row">{escape(model)}</th>{"".join(map(_html_cell, cells))}</tr>')
            first = ""
        lines.append("</tbody>")
    return "\n".join([*lines, "</table>"])


def _grid(table: Table, titles: list[str], name: Callable[[str], str], cell: Callable[[Cell], str]) -> list[list[str]]:
    """The table as lines of columns, its head first; the name of a block stands in its first line."""
    blocked = table.heading is not None
    grid = [[*([name(table.heading or "")] if blocked else []), "Model", *titles]]
    for block, rows in table.blocks:
        for place, (model, cells) in enumerate(rows):
            first = [name(block) if place == 0 else ""] if blocked else []
            grid.append([*first, name(model), *map(cell, cells)])
    return grid


def _bracketed(cell: Cell, text: str, unframed: str = "") -> str:
    return f"[{text}]" if cell.framed else f"{unframed}{text}{unframed}"


def _in_markdown(name: str) -> str:
    return name.translate(_MARKDOWN_ESCAPES)


def _in_latex(text: str) -> str:
    return text.translate(_LATEX_ESCAPES)


def _latex_cell(cell: Cell) -> str:
    text = _in_latex(cell.text)
    text = f"\\textbf{{{text}}}" if cell.bold else text
    return f"\\framebox{{{text}}}" if cell.framed else text


def _html_cell(cell: Cell) -> str:
    text = f"<strong>{escape(cell.text)}</strong>" if cell.bold else escape(cell.text)
    framed = ' class="framed"' if cell.framed else ""
    return f'<td{framed} title="{escape(cell.detail)}">{text}</td>'

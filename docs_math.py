"""Formulas of the documentation, from LaTeX to MathML: browsers draw it, and the page fetches nothing for it."""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_content(content: str, **_: Any) -> str:
    """Called by MkDocs with the HTML of each page."""
    return _FORMULA.sub(_as_mathml, content)


def _as_mathml(match: re.Match[str]) -> str:
    formula = html.unescape(match[2]).replace(r"\Big", "").replace(r"\big", "")  # brackets stretch by themselves
    return convert(formula, display="block" if match[1] == "div" else "inline")

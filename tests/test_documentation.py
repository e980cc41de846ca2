"""The documentation builds without a warning, and asks nothing of other sites."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder


def test_every_page_is_built_and_in_the_menu(site):
    menu = (site / "index.html").read_text("utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        if page.stem != "index":
            assert (site / page.stem / "index.html").exists()
            assert f'href="{page.stem}/"' in menu, f"{page.name} is not in the nav of mkdocs.yml"


def test_nothing_is_fetched_from_other_sites(site):
    for page in site.rglob("*.html"):
        fetched = re.findall(
            r"<(?:script|img|iframe)[^>]+src=\"(?:https?:)?//[^\"]+|<link[^>]+https?://[^>]+", page.read_text()
        )
        assert [tag for tag in fetched if "canonical" not in tag] == [], page


def test_the_reference_has_every_name_that_the_readme_uses(site):
    reference = (site / "api" / "index.html").read_text("utf-8")
    used = set(re.findall(r"\btr\.(\w+)", (ROOT / "README.md").read_text()))
    for name in used - {"NeuralRanker", "propensity", "torch", "list_order"}:
        assert f'id="truerank.{name}"' in reference or f".{name}" in reference, name

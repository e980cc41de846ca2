"""The page holds everything: charts and their tables, and nothing that has to be fetched."""

from __future__ import annotations

import json
import re

import pytest
from page_contents import chart_specs, contrast

from truerank.errors import FileFormatError
from truerank.report import Report, Study, charts


def test_a_saved_report_comes_back_as_it_was(report, tmp_path):
    report.save(tmp_path / "report.json")
    assert Report.load(tmp_path / "report.json") == report


@pytest.mark.parametrize("text", ["no JSON", "[]", '{"format": "truerank.report", "version": 99}', "{}"])
def test_what_is_no_report_is_refused(tmp_path, text):
    (tmp_path / "report.json").write_text(text)
    with pytest.raises(FileFormatError, match=r"report\.json"):
        Report.load(tmp_path / "report.json")


def test_a_damaged_report_is_refused(report, tmp_path):
    report.save(tmp_path / "report.json")
    document = json.loads((tmp_path / "report.json").read_text())
    del document["studies"][0]["curve"]["theta"]
    (tmp_path / "report.json").write_text(json.dumps(document))
    with pytest.raises(FileFormatError, match="damaged"):
        Report.load(tmp_path / "report.json")


def test_nothing_in_the_page_is_fetched(page):
    text = page.read_text("utf-8")
    assert "default-src 'none'" in text
    outside_scripts = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert not re.search(r"(src|href)=[\"'](?!#|data:)|@import|url\(", outside_scripts)


def test_every_chart_has_its_table_and_is_described(page):
    text = page.read_text("utf-8")
    figures = re.findall(r"<figure.*?</figure>", text, flags=re.DOTALL)
    drawn = [figure for figure in figures if 'class="chart"' in figure]
    assert len(drawn) == 2 * 7
    assert all(re.search(r"<details>.*<table>.*<td>", figure, flags=re.DOTALL) for figure in drawn)
    specs = chart_specs(text)
    assert len(specs) == text.count('class="chart"')
    assert all(len(spec["description"]) > 30 for spec in specs.values())


def test_words_of_the_data_are_never_taken_for_html(page):
    text = page.read_text("utf-8")
    assert "&lt;b&gt;not bold&lt;/b&gt; &amp; &lt;/script&gt;" in text
    assert text.count("</script>") == 3


def test_a_study_with_nothing_but_words_is_a_page(tmp_path):
    Report("A", "B", (Study("C", "D"),), {}).to_html(tmp_path / "small.html")
    assert chart_specs((tmp_path / "small.html").read_text("utf-8")) == {}


@pytest.mark.parametrize("colour", charts.PALETTE)
@pytest.mark.parametrize("paper", ["#ffffff", "#f6f7f9", "#14171a", "#1c2024"])
def test_colours_stand_out_from_the_page_in_the_light_and_in_the_dark(colour, paper):
    assert contrast(colour, paper) >= 3


def test_series_differ_by_more_than_colour(page):
    for spec in chart_specs(page.read_text("utf-8")).values():
        text = json.dumps(spec)
        if '"series"' in text:
            assert '"shape"' in text or '"strokeDash"' in text

"""The page of results: written from runs, the same whichever way they were run."""

import json

from truerank.experiment.results import main


def as_toml(settings):
    """The settings of the small experiment as a file; JSON's numbers, texts and lists are TOML's as well."""
    plain = {name: value for name, value in settings.items() if not isinstance(value, dict)}
    lines = [f"{name} = {json.dumps(value)}" for name, value in plain.items()]
    for table in settings.keys() - plain.keys():
        lines += [f"[{table}]", *(f"{name} = {json.dumps(value)}" for name, value in settings[table].items())]
    return "\n".join(lines)


def without_effort(page):
    return [line for line in page.splitlines() if "minutes of CPU time" not in line]


def test_the_page_says_of_each_claim_what_the_runs_say(settings, tmp_path, capsys):
    config = tmp_path / "small.toml"
    config.write_text(as_toml({"title": "a small set", "note": "Made up.", **settings}))
    pages = []
    for jobs in ("1", "2"):
        out = tmp_path / f"{jobs}.md"
        main([str(config), "--runs", str(tmp_path / f"runs-{jobs}"), "--out", str(out), "--jobs", jobs])
        pages.append(out.read_text(encoding="utf-8"))
    assert without_effort(pages[0]) == without_effort(pages[1])
    assert "| claim | a small set |" in pages[0]
    assert pages[0].count("\n- ") >= 6
    assert "**Table 1. Examination: continuous**" in pages[0]
    assert "22 models of 8 trees took" in pages[0]
    assert "small: 100%" in capsys.readouterr().err

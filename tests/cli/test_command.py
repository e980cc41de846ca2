"""The command as such: its verbs are documented, it starts at once, and it fails with one line."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import resource
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import truerank as tr
from truerank.cli import app as command

every_verb = pytest.mark.parametrize("verb", command.VERBS)


def function_of(verb):
    return getattr(importlib.import_module(f"truerank.cli.{verb}"), verb)


@every_verb
def test_every_verb_says_what_it_does_and_has_an_example(verb, run):
    told = inspect.getdoc(function_of(verb))
    assert re.match(r"[A-Z].+\.\n", told)
    assert re.search(rf"^```sh\n(truerank .*\n)*truerank {verb}\b", told, re.MULTILINE)
    answer = run(verb, "--help")
    assert answer.code == 0
    assert "--help" in answer.out


@every_verb
def test_every_option_of_every_verb_is_explained(verb):
    for parameter in inspect.signature(function_of(verb), eval_str=True).parameters.values():
        (told,) = (info for info in parameter.annotation.__metadata__ if hasattr(info, "help"))
        assert told.help.endswith("."), parameter.name


def test_help_names_every_verb(run):
    answer = run("--help")
    assert answer.code == 0
    for verb in command.VERBS:
        assert re.search(rf"\b{verb}\b", answer.out)


def test_help_takes_half_a_second():
    def seconds():
        """Of processor time, which other work on the machine leaves alone."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "truerank", "--help"], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(seconds() for _ in range(4)) <= 0.5


def test_help_imports_nothing_heavy():
    heavy = {"numba", "ibis", "duckdb", "lightgbm", "sklearn", "scipy", "pyarrow", "pandas", "altair", "numpy"}
    code = f"import sys, truerank.cli.app; print(*sys.modules.keys() & {heavy!r})"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip() == ""


def test_without_a_verb_help_is_shown(run):
    assert "Usage: truerank" in run().out


def test_the_version_is_told(run):
    assert run("--version").out.strip() == f"truerank {tr.__version__}"


def test_a_wrong_verb_is_wrong_usage_and_the_right_one_is_suggested(run):
    answer = run("sumary")
    assert answer.code == 2
    assert "summary" in answer.err


def test_what_is_refused_is_told_in_one_line_without_traceback(run, in_folder):
    answer = run("summary", "clicks.parquet")
    assert answer.code == 1
    assert answer.out == ""
    assert answer.err.splitlines() == ["error: clicks.parquet does not exist"]


def test_debug_shows_where_an_error_came_from(run, in_folder):
    answer = run("--debug", "summary", "clicks.parquet")
    assert answer.code == 1
    assert "Traceback" in answer.err
    assert answer.err.splitlines()[-1] == "error: clicks.parquet does not exist"


def test_a_fault_of_truerank_itself_is_told_from_a_refusal(run, log, monkeypatch):
    def breaks(*args):
        raise ZeroDivisionError("all gone")

    monkeypatch.setattr("truerank.log.summary.summarize", breaks)
    answer = run("summary", log)
    assert answer.code == 3
    assert answer.err.startswith("error: ZeroDivisionError: all gone. Hint: `truerank --debug")


def test_summary_tells_what_the_log_holds(run, log):
    answer = run("summary", log)
    assert answer.code == 0
    assert answer.err == ""
    assert re.search(r"sessions +8,940\b", answer.out)


def test_json_is_one_document(run, log):
    found = json.loads(run("summary", log, "--json").out)
    assert found["sessions"] == 60 * found["lists"]
    assert sum(row["clicks"] for row in found["positions"]) == found["clicks"]


def test_warnings_are_lines_on_standard_error(run, log, monkeypatch):
    import warnings

    from truerank.errors import CacheWarning
    from truerank.log import summary

    honest = summary.summarize

    def warns(*args):
        warnings.warn("the disk\nis full", CacheWarning, stacklevel=1)
        return honest(*args)

    monkeypatch.setattr(summary, "summarize", warns)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        answer = run("summary", log)
    assert answer.err.splitlines() == ["warning: the disk is full"]


EXPERIMENT = """
truncation_positions = [3]
methods = ["clicks", "robust"]
dataset = {name = "svmlight", train = "judged.txt"}
initial_ranking = {share = 0.1}
booster = {n_estimators = 2}
"""


def test_the_examples_in_the_help_run_one_after_the_other(run, judged):
    Path("experiment.toml").write_text(EXPERIMENT)
    for verb in command.VERBS:
        (block,) = re.findall(r"^```sh\n(.*?)^```", inspect.getdoc(function_of(verb)), re.MULTILINE | re.DOTALL)
        for line in block.splitlines():
            _, *arguments = shlex.split(line)
            answer = run(*arguments)
            assert answer.code == 0, f"{line}\n{answer.err}"
            assert answer.out

"""Progress on a terminal and without one: how far it is, the time left, and what was done last."""

from __future__ import annotations

import re
import sys

import pytest

from truerank.cli import console
from truerank.cli.reproduce import _Lines
from truerank.errors import InputError

MINUTE = 60.0


class Clock:
    """Time that passes when told to."""

    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def terminal(monkeypatch):
    """Call it, and standard error is a terminal."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    return lambda: monkeypatch.setattr(sys.stderr, "isatty", lambda: True)


@pytest.fixture
def drawn(terminal, capsys):
    """Go through steps of progress, a minute each, and say what a terminal shows last before the bar is taken away."""

    def last_line(*steps, seconds=MINUTE, **options):
        terminal()
        clock = Clock()
        with console.progress("training", clock=clock, **options) as tick:
            for step in steps:
                clock.now += seconds
                tick(*step)
        plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().err).replace("\r", "\n")
        return " ".join(([line for line in plain.splitlines() if line.strip()] or [""])[-1].split())

    return last_line


@pytest.mark.parametrize(
    ("models", "seen"),
    [(0, "0 % -:--:--"), (1, "3 % 0:35:00"), (2, "6 % 0:34:00"), (35, "97 % 0:01:00"), (36, "100 % 0:00:00")],
)
def test_a_terminal_shows_the_time_left_of_models_that_take_a_minute_each(drawn, models, seen):
    assert drawn(*((done, 36) for done in range(models + 1))).endswith(seen)


def test_what_was_there_before_does_not_count_as_speed(drawn):
    assert drawn((0, 1), (30, 36), (31, 36)).endswith("0:05:00")


def test_a_terminal_shows_what_was_done_last(drawn):
    seen = drawn((0, 1, "training", "preparing the data"), (1, 4, "training", "10-continuous-robust-2022"))
    assert seen.startswith("training")
    assert seen.endswith("10-continuous-robust-2022")


def test_nothing_is_drawn_before_there_was_work_for_a_while(drawn):
    assert drawn((1, 2), seconds=1) == ""
    assert "training" in drawn((1, 2), seconds=1, patience=0)


def test_each_stage_has_a_bar_of_its_own(drawn):
    seen = drawn((5, 10, "summing sessions"), (1, 4, "growing trees"))
    assert seen.startswith("growing trees")
    assert "25 %" in seen


def reproduce_that_stops(config, out, *, jobs, progress):
    """An experiment of four models that breaks off after the first."""
    progress(0, 1, "preparing the data")
    progress(0, 4, "0 of 4 models were there")
    progress(1, 4, "10-continuous-robust-2022")
    raise InputError("enough")


@pytest.mark.parametrize("on_terminal", [True, False])
def test_reproduce_says_which_model_was_the_last_one(on_terminal, terminal, run, monkeypatch):
    if on_terminal:
        terminal()
    monkeypatch.setattr("truerank.experiment.reproduce.reproduce", reproduce_that_stops)
    told = run("reproduce", "experiment.toml", "--out", "results").err
    assert ("\x1b" in told) == on_terminal
    assert "10-continuous-robust-2022" in told
    assert "25%" in told.replace(" ", "")


def test_without_a_terminal_each_model_is_a_line_with_the_time_left(capsys):
    clock = Clock()
    lines = _Lines(clock)
    lines(0, 1, "preparing the data")
    clock.now += 5 * MINUTE
    lines(10, 36, "10 of 36 models were there")
    for done in (11, 12):
        clock.now += MINUTE
        lines(done, 36, f"model {done}")
    assert capsys.readouterr().err.splitlines() == [
        "preparing the data",
        "10 of 36 models were there",
        " 31%  model 11; 25 min left",
        " 33%  model 12; 24 min left",
    ]

"""What a simulation refuses, and what it says."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from enumerated import OnlySample

from truerank import Continuous, Independent, inverse_rank, simulate_clicks
from truerank.errors import ExaminationError, InputError
from truerank.simulate import sampled
from truerank.types import JudgedLists

LOOKS = Continuous(inverse_rank(5))
LABELS, GROUP = [0, 2, 1, 0, 1], [3, 2]
JUDGED = JudgedLists(np.zeros((5, 1)), np.array(LABELS, dtype=np.int32), np.array(GROUP), np.array([7, 8]))

REFUSED = {
    "labels alone": ({"judged": LABELS, "group": None}, "judged is a list and group is missing; it needs JudgedLists"),
    "lists with a group": ({"judged": JUDGED}, "judged is a JudgedLists and group is given; it needs JudgedLists, or"),
    "groups that do not fit": ({"group": [3, 3]}, "group sizes sum to 6 and there are 5 rows"),
    "negative labels": ({"judged": [0, -1, 1, 0, 1]}, r"labels\[1\] is -1"),
    "too few ids": ({"judged": replace(JUDGED, query=np.array([7])), "group": None}, "query has 1 ids for 2 lists"),
    "no sessions": ({"sessions_per_list": 0}, "sessions_per_list is 0; it must be a whole number from 1"),
    "half a session": ({"sessions_per_list": 1.5}, "sessions_per_list is 1.5"),
    "sessions for other lists": ({"sessions_per_list": [1, 2, 3]}, "sessions_per_list has 3 numbers for 2 lists"),
    "no session of any list": ({"sessions_per_list": [0, 0]}, "sessions_per_list is 0 for every list"),
    "no seed": ({"seed": None}, "seed is None; give a number"),
    "a negative seed": ({"seed": -1}, "seed is -1; it must be a whole number from 0"),
    "a seed in words": ({"seed": "lucky"}, "seed is 'lucky'"),
    "lists cut to nothing": ({"at": 0}, "at is 0; it must be a whole number from 1"),
    "another relevance": ({"relevance": "exp3"}, "relevance is 'exp3'; it must be 'exp2', 'linear' or one"),
    "relevance of other rows": ({"relevance": [0.5]}, r"relevance has shape \(1,\); it needs one probability a row"),
    "relevance above 1": ({"relevance": [0, 0.5, 1.5, 0, 0]}, "relevance is 1.5 at 2; it must be a probability"),
    "relevance missing": ({"relevance": [0, 0.5, np.nan, 0, 0]}, "relevance is nan at 2"),
    "relevance in words": ({"relevance": ["a"] * 5}, "relevance must be probabilities"),
    "a grade above the highest": ({"max_grade": 1}, "max_grade is 1 and the labels go up to 2"),
    "half a grade": ({"max_grade": 2.5}, "max_grade is 2.5"),
    "feedback for too few grades": ({"feedback": [[0], [1]]}, "feedback has rows for grades 0 to 1 and the labels go"),
    "feedback that is flat": ({"feedback": [0, 0.5, 1]}, r"feedback has shape \(3,\); it needs a row for each grade"),
    "feedback that rises": (
        {"feedback": [[0, 0], [0.1, 0.2], [1, 1]]},
        "feedback of grade 1 rises from 0.1 at level 1 to 0.2 at level 2",
    ),
    "feedback and relevance": ({"feedback": [[0], [1], [1]], "relevance": "linear"}, "relevance and feedback both"),
    "negative noise": ({"noise": -0.1}, "noise is -0.1"),
    "noise above 1": ({"noise": 1.1}, "noise is 1.1; it must be a probability"),
    "noise and trust": ({"noise": 0.1, "trust": (1, 0)}, "noise is the same at every position and trust has its own"),
    "trust in one curve": ({"trust": [0.1, 0.2, 0.3]}, "trust is .* it needs two curves"),
    "trust that is too short": (
        {"trust": ([1, 1], 0.1)},
        r"trust has a curve of shape \(2,\); the longest list needs 3",
    ),
    "no examination": ({"examination": None}, "examination is None; it needs a method sample"),
    "a class": ({"examination": Continuous}, "examination is <class .* it needs a method sample"),
    "a model that is too short": ({"examination": Continuous([1, 0.5])}, "position 3 is past the end"),
    "nothing relevant": ({"judged": [0] * 5}, "none of the 2 lists has an item that can be relevant"),
    "a click where none can be": ({"judged": [0, 0, 0, 0, 1], "drop_irrelevant": False}, "list 0 must have a click"),
}


@pytest.mark.parametrize(("changes", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_a_simulation_refuses(changes, message):
    arguments = {"judged": LABELS, "examination": LOOKS, "group": GROUP} | changes
    with pytest.raises(InputError, match=message):
        simulate_clicks(arguments.pop("judged"), arguments.pop("examination"), **arguments)


def test_a_list_longer_than_a_page_can_be_is_refused():
    labels = np.ones(40_000, dtype=int)
    with pytest.raises(InputError, match=r"the longest list has 40000 items; 32767 can be shown\. Hint: cut lists"):
        simulate_clicks(labels, OnlySample(LOOKS), 1, group=[40_000])
    assert simulate_clicks(labels, LOOKS, 1, group=[40_000], at=5).n_rows == 5


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda n, m: np.ones((m, n), dtype=bool), re.escape("examination.sample(32, 3, rng) gave shape (3, 32)")),
        (lambda n, m: np.full((n, m), 0.5), "gave float64 other than 0 and 1; it needs booleans"),
    ],
    ids=["turned around", "probabilities"],
)
def test_a_sampler_that_gives_something_else_is_refused(answer, message):
    looks = OnlySample(LOOKS)
    looks.sample = lambda n_sessions, n_positions, rng: answer(n_sessions, n_positions)
    with pytest.raises(ExaminationError, match=message):
        simulate_clicks(LABELS, looks, group=GROUP)


def test_zeros_and_ones_will_do_for_booleans():
    looks = OnlySample(LOOKS)
    as_numbers = OnlySample(LOOKS)
    as_numbers.sample = lambda n_sessions, n_positions, rng: looks.sample(n_sessions, n_positions, rng).astype(int)
    a, b = (simulate_clicks(LABELS, model, group=GROUP) for model in (looks, as_numbers))
    np.testing.assert_array_equal(a.clicks, b.clicks)


def test_a_list_that_never_gets_a_click_does_not_loop_for_ever(monkeypatch):
    message = "list 1 must have a click in each session .* Hint: require_click=False keeps sessions as they come"
    tiny = Independent([1, 1e-150, 1e-150])
    with pytest.raises(InputError, match=message):
        simulate_clicks([1, 0, 0, 0, 1], tiny, 3, group=[2, 3], relevance=[1, 0, 0, 0, 1e-200])
    monkeypatch.setattr(sampled, "MOST_DRAWS", 50_000)
    with pytest.raises(InputError, match=message):
        simulate_clicks([1, 0, 0, 0, 1], OnlySample(tiny), 3, group=[2, 3])


def test_a_list_without_a_chance_is_shown_if_no_click_is_asked_for():
    looks = Independent([1, 1e-150, 1e-150])
    sessions = simulate_clicks([1, 0, 0, 0, 1], looks, 3, group=[2, 3], require_click=False)
    assert sessions.clicks.tolist() == [1, 0] * 3 + [0, 0, 0] * 3

"""The ranked layout: what a writer of it wrote is read back, in the order of the initial ranking."""

from __future__ import annotations

import json

import numpy as np
import pytest
from svmlight_texts import assert_same_lists, dense

import truerank as tr
from truerank.errors import FileFormatError
from truerank.types import JudgedLists

N_FEATURES = 12


def random_lists(seed, n_lists=15, n_features=N_FEATURES, first_query=0):
    rng = np.random.default_rng(seed)
    group = rng.integers(1, 9, n_lists)
    X = (rng.random((group.sum(), n_features)) * (rng.random((group.sum(), n_features)) < 0.8)).astype(np.float32)
    query = rng.permutation(1_000)[:n_lists] + first_query
    return JudgedLists(X, rng.integers(0, 5, group.sum()).astype(np.int32), group, query)


def write_ranked(lists, folder, part="train", *, grades="weights", first=0, shuffle=0, ids=str, nested=True):
    """Write the layout as its published programs do; `shuffle` puts the feature file in another order."""
    home = folder / part if nested else folder
    home.mkdir(parents=True, exist_ok=True)
    line_of_row = np.random.default_rng(shuffle).permutation(lists.n_rows) if shuffle else np.arange(lists.n_rows)
    lines = [""] * lists.n_rows
    for row, x in enumerate(lists.X):
        words = [f"{first + k}:{x[k]}" for k in np.flatnonzero(x)]
        lines[line_of_row[row]] = " ".join([f"{part}_{row}", *words])
    (home / f"{part}.feature").write_text("\n".join(lines) + "\n")
    starts = np.cumsum(lists.group)[:-1]
    for ending, numbers in (("init_list", line_of_row), (grades, lists.labels.astype(float))):
        rows = [" ".join([ids(q), *map(str, n)]) for q, n in zip(lists.query, np.split(numbers, starts), strict=True)]
        (home / f"{part}.{ending}").write_text("\n".join(rows) + "\n")


@pytest.mark.parametrize("options", [{}, {"grades": "labels"}, {"nested": False}, {"shuffle": 7}], ids=str)
def test_what_was_written_is_read_back(tmp_path, options):
    lists = random_lists(0)
    write_ranked(lists, tmp_path, **options)
    assert_same_lists(tr.read_ranked(tmp_path, n_features=N_FEATURES), lists)
    assert_same_lists(tr.read_ranked(tmp_path, n_features=N_FEATURES, dense=False), lists)


def test_a_list_is_in_the_order_of_its_initial_ranking(tmp_path):
    (tmp_path / "train.feature").write_text("a 0:10\nb 0:11 2:5\nc 0:12\nd 1:13\n")
    (tmp_path / "train.init_list").write_text("q7 2 1\nq5 0\n")
    (tmp_path / "train.weights").write_text("q7 4 0.0\nq5 1\n")
    lists = tr.read_ranked(tmp_path)
    assert dense(lists.X).tolist() == [[12, 0, 0], [11, 0, 5], [10, 0, 0]]
    assert lists.labels.tolist() == [4, 0, 1]
    assert lists.group.tolist() == [2, 1]
    assert lists.query.tolist() == ["q7", "q5"]


@pytest.mark.parametrize("setting", ["feature_size", "embed_size"])
def test_settings_say_how_many_features_there_are(tmp_path, setting):
    write_ranked(random_lists(0), tmp_path)
    (tmp_path / "settings.json").write_text(json.dumps({setting: 40}))
    assert tr.read_ranked(tmp_path).X.shape[1] == 40
    assert tr.read_ranked(tmp_path, n_features=50).X.shape[1] == 50
    (tmp_path / "settings.json").write_text('{"feature_size": "many"}')
    with pytest.raises(FileFormatError, match=r"settings.json does not say how many features there are"):
        tr.read_ranked(tmp_path)


def test_features_may_be_counted_from_1(tmp_path):
    lists = random_lists(3)
    write_ranked(lists, tmp_path, first=1)
    assert_same_lists(tr.read_ranked(tmp_path, first_feature=1, n_features=N_FEATURES), lists)


def test_it_is_kept_and_found_again_until_one_of_its_files_changes(tmp_path):
    lists = random_lists(4)
    write_ranked(lists, tmp_path, ids=lambda query: f"q{query}")
    first = tr.read_ranked(tmp_path, cache=tmp_path / "cache")
    assert_same_lists(tr.read_ranked(tmp_path, cache=tmp_path / "cache"), first)
    path = tmp_path / "train" / "train.weights"
    path.write_text(path.read_text().replace("0.0", "1.0"))
    assert tr.read_ranked(tmp_path, cache=tmp_path / "cache").labels.min() == 1
    assert len(list((tmp_path / "cache").iterdir())) == 2


FILES = {"feature": "a 0:1\nb 0:2\n", "init_list": "1 0\n2 1\n", "weights": "1 0\n2 3\n"}
REFUSED = {
    "a line that is not there": ({"init_list": "1 0\n2 2\n"}, "init_list, line 2: '2' is not a line of the feature"),
    "a line that is not a number": ({"init_list": "1 0\n\n2 x\n"}, "init_list, line 3: 'x' is not a line of the feat"),
    "padding": ({"init_list": "1 0 -1\n2 1\n"}, "line 1: '-1' is not a line of the feature file"),
    "a grade that is not whole": ({"weights": "1 0\n2 0.5\n"}, "weights, line 2: '0.5' is not a grade, a whole number"),
    "a list without items": ({"weights": "1 0\n2\n"}, "weights, line 2: query '2' has no items"),
    "no lists": ({"init_list": "\n"}, "init_list has no lists"),
    "lists that are missing": (
        {"weights": "1 0\n"},
        "init_list has 2 lists and .*weights has 1; both need one for each",
    ),
    "another order": ({"weights": "2 3\n1 0\n"}, "list 1 is query '1' with 1 items in .*and query '2' with 1 in"),
    "another length": ({"weights": "1 0 1\n2 3\n"}, "list 1 is query '1' with 1 items in .*and query '1' with 2 in"),
    "a query twice": ({"init_list": "1 0\n1 1\n", "weights": "1 0\n1 3\n"}, "has two lists for query '1'"),
    "an item twice": ({"init_list": "1 0 0\n2 1\n", "weights": "1 0 0\n2 3\n"}, "ranks an item of query '1' twice"),
    "bad features": ({"feature": "a 0:1\nb 0:x\n"}, "feature, line 2: feature '0:x' has a value that is not a number"),
}


@pytest.mark.parametrize(("change", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_files_that_do_not_fit_together_are_refused(tmp_path, change, message):
    for ending, text in (FILES | change).items():
        (tmp_path / f"train.{ending}").write_text(text)
    with pytest.raises(FileFormatError, match=message):
        tr.read_ranked(tmp_path)


def test_files_that_are_missing_are_named_with_what_is_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"lacks train/train.feature, or train.feature .*It holds nothing"):
        tr.read_ranked(tmp_path)
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "train.feature").write_text("a 0:1\n")
    with pytest.raises(FileNotFoundError, match=r"lacks train/train.init_list.*holds train/, train/train.feature"):
        tr.read_ranked(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"test/test.feature"):
        tr.read_ranked(tmp_path, "test")

"""The public data sets by name: found where they come, fold by fold, with clear words when they are not there."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_files
from svmlight_texts import assert_same_lists, dense
from test_ranked import random_lists, write_ranked

import truerank as tr
from truerank.datasets.named import LAYOUTS
from truerank.errors import InputError, MissingDataError


def write_part(path, query):
    """One list, told apart by its query."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = f"1 qid:{query} 1:1 3:{query}\n0 qid:{query} 2:0.5\n"
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def queries(splits):
    return tuple(None if part is None else part.query.tolist() for part in (splits.train, splits.valid, splits.test))


PLACES = {
    "istella": ("full/train.txt", None, "full/test.txt"),
    "istella-s": ("sample/train.txt", "sample/vali.txt", "sample/test.txt"),
    "istella-x": ("train.txt", "vali.txt", "test.txt"),
    "mq2007": ("Fold4/train.txt", "Fold4/vali.txt", "Fold4/test.txt"),
    "mq2008": ("Fold4/train.txt", "Fold4/vali.txt", "Fold4/test.txt"),
    "mslr-web10k": ("Fold4/train.txt", "Fold4/vali.txt", "Fold4/test.txt"),
    "mslr-web30k": ("Fold4/train.txt", "Fold4/vali.txt", "Fold4/test.txt"),
    "yahoo-set1": ("set1.train.txt", "set1.valid.txt", "set1.test.txt"),
    "yahoo-set2": ("set2.train.txt", "set2.valid.txt", "set2.test.txt"),
}
N_FEATURES = {"istella": 220, "mq": 46, "mslr": 136, "yahoo": 700}


@pytest.mark.parametrize("ending", ["", ".gz"])
@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("name", LAYOUTS)
def test_every_data_set_is_found_where_its_files_come(tmp_path, name, inside, ending):
    home = tmp_path / LAYOUTS[name][0].home if inside else tmp_path
    for query, place in enumerate(PLACES[name]):
        if place is not None:
            write_part(home / f"{place}{ending}", query)
    splits = tr.load_dataset(name, tmp_path, cache=None, **({"fold": 4} if "Fold4" in PLACES[name][0] else {}))
    assert queries(splits) == ([0], None if name == "istella" else [1], [2])
    (n_features,) = (n for prefix, n in N_FEATURES.items() if name.startswith(prefix))
    for part in (splits.train, splits.test):
        assert part.X.shape == (2, n_features)
        assert isinstance(part.X, np.ndarray)
        assert part.X[0, :4].tolist() == [1, 0, part.query[0], 0]


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("fold", range(1, 6))
def test_folds_of_letor_are_put_together_from_its_five_sets(tmp_path, fold, dense):
    for k in range(1, 6):
        write_part(tmp_path / f"S{k}.txt", k)
    splits = tr.load_dataset("mq2008", tmp_path, fold=fold, dense=dense, cache=None)
    a, b, c, d, e = ((fold - 1 + k) % 5 + 1 for k in range(5))
    assert queries(splits) == ([a, b, c], [d], [e])
    assert splits.train.group.tolist() == [2, 2, 2]
    assert splits.train.X.shape == (6, 46)
    assert hasattr(splits.train.X, "indptr") is not dense


def test_the_folds_of_mq2008_are_those_that_microsoft_made(real_data, tmp_path):
    splits = tr.load_dataset("mq2008", real_data / "mq2008", fold=4, cache=tmp_path)
    again = tr.load_dataset("mq2008", real_data / "mq2008", fold=4, cache=tmp_path)
    files = [str(real_data / "mq2008" / f"S{k}.txt.gz") for k in (4, 5, 1, 2, 3)]
    loaded = load_svmlight_files(files, n_features=46, query_id=True)
    for part, parts in ((splits.train, (0, 1, 2)), (splits.valid, (3,)), (splits.test, (4,))):
        X, y, qid = (np.concatenate([dense(loaded[3 * k + column]) for k in parts]) for column in range(3))
        np.testing.assert_array_equal(part.X, X.astype(np.float32))
        np.testing.assert_array_equal(part.labels, y)
        np.testing.assert_array_equal(np.repeat(part.query, part.group), qid)
    np.testing.assert_array_equal(again.train.X, splits.train.X)
    assert splits.train.n_lists + splits.valid.n_lists + splits.test.n_lists == 784


@pytest.mark.parametrize("with_valid", [True, False])
def test_the_ranked_layout_is_loaded_by_name(tmp_path, with_valid):
    parts = ("train", "valid", "test") if with_valid else ("train", "test")
    for k, part in enumerate(parts):
        write_ranked(random_lists(k), tmp_path, part)
    splits = tr.load_dataset("ranked", tmp_path, cache=None)
    assert (splits.valid is not None) == with_valid
    np.testing.assert_array_equal(splits.train.X, random_lists(0).X)
    np.testing.assert_array_equal(splits.test.query, random_lists(len(parts) - 1).query)


@pytest.mark.parametrize("n_features", [None, 12, 20])
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("full", ["train", "valid", "test"])
def test_parts_of_the_ranked_layout_have_the_same_columns_whatever_each_names(tmp_path, full, first, n_features):
    """Only one part names the first and the last feature."""
    wanted, width = {}, ((0, 0), (0, (n_features or 12) - 12))
    for k, part in enumerate(("train", "valid", "test")):
        lists = random_lists(k)
        if part != full:
            lists.X[:, [0, 1, -1]] = 0
        write_ranked(lists, tmp_path, part, first=first)
        wanted[part] = replace(lists, X=np.pad(lists.X, width))
    if n_features is not None:
        (tmp_path / "settings.json").write_text(json.dumps({"feature_size": n_features}))
    splits = tr.load_dataset("ranked", tmp_path, cache=None)
    for part, lists in wanted.items():
        assert_same_lists(getattr(splits, part), lists)


def test_progress_runs_over_all_files_and_what_was_kept_needs_none(tmp_path):
    for query, place in enumerate(PLACES["yahoo-set1"]):
        write_part(tmp_path / place, query)
    told = []
    tr.load_dataset("yahoo-set1", tmp_path, cache=None, progress=lambda *done: told.append(done))
    total = 2 * sum((tmp_path / place).stat().st_size for place in PLACES["yahoo-set1"])
    assert told == sorted(told)
    assert told[-1] == (total, total)
    assert len(told) == 6


def test_what_was_kept_is_found_by_every_part(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    for query, place in enumerate(PLACES["yahoo-set1"]):
        write_part(tmp_path / place, query)
    for _ in range(2):
        assert queries(tr.load_dataset("yahoo-set1", tmp_path)) == ([0], [1], [2])
        assert len(list((tmp_path / "home" / "truerank" / "datasets").iterdir())) == 3


def test_files_that_are_missing_are_named_with_what_is_there(tmp_path):
    write_part(tmp_path / "Fold2" / "train.txt", 1)
    write_part(tmp_path / "Fold2" / "test.txt", 1)
    (tmp_path / "README").write_text("about")
    with pytest.raises(MissingDataError) as error:
        tr.load_dataset("mslr-web30k", tmp_path, fold=2)
    assert str(error.value) == (
        f"{tmp_path} lacks Fold2/vali.txt (plain, .gz or .zst). "
        "It holds Fold2/, Fold2/test.txt, Fold2/train.txt, README"
    )
    with pytest.raises(
        MissingDataError, match=r"lacks Fold1/train.txt and .*, or S1.txt and S2.txt and .*S5.txt \(plain"
    ):
        tr.load_dataset("mq2008", tmp_path)
    with pytest.raises(
        MissingDataError, match=r"nowhere is not a folder\. Hint: name the one that holds set1.train.txt"
    ):
        tr.load_dataset("yahoo-set1", tmp_path / "nowhere")
    with pytest.raises(MissingDataError, match=r"lacks train/train.feature and test/test.feature"):
        tr.load_dataset("ranked", tmp_path)
    for k in range(30):
        (tmp_path / f"file{k:02}").touch()
    with pytest.raises(MissingDataError, match=r"file17 and 12 more$"):
        tr.load_dataset("yahoo-set1", tmp_path)


def test_names_and_folds_that_are_not_known_are_refused(tmp_path):
    with pytest.raises(
        InputError, match=r"no data set named 'yahoo'; known are istella, .*ranked, yahoo-set1, yahoo-set2"
    ):
        tr.load_dataset("yahoo", tmp_path)
    with pytest.raises(InputError, match="fold is 6; it must be a whole number from 1 to 5"):
        tr.load_dataset("mq2008", tmp_path, fold=6)
    with pytest.raises(InputError, match="fold is 2, and yahoo-set1 does not come in folds"):
        tr.load_dataset("yahoo-set1", tmp_path, fold=2)

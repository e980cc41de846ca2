"""Where judged lists come from: generated, one file dealt out, the public sets; and a grid that people skip rows of."""

import numpy as np
import pytest

import truerank as tr
from truerank.errors import FileFormatError, InputError
from truerank.experiment.config import read_config
from truerank.experiment.prepared import load_logged
from truerank.experiment.sources import Source
from truerank.types import JudgedLists

TINY = {
    "truncation_positions": [8],
    "sessions_per_list": 2,
    "methods": ["clicks", "robust"],
    "booster": {"n_estimators": 2},
    "initial_ranking": {"share": 0.2},
}


def test_an_experiment_runs_on_a_generated_shop_whose_rows_people_skip(tmp_path):
    grid = {"model": "row_skipping", "gamma": 0.3, "continuation": 0.8, "row_lengths": [4, 4]}
    shop = {"name": "shop", "lists": [60, 1, 40], "seed": 3}
    run = tr.reproduce(TINY | {"dataset": shop, "browsing": {"grid": grid}}, tmp_path)
    comparison = run.comparisons["grid"][8]
    assert comparison.lists_used + comparison.lists_dropped == 40
    assert run.tables().startswith("Table 1. Examination: grid\n")


def test_generated_lists_are_those_of_the_generator_in_the_logged_order():
    web = {"name": "web", "lists": [50, 1, 20], "seed": 4}
    train, test = load_logged(read_config(TINY | {"dataset": web}))
    splits = tr.generate_dataset("web", lists=(50, 1, 20), seed=4)
    assert np.array_equal(test.X, splits.test.X)
    assert np.array_equal(train.group, splits.train.group)
    assert sorted(train.labels) == sorted(splits.train.labels)
    given, _ = load_logged(read_config(TINY | {"dataset": web, "initial_ranking": {"source": "dataset"}}))
    assert np.array_equal(given.X, splits.train.X)
    assert not np.array_equal(train.X, splits.train.X)


def test_one_file_is_dealt_out_list_by_list(lists_folder):
    def dealt(seed):
        source = {"name": "svmlight", "train": f"{lists_folder}/train.txt", "test_share": 0.3, "seed": seed}
        return load_logged(read_config({"dataset": source, "initial_ranking": {"source": "dataset"}}))

    whole = tr.read_svmlight(lists_folder / "train.txt", dense=True)
    train, test = dealt(1)
    assert (train.n_lists, test.n_lists) == (63, 27)
    assert sorted([*train.query, *test.query]) == sorted(whole.query)
    for part in (train, test):
        for k, query in enumerate(part.query):
            (place,) = np.flatnonzero(whole.query == query)
            ours, theirs = (slice(sum(j.group[:n]), sum(j.group[: n + 1])) for j, n in ((part, k), (whole, place)))
            assert np.array_equal(part.X[ours], whole.X[theirs])
            assert np.array_equal(part.labels[ours], whole.labels[theirs])
    assert not np.array_equal(test.query, dealt(2)[1].query)


@pytest.fixture
def two_files(tmp_path):
    """Writes a file to train on and one to test on, and says how an experiment reads them."""

    def two_files(train, test):
        (tmp_path / "train.txt").write_text(train)
        (tmp_path / "test.txt").write_text(test)
        return Source("svmlight", {"train": f"{tmp_path}/train.txt", "test": f"{tmp_path}/test.txt"})

    return two_files


WITH_0 = "2 qid:1 0:1 1:2 2:3\n0 qid:1 0:4 2:5\n"
WITHOUT_0 = "1 qid:2 1:7 2:8\n0 qid:2 2:6\n"
X_WITH_0, X_WITHOUT_0 = [[1, 2, 3], [4, 0, 5]], [[0, 7, 8], [0, 0, 6]]


@pytest.mark.parametrize("turned", [False, True])
def test_ids_count_from_0_in_both_files_if_either_names_a_feature_0(two_files, turned):
    files, wanted = (WITH_0, WITHOUT_0), (X_WITH_0, X_WITHOUT_0)
    step = -1 if turned else 1
    for part, X in zip(two_files(*files[::step]).load(), wanted[::step], strict=True):
        assert part.X.tolist() == X


@pytest.mark.parametrize(
    ("train", "test"), [("1 qid:1 1:1 2:2\n", "1 qid:2 4:3\n"), ("1 qid:1 2:2 4:1\n", "1 qid:2 1:3\n")]
)
def test_both_files_have_the_columns_that_the_highest_id_of_either_asks_for(two_files, train, test):
    parts = two_files(train, test).load()
    for part, text in zip(parts, (train, test), strict=True):
        (row,) = part.X
        assert row.shape == (4,)
        assert [f"{k + 1}:{row[k]:.0f}" for k in np.flatnonzero(row)] == text.split()[2:]


def test_files_that_name_no_feature_are_refused(two_files):
    with pytest.raises(FileFormatError, match=r"train.txt names no feature"):
        two_files("1 qid:1\n", "0 qid:2\n").load()


def lists_of(n_features, labels):
    """Lists of one item each."""
    n = len(labels)
    return JudgedLists(np.zeros((n, n_features)), np.array(labels), np.ones(n, dtype=int), np.arange(n))


@pytest.mark.parametrize(
    ("train", "test", "message"),
    [
        (lists_of(3, [1, 1]), lists_of(2, [1, 1]), "to train on have 3 features and those to test on have 2; .*Hint: "),
        (lists_of(2, [1, 1]), lists_of(2, [0, 1, 0]), "1 of 3 lists to test on have a relevant item .*at least two"),
        (lists_of(2, [1, 1]), lists_of(2, []), "0 of 0 lists to test on have a relevant item"),
    ],
)
def test_parts_that_cannot_be_trained_and_tested_on_are_refused_at_once(monkeypatch, train, test, message):
    monkeypatch.setattr(Source, "load", lambda _: (train, test))
    with pytest.raises(InputError, match=message):
        load_logged(read_config({}))


def test_public_sets_are_loaded_by_name(real_data, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    config = read_config(TINY | {"dataset": {"name": "mq2008", "folder": str(real_data / "mq2008"), "fold": 2}})
    train, test = load_logged(config)
    assert train.X.shape[1] == test.X.shape[1] == 46
    assert not set(train.query) & set(test.query)


@pytest.mark.parametrize("name", ["web", "shop", "mq2008", "mslr-sample"])
def test_the_experiments_of_the_repository_can_be_read(request, name, monkeypatch):
    monkeypatch.setenv("TRUERANK_DATA", "/data")
    config = read_config(request.config.rootpath / "experiments" / f"{name}.toml")
    assert config.title
    if name == "web":
        usual = read_config({}).document
        assert config.document == usual | {"methods": list(config.methods)}
        assert [name for name in config.methods if name != "complete-shrunken"] == usual["methods"]

"""Where judged lists come from: generated, one file dealt out, the public sets; and a grid that people skip rows of."""

import numpy as np
import pytest

import truerank as tr
from truerank.experiment.config import read_config
from truerank.experiment.prepared import load_logged

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


def test_public_sets_are_loaded_by_name(real_data, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    config = read_config(TINY | {"dataset": {"name": "mq2008", "folder": str(real_data / "mq2008"), "fold": 2}})
    train, test = load_logged(config)
    assert train.X.shape[1] == test.X.shape[1] == 46
    assert not set(train.query) & set(test.query)


@pytest.mark.parametrize("name", ["web", "web-3000", "mq2008", "mslr-sample"])
def test_the_experiments_of_the_repository_can_be_read(request, name, monkeypatch):
    monkeypatch.setenv("TRUERANK_DATA", "/data")
    config = read_config(request.config.rootpath / "experiments" / f"{name}.toml")
    assert config.title
    if name == "web":
        assert config.document == read_config({}).document

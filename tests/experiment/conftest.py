import numpy as np
import pytest

import truerank as tr
from truerank.types import JudgedLists

N_FEATURES = 6


def judged_lists(n_lists, seed):
    """Lists of 2 to 14 items with grades 0 to 4; a tenth has nothing relevant; two features say what is relevant."""
    rng = np.random.default_rng(seed)
    group = rng.integers(2, 15, n_lists)
    X = rng.normal(size=(group.sum(), N_FEATURES)).astype(np.float32).round(2)
    utility = X[:, 0] + np.abs(X[:, 1]) + 0.3 * rng.normal(size=len(X))
    labels = np.searchsorted([0.2, 1.2, 2.2, 2.8], utility)
    labels[np.repeat(rng.random(n_lists) < 0.1, group)] = 0
    return JudgedLists(X, labels.astype(np.int32), group, np.arange(n_lists))


@pytest.fixture(scope="session")
def lists_folder(tmp_path_factory):
    """A folder with two files of judged lists."""
    folder = tmp_path_factory.mktemp("lists")
    tr.write_svmlight(judged_lists(90, 1), folder / "train.txt")
    tr.write_svmlight(judged_lists(70, 2), folder / "test.txt")
    return folder


@pytest.fixture(scope="session")
def settings(lists_folder):
    """A small experiment, as a dictionary."""
    return {
        "truncation_positions": [3, 8],
        "sessions_per_list": 4,
        "seeds": [5],
        "dataset": {"name": "svmlight", "train": f"{lists_folder}/train.txt", "test": f"{lists_folder}/test.txt"},
        "initial_ranking": {"share": 0.1},
        "booster": {"n_estimators": 8, "num_leaves": 7, "min_data_in_leaf": 10, "min_sum_hessian_in_leaf": 0.1},
    }


@pytest.fixture(scope="session")
def finished(settings, tmp_path_factory):
    """The small experiment, run in one go, with two methods more than the paper's."""
    methods = ["ratio-0", "clicks", "ratio-1", "ratio-2", "robust", "labels", "ratio-estimated", "lightgbm-position"]
    return tr.reproduce({**settings, "methods": methods}, tmp_path_factory.mktemp("finished"))

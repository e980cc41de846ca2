"""The paper's protocol (Section 6), detail by detail, against loops that read like it."""

import math

import numpy as np
import pytest

import truerank as tr
from truerank.experiment.cells import Cell, Workshop, cells_of
from truerank.experiment.config import read_config
from truerank.experiment.methods import METHODS
from truerank.experiment.prepared import booster_params, load_logged, prepare, shown_lists

THETA = [1 / k for k in range(1, 9)]


@pytest.fixture(scope="module")
def config(settings):
    return read_config(settings)


@pytest.fixture(scope="module")
def logged(config):
    return load_logged(config)


@pytest.fixture(scope="module")
def workshop(config, logged, tmp_path_factory):
    return Workshop(config, prepare(config, logged, "test", {3, 8}, tmp_path_factory.mktemp("prepared")), threads=1)


def by_list(judged):
    ends = np.cumsum(judged.group)
    return [(end - size, end) for end, size in zip(ends, judged.group, strict=True)]


@pytest.mark.parametrize("truncation", [3, 8])
def test_lists_are_cut_and_those_without_a_relevant_item_above_the_cut_are_dropped(logged, truncation):
    train, _ = logged
    wanted = []
    for start, end in by_list(train):
        rows = list(range(start, min(end, start + truncation)))
        if any(train.labels[row] > 0 for row in rows):
            wanted.append(rows)
    shown, rows = shown_lists(train, truncation)
    assert rows.tolist() == [row for part in wanted for row in part]
    assert shown.group.tolist() == [len(part) for part in wanted]
    assert len(wanted) < train.n_lists


@pytest.mark.parametrize("browsing", ["continuous", "independent"])
def test_each_list_is_shown_as_often_as_asked_in_its_logged_order_and_has_a_click(logged, workshop, browsing):
    shown, rows = shown_lists(logged[0], 8)
    log = workshop.sessions_of(Cell(8, browsing, "robust", 5))
    assert np.array_equal(log.item, np.concatenate([np.tile(part, 4) for part in np.split(rows, shown.group.cumsum())]))
    assert np.array_equal(log.positions, tr.list_order(log.group))
    clicks = np.add.reduceat(log.clicks, np.cumsum(log.group) - log.group)
    assert clicks.min() >= 1
    assert not log.clicks[logged[0].labels[log.item] == 0].any()  # no noise


def test_the_seed_of_a_cell_decides_its_clicks_and_the_method_does_not(workshop):
    same, another = (workshop.sessions_of(Cell(8, "continuous", m, s)) for m, s in (("clicks", 5), ("clicks", 6)))
    assert np.array_equal(same.clicks, workshop.sessions_of(Cell(8, "continuous", "robust", 5)).clicks)
    assert not np.array_equal(same.clicks, another.clicks)


def session_pairs(log):
    """Every (clicked row, other row, position of the clicked, 1 / the best DCG of the session), session by session."""
    start = 0
    for size in log.group:
        session = range(start, start + size)
        n_clicks = sum(int(log.clicks[row]) for row in session)
        best = sum(1 / math.log2(1 + rank) for rank in range(1, n_clicks + 1))
        for i in session:
            for j in session:
                if log.clicks[i] > log.clicks[j]:
                    yield log.item[i], log.item[j], log.positions[i], log.positions[j], 1 / best
        start += size


@pytest.mark.parametrize(
    ("method", "weight"),
    [("clicks", lambda _k: 1.0), ("robust", lambda k: 1 / THETA[k - 1]), ("ratio-0", lambda _k: 1.0)],
)
def test_pairs_of_clicks_weigh_what_the_paper_says_with_the_best_dcg_of_each_session(workshop, method, weight):
    cell = Cell(8, "continuous", method, 5)
    wanted = {}
    for i, j, k, _, scale in session_pairs(workshop.sessions_of(cell)):
        wanted[i, j] = wanted.get((i, j), 0.0) + weight(k) * scale
    assert_same_pairs(workshop.pairs_of(cell, METHODS[method]), wanted)


def test_unbiased_lambdamart_keeps_the_positions_of_its_pairs(workshop):
    cell = Cell(8, "independent", "ratio-2", 5)
    position = {(i, j): (k, m) for i, j, k, m, _ in session_pairs(workshop.sessions_of(cell))}
    pairs = workshop.pairs_of(cell, METHODS["ratio-2"])
    seen = zip(pairs.position_i, pairs.position_j, strict=True)
    assert dict(zip(items_of(pairs), seen, strict=True)) == position


def test_labels_gain_two_to_the_grade_minus_one_over_the_best_dcg_as_often_as_clicks(logged, workshop):
    shown, _ = shown_lists(logged[0], 3)
    wanted = {}
    for start, end in by_list(shown):
        labels = shown.labels[start:end].tolist()
        best = sum((2**y - 1) / math.log2(1 + k) for k, y in enumerate(sorted(labels, reverse=True), 1))
        for i, a in enumerate(labels, start):
            for j, b in enumerate(labels, start):
                if a > b:
                    wanted[i, j] = 4 * (2**a - 2**b) / best
    pairs = workshop.pairs_of(Cell(3, None, "labels", 5), METHODS["labels"])
    rows = pairs.row_offsets[:-1].repeat(np.diff(pairs.offsets))
    assert dict(zip(zip(rows + pairs.i, rows + pairs.j, strict=True), pairs.weight, strict=True)) == pytest.approx(
        wanted
    )


def items_of(pairs):
    rows = pairs.row_offsets[:-1].repeat(np.diff(pairs.offsets))
    return list(zip(pairs.item[rows + pairs.i], pairs.item[rows + pairs.j], strict=True))


def assert_same_pairs(pairs, wanted):
    assert dict(zip(items_of(pairs), pairs.weight, strict=True)) == pytest.approx(wanted)


def test_a_summed_table_grows_the_trees_of_the_whole_log(logged):
    """Without bagging and a least number of rows in a leaf, which LightGBM rounds, the models are equal.

    Features have few values, and trees are few: once rounding tips the balance between two splits, trees part.
    """
    train, test = logged
    X = train.X.round(1)
    config = read_config({"booster": {"min_data_in_leaf": 0, "bagging_fraction": 1.0, "n_estimators": 10}})
    log = tr.simulate_clicks(train, tr.Continuous(tr.inverse_rank(14)), 16, seed=1)
    of_session = tr.pair_weights(log.clicks, log.positions, log.group, "none")
    summed = tr.pair_weights(log.clicks, log.positions, log.group, "none", query=log.query, item=log.item)
    own = booster_params(config) | {"min_sum_hessian_in_leaf": 0.5, "feature_fraction": 1.0, "n_jobs": 1}
    of_log = own | {"min_data_in_bin": 3}
    models = [
        tr.LambdaMARTRanker("none", **params).fit_pairs(X[items], pairs)
        for params, items, pairs in ((of_log, log.item, of_session), (own, summed.item, summed))
    ]
    scores = [model.predict(test.X) for model in models]
    assert np.std(scores[0]) > 0.1
    np.testing.assert_allclose(*scores, rtol=0, atol=1e-6)


def test_leaf_minima_are_those_of_a_log_that_repeats_each_list():
    """LightGBM asks for round(rows) ≥ minimum: 49.5 rows of the log; 3.5 summed rows are 56, 2.5 would be 40."""
    params = booster_params(read_config({}))
    assert (params["min_data_in_leaf"], params["min_data_in_bin"]) == (4, 1)
    assert params["min_sum_hessian_in_leaf"] == 5.0


def test_booster_parameters_are_the_papers():
    assert dict(read_config({}).booster) == {
        "n_estimators": 300,
        "learning_rate": 0.05,
        "num_leaves": 31,
        "feature_fraction": 0.9,
        "bagging_fraction": 0.9,
        "bagging_freq": 1,
        "max_bin": 255,
        "min_data_in_leaf": 50,
        "min_sum_hessian_in_leaf": 5.0,
        "truncation_level": 30,
    }


def test_without_settings_the_experiment_is_the_papers():
    config = read_config({})
    assert config.dataset.name == "web"
    assert config.dataset.options["lists"] == (19_944, 2_994, 6_983)
    assert (config.truncation_positions, config.sessions_per_list) == ((10, 20, 30), 16)
    assert config.methods == ("ratio-0", "clicks", "ratio-1", "ratio-2", "robust", "labels")
    for browsing, kind in zip(config.browsing, (tr.Continuous, tr.Independent), strict=True):
        assert isinstance(browsing.model, kind)
        assert np.allclose(browsing.model.marginal(np.arange(1, 31)), 1 / np.arange(1, 31))
    assert [METHODS[m].ranker["ratio_regularization"] for m in ("ratio-0", "ratio-1", "ratio-2")] == [0, 1, 2]


def test_every_place_in_the_tables_has_a_cell_and_labels_are_learned_from_once(config):
    cells = list(cells_of(config))
    assert len(cells) == len(set(cells)) == 2 * (2 * 5 + 1)
    assert {cell for cell in cells if cell.browsing is None} == {Cell(t, None, "labels", 5) for t in (3, 8)}


def test_the_test_lists_are_whole_and_those_without_a_relevant_item_are_dropped(finished, logged):
    test = logged[1]
    relevant = [bool(test.labels[start:end].any()) for start, end in by_list(test)]
    comparison = finished.comparisons["continuous"][3]
    assert (comparison.lists_used, comparison.lists_dropped) == (sum(relevant), len(relevant) - sum(relevant))
    assert comparison.lists_dropped > 0
    scores = next(trained.scores for cell, trained in finished.trained.items() if cell.method == "robust")
    assert len(scores) == test.n_rows
    wanted = np.nanmean(tr.ndcg(scores, test.labels, test.group, at=3, gain="exp2"))
    assert comparison[METHODS["robust"].title, "ndcg@3"].mean == pytest.approx(wanted, rel=1e-12)
    assert comparison.metrics == ("ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "map")

"""The LightGBM door: its habits, continuation, validation that does not lie, and what it refuses."""

from __future__ import annotations

import dataclasses
import pickle
import warnings

import joblib
import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import sklearn
from generated import EXAMINATION, N_ITEMS, world
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score

import truerank as tr
from truerank.errors import BiasedMetricWarning, DefaultPositionWarning, InputError

SMALL = {"n_estimators": 12, "num_leaves": 7, "min_child_samples": 5, "learning_rate": 0.2}
NAMES = [f"f{k}" for k in range(6)]


def ranker(method: str = "robust", **options: object) -> tr.LambdaMARTRanker:
    return tr.LambdaMARTRanker(method, EXAMINATION, **{**SMALL, **options})


@pytest.fixture(scope="module")
def fitted(shop):
    return ranker().fit(shop.rows, shop.clicks, **shop.log)


# --- what it trains ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["none", "ratio", "robust", "complete"])
def test_every_method_learns_from_clicks(shop, method):
    scores = ranker(method).fit(shop.rows, shop.clicks, **shop.log, **shop.ids).predict(shop.X)
    assert np.corrcoef(scores, shop.utility)[0, 1] > 0.6


def test_it_boosts_along_the_lambda_gradient(shop):
    pairs = tr.pair_weights(shop.clicks, shop.position, shop.group, "robust", EXAMINATION)
    one_tree = ranker(n_estimators=1, learning_rate=1.0, num_leaves=2, min_child_weight=0)
    leaves = one_tree.fit(shop.rows, shop.clicks, **shop.log).predict(shop.rows)
    gradient, hessian = tr.lambda_gradient(pairs, np.zeros(pairs.n_rows))
    for value in np.unique(leaves):
        inside = leaves == value
        assert value == pytest.approx(-gradient[inside].sum() / hessian[inside].sum(), rel=1e-4)


def test_summed_sessions_grow_the_same_trees_as_all_sessions(shop):
    with_pairs = shop.clicks.reshape(-1, N_ITEMS).any(axis=1)
    apart_pairs = tr.pair_weights(shop.clicks, shop.position, shop.group, "robust", EXAMINATION)
    summed_pairs = tr.pair_weights(shop.clicks, shop.position, shop.group, "robust", EXAMINATION, **shop.ids)
    assert not with_pairs.all()
    # LightGBM guesses a leaf's row count from its Hessian, so the minimum that scales with rows is switched off.
    options = {"n_estimators": 15, "min_child_weight": 5.0, "min_child_samples": 1, "min_data_in_bin": 1, "max_bin": 8}
    apart = ranker(**options).fit_pairs(shop.rows, apart_pairs)
    summed = ranker(**options).fit_pairs(shop.X[summed_pairs.item], summed_pairs)

    def shape(node: dict) -> object:
        if "leaf_value" in node:
            return None
        return node["split_feature"], node["threshold"], shape(node["left_child"]), shape(node["right_child"])

    trees = [[shape(t["tree_structure"]) for t in r.booster_.dump_model()["tree_info"]] for r in (apart, summed)]
    assert trees[0] == trees[1]
    np.testing.assert_allclose(apart.predict(shop.X), summed.predict(shop.X), atol=1e-5)


@pytest.mark.parametrize("merge", ["exact", "query"])
def test_fit_with_ids_is_pair_weights_and_fit_pairs(merge):
    data = world(same_order=False)
    direct = ranker(merge=merge).fit(data.rows, data.clicks, **data.log, **data.ids)
    pairs = tr.pair_weights(data.clicks, data.position, data.group, "robust", EXAMINATION, **data.ids, merge=merge)
    kept = pairs.select_lists(np.diff(pairs.offsets) > 0)
    by_hand = ranker().fit_pairs(data.rows[kept.source_row], kept)
    np.testing.assert_array_equal(direct.predict(data.X), by_hand.predict(data.X))


def test_sessions_without_a_click_are_left_out_and_counted(shop):
    clicked = shop.clicks.reshape(-1, N_ITEMS).any(axis=1)
    rows = np.repeat(clicked, N_ITEMS)
    all_sessions = ranker().fit(shop.rows, shop.clicks, **shop.log)
    only_clicked = ranker().fit(
        shop.rows[rows], shop.clicks[rows], group=shop.group[clicked], position=shop.position[rows]
    )
    np.testing.assert_array_equal(all_sessions.predict(shop.X), only_clicked.predict(shop.X))
    assert all_sessions.pair_summary_.sessions_without_pairs == (~clicked).sum() > 0


def test_unclipped_negative_weights_are_the_user_s_choice(shop):
    clipped = ranker("complete", variance="none").fit(shop.rows, shop.clicks, **shop.log, **shop.ids)
    kept = ranker("complete", variance="none", clip_negative=False).fit(shop.rows, shop.clicks, **shop.log, **shop.ids)
    assert clipped.n_clipped_pairs_ > 0 == kept.n_clipped_pairs_
    assert clipped.pair_summary_.negative_pairs == 0 < kept.pair_summary_.negative_pairs


def test_clipping_bounds_what_negative_weights_would_push_apart_without_end():
    pairs = tr.PairWeights(group=[2] * 20, offsets=np.arange(21), i=[0] * 20, j=[1] * 20, weight=[-1.0] * 20)
    X = np.tile([[0.0], [1.0]], (20, 1))
    options = {"min_child_samples": 1, "min_child_weight": 1e-9, "reg_lambda": 1.0, "learning_rate": 0.01}
    gaps = []
    for trees in (100, 300):
        unbounded = tr.LambdaMARTRanker("complete", n_estimators=trees, clip_negative=False, **options).fit_pairs(
            X, pairs
        )
        gaps.append(np.ptp(unbounded.predict(X[:2])))
    assert gaps[1] > 2 * gaps[0]
    with pytest.raises(InputError, match=r"every pair weighs 0 \(20 were clipped from below 0\)"):
        tr.LambdaMARTRanker("complete", n_estimators=100, **options).fit_pairs(X, pairs)
    mixed = dataclasses.replace(pairs, weight=[1.0] + [-1.0] * 19)
    clipped = tr.LambdaMARTRanker("complete", n_estimators=100, **options).fit_pairs(X, mixed)
    assert clipped.n_clipped_pairs_ == 19
    first, second = clipped.predict(X[:2])
    assert first > second


def test_debiasing_undoes_what_position_did():
    """Eight-fold exposure at the top: clicks alone rank the exposed feature first, robust ranks the relevant one."""
    rng = np.random.default_rng(0)
    sessions = 4_000
    relevant = np.tile([0, 0, 0, 0, 0, 0, 0, 1], (sessions, 1))  # the better kind always stands last
    chance = np.where(relevant == 1, 0.5, 0.2)
    clicks = (rng.random(relevant.shape) < chance) & EXAMINATION.sample(sessions, N_ITEMS, rng)
    X, group = relevant.reshape(-1, 1).astype(float), np.full(sessions, N_ITEMS)
    gap = {}
    for method in ("none", "robust"):
        scores = ranker(method).fit(X, clicks.ravel(), group, position=tr.list_order(group)).predict([[0.0], [1.0]])
        gap[method] = scores[1] - scores[0]
    assert gap["none"] < 0 < gap["robust"]


def test_parity_with_lambdarank_on_lightgbm_s_example(lightgbm_example):
    X, y, group, test_X, test_y, test_group = lightgbm_example
    options = {"n_estimators": 100, "min_child_samples": 50, "min_child_weight": 5.0, "n_jobs": 2}
    stock = lightgbm.LGBMRanker(**options, verbose=-1).fit(X, y, group=group)
    ours = tr.LambdaMARTRanker("none", gain="exp2", list_norm=True, distance_norm=True, **options)
    ours.fit_pairs(X, tr.pair_weights(y, None, group, "none", gain="exp2"))
    for at in (1, 3, 5, 10):
        found, expected = (np.nanmean(tr.ndcg(m.predict(test_X), test_y, test_group, at)) for m in (ours, stock))
        assert found == pytest.approx(expected, abs=5e-4)


# --- stopping and going on --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["robust", "ratio"])
@pytest.mark.parametrize("via", ["ranker", "file", "path", "pickle"])
def test_training_stopped_and_continued_equals_training_in_one_go(shop, method, via, tmp_path):
    data = (shop.rows, shop.clicks)
    whole = ranker(method).fit(*data, **shop.log)
    half = ranker(method, n_estimators=5).fit(*data, **shop.log)
    half.save_model(tmp_path / "half.txt")
    start = {
        "ranker": half,
        "file": str(tmp_path / "half.txt"),
        "path": tmp_path / "half.txt",
        "pickle": pickle.loads(pickle.dumps(half)),
    }[via]
    rest = ranker(method, n_estimators=7).fit(*data, **shop.log, init_model=start)
    np.testing.assert_array_equal(rest.predict(shop.X), whole.predict(shop.X))


def test_saved_files_load_in_stock_lightgbm(shop, tmp_path):
    for method in ("robust", "ratio"):
        model = ranker(method).fit(pd.DataFrame(shop.rows, columns=NAMES), shop.clicks, **shop.log)
        model.save_model(tmp_path / "model.txt")
        stock = lightgbm.Booster(model_file=tmp_path / "model.txt")
        np.testing.assert_array_equal(stock.predict(shop.X), model.predict(shop.X))
        assert stock.feature_name() == NAMES == model.feature_name_
        assert type(model.booster_) is lightgbm.Booster


# --- LGBMRanker's habits ----------------------------------------------------------------------------------------------


def test_parameters_can_be_read_set_and_cloned():
    model = ranker(sigma=2.0, reg_lambda=3.0)
    assert model.get_params()["reg_lambda"] == 3.0 == model.reg_lambda
    assert clone(model).get_params() == model.get_params()
    model.set_params(num_leaves=5, method="none", min_split_gain=0.1)
    assert model.get_params()["min_split_gain"] == 0.1
    assert (model.num_leaves, model.method) == (5, "none")
    assert "num_leaves=5" in repr(model)


def test_parameters_reach_lightgbm(shop):
    few = ranker(n_estimators=3, num_leaves=4, monotone_constraints=[1, 0, 0, 0, 0, 0], random_state=7, reg_alpha=None)
    booster = few.fit(shop.rows, shop.clicks, **shop.log).booster_
    assert booster.num_trees() == 3
    assert max(tree["num_leaves"] for tree in booster.dump_model()["tree_info"]) <= 4
    line = np.zeros((50, 6))
    line[:, 0] = np.linspace(-2, 2, 50)
    assert (np.diff(few.predict(line)) >= 0).all()


def test_it_survives_pickle_and_joblib(fitted, shop, tmp_path):
    joblib.dump(fitted, tmp_path / "ranker.joblib")
    for copy in (pickle.loads(pickle.dumps(fitted)), joblib.load(tmp_path / "ranker.joblib")):
        np.testing.assert_array_equal(copy.predict(shop.X), fitted.predict(shop.X))
        assert copy.get_params() == fitted.get_params()


def test_importances_and_fitted_attributes(fitted):
    assert fitted.feature_importances_.shape == (6,)
    assert fitted.feature_importances_[:4].sum() > fitted.feature_importances_[4:].sum()
    assert fitted.n_features_in_ == 6
    by_gain = clone(fitted).set_params(importance_type="gain")
    with pytest.raises(NotFittedError):
        by_gain.feature_importances_  # noqa: B018
    with pytest.raises(NotFittedError):
        ranker().predict([[0] * 6])


TABLES = {
    "NumPy float32": lambda X: X.astype(np.float32),
    "Fortran order": np.asfortranarray,
    "list": lambda X: X.tolist(),
    "sparse": sp.csr_matrix,
    "sparse columns": sp.csc_matrix,
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "Polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "Arrow": lambda X: pa.table(dict(zip(NAMES, X.T, strict=True))),
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("ids", [False, True])
def test_every_kind_of_table_gives_the_same_model(shop, table, ids):
    convert, extra = TABLES[table], shop.ids if ids else {}
    X = np.round(shop.X, 2).astype(np.float32).astype(np.float64)
    expected = ranker().fit(X[shop.item], shop.clicks, **shop.log, **extra).predict(X)
    model = ranker().fit(convert(X[shop.item]), shop.clicks, **shop.log, **extra)
    np.testing.assert_allclose(model.predict(convert(X)), expected)
    if table in ("pandas", "Polars", "Arrow"):
        assert model.feature_name_ == NAMES


@pytest.mark.parametrize("convert", [pd.Series, pl.Series, pa.array, list])
def test_every_kind_of_column_is_taken(shop, fitted, convert):
    model = ranker().fit(shop.rows, convert(shop.clicks), group=convert(shop.group), position=convert(shop.position))
    np.testing.assert_array_equal(model.predict(shop.X), fitted.predict(shop.X))


def test_categorical_columns_of_pandas_are_used(shop):
    frame = pd.DataFrame(shop.rows, columns=NAMES)
    frame["kind"] = pd.Categorical(np.array(["red", "green", "blue"])[shop.item % 3])
    model = ranker().fit(frame, shop.clicks, **shop.log, **shop.ids)
    assert model.booster_.pandas_categorical == [["blue", "green", "red"]]
    assert model.predict(frame).shape == (len(frame),)
    by_number = ranker().fit(
        np.column_stack([shop.rows, shop.item % 3]), shop.clicks, **shop.log, categorical_feature=[6]
    )
    assert by_number.booster_.params["categorical_column"] == [6]


@pytest.mark.parametrize("shuffle", [False, True])
def test_qid_stands_for_group_in_any_order(shop, fitted, shuffle):
    qid = np.repeat(np.arange(len(shop.query))[::-1], N_ITEMS)  # ids that do not rise
    order = np.arange(len(qid))
    if shuffle:
        order = np.random.default_rng(0).permutation(len(qid))
    model = ranker().fit(shop.rows[order], shop.clicks[order], qid=qid[order], position=shop.position[order])
    assert np.corrcoef(model.predict(shop.X), fitted.predict(shop.X))[0, 1] > (0.999 if not shuffle else 0.95)
    if not shuffle:
        np.testing.assert_array_equal(model.predict(shop.X), fitted.predict(shop.X))


def test_query_may_be_given_a_row(shop):
    a_session = ranker().fit(shop.rows, shop.clicks, **shop.log, **shop.ids)
    by_row = {"query": np.repeat(shop.query, N_ITEMS), "item": shop.item}
    a_row = ranker().fit(shop.rows, shop.clicks, **shop.log, **by_row)
    np.testing.assert_array_equal(a_session.predict(shop.X), a_row.predict(shop.X))


def test_cross_validation_keeps_sessions_whole(shop):
    qid = np.repeat(np.arange(len(shop.query)), N_ITEMS)
    per_row = {"qid": qid, "position": shop.position, "query": np.repeat(shop.query, N_ITEMS), "item": shop.item}
    golden = shop.utility[shop.item]

    def against_truth(model, X, _):
        return np.corrcoef(model.predict(X), X[:, 0] + np.abs(X[:, 1]) + X[:, 2] * (X[:, 3] > 0))[0, 1]

    folds = GroupKFold(3)
    scores = cross_val_score(
        ranker(), shop.rows, shop.clicks, groups=per_row["query"], cv=folds, params=per_row, scoring=against_truth
    )
    assert (scores > 0.5).all()
    search = GridSearchCV(ranker(), {"num_leaves": [3, 7]}, cv=folds, scoring=against_truth)
    search.fit(shop.rows, shop.clicks, groups=per_row["query"], **per_row)
    assert search.best_params_["num_leaves"] in (3, 7)
    assert len(golden) == len(qid)


def test_score_is_the_ndcg_of_golden_labels(fitted, shop):
    relevance = np.digitize(shop.utility, np.quantile(shop.utility, [0.5, 0.8]))
    lists = np.full(len(relevance) // N_ITEMS, N_ITEMS)
    assert 0.5 < fitted.score(shop.X, relevance, group=lists) <= 1
    qid = np.repeat(np.arange(len(lists)), N_ITEMS)
    assert fitted.score(shop.X, relevance, qid=qid) == fitted.score(shop.X, relevance, group=lists)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = ranker().set_fit_request(qid=True, position=True).set_score_request(qid=True)
        rows = {"qid": np.repeat(np.arange(len(shop.query)), N_ITEMS), "position": shop.position}
        scores = cross_val_score(routed, shop.rows, shop.clicks, cv=2, params=rows)
    assert (scores > 0).all()


def test_callbacks_are_called(shop):
    seen = []
    ranker().fit(shop.rows, shop.clicks, **shop.log, callbacks=[lambda env: seen.append(env.iteration)])
    assert seen == list(range(SMALL["n_estimators"]))


# --- positions --------------------------------------------------------------------------------------------------------


def test_positions_default_to_list_order_and_it_says_so(shop, fitted):
    with pytest.warns(DefaultPositionWarning, match="no position= was given") as caught:
        model = ranker().fit(shop.rows, shop.clicks, group=shop.group)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(model.predict(shop.X), fitted.predict(shop.X))


def test_positions_with_gaps_count_as_given():
    far = tr.pair_weights([0, 1], [1, 4], [2], "robust", EXAMINATION)
    near = tr.pair_weights([0, 1], [1, 2], [2], "robust", EXAMINATION)
    assert far.weight[0] == 2 * near.weight[0]


# --- validation -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def held_out():
    data = world(n_lists=40, sessions_per_list=6, seed=1)
    return data, {
        "eval_set": [(data.rows, data.clicks)],
        "eval_group": [data.group],
        "eval_position": [data.position],
    }


def test_early_stopping_watches_the_unbiased_ndcg(shop, held_out):
    data, validation = held_out
    model = ranker(n_estimators=200, early_stopping_rounds=10)
    model.fit(shop.rows, shop.clicks, **shop.log, **validation)
    curve = model.evals_result_["valid_0"]["unbiased_ndcg@10"]
    assert model.best_iteration_ == 1 + int(np.argmax(curve)) < 200
    value = tr.unbiased_ndcg(model.predict(data.rows), data.clicks, data.position, data.group, EXAMINATION)
    assert value.value == pytest.approx(max(curve))
    assert model.effective_sample_sizes_ == {"valid_0": pytest.approx(value.effective_sample_size)}


def test_the_unbiased_loss_can_be_watched_too(shop, held_out):
    data, validation = held_out
    model = ranker().fit(
        shop.rows,
        shop.clicks,
        **shop.log,
        **validation,
        eval_names=["later"],
        eval_metric=["unbiased_loss", "unbiased_ndcg@3"],
    )
    assert list(model.evals_result_["later"]) == ["unbiased_loss", "unbiased_ndcg@3"]
    loss = tr.UnbiasedPairwiseLoss(EXAMINATION).value(model.predict(data.rows), data.clicks, data.position, data.group)
    assert model.evals_result_["later"]["unbiased_loss"][-1] == pytest.approx(loss / len(data.group))


def test_several_validation_sets_are_told_apart(shop, held_out):
    data, _ = held_out
    half = len(data.group) // 2
    rows = half * N_ITEMS
    parts = [(data.rows[:rows], data.clicks[:rows]), (data.rows[rows:], data.clicks[rows:])]
    model = ranker().fit(
        shop.rows,
        shop.clicks,
        **shop.log,
        eval_set=parts,
        eval_qid=[np.repeat(np.arange(half), N_ITEMS), np.repeat(np.arange(len(data.group) - half), N_ITEMS)],
        eval_position=[data.position[:rows], data.position[rows:]],
    )
    for name, (X, y) in zip(("valid_0", "valid_1"), parts, strict=True):
        positions = data.position[: len(y)]
        expected = tr.unbiased_ndcg(model.predict(X), y, positions, np.full(len(y) // N_ITEMS, N_ITEMS), EXAMINATION)
        assert model.evals_result_[name]["unbiased_ndcg@10"][-1] == pytest.approx(expected.value)


@pytest.mark.parametrize(
    "stop", [{"early_stopping_rounds": 5}, {"callbacks": [lightgbm.early_stopping(5, verbose=False)]}]
)
def test_stopping_a_debiased_model_by_a_biased_metric_is_warned_about(shop, held_out, stop):
    callbacks = {"callbacks": stop.pop("callbacks")} if "callbacks" in stop else {}
    fit = {**shop.log, **held_out[1], **callbacks}
    with pytest.warns(BiasedMetricWarning, match="ndcg@5 on clicks") as caught:
        ranker(**stop).fit(shop.rows, shop.clicks, **fit, eval_metric="ndcg@5")
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranker(**stop).fit(shop.rows, shop.clicks, **fit, eval_metric="ndcg@5", eval_labels="judgments")
        ranker("none", **stop).fit(shop.rows, shop.clicks, **fit, eval_metric="ndcg@5")
        ranker(**stop).fit(shop.rows, shop.clicks, **fit)


def test_judgments_are_validated_by_plain_ndcg(shop):
    relevance = np.digitize(shop.utility, np.quantile(shop.utility, [0.5, 0.8]))
    lists = np.full(len(relevance) // N_ITEMS, N_ITEMS)
    model = ranker().fit(
        shop.rows,
        shop.clicks,
        **shop.log,
        eval_set=(shop.X, relevance),
        eval_group=[lists],
        eval_labels="judgments",
        eval_metric=["ndcg@3", "ndcg@5"],
    )
    assert set(model.evals_result_["valid_0"]) == {"ndcg@3", "ndcg@5"}
    for at in (3, 5):
        values = tr.ndcg(model.predict(shop.X), relevance, lists, at)
        expected = np.nan_to_num(values, nan=1.0).mean()  # LightGBM gives lists without a relevant item an NDCG of 1
        assert model.evals_result_["valid_0"][f"ndcg@{at}"][-1] == pytest.approx(expected)


# --- what it refuses --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "fit", "message"),
    [
        ({"objective": "lambdarank"}, {}, "objective='lambdarank' cannot be set: truerank's objective"),
        ({"lambdarank_truncation_level": 3}, {}, "use truncation="),
        ({"metric": "ndcg"}, {}, "use eval_metric="),
        ({"method": "magic"}, {}, "method is 'magic'"),
        ({"examination": None}, {}, "needs examination="),
        ({"truncation": 0}, {}, "truncation is 0"),
        ({"merge": "both"}, {"query": 1, "item": 1}, "merge is 'both'"),
        ({}, {"clicks": 0}, "none of the 480 sessions gives a pair"),
        ({}, {"clicks": np.nan}, r"labels\[0\] is nan"),
        ({}, {"group": [3]}, "group sizes sum to 3 and there are 3840 rows"),
        ({}, {"group": None}, "exactly one of group= and qid="),
        ({}, {"position": [1, 2]}, "position has 2 values and X has 3840 rows"),
        ({}, {"X": np.zeros((3, 6))}, "X has 3 rows and clicks has 3840"),
        ({}, {"query": 1}, "query was given without item"),
        ({}, {"eval_set": [(1, 1)], "eval_group": [[1], [2]]}, "eval_group has 2 entries and eval_set 1"),
        ({}, {"eval_set": "held out", "eval_metric": "unbiased_magic"}, "'unbiased_magic' is not known"),
        ({}, {"eval_set": "held out", "eval_labels": "guesses"}, "eval_labels is 'guesses'"),
    ],
)
def test_wrong_use_is_refused_with_the_reason(shop, held_out, options, fit, message):
    fit = {"X": shop.rows, "clicks": shop.clicks, **shop.log, **fit}
    fit["clicks"] = np.broadcast_to(fit["clicks"], len(shop.clicks))
    if fit.get("query") is not None:
        fit["query"] = shop.query
    if fit.get("item") is not None:
        fit["item"] = shop.item
    if fit.get("eval_set") == "held out":
        fit |= {**held_out[1], "eval_metric": fit.get("eval_metric"), "eval_labels": fit.get("eval_labels", "clicks")}
    with pytest.raises(InputError, match=message):
        tr.LambdaMARTRanker(**{"method": "robust", "examination": EXAMINATION, **SMALL, **options}).fit(**fit)


def test_a_misspelt_argument_of_fit_is_named_with_the_right_one(shop):
    with pytest.raises(TypeError, match="fit does not take positions; did you mean position"):
        ranker().fit(shop.rows, shop.clicks, group=shop.group, positions=shop.position)
    with pytest.raises(TypeError, match="it hands on callbacks, categorical_feature, feature_name"):
        ranker().fit(shop.rows, shop.clicks, **shop.log, xyz=1)


@pytest.mark.parametrize("wrong", [[1.0, 0.5], tr.Independent, "continuous"])
def test_what_is_no_examination_model_is_refused(shop, wrong):
    with pytest.raises(InputError, match="needs the methods marginal, joint and sample"):
        tr.LambdaMARTRanker("robust", wrong).fit(shop.rows, shop.clicks, **shop.log)


def test_rows_that_do_not_match_the_pairs_are_refused(shop):
    pairs = tr.pair_weights(shop.clicks, shop.position, shop.group, "robust", EXAMINATION, **shop.ids)
    with pytest.raises(InputError, match="X has 3840 rows and the lists of the pairs have 480"):
        ranker().fit_pairs(shop.rows, pairs)


def test_pairs_that_hold_nothing_are_refused():
    empty = tr.pair_weights([0, 0], None, [2], "none")
    with pytest.raises(InputError, match="none of the 1 sessions"):
        ranker("none").fit_pairs(np.zeros((2, 1)), empty)


@pytest.mark.parametrize("table", ["NumPy", "sparse", "pandas", "Polars", "Arrow"])
def test_summing_sessions_whose_features_differ_is_refused(shop, table):
    convert = {**TABLES, "NumPy": np.asarray}[table]
    X = shop.rows.copy()
    X[:, 5] += np.repeat(np.arange(len(shop.query)), N_ITEMS)  # a feature of the session
    with pytest.raises(InputError, match="have different features"):
        ranker().fit(convert(X), shop.clicks, **shop.log, **shop.ids)


def test_missing_feature_values_are_no_difference(shop):
    X = shop.X.copy()
    X[::3, 4] = np.nan
    ranker().fit(X[shop.item], shop.clicks, **shop.log, **shop.ids)


def test_a_session_with_two_queries_is_refused(shop):
    query = np.repeat(shop.query, N_ITEMS)
    query[3] = 99
    with pytest.raises(InputError, match=r"query\[3\] is .*99"):
        ranker().fit(shop.rows, shop.clicks, **shop.log, query=query, item=shop.item)

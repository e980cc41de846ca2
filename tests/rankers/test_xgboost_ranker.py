"""The XGBoost door: the same pairs and objective, XGBoost's habits, continuation."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import xgboost
from generated import EXAMINATION, N_ITEMS, world
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import truerank as tr
from truerank.errors import BiasedMetricWarning, InputError

SMALL = {"n_estimators": 12, "max_depth": 3, "learning_rate": 0.2}
NAMES = [f"f{k}" for k in range(6)]


def ranker(method: str = "robust", **options: object) -> tr.XGBRanker:
    return tr.XGBRanker(method, EXAMINATION, **{**SMALL, **options})


@pytest.fixture(scope="module")
def held_out():
    data = world(n_lists=40, sessions_per_list=6, seed=1)
    return data, {"eval_set": [(data.rows, data.clicks)], "eval_group": [data.group], "eval_position": [data.position]}


@pytest.mark.parametrize("method", ["none", "ratio", "robust", "complete"])
def test_every_method_learns_from_clicks(shop, method):
    model = ranker(method).fit(shop.rows, shop.clicks, **shop.log, **shop.ids)
    assert np.corrcoef(model.predict(shop.X), shop.utility)[0, 1] > 0.6
    assert (model.position_ratios_ is not None) == (method == "ratio")


def test_it_boosts_along_the_lambda_gradient(shop):
    stump = ranker(n_estimators=1, max_depth=1, learning_rate=1.0, reg_lambda=0, min_child_weight=0)
    leaves = stump.fit(shop.rows, shop.clicks, **shop.log).predict(shop.rows)
    pairs = tr.pair_weights(shop.clicks, shop.position, shop.group, "robust", EXAMINATION)
    gradient, hessian = tr.lambda_gradient(pairs, np.zeros(pairs.n_rows))
    for value in np.unique(leaves):
        inside = leaves == value
        assert value == pytest.approx(-gradient[inside].sum() / hessian[inside].sum(), rel=1e-3)


@pytest.mark.parametrize("method", ["robust", "ratio"])
@pytest.mark.parametrize("via", ["ranker", "json", "ubj", "pickle"])
def test_training_stopped_and_continued_equals_training_in_one_go(shop, method, via, tmp_path):
    data = (shop.rows, shop.clicks)
    whole = ranker(method).fit(*data, **shop.log)
    half = ranker(method, n_estimators=5).fit(*data, **shop.log)
    start = half
    if via == "pickle":
        start = pickle.loads(pickle.dumps(half))
    elif via != "ranker":
        start = tmp_path / f"half.{via}"
        half.save_model(start)
    rest = ranker(method, n_estimators=7).fit(*data, **shop.log, init_model=start)
    np.testing.assert_array_equal(rest.predict(shop.X), whole.predict(shop.X))
    if method == "ratio":
        np.testing.assert_array_equal(rest.position_ratios_.unclicked[-1], whole.position_ratios_.unclicked[-1])


def test_saved_files_load_in_stock_xgboost(shop, tmp_path):
    model = ranker("ratio").fit(shop.rows, shop.clicks, **shop.log)
    model.save_model(tmp_path / "model.json")
    stock = xgboost.Booster(model_file=tmp_path / "model.json")
    np.testing.assert_array_equal(stock.predict(xgboost.DMatrix(shop.X)), model.predict(shop.X))
    assert type(model.get_booster()) is xgboost.Booster


def test_parameters_clone_and_importances(shop):
    model = ranker(gamma=0.1, random_state=3, monotone_constraints="(1,0,0,0,0,0)")
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        model.predict(shop.X)
    model.fit(shop.rows, shop.clicks, **shop.log)
    assert model.feature_importances_.shape == (6,)
    assert model.feature_importances_.sum() == pytest.approx(1)
    line = np.zeros((50, 6))
    line[:, 0] = np.linspace(-2, 2, 50)
    assert (np.diff(model.predict(line)) >= 0).all()


@pytest.mark.parametrize(
    "convert", [sp.csr_matrix, lambda X: pd.DataFrame(X, columns=NAMES), lambda X: pl.DataFrame(X, schema=NAMES)]
)
def test_other_kinds_of_table_give_the_same_model(shop, convert):
    expected = ranker().fit(shop.rows, shop.clicks, **shop.log, **shop.ids).predict(shop.X)
    model = ranker().fit(convert(shop.rows), shop.clicks, **shop.log, **shop.ids)
    np.testing.assert_allclose(model.predict(convert(shop.X)), expected, atol=1e-6)


def test_early_stopping_watches_the_unbiased_ndcg(shop, held_out):
    data, validation = held_out
    model = ranker(n_estimators=200, early_stopping_rounds=10).fit(shop.rows, shop.clicks, **shop.log, **validation)
    curve = model.evals_result_["valid_0"]["unbiased_ndcg@10"]
    assert model.best_iteration_ == int(np.argmax(curve)) < 199
    value = tr.unbiased_ndcg(model.predict(data.rows), data.clicks, data.position, data.group, EXAMINATION).value
    assert value == pytest.approx(max(curve), abs=1e-5)  # XGBoost keeps six digits
    by_loss = ranker(n_estimators=40, early_stopping_rounds=5)
    by_loss.fit(shop.rows, shop.clicks, **shop.log, **validation, eval_metric="unbiased_loss")
    losses = by_loss.evals_result_["valid_0"]["unbiased_loss"]
    assert by_loss.best_iteration_ == int(np.argmin(losses))


def test_stopping_a_debiased_model_by_a_biased_metric_is_warned_about(shop, held_out):
    with pytest.warns(BiasedMetricWarning, match="ndcg@5 on clicks"):
        ranker(early_stopping_rounds=3).fit(shop.rows, shop.clicks, **shop.log, **held_out[1], eval_metric="ndcg@5")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objective": "rank:ndcg"}, "objective='rank:ndcg' cannot be set"),
        ({"lambdarank_unbiased": True}, "use method='ratio'"),
        ({"lambdarank_num_pair_per_sample": 8}, "use truncation="),
    ],
)
def test_parameters_that_truerank_decides_are_refused(shop, options, message):
    with pytest.raises(InputError, match=message):
        ranker(**options).fit(shop.rows, shop.clicks, **shop.log)


def test_clicks_that_are_all_zero_are_refused_with_the_count(shop):
    with pytest.raises(InputError, match="none of the 480 sessions"):
        ranker().fit(shop.rows, 0 * shop.clicks, **shop.log)
    assert len(shop.group) == 480 == len(shop.clicks) // N_ITEMS

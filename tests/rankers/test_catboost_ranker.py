"""The CatBoost door: weighted pairs into PairLogit."""

from __future__ import annotations

import pickle

import catboost
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from generated import EXAMINATION, world

import truerank as tr
from truerank.errors import InputError

SMALL = {"iterations": 20, "depth": 3, "learning_rate": 0.2}


def ranker(method: str = "robust", **options: object) -> tr.CatBoostRanker:
    return tr.CatBoostRanker(method, EXAMINATION, **{**SMALL, **options})


@pytest.mark.parametrize("method", ["none", "robust", "complete"])
@pytest.mark.parametrize("ids", [False, True])
def test_every_method_learns_from_clicks(shop, method, ids):
    model = ranker(method).fit(shop.rows, shop.clicks, **shop.log, **(shop.ids if ids else {}))
    assert np.corrcoef(model.predict(shop.X), shop.utility)[0, 1] > 0.6


def test_pairs_and_weights_reach_catboost(shop):
    pairs = tr.pair_weights(shop.clicks, shop.position, shop.group, "robust", EXAMINATION, **shop.ids)
    model = ranker().fit_pairs(shop.X[pairs.item], pairs)
    start = np.repeat(pairs.row_offsets[:-1], np.diff(pairs.offsets))
    scores = model.predict(shop.X[pairs.item])
    gap = scores[start + pairs.i] - scores[start + pairs.j]
    loss = np.average(np.logaddexp(0, -gap), weights=pairs.weight)
    assert model.best_score_["learn"]["PairLogit"] == pytest.approx(loss, rel=1e-4)


def test_validation_is_by_the_loss_of_debiased_pairs(shop):
    data = world(n_lists=40, sessions_per_list=6, seed=1)
    model = ranker(iterations=60, early_stopping_rounds=10)
    model.fit(
        shop.rows,
        shop.clicks,
        **shop.log,
        eval_set=[(data.rows, data.clicks)],
        eval_group=[data.group],
        eval_position=[data.position],
    )
    pairs = tr.pair_weights(data.clicks, data.position, data.group, "robust", EXAMINATION)
    start = np.repeat(pairs.row_offsets[:-1], np.diff(pairs.offsets))
    scores = model.predict(data.rows)
    gap = scores[start + pairs.i] - scores[start + pairs.j]
    loss = np.average(np.logaddexp(0, -gap), weights=pairs.weight)
    assert model.best_score_["validation"]["PairLogit"] == pytest.approx(loss, rel=1e-4)


def test_it_survives_pickle_and_saves_catboost_s_own_file(shop, tmp_path):
    model = ranker().fit(pd.DataFrame(shop.rows), shop.clicks, **shop.log)
    model.save_model(tmp_path / "model.cbm")
    stock = catboost.CatBoost().load_model(tmp_path / "model.cbm")
    for copy in (stock, pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(copy.predict(shop.X), model.predict(shop.X))
    assert model.feature_importances_.shape == (6,)


def test_sparse_features_and_going_on_from_a_model(shop):
    first = ranker(iterations=10).fit(sp.csr_matrix(shop.rows), shop.clicks, **shop.log)
    more = ranker(iterations=10).fit(shop.rows, shop.clicks, **shop.log, init_model=first)
    assert more.booster_.tree_count_ == 20


def test_training_leaves_no_files_behind(shop, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ranker().fit(shop.rows, shop.clicks, **shop.log)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "fit", "message"),
    [
        ({"method": "ratio"}, {}, "which CatBoost's pairs can't do"),
        ({"loss_function": "RMSE"}, {}, "loss_function is 'RMSE'"),
        ({"eval_metric": "NDCG"}, {}, "its own loss on debiased pairs"),
        ({"method": "complete", "variance": "none", "clip_negative": False}, {"ids": True}, "Hint: clip_negative=True"),
        ({}, {"eval_metric": "unbiased_ndcg@10"}, "its own loss on debiased pairs"),
    ],
)
def test_what_catboost_cannot_do_is_refused(shop, options, fit, message):
    extra = shop.ids if fit.pop("ids", False) else {}
    with pytest.raises(InputError, match=message):
        tr.CatBoostRanker(**{"method": "robust", "examination": EXAMINATION, **SMALL, **options}).fit(
            shop.rows, shop.clicks, **shop.log, **extra, **fit
        )

"""Features are found for the rows of pairs, in their order, or it is said which are not there."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from impressions import random_log

import truerank as tr
from truerank.errors import InputError

QUALITY = 100


@pytest.fixture
def pairs(engine, rng):
    return tr.open_log(random_log(rng, 80), engine).compact(method="none")


@pytest.fixture
def features(rng):
    """Features from which the ids can be told, for every item of every query, in no order."""
    order = rng.permutation(32)
    query, item = np.repeat(np.arange(4), 8)[order], np.tile(np.arange(8), 4)[order]
    return pa.table({"query": query, "a": query * QUALITY + item, "item": item, "b": item / 2})


def ids_of_rows(pairs):
    return np.repeat(pairs.query, pairs.group), pairs.item


def test_features_come_in_the_order_of_the_rows(pairs, features, engine, tmp_path):
    pq.write_table(features, tmp_path / "features.parquet")
    query, item = ids_of_rows(pairs)
    for source in (features, features.to_pandas(), tmp_path / "features.parquet"):
        X = pairs.features(source, engine)
        assert X.column_names == ["a", "b"]
        np.testing.assert_array_equal(X["a"].to_numpy(), query * QUALITY + item)
        np.testing.assert_array_equal(X["b"].to_numpy(), item / 2)


def test_an_ibis_table_stays_in_its_engine(pairs, features, engine, tmp_path):
    pq.write_table(features, tmp_path / "features.parquet")
    table = engine.backend.read_parquet(tmp_path / "features.parquet")
    assert len(pairs.features(table)) == pairs.n_rows


def test_features_of_items_alone(pairs, engine):
    X = pairs.features(
        pa.table({"sku": np.arange(8), "a": np.arange(8.0)}), engine, query_column=None, item_column="sku"
    )
    np.testing.assert_array_equal(X["a"].to_numpy(), pairs.item)


def test_text_ids(engine, rng, tmp_path):
    pairs = tr.open_log(random_log(rng, text_ids=True), engine).compact(method="none")
    names = [f"i{k}" for k in range(8)]
    pa.csv.write_csv(pa.table({"item": names, "a": np.arange(8)}), tmp_path / "features.csv")
    X = pairs.features(tmp_path / "features.csv", engine, query_column=None)
    assert [names[k] for k in X["a"].to_pylist()] == pairs.item.tolist()


def test_missing_features_are_counted_with_examples(pairs, features, engine):
    query, item = ids_of_rows(pairs)
    gone = int(((query == 2) & (item == 5)).sum())
    assert gone
    rows = features.filter(~((features["query"].to_numpy() == 2) & (features["item"].to_numpy() == 5)))
    with pytest.raises(InputError, match=f"^{gone} of {pairs.n_rows:,} rows have no features, such as query 2, item 5"):
        pairs.features(rows, engine)


def test_missing_values_stay_missing(pairs, features, engine):
    with_gaps = features.set_column(3, "b", pa.array([None] * 32, pa.float64()))
    assert pairs.features(with_gaps, engine)["b"].null_count == pairs.n_rows


@pytest.mark.parametrize(
    ("change", "options", "says"),
    [
        (lambda t: pa.concat_tables([t, t.slice(0, 2)]), {}, "2 ids have more than one row of features"),
        (lambda t: t.drop_columns("query"), {}, "no column 'query' for 'query_column'"),
        (lambda t: t.set_column(2, "item", t["item"].cast("string")), {}, "item is string in the features and int64"),
        (lambda t: t, {"item_column": "items"}, "did you mean 'item'"),
    ],
)
def test_features_that_cannot_be_used_are_refused(change, options, says, pairs, features, engine):
    with pytest.raises(InputError, match=says):
        pairs.features(change(features), engine, **options)


def test_pairs_without_ids_have_no_features(features):
    with pytest.raises(InputError, match="have no ids"):
        tr.pair_weights([0, 1], [1, 2], [2], "none").features(features)


def test_a_ranker_learns_from_a_log_and_a_table_of_features(engine):
    """What people want is in the features: the ranker trained on clicks finds it."""
    rng = np.random.default_rng(0)
    n_lists, n_items = 200, 10
    quality = rng.normal(size=n_lists * n_items)
    looks = tr.Continuous(tr.inverse_rank(n_items))
    judged = (quality > 1).astype(int)
    shown = tr.simulate_clicks(judged, looks, 20, 1, group=np.full(n_lists, n_items), drop_irrelevant=False, noise=0.05)
    columns = {
        "session": np.repeat(np.arange(shown.n_sessions), n_items),
        "query": np.repeat(shown.query, n_items),
        "item": shown.item,
        "position": shown.positions,
        "label": shown.clicks,
    }
    pairs = tr.open_log(pa.table(columns), engine).compact(looks)
    X = pairs.features(pa.table({"item": np.arange(len(quality)), "quality": quality}), engine, query_column=None)
    ranker = tr.LambdaMARTRanker(examination=looks, n_estimators=20, verbosity=-1).fit_pairs(X, pairs)
    assert np.corrcoef(ranker.predict(X), X["quality"].to_numpy() > 1)[0, 1] > 0.8

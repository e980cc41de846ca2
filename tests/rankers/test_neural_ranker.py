"""The PyTorch door: what it minimises, that a seed decides everything, stopping and going on, and its habits."""

from __future__ import annotations

import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from generated import EXAMINATION, N_ITEMS, world
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold

torch = pytest.importorskip("torch", reason="torch is not installed", exc_type=ImportError)

import truerank as tr  # noqa: E402
import truerank.torch as trt  # noqa: E402
from truerank.errors import BiasedMetricWarning, DefaultPositionWarning, InputError  # noqa: E402
from truerank.rankers.torch_training import lambda_backward  # noqa: E402

NAMES = [f"f{k}" for k in range(6)]
ALL_LISTS = 10_000
STANDING_STILL = {"epochs": 1, "batch_lists": ALL_LISTS, "learning_rate": 1e-12, "weight_decay": 0.0}


def ranker(method: str = "unbiased", **options: object) -> tr.NeuralRanker:
    return tr.NeuralRanker(method, EXAMINATION, **{"epochs": 8, "hidden": (16,), **options})


@pytest.fixture(scope="module")
def fitted(shop):
    return ranker().fit(shop.rows, shop.clicks, **shop.log)


@pytest.fixture(scope="module")
def held_out():
    data = world(n_lists=40, sessions_per_list=6, seed=1)
    return data, {"eval_set": [(data.rows, data.clicks)], "eval_group": [data.group], "eval_position": [data.position]}


# what it trains


@pytest.mark.parametrize("method", ["unbiased", "none", "robust", "complete"])
def test_every_method_learns_from_clicks(shop, method):
    scores = ranker(method, epochs=30).fit(shop.rows, shop.clicks, **shop.log, **shop.ids).predict(shop.X)
    assert np.corrcoef(scores, shop.utility)[0, 1] > 0.6


@pytest.mark.parametrize("pair", ["ranknet", "hinge", "sigmoid"])
@pytest.mark.parametrize("examination", [EXAMINATION, tr.Independent(tr.inverse_rank(N_ITEMS)), None])
@pytest.mark.parametrize("ids", [False, True])
def test_it_minimises_the_unbiased_loss(shop, pair, examination, ids):
    """The training loss, of a network that does not move, is what the NumPy twin says of its scores."""
    grades = shop.clicks * (1 + shop.item % 3)
    model = tr.NeuralRanker("unbiased", examination, pair=pair, sigma=1.5, bound=None, **STANDING_STILL)
    model.fit(shop.rows, grades, **shop.log, **(shop.ids if ids else {}))
    loss = tr.UnbiasedPairwiseLoss(examination, pair, 1.5, gain="linear")
    expected = loss.value(model.predict(shop.rows), grades, shop.position, shop.group)
    assert model.evals_result_["training"]["loss"] == [pytest.approx(expected / model.pair_summary_.sessions)]


def test_summed_sessions_train_the_same_network_as_all_sessions(shop):
    with_pairs = shop.clicks.reshape(-1, N_ITEMS).any(axis=1)
    assert not with_pairs.all()
    options = {"bound": None, "batch_lists": ALL_LISTS, "epochs": 5, "normalization": None}
    X = shop.X.astype(np.float32)
    apart = ranker(**options).fit(X[shop.item], shop.clicks, **shop.log)
    summed = ranker(**options).fit(X[shop.item], shop.clicks, **shop.log, **shop.ids)
    np.testing.assert_allclose(apart.predict(X), summed.predict(X), atol=1e-4)


def test_the_lambda_objective_sends_back_the_lambda_gradient(shop):
    pairs = tr.pair_weights(shop.clicks, shop.position, shop.group, "robust", EXAMINATION, **shop.ids)
    scores = torch.tensor(np.random.default_rng(0).normal(size=pairs.n_rows), requires_grad=True)
    lambda_backward(sigma=1.5, truncation=3)(scores, pairs)
    expected, _ = tr.lambda_gradient(pairs, scores.detach().numpy(), 1.5, 3)
    np.testing.assert_allclose(scores.grad, expected / pairs.n_lists)


@pytest.mark.parametrize("merge", ["exact", "query"])
def test_fit_with_ids_is_pair_weights_and_fit_pairs(merge):
    data = world(same_order=False)
    direct = ranker("robust", merge=merge).fit(data.rows, data.clicks, **data.log, **data.ids)
    pairs = tr.pair_weights(data.clicks, data.position, data.group, "robust", EXAMINATION, **data.ids, merge=merge)
    kept = pairs.select_lists(np.diff(pairs.offsets) > 0)
    for by_hand in (ranker("robust"), ranker("unbiased")):
        by_hand.fit_pairs(data.rows[kept.source_row], kept)
        np.testing.assert_array_equal(direct.predict(data.X), by_hand.predict(data.X))


def test_debiasing_undoes_what_position_did():
    """Eight-fold exposure at the top: clicks alone rank the exposed feature first, unbiased ranks the relevant one."""
    rng = np.random.default_rng(0)
    relevant = np.tile([0, 0, 0, 0, 0, 0, 0, 1], (4_000, 1))  # the better kind always stands last
    chance = np.where(relevant == 1, 0.5, 0.2)
    clicks = (rng.random(relevant.shape) < chance) & EXAMINATION.sample(4_000, N_ITEMS, rng)
    X, group = relevant.reshape(-1, 1).astype(float), np.full(4_000, N_ITEMS)
    gap = {}
    for name, examination, bound in (("naive", None, None), ("nonnegative", EXAMINATION, "nonnegative")):
        model = tr.NeuralRanker("unbiased", examination, bound=bound, hidden=(), epochs=3, batch_lists=256)
        scores = model.fit(X, clicks.ravel(), group, position=tr.list_order(group)).predict([[0.0], [1.0]])
        gap[name] = scores[1] - scores[0]
    assert gap["naive"] < 0 < gap["nonnegative"]


def test_bounds_keep_in_hand_what_runs_away_without(shop):
    """A network with far more parameters than there are clicks, on few sessions."""
    rows = slice(0, 40 * N_ITEMS)
    log = {"group": shop.group[:40], "position": shop.position[rows]}
    options = {"hidden": (64,), "epochs": 250, "batch_lists": ALL_LISTS, "normalization": "standard"}
    independent = tr.Independent(tr.inverse_rank(N_ITEMS))
    largest, losses = {}, {}
    for bound in (None, "clip", "nonnegative", "nonnegative_session"):
        model = tr.NeuralRanker("unbiased", independent, bound=bound, **options)
        model.fit(shop.rows[rows], shop.clicks[rows], **log)
        largest[bound] = abs(model.predict(shop.rows[rows])).max()
        losses[bound] = model.evals_result_["training"]["loss"][-1]
    assert losses.pop(None) < -100
    assert min(losses.values()) >= 0
    assert 2 * max(largest[bound] for bound in losses) < largest[None]


def test_clipping_is_counted(shop):
    assert ranker(bound="clip", **STANDING_STILL).fit(shop.rows, shop.clicks, **shop.log).n_clipped_pairs_ > 0
    assert ranker(bound=None, **STANDING_STILL).fit(shop.rows, shop.clicks, **shop.log).n_clipped_pairs_ == 0
    for method, bound, clipped in (("complete", "nonnegative", True), ("complete", None, False)):
        model = ranker(method, bound=bound, variance="none", **STANDING_STILL).fit(shop.rows, shop.clicks, **shop.log)
        assert (model.n_clipped_pairs_ > 0) == clipped


# seeds


@pytest.mark.parametrize("method", ["unbiased", "robust"])
def test_a_seed_gives_the_same_bits_whatever_went_before(shop, method):
    answers = []
    for ambient in (1, 2):
        torch.set_num_threads(ambient)
        torch.manual_seed(ambient)
        before = torch.random.get_rng_state()
        answers.append(ranker(method, dropout=0.3).fit(shop.rows, shop.clicks, **shop.log).predict(shop.X))
        assert torch.equal(torch.random.get_rng_state(), before)
        assert torch.get_num_threads() == ambient
    torch.set_num_threads(1)
    np.testing.assert_array_equal(*answers)
    other = ranker(method, random_state=1).fit(shop.rows, shop.clicks, **shop.log).predict(shop.X)
    assert not np.allclose(other, answers[0])


def test_more_threads_give_the_same_up_to_rounding(shop, fitted):
    two = ranker(n_jobs=2).fit(shop.rows, shop.clicks, **shop.log)
    np.testing.assert_allclose(two.predict(shop.X), fitted.predict(shop.X), atol=1e-3)


# stopping and going on


@pytest.mark.parametrize("method", ["unbiased", "robust"])
@pytest.mark.parametrize("via", ["ranker", "file", "path", "pickle"])
def test_training_stopped_and_continued_equals_training_in_one_go(shop, method, via, tmp_path):
    data = (shop.rows, shop.clicks)
    whole = ranker(method, dropout=0.2).fit(*data, **shop.log)
    half = ranker(method, dropout=0.2, epochs=5).fit(*data, **shop.log)
    half.save(tmp_path / "half.zip")
    start = {
        "ranker": half,
        "file": str(tmp_path / "half.zip"),
        "path": tmp_path / "half.zip",
        "pickle": pickle.loads(pickle.dumps(half)),
    }[via]
    rest = ranker(method, dropout=0.2, epochs=3).fit(*data, **shop.log, init_model=start)
    np.testing.assert_array_equal(rest.predict(shop.X), whole.predict(shop.X))
    assert rest.epochs_ == whole.epochs_ == 8
    assert half.epochs_ == 5


def test_an_interrupted_ranker_keeps_the_epochs_it_has(shop):
    def interrupt(epoch):
        if epoch.number == 3:
            raise KeyboardInterrupt

    stopped = ranker()
    with pytest.raises(KeyboardInterrupt):
        stopped.fit(shop.rows, shop.clicks, **shop.log, progress=interrupt)
    three = ranker(epochs=3).fit(shop.rows, shop.clicks, **shop.log)
    np.testing.assert_array_equal(stopped.predict(shop.X), three.predict(shop.X))
    assert stopped.epochs_ == 3


def test_progress_is_told_epoch_by_epoch(shop, held_out):
    told = []
    ranker(epochs=3).fit(shop.rows, shop.clicks, **shop.log, **held_out[1], progress=told.append)
    assert [epoch.number for epoch in told] == [1, 2, 3]
    assert str(told[0]).startswith("epoch 1: loss ")
    assert "valid_0 unbiased_loss" in str(told[0])


def test_early_stopping_watches_the_unbiased_loss_and_goes_back_to_the_best(shop, held_out):
    data, validation = held_out
    model = ranker(epochs=300, early_stopping_rounds=5, learning_rate=0.03)
    model.fit(shop.rows, shop.clicks, **shop.log, **validation)
    curve = model.evals_result_["valid_0"]["unbiased_loss"]
    assert model.best_iteration_ == model.epochs_ == 1 + int(np.argmin(curve)) == len(curve) - 5 < 300
    loss = tr.UnbiasedPairwiseLoss(EXAMINATION).value(model.predict(data.rows), data.clicks, data.position, data.group)
    assert loss / len(data.group) == pytest.approx(min(curve)) == pytest.approx(model.best_score_)


def test_other_metrics_can_decide(shop, held_out):
    data, validation = held_out
    model = ranker(epochs=40, early_stopping_rounds=5, learning_rate=0.03)
    model.fit(shop.rows, shop.clicks, **shop.log, **validation, eval_metric=["map", "unbiased_ndcg@3"])
    curves = model.evals_result_["valid_0"]
    assert list(curves) == ["unbiased_ndcg@3", "map"]
    assert model.best_iteration_ == 1 + int(np.argmax(curves["unbiased_ndcg@3"]))
    scores = model.predict(data.rows)
    value = tr.unbiased_ndcg(scores, data.clicks, data.position, data.group, EXAMINATION, 3).value
    assert value == pytest.approx(model.best_score_)
    expected = np.nanmean(tr.average_precision(scores, data.clicks, data.group))
    assert curves["map"][model.best_iteration_ - 1] == pytest.approx(expected)


def test_judgments_are_validated_by_plain_ndcg(shop):
    relevance = np.digitize(shop.utility, np.quantile(shop.utility, [0.5, 0.8]))
    lists = np.full(len(relevance) // N_ITEMS, N_ITEMS)
    model = ranker(epochs=2).fit(
        shop.rows, shop.clicks, **shop.log, eval_set=(shop.X, relevance), eval_group=[lists], eval_labels="judgments"
    )
    expected = np.nanmean(tr.ndcg(model.predict(shop.X), relevance, lists))
    assert model.evals_result_["valid_0"]["ndcg@10"][-1] == pytest.approx(expected)
    assert model.best_iteration_ is None


def test_stopping_a_debiased_model_by_a_biased_metric_is_warned_about(shop, held_out):
    fit = {**shop.log, **held_out[1]}
    with pytest.warns(BiasedMetricWarning, match="ndcg@5 on clicks"):
        ranker(epochs=2, early_stopping_rounds=1).fit(shop.rows, shop.clicks, **fit, eval_metric="ndcg@5")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tr.NeuralRanker(epochs=2, early_stopping_rounds=1).fit(shop.rows, shop.clicks, **fit, eval_metric="ndcg@5")


def test_positions_that_play_a_part_default_to_list_order_and_it_says_so(shop, fitted):
    with pytest.warns(DefaultPositionWarning, match="no position= was given"):
        model = ranker().fit(shop.rows, shop.clicks, group=shop.group)
    np.testing.assert_array_equal(model.predict(shop.X), fitted.predict(shop.X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tr.NeuralRanker(**STANDING_STILL).fit(shop.rows, shop.clicks, group=shop.group)


# scikit-learn's habits


def test_parameters_can_be_read_set_and_cloned():
    model = ranker(sigma=2.0, hidden=(5,))
    assert clone(model).get_params() == model.get_params()
    model.set_params(epochs=3, method="none")
    assert (model.epochs, model.method) == (3, "none")
    assert "hidden=(5,)" in repr(model)
    with pytest.raises(TypeError, match="NeuralRanker does not take epoch; did you mean epochs"):
        model.set_params(epoch=3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'n_estimators'"):
        ranker(n_estimators=3)
    with pytest.raises(TypeError, match="NeuralRanker does not take n_estimators"):
        model.set_params(n_estimators=3)
    with pytest.raises(NotFittedError):
        ranker().predict([[0] * 6])


def test_it_survives_pickle_and_joblib(fitted, shop, tmp_path):
    joblib.dump(fitted, tmp_path / "ranker.joblib")
    for copy in (pickle.loads(pickle.dumps(fitted)), joblib.load(tmp_path / "ranker.joblib")):
        np.testing.assert_array_equal(copy.predict(shop.X), fitted.predict(shop.X))
        assert copy.get_params() == fitted.get_params()


def test_grid_search_keeps_sessions_whole(shop):
    qid = np.repeat(np.arange(len(shop.query)), N_ITEMS)
    rows = {"qid": qid, "position": shop.position, "query": np.repeat(shop.query, N_ITEMS), "item": shop.item}

    def against_truth(model, X, _):
        return np.corrcoef(model.predict(X), X[:, 0] + np.abs(X[:, 1]) + X[:, 2] * (X[:, 3] > 0))[0, 1]

    search = GridSearchCV(ranker(epochs=20), {"hidden": [(), (16,)]}, cv=GroupKFold(2), scoring=against_truth)
    search.fit(shop.rows, shop.clicks, groups=rows["query"], **rows)
    assert search.best_params_ == {"hidden": (16,)}
    assert search.best_score_ > 0.5


def test_score_is_the_ndcg_of_golden_labels(fitted, shop):
    relevance = np.digitize(shop.utility, np.quantile(shop.utility, [0.5, 0.8]))
    lists = np.full(len(relevance) // N_ITEMS, N_ITEMS)
    assert fitted.score(shop.X, relevance, lists) == pytest.approx(
        np.nanmean(tr.ndcg(fitted.predict(shop.X), relevance, lists))
    )


TABLES = {
    "list": lambda X: X.tolist(),
    "float64": lambda X: X.astype(np.float64),
    "Fortran order": np.asfortranarray,
    "sparse": sp.csr_matrix,
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "pandas nullable": lambda X: pd.DataFrame(X, columns=NAMES).convert_dtypes(),
    "Polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "Arrow": lambda X: pa.table(dict(zip(NAMES, X.T, strict=True))),
}


@pytest.mark.parametrize("table", TABLES)
def test_every_kind_of_table_gives_the_same_model(shop, fitted, table):
    convert = TABLES[table]
    X = shop.X.astype(np.float32)
    model = ranker().fit(convert(X[shop.item]), shop.clicks, **shop.log)
    np.testing.assert_array_equal(model.predict(convert(X)), fitted.predict(shop.X))
    if hasattr(convert(X), "columns"):
        assert model.feature_names_in_.tolist() == NAMES
        with pytest.raises(InputError, match="column 0 of X is 'f5' and was 'f0' in training"):
            model.predict(pd.DataFrame(X[:, ::-1], columns=NAMES[::-1]))


@pytest.mark.parametrize("shuffle", [False, True])
def test_qid_stands_for_group_in_any_order(shop, fitted, shuffle):
    qid = np.repeat(np.arange(len(shop.query))[::-1], N_ITEMS)
    order = np.random.default_rng(0).permutation(len(qid)) if shuffle else np.arange(len(qid))
    model = ranker().fit(shop.rows[order], shop.clicks[order], qid=qid[order], position=shop.position[order])
    if shuffle:
        assert np.corrcoef(model.predict(shop.X), fitted.predict(shop.X))[0, 1] > 0.9
    else:
        np.testing.assert_array_equal(model.predict(shop.X), fitted.predict(shop.X))


# networks


def test_without_hidden_layers_it_is_linear(shop):
    model = ranker(hidden=(), normalization="standard").fit(shop.rows, shop.clicks, **shop.log)
    a, b = shop.X[:50], shop.X[50:100]
    both = model.predict(a + b) - model.predict(a) - model.predict(b) + model.predict(np.zeros((50, 6)))
    np.testing.assert_allclose(both, 0, atol=1e-5)


def test_a_module_of_the_user_s_own_is_copied_and_trained(shop, tmp_path):
    own = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1), torch.nn.Flatten(0))
    before = [p.clone() for p in own.parameters()]
    first, again = (ranker(module=own).fit(shop.rows, shop.clicks, **shop.log).predict(shop.X) for _ in range(2))
    assert all(torch.equal(p, q) for p, q in zip(own.parameters(), before, strict=True))
    np.testing.assert_array_equal(first, again)
    made = ranker(module=lambda n: torch.nn.Linear(n, 1, bias=False)).fit(shop.rows, shop.clicks, **shop.log)
    plain = ranker(hidden=()).fit(shop.rows, shop.clicks, **shop.log)
    np.testing.assert_array_equal(made.predict(shop.X), plain.predict(shop.X))


def test_the_network_is_a_plain_module_over_raw_features(fitted, shop):
    scores = fitted.network_(torch.tensor(shop.X, dtype=torch.float32))
    np.testing.assert_allclose(scores.detach().numpy(), fitted.predict(shop.X), rtol=1e-6)
    assert isinstance(fitted.network_, torch.nn.Module)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (torch.nn.Linear(6, 2), r"module gives \(2, 2\) for 2 rows; it needs one score a row: \(2,\) or \(2, 1\)"),
        (torch.nn.Linear(5, 1), r"module cannot take features of shape \(2, 6\)"),
        (lambda n: "network", "module made a str of 6 inputs"),
        ("linear", "module is 'linear'; it must be a torch.nn.Module or a function"),
    ],
)
def test_a_module_that_does_not_fit_is_refused(shop, module, message):
    with pytest.raises(InputError, match=message):
        ranker(module=module).fit(shop.rows, shop.clicks, **shop.log)


# what it refuses


class Lopsided(trt.PairFunction):
    def l10(self, s_i, s_j):
        return s_j - s_i


@pytest.mark.parametrize(
    ("options", "fit", "message"),
    [
        ({"method": "ratio"}, {}, "method is 'ratio'; it must be one of 'unbiased', 'none', 'robust', 'complete'"),
        ({"method": "robust", "examination": None}, {}, "needs examination="),
        ({"bound": "cap"}, {}, "bound is 'cap'; it must be one of None, 'clip'"),
        ({"normalization": "log"}, {}, "normalization is 'log'; it must be one of 'quantile', 'standard', None"),
        ({"hidden": 64}, {}, "hidden is 64; it needs a width for each hidden layer"),
        ({"hidden": (64, 0)}, {}, r"hidden\[1\] is 0"),
        ({"dropout": 1}, {}, "dropout is 1; it must be a share"),
        ({"epochs": 0}, {}, "epochs is 0"),
        ({"batch_lists": 1.5}, {}, "batch_lists is 1.5"),
        ({"learning_rate": 0}, {}, "learning_rate is 0; it must be a number above 0"),
        ({"random_state": None}, {}, "random_state is None"),
        ({"device": "abacus"}, {}, "device='abacus' cannot be used: .*Hint: device='cpu'"),
        ({"pair": "rank"}, {}, "pair is 'rank'"),
        ({"pair": "ranknet_with_ties"}, {}, "has a cost for items of equal labels"),
        ({"early_stopping_rounds": 3}, {}, "early stopping needs eval_set="),
        ({}, {"clicks": 0}, "none of the 480 sessions gives a pair"),
        ({}, {"group": [3]}, "group sizes sum to 3"),
        ({}, {"X": np.zeros((3840, 0))}, "it needs at least one row and one column"),
        ({}, {"X": np.full((3840, 1), "red")}, "X must hold numbers: .* Hint: encode categories"),
        ({"normalization": None}, {"X": np.full((3840, 2), np.nan)}, r"X\[0, 0\] is nan, and normalization=None"),
        ({}, {"init_model": "nothing"}, "NeuralRanker goes on from its own"),
        ({"pair": Lopsided()}, {"eval_set": "held out", "eval_metric": "unbiased_loss"}, "needs a pair function with"),
        ({}, {"eval_set": "held out", "eval_metric": "magic"}, "metric 'magic' is not known"),
    ],
)
def test_wrong_use_is_refused_with_the_reason(shop, held_out, options, fit, message):
    fit = {"X": shop.rows, "clicks": shop.clicks, **shop.log, **fit}
    fit["clicks"] = np.broadcast_to(fit["clicks"], len(shop.clicks))
    if fit.get("eval_set") == "held out":
        fit |= held_out[1]
    if fit.get("init_model") == "nothing":
        fit["init_model"] = object()
    with pytest.raises(InputError, match=message):
        tr.NeuralRanker(**{"method": "unbiased", "examination": EXAMINATION, "epochs": 1, **options}).fit(**fit)


def test_a_misspelt_argument_of_fit_is_named_with_the_right_one(shop):
    with pytest.raises(TypeError, match="fit does not take positions; did you mean position"):
        ranker().fit(shop.rows, shop.clicks, group=shop.group, positions=shop.position)


def test_other_columns_than_in_training_are_refused(fitted, shop):
    with pytest.raises(InputError, match="X has 5 columns and the ranker was trained on 6"):
        fitted.predict(shop.X[:, :5])
    with pytest.raises(InputError, match="X has 5 columns and init_model was trained on 6"):
        ranker().fit(shop.rows[:, :5], shop.clicks, **shop.log, init_model=fitted)


def test_training_that_diverges_says_what_to_do(shop):
    with pytest.raises(InputError, match=r"training diverged: .*smaller learning_rate="):
        ranker(learning_rate=1e30, normalization=None).fit(shop.rows, shop.clicks, **shop.log)

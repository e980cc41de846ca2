"""Verbs read files and write files: what they write is what the library gives."""

from __future__ import annotations

import json

import lightgbm
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli_files import scores_of

import truerank as tr

LENGTH = 6


def test_the_simulated_log_is_what_simulate_clicks_draws(run, judged, judged_lists):
    answer = run("simulate", judged, "-o", "c.parquet", "--features", "i.parquet", "--sessions", 3, "--swap", 0.3)
    assert answer.code == 0, answer.err
    people, swap = tr.Continuous(tr.inverse_rank(LENGTH)), tr.SwapExperiment(range(2, LENGTH + 1), share=0.3)
    drawn = tr.simulate_clicks(judged_lists, people, 3, swap=swap)
    written = pq.read_table("c.parquet")
    assert np.array_equal(written["label"], drawn.clicks)
    assert np.array_equal(written["item"], drawn.item)
    assert np.array_equal(written["query"], np.repeat(drawn.query, drawn.group))
    arms, counted = tr.open_log("c.parquet").swap_arms(), tr.propensity.swap_arms(drawn)
    assert np.array_equal(arms.sessions, counted.sessions)
    assert np.array_equal(arms.target_clicks, counted.target_clicks)
    features = pq.read_table("i.parquet")
    assert np.array_equal(np.stack([features[f"f{k}"] for k in range(1, 5)], axis=1), judged_lists.X)
    assert np.array_equal(features["item"], np.arange(judged_lists.n_rows))


def test_people_of_a_saved_model_can_be_simulated(run, judged, judged_lists):
    tr.Independent(tr.geometric(LENGTH, 0.4)).save("people.json")
    assert run("simulate", judged, "-o", "c.parquet", "--examination", "people.json", "--at", 4).code == 0
    drawn = tr.simulate_clicks(judged_lists, tr.Independent(tr.geometric(LENGTH, 0.4)), at=4)
    assert np.array_equal(pq.read_table("c.parquet")["label"], drawn.clicks)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("-o", "c.csv"), "--out is 'c.csv'"),
        (("-o", "c.parquet", "--features", "feat.csv"), "--features is 'feat.csv'"),
        (("-o", "nodir/c.parquet"), "--out is 'nodir/c.parquet' and there is no folder nodir"),
        (("-o", "c.parquet", "--features", "nodir/i.parquet"), "and there is no folder nodir"),
        (("-o", "c.parquet", "--at", 1, "--swap", 0.3), "--swap 0.3 needs at least two positions"),
    ],
)
def test_what_cannot_be_written_or_swapped_is_refused_before_anything_is_drawn(run, judged, in_folder, options, said):
    answer = run("simulate", judged, *options)
    assert answer.code == 1
    assert said in answer.err
    assert [path.name for path in in_folder.iterdir()] == ["judged.txt"]


def test_an_experiment_in_the_log_is_what_the_estimate_comes_from(run, log):
    answer = run("estimate", log, "-o", "exam.json", "--browsing", "continuous", "--smooth")
    assert answer.code == 0, answer.err
    assert answer.out.startswith("swap: θ_1 = 1")
    assert isinstance(tr.load_examination("exam.json"), tr.Continuous)
    found = tr.propensity.PropensityEstimate.load("exam.json")
    low, high = found.interval(0.9999)
    truth = tr.inverse_rank(LENGTH)
    assert np.all((low[1:] < truth[1:]) & (truth[1:] < high[1:]))


def test_an_estimate_is_printed_as_json(run, log):
    found = json.loads(run("estimate", log, "--by", "harvest", "--json").out)
    assert found["method"] == "harvest"
    assert len(found["theta"]) == LENGTH


def test_a_grid_is_estimated_by_its_rows(run, judged):
    tr.RowSkipping(0.2, 0.8, [3, 3]).save("grid.json")
    run("simulate", judged, "-o", "g.parquet", "--examination", "grid.json", "--keep-clickless", "--sessions", 60)
    answer = run("estimate", "g.parquet", "--by", "row-skipping", "--rows", "3,3", "-o", "exam.json")
    assert answer.code == 0, answer.err
    found = tr.propensity.PropensityEstimate.load("exam.json")
    assert found.parameters["gamma"][0] == pytest.approx(0.2, abs=0.06)
    assert found.parameters["continuation"][0] == pytest.approx(0.8, abs=0.06)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--positions", 3), "--positions goes with --by harvest"),
        (("--by", "row-skipping", "--rows", "3,x"), "--rows 3,x must be numbers"),
    ],
)
def test_options_that_do_not_go_together_are_refused(run, log, options, said):
    answer = run("estimate", log, *options)
    assert answer.code == 1
    assert said in answer.err


def test_what_a_log_cannot_tell_is_refused_and_nothing_is_written(run, judged, in_folder):
    run("simulate", judged, "-o", "fixed.parquet")
    answer = run("estimate", "fixed.parquet", "-o", "exam.json")
    assert answer.code == 1
    assert "all its items stand always there" in answer.err
    assert not (in_folder / "exam.json").exists()


def train(run, *more):
    answer = run("train", "--log", "clicks.parquet", "--features", "items.parquet", "--trees", 10, *more)
    assert answer.code == 0, answer.err
    return answer


def test_a_model_trained_from_files_is_the_one_trained_on_the_pairs_of_the_log(run, log, judged_lists):
    people = tr.Continuous(tr.inverse_rank(LENGTH))
    people.save("people.json")
    train(run, "--examination", "people.json", "-o", "model.txt", "--set", "num_leaves=7")
    pairs = tr.open_log(log).compact(people)
    pairs = pairs.select_lists(np.diff(pairs.offsets) > 0)
    params = {"n_estimators": 10, "num_leaves": 7, "learning_rate": 0.05, "random_state": 0}
    ranker = tr.LambdaMARTRanker("robust", people, **params).fit_pairs(judged_lists.X[pairs.item], pairs)
    assert np.allclose(tr.score_saved("model.txt", judged_lists.X), ranker.predict(judged_lists.X), rtol=1e-12)
    assert lightgbm.Booster(model_file="model.txt").feature_name() == ["f1", "f2", "f3", "f4"]


def test_a_folder_that_is_not_there_is_named_before_training(run, log):
    answer = run("train", "--log", "no.parquet", "--features", "no.parquet", "-o", "nodir/model.txt")
    assert answer.code == 1
    assert "there is no folder nodir" in answer.err


def test_what_was_trained_is_told_to_machines(run, log):
    told = json.loads(train(run, "--method", "none", "-o", "plain.txt", "--json").out)
    assert told["model"] == "plain.txt"
    assert told["sessions"] == 60 * told["lists"]


@pytest.mark.parametrize(("booster", "file"), [("xgboost", "m.json"), ("catboost", "m.cbm")])
def test_other_boosters_train_from_the_same_files(run, log, judged_lists, booster, file):
    train(run, "--method", "none", "--booster", booster, "-o", file)
    scores = tr.score_saved(file, judged_lists.X)
    assert np.corrcoef(scores, judged_lists.X[:, 0])[0, 1] > 0.5


def test_impressions_without_features_are_counted_and_refused(run, log):
    features = pq.read_table("items.parquet")
    pq.write_table(features.slice(LENGTH), "items.parquet")
    answer = run("train", "--log", log, "--features", "items.parquet", "--method", "none", "-o", "m.txt")
    assert answer.code == 1
    assert f"{LENGTH} of" in answer.err
    assert "rows have no features, such as query 0, item 0" in answer.err


def changed(features, how):
    return {
        "twice": lambda: pa.concat_tables([features, features.slice(0, 1)]),
        "without keys": lambda: features.drop_columns(["item"]),
        "text": lambda: features.append_column("colour", pa.array(["red"] * features.num_rows)),
        "other ids": lambda: features.set_column(0, "query", features["query"].cast(pa.string())),
    }[how]()


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("twice", "more than one row of features"),
        ("without keys", "item"),
        ("text", "the feature 'colour' is string"),
        ("other ids", "query is string in the features and int64 in the pairs"),
    ],
)
def test_features_that_do_not_fit_are_refused(run, log, how, said):
    pq.write_table(changed(pq.read_table("items.parquet"), how), "items.parquet")
    answer = run("train", "--log", log, "--features", "items.parquet", "--method", "none", "-o", "m.txt")
    assert answer.code == 1
    assert said in answer.err


def test_robust_training_without_an_examination_model_is_refused_with_a_hint(run, log, in_folder):
    answer = run("train", "--log", log, "--features", "items.parquet", "-o", "m.txt")
    assert answer.code == 1
    assert "needs examination=" in answer.err
    assert not (in_folder / "m.txt").exists()


@pytest.fixture
def models(judged, judged_lists):
    """A model of each library, and scores, in files."""
    lists = judged_lists
    trained = {"gbm.txt": tr.LambdaMARTRanker, "boost.json": tr.XGBRanker, "cat.cbm": tr.CatBoostRanker}
    for name, ranker in trained.items():
        ranker("none", n_estimators=5).fit(lists.X, lists.labels, group=lists.group).save_model(name)
    np.savetxt("scores.txt", lists.X[:, 0])
    return [*trained, "scores.txt"]


def test_models_of_all_libraries_and_plain_scores_are_compared(run, judged, models, judged_lists):
    answer = run("evaluate", judged, "first=scores.txt", *models[:3], "--metrics", "ndcg@3,mrr", "--json")
    assert answer.code == 0, answer.err
    rows = {(row["model"], row["metric"]): row for row in json.loads(answer.out)}
    scores = scores_of(models, judged_lists.X)
    names = {"first": "scores.txt", "gbm": "gbm.txt", "boost": "boost.json", "cat": "cat.cbm"}
    wanted = tr.evaluate(
        {name: scores[file] for name, file in names.items()},
        judged_lists.labels,
        judged_lists.group,
        ["ndcg@3", "mrr"],
    )
    for name in names:
        assert rows[name, "ndcg@3"]["mean"] == pytest.approx(wanted[name, "ndcg@3"].mean, abs=1e-12)


@pytest.mark.parametrize(("form", "begins"), [("text", "Model"), ("markdown", "| Model"), ("latex", r"\begin")])
def test_the_table_has_the_form_asked_for(run, judged, models, form, begins):
    answer = run("evaluate", judged, *models[:2], "--as-shown", "--format", form)
    assert answer.out.lstrip().startswith(begins) or begins in answer.out
    assert "as shown" in answer.out


def test_two_models_of_one_name_are_refused(run, judged, models):
    answer = run("evaluate", judged, "a=gbm.txt", "a=boost.json")
    assert answer.code == 1
    assert "two models are called 'a'" in answer.err


def test_a_model_by_the_name_of_the_order_shown_is_refused_and_not_overwritten(run, judged, models):
    answer = run("evaluate", judged, "as shown=gbm.txt", "boost.json", "--as-shown")
    assert answer.code == 1
    assert "a model is called 'as shown'" in answer.err
    assert run("evaluate", judged, "as shown=gbm.txt", "boost.json").code == 0


def test_a_file_may_have_an_equals_sign_in_its_name(run, judged, models, in_folder):
    (in_folder / "gbm.txt").rename("lr=0.1.txt")
    answer = run("evaluate", judged, "lr=0.1.txt", "slow=lr=0.1.txt", "boost.json", "--json")
    assert answer.code == 0, answer.err
    means = {row["model"]: row["mean"] for row in json.loads(answer.out)}
    assert list(means) == ["lr=0.1", "slow", "boost"]
    assert means["lr=0.1"] == means["slow"] != means["boost"]


def test_a_file_that_is_no_model_is_refused_in_one_line(run, judged, models, in_folder):
    whole = (in_folder / "boost.json").read_bytes()
    (in_folder / "cut.json").write_bytes(whole[: len(whole) // 2])
    (in_folder / "cut.cbm").write_bytes(b"CBM1 and no more")
    for broken, said in (("cut.json", "XGBoost"), ("cut.cbm", "CatBoost"), ("judged.txt", "neither a model")):
        answer = run("evaluate", judged, broken)
        assert answer.code == 1
        assert said in answer.err
        assert len(answer.err.splitlines()) == 1


@pytest.mark.parametrize("model", ["gbm.txt", "boost.json", "cat.cbm"])
def test_a_model_of_other_features_is_refused(run, judged, models, model):
    answer = run("evaluate", judged, model, "--columns", 7)
    assert answer.code == 1
    assert "was trained on 4 features and the lists have 7" in answer.err


def test_scores_of_other_lists_are_refused(run, judged, in_folder):
    np.savetxt("short.txt", np.arange(7.0))
    assert "short.txt has 7 scores and the lists have 900 rows" in run("evaluate", judged, "short.txt").err

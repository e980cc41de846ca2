"""Models compared: every number of a comparison against SciPy, NumPy or the single metrics."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest
from judged_lists import on_one_thread_and_two, random_lists
from scipy.stats import ttest_rel

import truerank as tr
from truerank.errors import InputError
from truerank.metrics import reference

LABELS, GROUP, NOISE = random_lists(20, n_lists=200, longest=20, relevant=0.2)
MODELS = {
    "weak": NOISE / NOISE.max() + 0.1 * LABELS,
    "strong": NOISE[::-1] / NOISE.max() + 0.5 * LABELS,
    "weak again": NOISE / NOISE.max() + 0.1 * LABELS,
    "noise": NOISE,
}
METRICS = ["ndcg@10", "ndcg", "map", "mrr@5", "err@10", "precision@3", "recall@3"]
SINGLE = {
    "ndcg@10": lambda s: tr.ndcg(s, LABELS, GROUP, 10),
    "ndcg": lambda s: tr.ndcg(s, LABELS, GROUP, None),
    "map": lambda s: tr.average_precision(s, LABELS, GROUP),
    "mrr@5": lambda s: tr.reciprocal_rank(s, LABELS, GROUP, 5),
    "err@10": lambda s: tr.expected_reciprocal_rank(s, LABELS, GROUP, 10),
    "precision@3": lambda s: tr.precision(s, LABELS, GROUP, 3),
    "recall@3": lambda s: tr.recall(s, LABELS, GROUP, 3),
}
RELEVANT = np.add.reduceat(LABELS, np.cumsum(GROUP) - GROUP) > 0


def compare(models=MODELS, metrics=METRICS, bootstrap=0, **options):
    return tr.evaluate(models, LABELS, GROUP, metrics, bootstrap=bootstrap, **options)


@pytest.fixture(scope="module")
def comparison():
    return compare(bootstrap=200, seed=5)


# the numbers


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("model", MODELS)
def test_values_are_those_of_the_single_metrics_without_lists_that_have_nothing_relevant(comparison, model, metric):
    expected = SINGLE[metric](MODELS[model])[RELEVANT]
    np.testing.assert_array_equal(comparison.per_list(model, metric), expected)
    assert comparison[model, metric].mean == pytest.approx(expected.mean(), rel=1e-12)
    assert (comparison[model, metric].model, comparison[model, metric].metric) == (model, metric)


def test_lists_dropped_are_counted(comparison):
    assert 10 < (~RELEVANT).sum() < 100
    assert comparison.lists_used == RELEVANT.sum()
    assert comparison.lists_without_relevant == comparison.lists_dropped == (~RELEVANT).sum()


@pytest.mark.parametrize(("empty", "value"), [("zero", 0.0), ("one", 1.0)])
def test_lists_without_a_relevant_item_may_count_as_0_or_1(empty, value):
    found = compare(empty=empty)
    assert (found.lists_used, found.lists_dropped) == (len(GROUP), 0)
    assert found.lists_without_relevant == (~RELEVANT).sum()
    for metric in METRICS:
        expected = np.where(RELEVANT, SINGLE[metric](NOISE), value)
        np.testing.assert_array_equal(found.per_list("noise", metric), expected)
    for metric in METRICS:  # no model differs from another on such a list
        change = found["strong", metric].difference * len(GROUP)
        assert change == pytest.approx(compare()["strong", metric].difference * RELEVANT.sum())


@pytest.mark.parametrize("metric", METRICS)
def test_changes_and_tests_are_against_the_baseline(comparison, metric):
    base, strong = comparison.per_list("weak", metric), comparison["strong", metric]
    values = comparison.per_list("strong", metric)
    expected = ttest_rel(values, base)
    assert comparison.baseline == "weak"
    assert strong.difference == pytest.approx(values.mean() - base.mean())
    assert strong.relative_change == pytest.approx(values.mean() / base.mean() - 1)
    assert strong.p_value == pytest.approx(expected.pvalue, rel=1e-9)
    assert strong.effect_size == pytest.approx((values - base).mean() / (values - base).std(ddof=1))
    tests = 3 * len(METRICS)
    assert comparison.n_comparisons == tests
    assert strong.adjusted_p_value == pytest.approx(min(1, tests * strong.p_value))
    assert strong.significant == (strong.adjusted_p_value < 0.05)
    assert strong.significant


def test_the_baseline_is_compared_with_nothing_and_its_equal_differs_by_nothing(comparison):
    weak, again = (comparison[model, "map"] for model in ("weak", "weak again"))
    assert np.isnan([weak.difference, weak.relative_change, weak.effect_size, weak.p_value]).all()
    assert np.isnan([weak.adjusted_p_value, *weak.difference_interval]).all()
    assert not weak.significant
    assert (again.difference, again.relative_change, again.effect_size, again.p_value) == (0, 0, 0, 1)
    assert again.difference_interval == (0, 0)
    assert not again.significant


def test_any_model_can_be_the_baseline():
    found = compare(baseline="strong")
    assert found["weak", "map"].difference == -compare()["strong", "map"].difference
    assert found["weak", "map"].p_value == compare()["strong", "map"].p_value
    assert np.isnan(found["strong", "map"].p_value)


def test_intervals_are_quantiles_of_means_over_lists_drawn_again(comparison):
    n = comparison.lists_used
    draws = np.random.default_rng(5).integers(0, n, size=(200, n), dtype=np.int32)
    weak, strong = (comparison.per_list(model, "map") for model in ("weak", "strong"))
    drawn = reference.means_of_draws(np.column_stack([weak, strong, strong - weak]), draws)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    assert comparison["weak", "map"].mean_interval == pytest.approx((low[0], high[0]))
    assert comparison["strong", "map"].mean_interval == pytest.approx((low[1], high[1]))
    assert comparison["strong", "map"].difference_interval == pytest.approx((low[2], high[2]))


def test_a_lower_level_is_harder_to_reach_and_widens_the_intervals(comparison):
    strict = compare(bootstrap=200, seed=5, level=1e-60)
    assert not any(result.significant for result in strict.results)
    (low, high), (lowest, highest) = (c["strong", "map"].mean_interval for c in (comparison, strict))
    assert lowest < low < high < highest


def test_gain_is_that_of_ndcg():
    found = compare(gain="linear", metrics=["ndcg@5"])
    np.testing.assert_array_equal(
        found.per_list("noise", "ndcg@5"), tr.ndcg(NOISE, LABELS, GROUP, 5, gain="linear")[RELEVANT]
    )
    assert found["noise", "ndcg@5"].mean != compare(metrics=["ndcg@5"])["noise", "ndcg@5"].mean


def test_one_model_alone_is_measured_and_not_tested():
    found = compare({"only": NOISE}, "map")
    assert found.n_comparisons == 0
    assert [r.mean for r in found.results] == [found.per_list("only", "map").mean()]


def test_a_baseline_of_zero_has_no_relative_change():
    found = tr.evaluate({"none": [2, 1] * 3, "all": [1, 2] * 3}, [0, 1] * 3, [2] * 3, "mrr@1")
    assert (found["none", "mrr@1"].mean, found["all", "mrr@1"].difference) == (0, 1)
    assert np.isnan(found["all", "mrr@1"].relative_change)
    assert (found["all", "mrr@1"].p_value, found["all", "mrr@1"].significant) == (0, True)


# families of tests


def test_tests_of_further_tables_can_join_by_their_number():
    alone, joined = compare(), compare(n_comparisons=150)
    assert joined.n_comparisons == 150
    for one, other in zip(alone.results[len(METRICS) :], joined.results[len(METRICS) :], strict=True):
        assert other.p_value == one.p_value
        assert other.adjusted_p_value == pytest.approx(min(1, 150 * one.p_value))


@pytest.mark.parametrize("correction", ["bonferroni", "holm", None])
def test_comparisons_of_several_tables_are_corrected_as_one_family(correction):
    separate = [compare(), compare(baseline="noise", metrics=["map", "mrr"], correction="holm")]
    together = tr.adjust_together(separate, correction)
    tested = [r.p_value for c in separate for r in c.results if r.model != c.baseline]
    order, m = np.argsort(tested), len(tested)
    expected = {
        "bonferroni": np.minimum(1, m * np.array(tested)),
        "holm": np.minimum(1, np.maximum.accumulate(np.arange(m, 0, -1) * np.sort(tested)))[np.argsort(order)],
        None: tested,
    }[correction]
    found = [r for c in together for r in c.results if r.model != c.baseline]
    np.testing.assert_allclose([r.adjusted_p_value for r in found], expected)
    assert [r.significant for r in found] == [p < 0.05 for p in expected]
    assert {(c.n_comparisons, c.correction) for c in together} == {(m, correction)}
    unchanged = [f.name for f in dataclasses.fields(tr.Comparison) if f.name not in ("results", "n_comparisons")]
    for before, after in zip(separate, together, strict=True):
        assert all(getattr(before, n) is getattr(after, n) for n in unchanged if n != "correction")


def test_correcting_again_starts_from_the_p_values_themselves():
    (again,) = tr.adjust_together(tr.adjust_together([compare(correction=None)], "holm"))
    assert repr(again.results) == repr(compare().results)


def test_one_family_has_one_level():
    with pytest.raises(InputError, match=r"levels \[0.01, 0.05\]"):
        tr.adjust_together([compare(), compare(level=0.01)])


@pytest.mark.parametrize(("given", "seen"), [([], "nothing"), ([3], "int")])
def test_only_comparisons_are_adjusted_together(given, seen):
    with pytest.raises(InputError, match=f"comparisons holds {seen}"):
        tr.adjust_together(given)


# what a comparison can be asked


def test_any_two_models_can_be_tested():
    found = compare()
    expected = ttest_rel(found.per_list("strong", "map"), found.per_list("noise", "map")).pvalue
    assert found.p_value("strong", "noise", "map") == pytest.approx(expected, rel=1e-9)
    assert found.p_value("noise", "strong", "map") == found.p_value("strong", "noise", "map")


def test_rows_are_flat_and_have_none_where_there_is_no_number(comparison):
    rows = comparison.to_rows()
    assert len(rows) == len(MODELS) * len(METRICS)
    assert rows[0]["p_value"] is None
    strong = next(r for r in rows if (r["model"], r["metric"]) == ("strong", "map"))
    assert strong["mean"] == comparison["strong", "map"].mean
    assert (strong["mean_low"], strong["mean_high"]) == comparison["strong", "map"].mean_interval
    assert strong["lists"] == comparison.lists_used


def test_comparisons_can_be_pickled(comparison):
    again = pickle.loads(pickle.dumps(comparison))
    assert repr(again.results) == repr(comparison.results)
    assert again.values.tobytes() == comparison.values.tobytes()


def test_unknown_models_and_metrics_are_named(comparison):
    with pytest.raises(InputError, match="model 'storng' is not in the comparison; there are 'weak', 'strong'"):
        comparison["storng", "map"]
    with pytest.raises(InputError, match="metric 'MAP' is not in the comparison; there are 'ndcg@10'"):
        comparison["strong", "MAP"]


# the same bits


def everything(comparison):
    return repr(comparison.results), comparison.values.tobytes()


def test_a_seed_gives_the_same_bits():
    assert everything(compare(bootstrap=50, seed=3)) == everything(compare(bootstrap=50, seed=3))
    assert everything(compare(bootstrap=50, seed=3)) != everything(compare(bootstrap=50, seed=4))


def test_one_thread_and_two_give_the_same_bits():
    one, two = on_one_thread_and_two(lambda: compare(bootstrap=300))
    assert everything(one) == everything(two)
    assert one.to_html(("strong", "noise")) == two.to_html(("strong", "noise"))


# refusals


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"models": {}}, "scores_by_model is empty"),
        ({"models": [NOISE]}, "scores_by_model is a list; it must map the name of each model to its scores"),
        ({"models": {"": NOISE}}, "a model is named ''"),
        ({"models": {"a\nb": NOISE}}, r"a model is named 'a\\nb'; a name must be a line of text"),
        ({"models": {1: NOISE}}, "a model is named 1"),
        ({"models": {"ours": NOISE[1:]}}, r"model 'ours': scores has shape \(\d+,\); it needs one score a row"),
        ({"models": {"ours": NOISE * np.nan}}, r"model 'ours': scores\[0\] is nan"),
        ({"baseline": "best"}, "baseline 'best' has no scores; there are 'weak', 'strong'"),
        ({"metrics": ["ndgc"]}, "metric 'ndgc' is not known"),
        ({"gain": "cubic"}, "gain is 'cubic'"),
        ({"empty": "skip"}, "empty is 'skip'; it must be one of 'drop', 'zero', 'one'"),
        ({"correction": "sidak"}, "correction is 'sidak'"),
        ({"n_comparisons": 20}, "n_comparisons is 20 and 21 comparisons are made here"),
        ({"level": 0}, "level is 0; it must be a number above 0"),
        ({"level": 5}, "level is 5; it must be below 1"),
        ({"bootstrap": -1}, "bootstrap is -1"),
        ({"bootstrap": True}, "bootstrap is True"),
        ({"seed": 0.5}, "seed is 0.5"),
    ],
)
def test_bad_arguments_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        compare(**change)


@pytest.mark.parametrize("labels", [[0, 0, 0], [1, 0, 0]])
def test_fewer_than_two_lists_are_refused(labels):
    with pytest.raises(InputError, match=f"{sum(labels)} of 3 lists have a relevant item .* at least two lists"):
        tr.evaluate({"a": [1, 2, 3]}, labels, [1, 1, 1])
    assert tr.evaluate({"a": [1, 2, 3]}, labels, [1, 1, 1], empty="one")["a", "map"].mean == 1


def test_several_runs_of_a_model_are_averaged_list_by_list():
    runs = np.stack([MODELS["weak"], MODELS["strong"]])
    found = compare({"noise": NOISE, "both": runs})
    for metric, single in SINGLE.items():
        wanted = np.mean([single(run)[RELEVANT] for run in runs], axis=0)
        assert found.per_list("both", metric) == pytest.approx(wanted, rel=1e-12)
    alone = compare({"noise": NOISE[None], "weak": MODELS["weak"][:, None]})
    assert alone.to_rows() == compare({"noise": NOISE, "weak": MODELS["weak"]}).to_rows()
    with pytest.raises(InputError, match="model 'both'"):
        compare({"both": runs[:, :-1]})

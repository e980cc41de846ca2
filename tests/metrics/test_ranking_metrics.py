"""Metrics of ranked lists: the formulas, other people's implementations, ties, and what is refused."""

from __future__ import annotations

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from ir_measures import AP, RR, P, Qrel, R, ScoredDoc, nDCG
from judged_lists import by_formula, judged_and_scored, lists_of, on_one_thread_and_two, random_lists
from sklearn.metrics import average_precision_score

import truerank as tr
from truerank.errors import InputError

METRICS = {
    "ndcg": tr.ndcg,
    "average_precision": tr.average_precision,
    "reciprocal_rank": tr.reciprocal_rank,
    "expected_reciprocal_rank": tr.expected_reciprocal_rank,
    "precision": tr.precision,
    "recall": tr.recall,
}
every_metric = pytest.mark.parametrize("name", METRICS)


# the formula


def check_against_formula(labels, group, scores):
    options = {"ndcg": ("exp2",), "expected_reciprocal_rank": (max(1, labels.max()),)}
    for name, metric in METRICS.items():
        for at in (1, 2, 3, 100) if name in ("precision", "recall") else (None, 1, 2, 3, 100):
            expected = by_formula(name, labels, group, scores, at, *options.get(name, ()))
            found = metric(scores, labels, group, at)
            np.testing.assert_allclose(found, expected, rtol=1e-12, err_msg=f"{name} at {at}")


@given(judged_and_scored())
def test_every_metric_equals_its_formula_list_by_list(lists):
    check_against_formula(*lists)


def test_long_lists_equal_the_formula_too():
    check_against_formula(*random_lists(1))


def test_values_worked_out_by_hand():
    scores, labels, group = [4, 3, 2, 1], [0, 2, 0, 1], [4]
    dcg, best = 3 / np.log2(3) + 1 / np.log2(5), 3 + 1 / np.log2(3)
    assert tr.ndcg(scores, labels, group, at=None) == pytest.approx([dcg / best])
    assert tr.average_precision(scores, labels, group) == pytest.approx([(1 / 2 + 2 / 4) / 2])
    assert tr.average_precision(scores, labels, group, at=3) == pytest.approx([1 / 2 / 2])
    assert tr.reciprocal_rank(scores, labels, group) == pytest.approx([1 / 2])
    assert tr.reciprocal_rank(scores, labels, group, at=1) == pytest.approx([0])
    assert tr.precision(scores, labels, group, at=3) == pytest.approx([1 / 3])
    assert tr.precision(scores, labels, group, at=8) == pytest.approx([2 / 8])
    assert tr.recall(scores, labels, group, at=3) == pytest.approx([1 / 2])
    assert tr.expected_reciprocal_rank(scores, labels, group) == pytest.approx([1 / 2 * 3 / 4 + 1 / 4 * 1 / 4 * 1 / 4])
    assert tr.expected_reciprocal_rank(scores, labels, group, highest=4) == pytest.approx(
        [1 / 2 * 3 / 16 + 1 / 4 * 13 / 16 * 1 / 16]
    )


def test_err_is_the_mean_reciprocal_rank_at_which_a_cascade_of_readers_stops():
    """200,000 readers go down one list; their mean is within 4 standard errors."""
    rng, labels, readers = np.random.default_rng(2), np.array([1, 0, 3, 4, 2]), 200_000
    satisfied = rng.random((readers, 5)) < (2.0**labels - 1) / 16
    reward = np.where(satisfied.any(axis=1), 1 / (1 + satisfied.argmax(axis=1)), 0)
    found = tr.expected_reciprocal_rank(-np.arange(5), labels, [5])[0]
    assert abs(reward.mean() - found) < 4 * reward.std() / np.sqrt(readers)


# other people's implementations


def as_trec(labels, group, scores):
    judged, run = [], []
    for q, (of_labels, of_scores) in enumerate(lists_of(labels, group, scores)):
        judged += [Qrel(str(q), str(d), int(y)) for d, y in enumerate(of_labels)]
        run += [ScoredDoc(str(q), str(d), float(s)) for d, s in enumerate(of_scores)]
    return judged, run


OF_IR_MEASURES = {
    AP: lambda *lists: tr.average_precision(*lists),
    AP @ 10: lambda *lists: tr.average_precision(*lists, at=10),
    RR: lambda *lists: tr.reciprocal_rank(*lists),
    P @ 5: lambda *lists: tr.precision(*lists, at=5),
    P @ 100: lambda *lists: tr.precision(*lists, at=100),
    R @ 5: lambda *lists: tr.recall(*lists, at=5),
    nDCG: lambda *lists: tr.ndcg(*lists, at=None, gain="linear"),
    nDCG @ 10: lambda *lists: tr.ndcg(*lists, at=10, gain="linear"),
    nDCG(gains={1: 1, 2: 3, 3: 7, 4: 15}) @ 5: lambda *lists: tr.ndcg(*lists, at=5),
}


@pytest.mark.parametrize("theirs", OF_IR_MEASURES, ids=str)
def test_metrics_equal_those_of_ir_measures(theirs):
    """Without ties: these keep the order of the rows here and follow the document's name there."""
    labels, group, scores = random_lists(3)
    expected = {m.query_id: m.value for m in ir_measures.iter_calc([theirs], *as_trec(labels, group, scores))}
    found = OF_IR_MEASURES[theirs](scores, labels, group)
    judged = np.flatnonzero(~np.isnan(found))
    assert len(judged) > 200
    np.testing.assert_allclose(found[judged], [expected[str(q)] for q in judged], rtol=1e-9)


OF_RANX = {
    "ndcg_burges@10": lambda *lists: tr.ndcg(*lists, at=10),
    "map": tr.average_precision,
    "mrr": tr.reciprocal_rank,
    "precision@5": lambda *lists: tr.precision(*lists, at=5),
    "recall@5": lambda *lists: tr.recall(*lists, at=5),
}


@pytest.mark.filterwarnings("ignore::numba.core.errors.NumbaWarning")  # when ranx is compiled
def test_metrics_equal_those_of_ranx():
    ranx = pytest.importorskip("ranx")
    labels, group, scores = random_lists(12, n_lists=60)
    rated, run = {}, {}
    for q, (of_labels, of_scores) in enumerate(lists_of(labels, group, scores)):
        if of_labels.any():
            rated[f"{q:02}"] = {str(d): int(y) for d, y in enumerate(of_labels)}
            run[f"{q:02}"] = {str(d): float(s) for d, s in enumerate(of_scores)}
    expected = ranx.evaluate(ranx.Qrels(rated), ranx.Run(run), list(OF_RANX), return_mean=False)
    for name, ours in OF_RANX.items():
        found = ours(scores, labels, group)
        np.testing.assert_allclose(found[~np.isnan(found)], expected[name], rtol=1e-9, err_msg=name)


def test_average_precision_equals_that_of_scikit_learn():
    labels, group, scores = random_lists(4, n_lists=60)
    found = tr.average_precision(scores, labels, group)
    for value, (y, s) in zip(found, lists_of(labels, group, scores), strict=True):
        assert np.isnan(value) if not y.any() else value == pytest.approx(average_precision_score(y > 0, s))


# what holds whatever the lists


@given(judged_and_scored())
def test_metrics_lie_between_0_and_1_and_need_a_relevant_item(lists):
    labels, group, scores = lists
    relevant = np.array([y.any() for y, _ in lists_of(labels, group, scores)])
    for name, metric in METRICS.items():
        found = metric(scores, labels, group)
        np.testing.assert_array_equal(np.isnan(found), ~relevant, name)
        assert ((found[relevant] >= 0) & (found[relevant] <= 1)).all(), name


@given(judged_and_scored())
def test_the_best_ranking_gets_exactly_1(lists):
    labels, group, _ = lists
    for name in ("ndcg", "average_precision", "reciprocal_rank"):
        found = METRICS[name](labels, labels, group, None)
        assert set(found[~np.isnan(found)]) <= {1.0}, name


@every_metric
def test_only_the_order_of_the_scores_counts(name):
    labels, group, scores = random_lists(11)
    found, again = METRICS[name](scores, labels, group), METRICS[name](np.log1p(scores) * 7, labels, group)
    np.testing.assert_array_equal(found, again)


@every_metric
def test_lists_do_not_see_each_other(name):
    labels, group, scores = random_lists(5, n_lists=80)
    together = METRICS[name](scores, labels, group)
    options = {"highest": 4} if name == "expected_reciprocal_rank" else {}
    apart = [METRICS[name](s, y, [len(y)], **options)[0] for y, s in lists_of(labels, group, scores)]
    np.testing.assert_array_equal(together, apart)


@every_metric
def test_raising_a_better_item_above_a_worse_one_never_hurts(name):
    rng, options = np.random.default_rng(6), {"highest": 4} if name == "expected_reciprocal_rank" else {}
    improved = 0
    for _ in range(200):
        labels = rng.integers(0, 5, 6)
        place = rng.integers(0, 5)
        if labels[place] >= labels[place + 1]:
            continue
        raised = labels.copy()
        raised[[place, place + 1]] = labels[[place + 1, place]]
        before, after = (METRICS[name](-np.arange(6), y, [6], 4, **options)[0] for y in (labels, raised))
        assert after >= before - 1e-15
        improved += after > before + 1e-15
    assert improved


@every_metric
def test_equal_scores_keep_the_order_of_the_rows(name):
    labels, group, _ = random_lists(7)
    coarse = np.random.default_rng(8).integers(0, 3, len(labels)).astype(float)
    row = np.arange(len(labels))
    np.testing.assert_array_equal(
        METRICS[name](coarse, labels, group), METRICS[name](coarse - row / (1 + len(row)), labels, group)
    )


def test_a_constant_score_is_judged_as_the_order_given():
    assert tr.reciprocal_rank([0, 0, 0, 0], [0, 0, 1, 1], [4]).tolist() == [1 / 3]


@every_metric
def test_no_lists_give_no_values(name):
    assert METRICS[name]([], [], []).shape == (0,)


@every_metric
def test_one_thread_and_two_give_the_same_bits(name):
    labels, group, scores = random_lists(9, n_lists=2_000)
    one, two = on_one_thread_and_two(lambda: METRICS[name](scores, labels, group).tobytes())
    assert one == two


@every_metric
def test_the_input_is_left_alone(name):
    columns = random_lists(10, n_lists=20)
    before = [column.copy() for column in columns]
    for column in columns:
        column.flags.writeable = False
    METRICS[name](columns[2], columns[0], columns[1])
    for column, old in zip(columns, before, strict=True):
        np.testing.assert_array_equal(column, old)


# refusals


@every_metric
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": [np.nan, 0]}, r"scores\[0\] is nan"),
        ({"labels": [0.5, 0]}, r"labels\[0\] is 0.5"),
        ({"group": [1]}, "group sizes sum to 1 and there are 2 rows"),
        ({"at": 0}, "at is 0; it must be a whole number from 1"),
        ({"at": 2.5}, "at is 2.5; it must be a whole number from 1"),
        ({"at": True}, "at is True"),
        ({"at": "10"}, "at is '10'"),
    ],
)
def test_bad_input_is_refused(name, change, message):
    with pytest.raises(InputError, match=message):
        METRICS[name](**{"scores": [0.0, 1.0], "labels": [0, 1], "group": [2], **change})


@pytest.mark.parametrize("name", ["precision", "recall"])
def test_precision_and_recall_need_a_number_of_ranks(name):
    with pytest.raises(InputError, match="at is None; it must be a whole number from 1"):
        METRICS[name]([1.0], [1], [1], None)


@pytest.mark.parametrize(
    ("highest", "message"),
    [(2, "highest is 2 and a label is 3"), (0, "highest is 0"), (3.5, "highest is 3.5"), ("4", "highest is '4'")],
)
def test_the_best_grade_of_err_must_cover_the_labels(highest, message):
    with pytest.raises(InputError, match=message):
        tr.expected_reciprocal_rank([1.0, 2.0], [3, 0], [2], highest=highest)

"""`pair_weights` at the door: what it takes, what it refuses, what it leaves out and counts."""

from __future__ import annotations

import numba
import numpy as np
import pandas as pd
import pytest
from click_logs import assert_same, log_of, random_log

from truerank import Independent, PairWeights, inverse_rank, pair_weights
from truerank.errors import ExaminationError, InputError

THREE = Independent([1, 0.5, 0.25])
GOOD = {"labels": [1, 0, 1], "positions": [1, 2, 3], "group": [3], "method": "robust", "examination": THREE}
REFUSED = {
    "an unknown method": ({"method": "hu"}, "method is 'hu'; it must be one of 'none', 'ratio', 'robust', 'complete'"),
    "an unknown normalisation": (
        {"normalize": "query"},
        "normalize is 'query'; it must be one of 'auto', 'session', 'list'",
    ),
    "an unknown variance": ({"variance": "eb"}, "variance is 'eb'; it must be one of 'none', 'clip', 'shrink'"),
    "an unknown merge": ({"merge": "item"}, "merge is 'item'; it must be one of 'exact', 'query'"),
    "an unknown gain": ({"gain": "log"}, "gain is 'log'; it must be one of 'linear', 'exp2'"),
    "robust without examination": ({"examination": None}, "method='robust' needs examination="),
    "complete without examination": (
        {"examination": None, "method": "complete"},
        "method='complete' needs examination=",
    ),
    "robust without positions": ({"positions": None}, "positions are missing"),
    "ratio without positions": ({"positions": None, "method": "ratio"}, "positions are missing"),
    "a position past the model": ({"positions": [1, 2, 4]}, "position 4 is past the end of this Independent model"),
    "an unclicked position past the model": ({"positions": [1, 7, 3]}, "position 7 is past the end"),
    "a label too large for exp2": (
        {"labels": [51, 0, 1], "gain": "exp2"},
        "a label is 51 and gain='exp2'.*at most 50.*Hint: use gain='linear'",
    ),
    "a label too large": ({"labels": [1001, 0, 1]}, r"labels\[0\] is 1001; .*from 0 to 1000"),
    "a negative label": ({"labels": [1, -1, 0]}, r"labels\[1\] is -1"),
    "a group that does not add up": ({"group": [2]}, "group sizes sum to 2 and there are 3 rows"),
    "a position twice": ({"positions": [1, 2, 2]}, "position 2 is given twice in session 0"),
}


@pytest.mark.parametrize(("change", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(change, message):
    with pytest.raises(InputError, match=message):
        pair_weights(**GOOD | change)


def test_a_label_of_fifty_still_fits_exp2():
    assert pair_weights([50, 0], None, [2], "none", gain="exp2", normalize="none").weight.tolist() == [2.0**50 - 1]


def test_normalize_none_may_be_the_word_or_the_value():
    assert_same(pair_weights(**GOOD, normalize=None), pair_weights(**GOOD, normalize="none"))


@pytest.mark.parametrize("method", ["none", "ratio", "robust", "complete"])
@pytest.mark.parametrize("ids", [{}, {"query": [], "item": []}], ids=["without ids", "with ids"])
@pytest.mark.parametrize("merge", ["exact", "query"])
def test_no_sessions_give_no_lists(method, ids, merge):
    pairs = pair_weights([], [], [], method, THREE, merge=merge, **ids)
    assert (pairs.n_lists, pairs.n_rows, pairs.n_pairs, pairs.sessions_without_pairs) == (0, 0, 0, 0)


NOTHING_TO_COMPARE = {
    "no click": ([0, 0, 0], [3]),
    "one item": ([0, 1, 1], [1, 1, 1]),
    "all clicked": ([1, 1, 1], [3]),
    "all graded alike": ([2, 2, 2], [3]),
}


@pytest.mark.parametrize(("labels", "group"), NOTHING_TO_COMPARE.values(), ids=NOTHING_TO_COMPARE.keys())
@pytest.mark.parametrize("method", ["none", "ratio", "robust"])
def test_sessions_with_nothing_to_compare_are_kept_out_and_counted(labels, group, method):
    pairs = pair_weights([*labels, 1, 0], [1, 2, 3, 1, 2], [*group, 2], method, THREE)
    assert (pairs.n_pairs, pairs.n_lists, pairs.sessions_without_pairs) == (1, len(group) + 1, len(group))
    assert pairs.offsets[-2] == 0


def test_complete_compares_clicks_with_each_other():
    pairs = pair_weights([1, 1, 1], [1, 2, 3], [3], "complete", THREE, normalize="none", variance="none")
    assert (pairs.n_pairs, pairs.sessions_without_pairs) == (6, 0)
    assert dict(zip(zip(pairs.i.tolist(), pairs.j.tolist(), strict=True), pairs.weight, strict=True))[2, 1] == 4 - 8


def test_the_log_may_be_a_frame():
    log = random_log(40)
    frame = pd.DataFrame({"click": log.labels, "position": log.positions, "item": log.item})
    sessions = pd.Series(log.group)
    options = {"method": "robust", "examination": Independent(inverse_rank(20))}
    pairs = pair_weights(
        frame["click"].astype("Int64"),
        frame["position"],
        sessions,
        query=pd.Series(log.query),
        item=frame["item"],
        **options,
    )
    assert_same(pairs, log.pairs(**options))


@pytest.mark.parametrize("answer", [0.0, 1.5, np.nan, -1.0])
@pytest.mark.parametrize("method", ["marginal", "joint"])
def test_a_users_model_must_give_probabilities(answer, method):
    class Odd:
        def marginal(self, positions):
            return np.full(len(positions), answer if method == "marginal" else 0.5)

        def joint(self, positions_i, positions_j):
            return np.full(len(positions_i), answer)

        def sample(self, n_sessions, n_positions, rng):
            raise NotImplementedError

    with pytest.raises(ExaminationError, match=f"examination.{method} gave {answer}"):
        pair_weights([1, 2], [1, 2], [2], "complete", Odd(), variance="none")


def test_a_users_model_need_only_have_the_methods():
    class Same:
        marginal = staticmethod(THREE.marginal)
        joint = staticmethod(THREE.joint)
        sample = staticmethod(THREE.sample)

    assert_same(pair_weights(**GOOD | {"examination": Same()}), pair_weights(**GOOD))


# normalize="list"


def best_dcg(labels):
    return sum(label / np.log2(2 + k) for k, label in enumerate(sorted(labels, reverse=True)))


@pytest.mark.parametrize("merge", ["exact", "query"])
def test_a_list_is_divided_by_the_mean_best_dcg_of_its_sessions_with_pairs(merge):
    shown = [[1, 0, 2], [0, 0, 0], [1, 0, 0], [2, 2, 2], [0, 3, 0]]  # the 2nd and 4th have nothing to compare
    log = log_of(*(("q", list("abc"), labels) for labels in shown), ("r", list("ab"), [0, 0]))
    raw = log.pairs("none", merge=merge, normalize="none")
    mean = np.mean([best_dcg(shown[k]) for k in (0, 2, 4)])
    np.testing.assert_allclose(log.pairs("none", merge=merge, normalize="list").weight, raw.weight / mean, rtol=1e-12)


def test_unmerged_a_list_is_its_session():
    log = random_log(41)
    assert_same(log.unmerged(normalize="list"), log.unmerged(normalize="session"))
    own = {"query": np.arange(len(log.group))}
    alone, session = (log.pairs(normalize=n, **own) for n in ("list", "session"))
    np.testing.assert_allclose(alone.weight, session.weight, rtol=1e-12)


@pytest.mark.parametrize("merge", ["exact", "query"])
def test_lists_and_sessions_weigh_about_the_same_in_all(merge):
    log = random_log(42, n_sessions=400)
    total = [log.pairs("robust", normalize=n, merge=merge).weight.sum() for n in ("list", "session")]
    assert total[0] == pytest.approx(total[1], rel=0.3)


def test_lists_with_the_same_best_dcg_weigh_exactly_the_same():
    log = log_of(*(("q", list("abc"), labels) for labels in ([1, 0, 1], [0, 1, 1], [1, 1, 0])))
    by_list, by_session = (log.pairs("robust", normalize=n).weight for n in ("list", "session"))
    np.testing.assert_allclose(by_list, by_session, rtol=1e-12)


# the same bits, always


@pytest.fixture
def threads():
    before = numba.get_num_threads()
    yield numba.set_num_threads
    numba.set_num_threads(before)


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="one thread only")
@pytest.mark.parametrize(
    "options", [{"method": m, "merge": g} for m in ("complete", "ratio") for g in ("exact", "query")]
)
def test_any_number_of_threads_gives_the_same_bits(options, threads):
    log, made = random_log(43, n_sessions=500, n_queries=20), []
    for n in (1, 2):
        threads(n)
        made.append((log.unmerged(options["method"]), log.pairs(**options), log.pairs(**options, normalize="list")))
    for one, two in zip(*made, strict=True):
        assert_same(one, two)


def test_the_same_call_gives_the_same_bits():
    for normalize in ("session", "list"):
        assert_same(random_log(44).pairs(normalize=normalize), random_log(44).pairs(normalize=normalize))


def test_the_input_is_left_alone():
    log = random_log(45)
    columns = [log.labels, log.positions, log.group, log.query, log.item]
    before = [column.copy() for column in columns]
    for column in columns:
        column.flags.writeable = False
    assert isinstance(log.pairs(), PairWeights)
    for column, old in zip(columns, before, strict=True):
        np.testing.assert_array_equal(column, old)

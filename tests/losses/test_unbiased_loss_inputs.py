"""What the loss takes, what it refuses, and what does not change its answer."""

import numba
import numpy as np
import pandas as pd
import polars as pl
import pytest

from truerank import Continuous, Independent, UnbiasedPairwiseLoss, inverse_rank
from truerank.errors import ExaminationError, InputError


@pytest.fixture
def loss():
    return UnbiasedPairwiseLoss(Continuous(inverse_rank(15)), "ranknet")


def everything(loss, batch):
    return (loss.session_values(*batch), *loss.gradient_hessian(*batch))


def without_ties(pair):
    return pair.l00(np.zeros(1), np.zeros(1)) is None


def assert_same_bits(given, expected):
    for a, b in zip(given, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def read_only(array):
    copy = array.copy()
    copy.flags.writeable = False
    return copy


FORMS = {
    "lists": np.ndarray.tolist,
    "tuples": lambda a: tuple(a.tolist()),
    "read-only": read_only,
    "every second of a longer array": lambda a: np.repeat(a, 2)[::2],
    "big-endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "pandas": pd.Series,
    "pandas with another index": lambda a: pd.Series(a, index=np.arange(len(a))[::-1]),
    "pandas nullable": lambda a: pd.Series(a, dtype="Float64" if a.dtype.kind == "f" else "Int64"),
    "pandas arrow": lambda a: pd.Series(a, dtype="double[pyarrow]" if a.dtype.kind == "f" else "int64[pyarrow]"),
    "polars": pl.Series,
    "floats": lambda a: a.astype(np.float64),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_inputs_may_come_in_any_usual_form(loss, batch, form):
    given = [form(column) for column in batch]
    assert_same_bits(everything(loss, given), everything(loss, batch))


def test_clicks_may_be_booleans(loss, clicks):
    given = clicks._replace(labels=clicks.labels.astype(bool))
    assert_same_bits(everything(loss, given), everything(loss, clicks))


def test_inputs_are_left_as_they_were(examination, pair, batch):
    before = [column.copy() for column in batch]
    everything(UnbiasedPairwiseLoss(examination, pair), batch)
    assert_same_bits(batch, before)


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="only one thread here")
def test_one_thread_and_two_give_the_same_bits(loss, pair, batch):
    loss = UnbiasedPairwiseLoss(loss.examination, pair, gain="exp2")
    many = [np.tile(column, 50) for column in batch]
    before, answers = numba.get_num_threads(), []
    try:
        for n in (1, 2):
            numba.set_num_threads(n)
            answers.append(everything(loss, many))
    finally:
        numba.set_num_threads(before)
    assert_same_bits(*answers)


def test_no_sessions_cost_nothing(examination, pair):
    value, gradient, hessian = everything(UnbiasedPairwiseLoss(examination, pair), ([], [], [], []))
    assert value.shape == gradient.shape == hessian.shape == (0,)
    assert UnbiasedPairwiseLoss(examination, pair).value([], [], [], []) == 0


@pytest.mark.parametrize("label", [0, 1])
def test_session_of_one_item_costs_nothing_unless_ties_do(examination, pair, label):
    answers = everything(UnbiasedPairwiseLoss(examination, pair), ([0.7], [label], [3], [1]))
    assert (np.ravel(answers) == 0).all() == without_ties(pair)


def test_sessions_without_clicks_cost_nothing_unless_ties_do(examination, pair, clicks):
    given = clicks._replace(labels=np.zeros_like(clicks.labels))
    answers = np.concatenate(everything(UnbiasedPairwiseLoss(examination, pair), given))
    assert (answers == 0).all() == without_ties(pair)


def test_value_is_the_sum_over_sessions_and_sessions_do_not_mix(examination, pair, batch):
    loss = UnbiasedPairwiseLoss(examination, pair, gain="linear")
    together = everything(loss, batch)
    cuts = np.cumsum(batch.group)[:-1]
    rows = zip(*(np.split(column, cuts) for column in batch[:3]), strict=True)
    alone = [everything(loss, (*columns, [len(columns[0])])) for columns in rows]
    for given, parts in zip(together, zip(*alone, strict=True), strict=True):
        np.testing.assert_allclose(given, np.concatenate(parts), rtol=1e-12, atol=1e-12)
    assert loss.value(*batch) == pytest.approx(together[0].sum())


def test_permuting_the_rows_of_a_session_permutes_the_derivatives(examination, pair, batch):
    loss = UnbiasedPairwiseLoss(examination, pair, gain="linear")
    rng, ends = np.random.default_rng(3), np.cumsum(batch.group)
    order = np.concatenate([rng.permutation(np.arange(e - n, e)) for n, e in zip(batch.group, ends, strict=True)])
    permuted = batch._replace(scores=batch.scores[order], labels=batch.labels[order], positions=batch.positions[order])
    (value, *derivatives), (permuted_value, *permuted_derivatives) = everything(loss, batch), everything(loss, permuted)
    np.testing.assert_allclose(permuted_value, value, rtol=1e-9)
    np.testing.assert_allclose(permuted_derivatives, np.stack(derivatives)[:, order], rtol=1e-9, atol=1e-9)


def test_same_shift_of_all_scores_changes_nothing(examination, built_in_pair, batch):
    loss = UnbiasedPairwiseLoss(examination, built_in_pair)
    shifted = batch._replace(scores=batch.scores + 4)
    np.testing.assert_allclose(loss.session_values(*shifted), loss.session_values(*batch), rtol=1e-9, atol=1e-9)


# Two sessions, of three rows and of two.
GOOD = {
    "scores": [0.1, 0.2, 0.3, 0.4, 0.5],
    "labels": [0, 1, 0, 1, 1],
    "positions": [1, 2, 5, 3, 1],
    "group": [3, 2],
}
NAN, INF = float("nan"), float("inf")
BAD = {
    "score nan": ({"scores": [0, 0, NAN, 0, 0]}, r"scores\[2\] is nan; every score must be finite. Hint"),
    "score infinite": ({"scores": [0, -INF, 0, INF, 0]}, r"scores\[1\] is -inf"),
    "scores too short": ({"scores": [0, 0]}, r"scores has shape \(2,\); it needs one score a row: \(5,\)"),
    "scores too long": ({"scores": [0] * 6}, r"scores has shape \(6,\)"),
    "scores two-dimensional": ({"scores": [[0, 0]] * 5}, r"scores has shape \(5, 2\)"),
    "scores words": ({"scores": ["a"] * 5}, r"scores"),
    "label nan": ({"labels": [0, NAN, 0, 1, 1]}, r"labels\[1\] is nan; every value must be a whole number"),
    "label missing": ({"labels": [0, None, 0, 1, 1]}, r"labels\[1\] is nan"),
    "label negative": ({"labels": [0, 1, -1, 1, -2]}, r"labels\[2\] is -1 \(and 1 more rows\); .* from 0 to 1000"),
    "label fractional": ({"labels": [0, 0.5, 0, 1, 1]}, r"labels\[1\] is 0\.5; every value must be a whole number"),
    "label huge": ({"labels": [0, 1, 0, 1, 10**6]}, r"labels\[4\] is 1000000"),
    "labels words": ({"labels": ["no", "yes", "no", "yes", "yes"]}, r"labels has dtype .*; it needs whole numbers"),
    "labels two-dimensional": ({"labels": [[0, 1]] * 5}, r"labels has shape \(5, 2\); it needs one value a row"),
    "labels a number": ({"labels": 1}, r"labels has shape \(\)"),
    "group too small": ({"group": [3, 1]}, r"group sizes sum to 4 and there are 5 rows; .*Hint"),
    "group too large": ({"group": [3, 3]}, r"group sizes sum to 6 and there are 5 rows"),
    "group of ids": ({"group": [1, 1, 1, 2, 2]}, r"group sizes sum to 7 and there are 5 rows.*not an id a row"),
    "group with zero": ({"group": [3, 0, 2]}, r"group\[1\] is 0; every value must be a whole number from 1"),
    "group empty": ({"group": []}, r"group sizes sum to 0 and there are 5 rows"),
    "group a number": ({"group": 5}, r"group has shape \(\)"),
    "positions missing": ({"positions": None}, r"positions are missing.*Hint: .*truerank\.list_order\(group\)"),
    "position zero": ({"positions": [0, 1, 2, 1, 2]}, r"positions\[0\] is 0; .* from 1 to"),
    "position negative": ({"positions": [1, -2, 3, 1, 2]}, r"positions\[1\] is -2"),
    "position nan": ({"positions": [1, 2, NAN, 1, 2]}, r"positions\[2\] is nan"),
    "position fractional": ({"positions": [1, 1.5, 2, 1, 2]}, r"positions\[1\] is 1\.5"),
    "position twice": ({"positions": [1, 2, 3, 4, 4]}, r"position 4 is given twice in session 1 \(rows 3 to 4\)"),
    "position twice apart": ({"positions": [2, 1, 2, 2, 1]}, r"position 2 is given twice in session 0 \(rows 0 to 2\)"),
    "positions too short": ({"positions": [1, 2]}, r"positions has 2 rows and labels has 5"),
    "position past the model": ({"positions": [1, 2, 16, 1, 2]}, r"position 16 is past the end .* 15 positions"),
}


@pytest.mark.parametrize(("wrong", "message"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_refused_with_what_is_wrong(loss, wrong, message):
    given = GOOD | wrong
    for method in (loss.value, loss.session_values, loss.gradient_hessian):
        with pytest.raises(InputError, match=message):
            method(**given)


def test_input_that_the_refused_ones_are_made_from_is_accepted(loss):
    assert np.isfinite(loss.value(**GOOD))


def test_position_given_twice_is_found_in_a_long_session_too(loss):
    loss = UnbiasedPairwiseLoss(Independent([0.5] * 100))
    positions = np.random.default_rng(0).permutation(100) + 1
    loss.value(np.zeros(100), np.zeros(100), positions, [100])
    positions[90] = positions[5]
    with pytest.raises(InputError, match=rf"position {positions[5]} is given twice in session 0 \(rows 0 to 99\)"):
        loss.value(np.zeros(100), np.zeros(100), positions, [100])


def test_plain_loss_needs_no_positions_but_checks_those_it_is_given():
    plain = UnbiasedPairwiseLoss(None)
    assert plain.value(**GOOD | {"positions": None}) == plain.value(**GOOD)
    with pytest.raises(InputError, match=r"positions\[0\] is 0"):
        plain.value(**GOOD | {"positions": [0, 1, 2, 1, 2]})


@pytest.mark.parametrize("gain", ["exp", "", "2^y", 2], ids=str)
def test_unknown_gain_is_refused_at_once(gain):
    with pytest.raises(InputError, match=r"gain is .*; it must be one of 'linear', 'exp2'"):
        UnbiasedPairwiseLoss(None, gain=gain)


def test_exponential_gain_of_a_huge_grade_is_refused(loss):
    loss = UnbiasedPairwiseLoss(None, gain="exp2")
    with pytest.raises(InputError, match=r"a label is 51 and gain='exp2'.*at most 50. Hint"):
        loss.value(**GOOD | {"labels": [0, 51, 0, 1, 1]})


@pytest.mark.parametrize("examination", ["independent", [1, 0.5], 1.0, object(), Independent], ids=type)
def test_examination_that_is_not_a_model_is_refused_at_once(examination):
    with pytest.raises(InputError, match=r"examination is .*Hint: truerank\.Independent\(theta\)"):
        UnbiasedPairwiseLoss(examination)


class Broken:
    """A user's own examination model that goes wrong in one of its look-ups."""

    def __init__(self, marginal=0.5, joint=0.25):
        self._answers = marginal, joint

    def marginal(self, positions):
        return np.full(np.shape(positions), self._answers[0])

    def joint(self, positions_i, positions_j):
        return np.full(np.shape(positions_i), self._answers[1])

    def sample(self, n_sessions, n_positions, rng):
        raise NotImplementedError


@pytest.mark.parametrize("wrong", [0, -0.1, 1.5, NAN])
@pytest.mark.parametrize("method", ["marginal", "joint"])
def test_users_examination_that_gives_no_probability_is_refused(method, wrong, pair):
    loss = UnbiasedPairwiseLoss(Broken(**{method: wrong}), pair)
    with pytest.raises(ExaminationError, match=rf"examination\.{method} gave {wrong}"):
        loss.value(**GOOD)


def test_users_examination_that_gives_another_shape_is_refused(pair):
    class OneForAll(Broken):
        def joint(self, positions_i, positions_j):
            return 0.25

    with pytest.raises(ExaminationError, match=r"examination\.joint gave shape \(\)"):
        UnbiasedPairwiseLoss(OneForAll(), pair).value(**GOOD)

"""λ and Hessian: the kernel against the formula, and what makes the objective a function of scores alone."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import truerank as tr
from truerank.errors import InputError
from truerank.rankers import LambdaObjective
from truerank.rankers.reference import list_lambdas

SIZES = np.random.default_rng(7).integers(1, 121, 40)
N = int(SIZES.sum())
MODELS = {
    "none": None,
    "robust": tr.Independent(tr.inverse_rank(120)),
    "complete": tr.Continuous(tr.geometric(120, 0.05)),
    "ratio": None,
}


def _pairs(method: str, graded: bool) -> tr.PairWeights:
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 4, N) * (rng.random(N) < 0.15) if graded else rng.random(N) < 0.15
    return tr.pair_weights(labels, tr.list_order(SIZES), SIZES, method, MODELS[method])


def _scores(ties: bool) -> np.ndarray:
    scores = np.random.default_rng(2).normal(size=N)
    return np.round(scores) if ties else scores


def _brute_force(pairs: tr.PairWeights, scores: np.ndarray, **options: object) -> np.ndarray:
    """Gradient and Hessian, list by list, from dense matrices of weights."""
    parts = []
    for q, (start, end) in enumerate(zip(pairs.row_offsets[:-1], pairs.row_offsets[1:], strict=True)):
        weight = np.zeros((end - start, end - start))
        entries = slice(pairs.offsets[q], pairs.offsets[q + 1])
        np.add.at(weight, (pairs.i[entries], pairs.j[entries]), pairs.weight[entries])
        parts.append(list_lambdas(weight, scores[start:end], **options))
    return np.concatenate(parts, axis=1)


@pytest.mark.parametrize("graded", [False, True])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("truncation", [1, 5, 30])
@pytest.mark.parametrize("method", MODELS)
def test_the_kernel_equals_brute_force(method, truncation, ties, graded):
    pairs, scores = _pairs(method, graded), _scores(ties)
    found = tr.lambda_gradient(pairs, scores, sigma=0.7, truncation=truncation)
    expected = _brute_force(pairs, scores, sigma=0.7, truncation=truncation)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("list_norm", [False, True])
@pytest.mark.parametrize("distance_norm", [False, True])
def test_the_two_habits_of_lightgbm_equal_brute_force(list_norm, distance_norm):
    pairs, scores, options = _pairs("robust", False), _scores(True), {"list_norm": list_norm}
    options["distance_norm"] = distance_norm
    found = LambdaObjective(pairs, **options)(scores)
    np.testing.assert_allclose(found, _brute_force(pairs, scores, **options), rtol=0, atol=1e-10)


def test_the_lambda_of_one_pair_is_the_paper_s_formula():
    pairs = tr.pair_weights([0, 1], [1, 2], [2], "robust", tr.Independent([1, 0.25]))
    scores = np.array([0.3, -0.4])
    swap = 1 / np.log2(1 + 1) - 1 / np.log2(1 + 2)  # |ΔNDCG|: one click, maxDCG = 1
    pull = (1 / 0.25) * swap / (1 + np.exp(-0.4 - 0.3))
    gradient, hessian = tr.lambda_gradient(pairs, scores)
    np.testing.assert_allclose(gradient, [pull, -pull])
    share = 1 / (1 + np.exp(-0.4 - 0.3))
    np.testing.assert_allclose(hessian, [pull * (1 - share)] * 2)


def test_the_gradient_is_the_slope_of_the_loss_with_the_ranking_held_fixed():
    pairs, scores = _pairs("robust", True), _scores(False)
    objective = LambdaObjective(pairs, sigma=1.3, truncation=10)
    gradient, _ = objective(scores)
    gradient = gradient.copy()
    discount = 1 / np.log2(2.0 + objective.row_rank)
    start = np.repeat(pairs.row_offsets[:-1], np.diff(pairs.offsets))
    i, j = start + pairs.i, start + pairs.j
    seen = np.maximum(discount[i], discount[j]) >= 1 / np.log2(
        1 + np.minimum(10, np.repeat(pairs.group, np.diff(pairs.offsets)))
    )
    change = pairs.weight * np.abs(discount[i] - discount[j]) * seen

    def loss(at: np.ndarray) -> float:
        return float(change @ np.logaddexp(0, -1.3 * (at[i] - at[j])))

    step = 1e-5
    for row in np.random.default_rng(3).choice(N, 25, replace=False):
        move = np.zeros(N)
        move[row] = step
        slope = (loss(scores + move) - loss(scores - move)) / (2 * step)
        assert slope == pytest.approx(gradient[row], abs=1e-5)


def test_the_bits_do_not_depend_on_the_number_of_threads():
    pairs, scores = _pairs("complete", True), _scores(True)
    one, two = (LambdaObjective(pairs, threads=n, list_norm=True)(scores) for n in (1, 2))
    np.testing.assert_array_equal(one, two)
    assert numba.get_num_threads() == numba.config.NUMBA_NUM_THREADS


def test_the_objective_has_no_memory():
    pairs, scores = _pairs("robust", False), _scores(False)
    objective = LambdaObjective(pairs)
    first = np.array(objective(scores))
    objective(-scores)
    np.testing.assert_array_equal(objective(scores), first)


def test_the_kernel_allocates_nothing_for_a_list():
    from numba.core.runtime import _nrt_python, rtsys

    _nrt_python.memsys_enable_stats()
    counts = []
    for n in (1, 1_000):
        pairs = tr.pair_weights([1, 0, 0] * n, None, [3] * n, "none")
        objective, scores = LambdaObjective(pairs), np.zeros(3 * n)
        objective(scores)
        before = rtsys.get_allocation_stats().alloc
        objective(scores)
        counts.append(rtsys.get_allocation_stats().alloc - before)
    assert counts[0] == counts[1]  # what is left belongs to numba's scheduler


def test_negative_weights_push_apart_and_bend_upwards():
    pairs = tr.PairWeights(group=[2], offsets=[0, 1], i=[0], j=[1], weight=[-1.0])
    gradient, hessian = tr.lambda_gradient(pairs, [0.0, 0.0])
    assert gradient[0] > 0 > gradient[1]
    assert (hessian > 0).all()


@pytest.mark.parametrize("spread", [50, 280, 320, 5_000])
def test_far_apart_scores_equal_brute_force_too(spread):
    pairs, scores = _pairs("robust", True), _scores(False)
    scores *= spread / np.ptp(scores)
    with np.errstate(over="ignore"):
        expected = _brute_force(pairs, scores)
    np.testing.assert_allclose(tr.lambda_gradient(pairs, scores), expected, rtol=0, atol=1e-10)


def test_huge_score_gaps_do_not_overflow():
    pairs = tr.pair_weights([1, 0], None, [2], "none")
    for gap in (1e4, -1e4):
        found = np.array(tr.lambda_gradient(pairs, [gap, 0.0], sigma=5.0))
        assert np.isfinite(found).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": [np.inf] + [0.0] * (N - 1)}, r"scores\[0\] is inf"),
        ({"scores": np.full(N, np.nan)}, r"scores\[0\] is nan"),
        ({"scores": np.zeros(N - 1)}, "one score a row"),
        ({"sigma": 0}, "sigma is 0"),
        ({"truncation": 0}, "truncation is 0"),
        ({"truncation": 2.5}, "truncation is 2.5"),
    ],
)
def test_bad_arguments_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        tr.lambda_gradient(**{"pairs": _pairs("none", False), "scores": np.zeros(N), **change})


def test_a_list_of_more_than_ten_thousand_items_is_refused():
    pairs = tr.pair_weights([1] + [0] * 10_000, None, [10_001], "none")
    with pytest.raises(InputError, match="10001 items; rankers take at most 10000"):
        tr.lambda_gradient(pairs, np.zeros(10_001))

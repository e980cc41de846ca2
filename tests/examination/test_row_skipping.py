"""Row skipping against the process that defines it, and against the paper's equations."""

import math

import numpy as np
import pytest

from truerank import Continuous, Independent, RowSkipping

LAYOUTS = {
    "equal": (0.3, 0.8, [3, 3]),
    "ragged end": (0.25, 0.6, [3, 3, 2]),
    "unequal": (0.1, 0.7, [1, 3, 2, 1]),
    "one row": (0.4, 0.5, [5]),
    "rows of one": (0.5, 0.9, [1, 1, 1, 1]),
    "never skipped": (0.0, 0.7, [2, 2]),
    "never stopped": (0.35, 1.0, [2, 1, 2]),
    "per position": (0.2, [0.9, 0.5, 1.0, 0.3, 0.75, 0.6], [2, 3, 1]),
    "one position": (0.2, 0.5, [1]),
}


@pytest.fixture(params=LAYOUTS.values(), ids=LAYOUTS.keys())
def layout(request):
    gamma, continuation, rows = request.param
    return gamma, np.broadcast_to(continuation, sum(rows)).tolist(), rows


@pytest.fixture
def tables(layout):
    model = RowSkipping(*layout)
    k = np.arange(1, model.n_positions + 1)
    return model.marginal(k), model.joint(k[:, None], k)


def visits(gamma, continuation, rows):
    """Every way a visit can go, as (its probability, the positions examined): the process, word for word."""

    def at_row(row, first):
        if row == len(rows):
            yield 1.0, ()
            return
        after = first + rows[row]
        for chance, seen in at_row(row + 1, after):  # skips the row
            yield gamma * chance, seen
        for chance, seen in at_item(row, first, after):  # or looks at its items
            yield (1 - gamma) * chance, seen

    def at_item(row, position, after):
        if position == after:
            yield from at_row(row + 1, after)
            return
        goes_on = continuation[position - 1]
        yield 1 - goes_on, (position,)
        for chance, seen in at_item(row, position + 1, after):
            yield goes_on * chance, (position, *seen)

    return at_row(0, 1)


def paper_tables(gamma, continuation, rows):
    """θ and p_ij as the paper's equations for θ(u), different rows and the same row have them."""
    n = sum(rows)
    row = dict(enumerate(np.repeat(np.arange(1, len(rows) + 1), rows), start=1))

    def N(m):
        return rows[m - 1]

    def S(m):
        return sum(rows[: m - 1])

    def C(first, last):
        return math.prod(continuation[v - 1] for v in range(first, last + 1))

    def passed(first, last):
        return math.prod((1 - gamma) * C(S(m) + 1, S(m) + N(m)) + gamma for m in range(first, last + 1))

    def theta(u):
        return passed(1, row[u] - 1) * (1 - gamma) * C(S(row[u]) + 1, u - 1)

    def joint(i, j):
        h, w = min(i, j), max(i, j)
        if row[h] == row[w]:
            return theta(h) * C(h, w - 1)
        rest_of_row = C(h, S(row[h]) + N(row[h]))
        return theta(h) * rest_of_row * passed(row[h] + 1, row[w] - 1) * (1 - gamma) * C(S(row[w]) + 1, w - 1)

    k = range(1, n + 1)
    return np.array([theta(u) for u in k]), np.array([[joint(i, j) for j in k] for i in k])


def test_tables_equal_the_enumeration_of_every_visit(layout, tables):
    psi = np.zeros((sum(layout[2]),) * 2)
    total = 0.0
    for chance, seen in visits(*layout):
        places = np.array(seen, dtype=int) - 1
        psi[np.ix_(places, places)] += chance
        total += chance
    assert total == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(tables[0], np.diagonal(psi), rtol=0, atol=1e-12)
    np.testing.assert_allclose(tables[1], psi, rtol=0, atol=1e-12)


def test_tables_equal_the_equations_of_the_paper(layout, tables):
    theta, psi = paper_tables(*layout)
    np.testing.assert_allclose(tables[0], theta, rtol=1e-12)
    np.testing.assert_allclose(tables[1], psi, rtol=1e-12)


def test_sampler_draws_each_visit_as_often_as_the_process_does(layout):
    n, draws = sum(layout[2]), 20_000
    seen_by_code = RowSkipping(*layout).sample(draws, n, np.random.default_rng(5)) @ (1 << np.arange(n))
    drawn = np.bincount(seen_by_code, minlength=2**n) / draws
    expected = np.zeros(2**n)
    for chance, seen in visits(*layout):
        expected[sum(1 << (v - 1) for v in seen)] += chance
    standard_error = np.sqrt(expected * (1 - expected) / draws)
    assert np.all(np.abs(drawn - expected) <= 5 * standard_error + 1e-12)


def test_one_row_never_skipped_is_continuous_examination():
    theta = 0.7 ** np.arange(4)
    rows = RowSkipping(gamma=0, continuation=0.7, row_lengths=[4])
    k = np.arange(1, 5)
    np.testing.assert_allclose(rows.joint(k[:, None], k), Continuous(theta).joint(k[:, None], k), rtol=1e-12)


def test_rows_of_one_never_left_are_independent_examination():
    rows = RowSkipping(gamma=0.3, continuation=1, row_lengths=[1] * 4)
    k = np.arange(1, 5)
    np.testing.assert_allclose(rows.joint(k[:, None], k), Independent([0.7] * 4).joint(k[:, None], k), rtol=1e-12)


def test_one_continuation_for_all_looks_up_the_same_as_one_for_each():
    k = np.arange(1, 5)
    one, each = (RowSkipping(0.2, c, [2, 2]) for c in (0.5, [0.5] * 4))
    np.testing.assert_array_equal(one.joint(k[:, None], k), each.joint(k[:, None], k))
    np.testing.assert_array_equal(one.continuation, each.continuation)


def test_whole_page_of_a_thousand_positions_keeps_its_precision():
    gamma, continuation = 0.6, 0.9
    model = RowSkipping(gamma, continuation, [4] * 250)
    passed = (1 - gamma) * continuation**4 + gamma
    assert model.marginal(1000) == pytest.approx(passed**249 * (1 - gamma) * continuation**3, rel=1e-10)
    assert model.joint(997, 1000) == pytest.approx(passed**249 * (1 - gamma) * continuation**3, rel=1e-10)
    first_to_last = (1 - gamma) * continuation**4 * passed**248 * (1 - gamma) * continuation**3
    assert model.joint(1, 1000) == pytest.approx(first_to_last, rel=1e-10)


def test_parameters_that_the_model_hands_out_cannot_be_changed():
    model = RowSkipping(0.2, 0.5, [2, 2])
    for array in (model.continuation, model.row_lengths):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_arrays_given_to_the_model_stay_the_callers():
    continuation, rows = np.array([0.5, 0.5]), np.array([2])
    model = RowSkipping(0.2, continuation, rows)
    continuation[:] = 1
    rows[:] = 1
    assert model == RowSkipping(0.2, [0.5, 0.5], [2])

"""What is particular to one model's sampler, or to its formula."""

import numpy as np
import pytest

from truerank import Continuous, Independent, RowSkipping, Tabulated
from truerank.errors import ExaminationError
from truerank.examination import pair_sampler

STANDARD_ERRORS = 5


def rng(seed=0):
    return np.random.default_rng(seed)


def all_pairs(model):
    k = np.arange(1, model.n_positions + 1)
    return model.joint(k[:, None], k)


def constant_table(n, theta, psi):
    return Tabulated([theta] * n, np.where(np.eye(n, dtype=bool), theta, psi))


# Each pair alone is possible (0 ≤ 0.05 ≤ 0.5), but P(any of the three) ≥ 3 · 0.5 − 3 · 0.05 > 1.
IMPOSSIBLE = {"theta": 0.5, "psi": 0.05}


def test_independent_joint_is_the_product_of_the_marginals():
    theta = np.array([0.9, 0.5, 0.2])
    expected = np.where(np.eye(3, dtype=bool), theta, np.outer(theta, theta))
    np.testing.assert_array_equal(all_pairs(Independent(theta)), expected)


def test_continuous_joint_is_the_smaller_marginal():
    theta = np.array([0.9, 0.5, 0.5, 0.2])
    np.testing.assert_array_equal(all_pairs(Continuous(theta)), np.minimum.outer(theta, theta))


def test_tabulated_hands_out_its_tables():
    psi = np.array([[0.9, 0.5], [0.5, 0.6]])
    np.testing.assert_array_equal(all_pairs(Tabulated([0.9, 0.6], psi)), psi)


def test_continuous_reader_never_skips_a_position():
    draws = Continuous([1.0, 0.8, 0.8, 0.3, 0.1]).sample(5_000, 5, rng())
    assert not np.any(draws[:, 1:] & ~draws[:, :-1])


def test_row_skipping_reader_never_skips_inside_a_row():
    draws = RowSkipping(0.4, 0.7, [3, 3]).sample(5_000, 6, rng())
    inside_rows = [1, 2, 4, 5]
    assert not np.any(draws[:, inside_rows] & ~draws[:, np.subtract(inside_rows, 1)])


@pytest.mark.parametrize(
    ("rows", "uses_patterns"),
    [([3, 3], True), ([1, 1, 1, 1], False), ([2, 2, 2, 2], True), ([4, 4, 2], True), ([4, 4, 4], True)],
    ids=str,
)
def test_table_of_a_grid_is_sampled_with_its_pairs(table_of, monkeypatch, rows, uses_patterns):
    calls = []
    patterns = pair_sampler._pattern_chances
    monkeypatch.setattr(pair_sampler, "_pattern_chances", lambda *given: calls.append(given) or patterns(*given))
    model = RowSkipping(gamma=0.3, continuation=0.6, row_lengths=rows)
    psi, n_draws = all_pairs(model), 40_000
    draws = table_of(model).sample(n_draws, model.n_positions, rng(2))
    standard_error = np.sqrt(psi * (1 - psi) / n_draws)
    together = draws.astype(float).T @ draws / n_draws
    assert np.all(np.abs(together - psi) <= STANDARD_ERRORS * standard_error)
    assert bool(calls) == uses_patterns  # so that both ways of drawing are tested here


def test_table_of_a_long_continuous_model_is_sampled_without_patterns(table_of):
    theta = 1 / np.arange(1, 31)
    draws = table_of(Continuous(theta)).sample(2_000, 30, rng())
    assert not np.any(draws[:, 1:] & ~draws[:, :-1])


def test_table_that_no_distribution_has_is_refused():
    with pytest.raises(ExaminationError, match="each pair alone is possible, all together are not"):
        constant_table(3, **IMPOSSIBLE).sample(1_000, 3, rng())


def test_table_that_no_distribution_has_can_still_be_sampled_where_it_is_possible():
    draws = constant_table(3, **IMPOSSIBLE).sample(20_000, 2, rng())
    standard_error = np.sqrt(0.05 * 0.95 / 20_000)
    assert abs(np.mean(draws[:, 0] & draws[:, 1]) - 0.05) <= STANDARD_ERRORS * standard_error


@pytest.mark.parametrize("n_sessions", [1, 2, 5])
def test_table_that_no_distribution_has_is_refused_however_few_sessions_are_drawn(n_sessions):
    table = constant_table(3, **IMPOSSIBLE)
    for seed in range(10):
        with pytest.raises(ExaminationError, match="each pair alone is possible, all together are not"):
            table.sample(n_sessions, 3, rng(seed))


def test_table_drawn_one_session_at_a_time_has_its_pairs(table_of):
    model = RowSkipping(gamma=0.5, continuation=0.3, row_lengths=[2, 2, 2])
    table, generator, n_draws = table_of(model), rng(1), 2_000
    draws = np.concatenate([table.sample(1, 6, generator) for _ in range(n_draws)])
    psi = all_pairs(model)
    together = draws.astype(float).T @ draws / n_draws
    assert np.all(np.abs(together - psi) <= STANDARD_ERRORS * np.sqrt(psi * (1 - psi) / n_draws))


def test_more_positions_than_the_search_covers_are_refused_when_no_chain_draws_them():
    n = pair_sampler.MOST_PLACES_FOR_PATTERNS + 1
    with pytest.raises(ExaminationError, match=rf"no process was found that draws {n} positions.*Hint"):
        constant_table(n, **IMPOSSIBLE).sample(1_000, n, rng())

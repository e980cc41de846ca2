"""The position-based model: the maximum that EM climbs to, errors that cover, and a word where it is biased."""

import numba
import numpy as np
import pytest

import truerank as tr
from truerank.errors import IdentificationError, InputError
from truerank.propensity import em_kernels, reference
from truerank.propensity.cells import cells_of
from truerank.types import ItemPositionCounts

THETA = tr.inverse_rank(6)


def log_errors_of(estimator, replicates, draw, *args, **kwargs):
    """log θ̂ − log θ at positions 2, 3, …, and the error that was stated, from one log after another."""
    found = [estimator(draw(THETA, *args), **kwargs) for _ in range(replicates)]
    return np.array([np.log(f.theta / THETA)[1:] for f in found]), np.array([f.log_standard_errors[1:] for f in found])


@pytest.fixture
def cells(draw_item_counts, rng):
    return cells_of(draw_item_counts(THETA, 12, 30, rng))


@pytest.fixture
def theta(rng):
    return np.r_[1, rng.uniform(0.1, 1.2, 5)]


def test_the_kernels_are_the_formula(cells, theta):
    value, gradient, spread = reference.position_based_likelihood(theta, cells, em_kernels.FAINT)
    data = (cells.place, cells.impressions, cells.clicks)
    found = [b.sum(axis=0) for b in em_kernels.profile_sums(theta, cells.offsets, *data)]
    np.testing.assert_allclose(found[0], value, rtol=1e-10)
    np.testing.assert_allclose(found[1], gradient, rtol=1e-7, atol=1e-7)
    found = em_kernels.profile_spread(theta, cells.offsets, cells.list_offsets, *data).sum(axis=0)
    np.testing.assert_allclose(found, spread, rtol=1e-7, atol=1e-7)
    every = [reference.likely_relevance(theta, n, c, em_kernels.FAINT) for _, n, c in reference.items_of(cells)]
    np.testing.assert_allclose(em_kernels.relevances(theta, cells.offsets, *data), every, rtol=1e-8, atol=1e-12)


def test_gradient_and_information_are_derivatives_in_log_theta(cells, theta):
    data = (cells.offsets, cells.place, cells.impressions, cells.clicks)

    def sums(theta):
        return [b.sum(axis=0) for b in em_kernels.profile_sums(theta, *data)]

    _, gradient, information = sums(theta)
    for k, h in enumerate(1e-5 * np.eye(6)):
        up, down = sums(theta * np.exp(h)), sums(theta * np.exp(-h))
        assert gradient[k] == pytest.approx((up[0] - down[0]) / 2e-5, rel=1e-5, abs=1e-5)
        np.testing.assert_allclose(-information[k], (up[1] - down[1]) / 2e-5, rtol=1e-4, atol=1e-3)


def test_em_stands_still_where_newton_stops(draw_item_counts, rng):
    counts = draw_item_counts(tr.inverse_rank(4, 0.5), 8, 400, rng)
    cells = cells_of(counts)
    theta = tr.propensity.em(counts, errors="information").theta
    assert theta[1:].max() < 1
    relevance = em_kernels.relevances(theta, cells.offsets, cells.place, cells.impressions, cells.clicks)
    new_theta, new_relevance = reference.em_step(theta, relevance, cells)
    np.testing.assert_allclose(new_theta, theta, rtol=1e-5)
    np.testing.assert_allclose(new_relevance, relevance, rtol=1e-4, atol=1e-6)
    elsewhere = theta * [1, 0.9, 1, 1]
    assert np.abs(reference.em_step(elsewhere, relevance, cells)[0] / elsewhere - 1).max() > 1e-3


def test_one_item_at_two_positions_gives_the_ratio_of_its_click_rates():
    counts = ItemPositionCounts([5, 5], ["a", "a"], [1, 2], [200, 50], [100, 10])
    assert tr.propensity.em(counts, errors="information").theta[1] == pytest.approx(0.4, rel=1e-4)


def test_items_that_are_always_clicked_do_not_break_it(draw_item_counts, rng):
    counts = draw_item_counts(THETA, 20, 30, rng)
    sure = ItemPositionCounts([99, 99, 99], [1, 1, 1], [1, 2, 6], [3, 4, 1], [3, 4, 1])
    both = ItemPositionCounts(
        *[np.concatenate([getattr(c, f) for c in (counts, sure)]) for f in ItemPositionCounts.__slots__]
    )
    found = tr.propensity.em(both)
    assert np.isfinite(found.log_covariance).all()
    assert (found.theta > tr.propensity.em(counts).theta)[[1, 5]].all()


def test_the_number_of_threads_does_not_change_a_bit(draw_item_counts, rng):
    counts = draw_item_counts(THETA, 300, 20, rng)
    several, threads = tr.propensity.em(counts), numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        one = tr.propensity.em(counts)
    finally:
        numba.set_num_threads(threads)
    np.testing.assert_array_equal(one.theta, several.theta)
    np.testing.assert_array_equal(one.log_covariance, several.log_covariance)


# consistency and coverage


def test_the_error_shrinks_like_one_over_root_n_in_sessions_a_list(draw_item_counts, rng):
    spread = []
    for sessions in (100, 1_600):
        error = log_errors_of(tr.propensity.em, 60, draw_item_counts, 60, sessions, rng, errors="information")[0]
        spread.append(np.sqrt(np.mean(error**2)))
        assert np.all(np.abs(error.mean(axis=0)) <= error.std(axis=0) * (4 / np.sqrt(60) + 0.3))
    assert spread[0] / spread[1] == pytest.approx(4, rel=0.25)


@pytest.mark.parametrize("errors", ["list", "information"])
def test_intervals_cover_at_their_level(draw_item_counts, rng, errors):
    logs, stated = log_errors_of(tr.propensity.em, 200, draw_item_counts, 200, 150, rng, errors=errors)
    covered = np.mean(np.abs(logs) <= 1.95996 * stated, axis=1)
    assert abs(covered.mean() - 0.95) <= 4 * covered.std() / np.sqrt(len(covered)) + 0.01


def test_intervals_over_sessions_cover_with_few_lists_and_dependent_clicks(draw_sessions, rng):
    model = tr.Continuous([1, 0.6, 0.5, 0.3])
    relevance = np.random.default_rng(5).uniform(0.1, 0.9, size=(6, 4))
    apart = []
    for _ in range(120):
        log = draw_sessions(model, relevance, [], 1_500, rng, shuffle=0.5)
        found = tr.propensity.em(log, errors="session")
        apart.append(np.log(found.theta / model.marginal(range(1, 5)))[1:] / found.log_standard_errors[1:])
    covered = np.mean(np.abs(apart) <= 1.95996, axis=1)
    assert abs(covered.mean() - 0.95) <= 4 * covered.std() / np.sqrt(len(covered)) + 0.01


def test_few_impressions_an_item_bias_it_and_that_is_said(draw_item_counts, rng):
    logs = [draw_item_counts(THETA, 1_000, 6, rng) for _ in range(20)]
    found = [tr.propensity.em(log) for log in logs]
    off = np.log([f.theta[2] for f in found]) - np.log(THETA[2])
    assert off.mean() > 4 * off.std() / np.sqrt(20)  # relevance that is fitted to noise flattens θ
    assert all("Hint: truerank.propensity.harvest is free of that" in f.notes[-1] for f in found)
    assert tr.propensity.em(draw_item_counts(THETA, 60, 400, rng)).notes == ()


def test_with_many_clicks_its_errors_are_smaller_than_those_of_harvesting(draw_item_counts, rng):
    curve = tr.inverse_rank(5, 0.2)  # nearly everything is seen
    logs = [draw_item_counts(curve, 60, 300, rng, relevance=(3, 1)) for _ in range(30)]
    off = [
        np.std([np.log(estimator(log, errors="information").theta / curve)[1:] for log in logs])
        for estimator in (tr.propensity.em, tr.propensity.harvest)
    ]
    assert off[0] < 0.85 * off[1]


# refusals


def test_what_the_log_does_not_tell_is_refused():
    counts = ItemPositionCounts([0, 0, 0], [1, 2, 3], [1, 2, 3], [100] * 3, [50, 20, 10])
    with pytest.raises(IdentificationError, match=r"θ at positions 2–3 cannot be told"):
        tr.propensity.em(counts)
    with pytest.raises(InputError, match="errors='session' needs ClickSessions"):
        tr.propensity.em(ItemPositionCounts([0, 0], [1, 1], [1, 2], [9, 9], [5, 4]), errors="session")
    with pytest.raises(InputError, match="errors is 'hessian'"):
        tr.propensity.em(counts, errors="hessian")

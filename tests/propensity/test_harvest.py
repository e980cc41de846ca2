"""Intervention harvesting: consistent whatever the ranking knows, intervals cover, gaps in the log are refused."""

import numba
import numpy as np
import pytest

import truerank as tr
from truerank.errors import IdentificationError, InputError
from truerank.propensity import harvest_kernels, reference
from truerank.propensity.all_pairs import profile_rates
from truerank.propensity.cells import cells_of
from truerank.types import ItemPositionCounts

THETA = tr.inverse_rank(6)
WAYS = [{}, {"relevance": "pair"}, {"relevance": "pair", "weights": "equal"}]
every_way = pytest.mark.parametrize("way", WAYS, ids=["item", "pair", "pair-equal"])


def estimates(way, replicates, draw, *args, **kwargs):
    """log θ̂ and its error, from one log after another."""
    found = [tr.propensity.harvest(draw(*args, **kwargs), **way) for _ in range(replicates)]
    return np.array([np.log(f.theta) for f in found]), np.array([f.log_standard_errors for f in found])


# the sums


@pytest.fixture
def cells(draw_item_counts, rng):
    return cells_of(draw_item_counts(THETA, 12, 30, rng))


@pytest.fixture
def theta(rng):
    return np.r_[1, rng.uniform(0.1, 1, 5)]


def test_the_conditional_kernel_is_the_formula(cells, theta):
    value, gradient, information, spread = reference.conditional_likelihood(theta, cells)
    data = (cells.place, cells.impressions, cells.clicks)
    found = [b.sum(axis=0) for b in harvest_kernels.conditional_sums(theta, cells.offsets, *data)]
    for kernel, formula in zip(found, (value, gradient, information), strict=True):
        np.testing.assert_allclose(kernel, formula, rtol=1e-11, atol=1e-11)
    found = harvest_kernels.conditional_spread(theta, cells.offsets, cells.list_offsets, *data).sum(axis=0)
    np.testing.assert_allclose(found, spread, rtol=1e-11, atol=1e-11)


def test_gradient_and_information_are_derivatives_in_log_theta(cells, theta):
    _, gradient, information, _ = reference.conditional_likelihood(theta, cells)
    for k, h in enumerate(1e-5 * np.eye(6)):
        up, down = (reference.conditional_likelihood(theta * np.exp(s), cells) for s in (h, -h))
        assert gradient[k] == pytest.approx((up[0] - down[0]) / 2e-5, rel=1e-6, abs=1e-6)
        np.testing.assert_allclose(-information[k], (up[1] - down[1]) / 2e-5, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("equal", [True, False])
def test_the_pair_kernels_are_the_formula(cells, equal, rng):
    weight, clicked = reference.pair_sums(cells, equal=equal)
    data = (cells.place, cells.impressions, cells.clicks, equal)
    found = [b.sum(axis=0) for b in harvest_kernels.pair_table(6, cells.offsets, *data)]
    np.testing.assert_allclose(found[0], weight.sum(axis=0), rtol=1e-11)
    np.testing.assert_allclose(found[1], clicked.sum(axis=0), rtol=1e-11)
    rate, lever = rng.uniform(size=(2, 6, 6))
    gained = lever * (clicked - weight * rate)
    scores = gained.sum(axis=2) - gained.sum(axis=1)
    spread = harvest_kernels.pair_spread(rate, lever, cells.offsets, cells.list_offsets, *data).sum(axis=0)
    np.testing.assert_allclose(spread, scores.T @ scores, rtol=1e-10, atol=1e-10)


def test_the_profile_of_a_pair_is_its_most_likely_relevance(cells, theta):
    weight, clicks = (t.sum(axis=0) for t in reference.pair_sums(cells, equal=False))
    rates = profile_rates(theta, weight, clicks)
    for k in range(6):
        for j in range(k):
            if not clicks[k, j] + clicks[j, k]:
                continue

            def value(r, k=k, j=j):
                sides = ((k, j), (j, k))
                return sum(
                    clicks[s] * np.log(theta[s[0]] * r) + (weight[s] - clicks[s]) * np.log1p(-theta[s[0]] * r)
                    for s in sides
                )

            best = rates[k, j] / theta[k]
            assert rates[j, k] / theta[j] == pytest.approx(best)
            assert value(best) >= max(value(best * 0.999), value(best * 1.001))


@every_way
def test_the_number_of_threads_does_not_change_a_bit(draw_item_counts, rng, way):
    counts = draw_item_counts(THETA, 300, 20, rng)
    several = tr.propensity.harvest(counts, **way)
    threads = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        one = tr.propensity.harvest(counts, **way)
    finally:
        numba.set_num_threads(threads)
    np.testing.assert_array_equal(one.theta, several.theta)
    np.testing.assert_array_equal(one.log_covariance, several.log_covariance)


# small logs whose answer is known


def test_one_item_at_two_positions_gives_the_ratio_of_its_click_rates():
    counts = ItemPositionCounts([5, 5], ["a", "a"], [1, 2], [200, 50], [100, 10])
    for way in WAYS:
        assert tr.propensity.harvest(counts, errors="information", **way).theta[1] == pytest.approx(0.4)


def test_two_positions_with_overlap_weights_give_the_ratio_of_mantel_and_haenszel(draw_item_counts, rng):
    counts = draw_item_counts(THETA[:2], 50, 20, rng)
    cells = cells_of(counts)
    impressions, clicks = (np.array(column).T for column in list(zip(*reference.items_of(cells), strict=True))[1:])
    (n_1, n_2), (c_1, c_2) = impressions, clicks
    both = n_1 * n_2 > 0
    pooled = (c_2 * n_1 / (n_1 + n_2))[both].sum() / (c_1 * n_2 / (n_1 + n_2))[both].sum()
    assert tr.propensity.harvest(counts, relevance="pair").theta[1] == pytest.approx(pooled)


def test_counts_in_parts_and_in_any_order_are_the_same_log(draw_item_counts, rng):
    counts = draw_item_counts(THETA, 60, 30, rng)
    once = tr.propensity.harvest(counts)
    keep = rng.permutation(len(counts.list))
    part = rng.binomial(counts.impressions - counts.clicks, 0.5)
    early = ItemPositionCounts(counts.list, counts.item, counts.position, part, 0 * part)
    late = [np.concatenate([getattr(early, f), getattr(counts, f)[keep]]) for f in ("list", "item", "position")]
    impressions = np.concatenate([part, (counts.impressions - part)[keep]])
    clicks = np.concatenate([0 * part, counts.clicks[keep]])
    parts = tr.propensity.harvest(ItemPositionCounts(*late, impressions, clicks))
    np.testing.assert_allclose(parts.theta, once.theta, rtol=1e-9)
    np.testing.assert_allclose(parts.log_covariance, once.log_covariance, rtol=1e-6, atol=1e-12)


def test_ids_may_be_text(draw_item_counts, rng):
    counts = draw_item_counts(THETA, 30, 30, rng)
    named = ItemPositionCounts(
        np.char.add("query ", counts.list.astype(str)),
        counts.item.astype(str),
        *[getattr(counts, f) for f in ("position", "impressions", "clicks")],
    )
    np.testing.assert_allclose(tr.propensity.harvest(named).theta, tr.propensity.harvest(counts).theta, rtol=1e-9)


# consistency and coverage


@every_way
def test_the_error_shrinks_like_one_over_root_n_even_with_six_impressions_an_item(draw_item_counts, rng, way):
    sizes, replicates = (100, 1_600), 60
    spread = []
    for n_lists in sizes:
        error = estimates(way, replicates, draw_item_counts, THETA, n_lists, 6, rng)[0][:, 1:] - np.log(THETA[1:])
        spread.append(np.sqrt(np.mean(error**2)))
        # the mean error is noise, or below a third of the standard error (bias of order 1/n)
        assert np.all(np.abs(error.mean(axis=0)) <= error.std(axis=0) * (4 / np.sqrt(replicates) + 0.3))
    assert spread[0] / spread[1] == pytest.approx(4, rel=0.25)


def test_click_rates_alone_are_far_off_where_the_ranking_knows_what_is_relevant(draw_item_counts, rng):
    counts = draw_item_counts(THETA, 2_000, 20, rng)
    clicks, shown = (np.bincount(counts.position - 1, c) for c in (counts.clicks, counts.impressions))
    naive = clicks / shown / (clicks[0] / shown[0])
    found = tr.propensity.harvest(counts)
    assert np.all(np.abs(np.log(found.theta / THETA))[1:] <= 4 * found.log_standard_errors[1:])
    assert np.all(np.abs(np.log(naive / THETA))[1:] > 4 * found.log_standard_errors[1:])


@every_way
def test_intervals_over_lists_cover_at_their_level(draw_item_counts, rng, way):
    replicates = 300
    logs, errors = estimates(way, replicates, draw_item_counts, THETA, 300, 30, rng)
    covered = np.mean(np.abs(logs - np.log(THETA))[:, 1:] <= 1.95996 * errors[:, 1:], axis=1)
    standard_error = covered.std() / np.sqrt(replicates)  # replicates are independent, positions inside one are not
    assert abs(covered.mean() - 0.95) <= 4 * standard_error + 0.01


def test_a_nuisance_for_every_item_is_the_most_precise_and_equal_weights_the_least(draw_item_counts, rng):
    logs = [draw_item_counts(THETA, 200, 40, rng) for _ in range(80)]
    spread = [
        np.mean([(np.log(tr.propensity.harvest(log, **way).theta) - np.log(THETA)) ** 2 for log in logs])
        for way in WAYS
    ]
    assert spread[0] < spread[1] < spread[2]


def draw_few_lists(model, rng, draw_sessions, n_lists=6):
    relevance = np.random.default_rng(5).uniform(0.1, 0.9, size=(n_lists, 4))
    return draw_sessions(model, relevance, [], 1_500, rng, shuffle=0.5)


def test_intervals_over_sessions_cover_with_few_lists_and_dependent_clicks(draw_sessions, rng):
    model = tr.Continuous([1, 0.6, 0.5, 0.3])
    apart, information = [], []
    for _ in range(150):
        log = draw_few_lists(model, rng, draw_sessions)
        found = tr.propensity.harvest(log, errors="session")
        apart.append((np.log(found.theta) - np.log(model.marginal(range(1, 5))))[1:] / found.log_standard_errors[1:])
        information.append(tr.propensity.harvest(log, errors="information").log_standard_errors[1:])
    covered = np.mean(np.abs(apart) <= 1.95996, axis=1)
    assert abs(covered.mean() - 0.95) <= 4 * covered.std() / np.sqrt(len(covered)) + 0.01
    # clicks that happen do not leave room for others: errors that take clicks as rare and independent are too large
    assert np.mean(information) > 1.05 * np.mean(found.log_standard_errors[1:])


def test_errors_over_sessions_are_those_of_a_plain_loop(draw_sessions, rng):
    log = draw_few_lists(tr.Continuous([1, 0.6, 0.5, 0.3]), rng, draw_sessions)
    found = tr.propensity.harvest(log, errors="session")
    counts = tr.propensity.item_position_counts(log)
    cells = cells_of(counts)
    table = {
        int(counts.item[cells.row[cells.offsets[g]]]): (n, c) for g, (_, n, c) in enumerate(reference.items_of(cells))
    }
    spread = np.zeros((4, 4))
    items, clicks = log.item.reshape(-1, 4), log.clicks.reshape(-1, 4)
    for shown, clicked in zip(items.tolist(), clicks, strict=True):
        score = np.zeros(4)
        for place, item in enumerate(shown):
            exposure = table[item][0] * found.theta
            expected = found.theta[place] * table[item][1].sum() / exposure.sum()
            score += (clicked[place] - expected) * (np.eye(4)[place] - exposure / exposure.sum())
        spread += np.outer(score, score)
    information = reference.conditional_likelihood(found.theta, cells)[2][1:, 1:]
    inverse = np.linalg.inv(information)
    n = log.n_sessions
    np.testing.assert_allclose(
        found.log_covariance[1:, 1:], inverse @ spread[1:, 1:] @ inverse * n / (n - 1), rtol=1e-6
    )


# what a log does not tell


def test_a_ranking_that_never_changes_tells_nothing():
    counts = ItemPositionCounts([0, 0, 0], [1, 2, 3], [1, 2, 3], [100] * 3, [50, 20, 10])
    with pytest.raises(
        IdentificationError, match=r"θ at positions 2–3 cannot be told.*all its items stand always there"
    ):
        tr.propensity.harvest(counts)
    with pytest.raises(IdentificationError, match=r"no item was shown at two positions and clicked.*swap experiment"):
        tr.propensity.harvest(counts, fill="interpolate")


def linked(*links, clicks=10):
    """One item a link, shown 100 times at each of its two positions; at which it was clicked is given or both."""
    rows = [(0, m, k, 100, clicks * (len(link) < 3 or link[2] == k)) for m, link in enumerate(links) for k in link[:2]]
    return ItemPositionCounts(*np.array(rows).T)


def test_positions_in_islands_are_refused_by_name():
    counts = linked((1, 2), (2, 3), (4, 5), (7, 7))
    with pytest.raises(IdentificationError) as caught:
        tr.propensity.harvest(counts)
    assert str(caught.value).startswith("θ at positions 4–7 cannot be told from this log: position 6 never shown; ")
    assert "position 7 all its items stand always there" in str(caught.value)
    assert "positions 4–5 not linked to position 1 by items clicked at both ends" in str(caught.value)
    assert "Hint: n_positions=3, or a swap experiment" in str(caught.value)
    assert len(tr.propensity.harvest(counts, n_positions=3, errors="information").theta) == 3


def test_a_position_clicked_only_one_way_has_no_finite_estimate():
    with pytest.raises(IdentificationError, match="position 3 never clicked"):
        tr.propensity.harvest(linked((1, 2), (2, 3, 2)))
    with pytest.raises(IdentificationError, match="position 2 not linked to position 1"):
        tr.propensity.harvest(linked((1, 2, 2), (2, 3)), n_positions=2)


def test_gaps_are_filled_only_on_request():
    counts = linked((1, 2), (2, 4))
    with pytest.raises(IdentificationError, match=r"position 3 never shown.*fill='interpolate'"):
        tr.propensity.harvest(counts)
    found = tr.propensity.harvest(counts, fill="interpolate", errors="information")
    assert found.measured.tolist() == [True, True, False, True]
    np.testing.assert_allclose(found.examination.marginal(range(1, 5)), 1)


def test_few_lists_are_said():
    notes = tr.propensity.harvest(linked((1, 2))).notes
    assert (
        "only 1 lists tell about positions: errors by list are rough. Hint: errors='session' or 'information'" in notes
    )


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"errors": "hessian"}, "errors is 'hessian'; it must be one of 'list', 'session', 'information'"),
        ({"relevance": "query"}, "relevance is 'query'"),
        ({"relevance": "pair", "weights": "none"}, "weights is 'none'"),
        ({"errors": "session"}, "needs ClickSessions"),
    ],
)
def test_choices_that_do_not_exist_are_refused(choice, message):
    with pytest.raises(InputError, match=message):
        tr.propensity.harvest(linked((1, 2)), **choice)


def test_an_empty_log_is_refused():
    with pytest.raises(IdentificationError, match="shows nothing"):
        tr.propensity.harvest(ItemPositionCounts([], [], [], [], []))

"""Simulated clicks are drawn from exactly the distribution that the definition says."""

from __future__ import annotations

import numpy as np
import pytest
from enumerated import EVERY, MODELS, WALKS, OnlySample, fit, label_patterns, with_a_click
from scipy import stats

from truerank import Continuous, Independent, RowSkipping, inverse_rank, simulate_clicks
from truerank.types import JudgedLists

LABELS = [1, 4, 0, 2]
EXP2 = np.array([1, 15, 0, 3]) / 15
SESSIONS = 60_000
STANDARD_ERRORS = 4.5
LEAST_P = 1e-4
"""A right sampler fails a test at this level for one seed in ten thousand; the seeds here are fixed."""

every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
by_walk_and_by_sample = pytest.mark.parametrize("bring", [lambda m: m, OnlySample], ids=["ours", "through sample"])
kept_or_redrawn = pytest.mark.parametrize("require_click", [False, True], ids=["kept", "redrawn"])


def one_list(model, labels=LABELS, n_sessions=SESSIONS, seed=1, **options):
    """The labels of many sessions of one list, a row each."""
    sessions = simulate_clicks(labels, model, n_sessions, seed, group=[len(labels)], **options)
    return sessions.clicks.reshape(n_sessions, -1)


def within(found, expected, n):
    """Whether frequencies of n independent sessions are within STANDARD_ERRORS of their probabilities."""
    expected = np.asarray(expected)
    return np.all(np.abs(found - expected) <= STANDARD_ERRORS * np.sqrt(expected * (1 - expected) / n) + 1e-12)


@every_model
@by_walk_and_by_sample
@kept_or_redrawn
def test_sessions_have_the_distribution_that_enumeration_gives(model, bring, require_click):
    patterns = label_patterns(model, EXP2[:, None])
    drawn = one_list(bring(model), require_click=require_click, max_grade=4)
    assert fit(drawn, with_a_click(patterns) if require_click else patterns) > LEAST_P


GRADED = np.array([[0.1, 0.05, 0.0], [0.3, 0.2, 0.1], [0.5, 0.5, 0.2], [0.6, 0.1, 0.1], [1.0, 0.9, 0.3]])


@every_model
@kept_or_redrawn
def test_graded_feedback_has_the_distribution_that_enumeration_gives(model, require_click):
    labels = [1, 4, 0]
    patterns = label_patterns(model, GRADED[labels])
    drawn = one_list(model, labels, feedback=GRADED, require_click=require_click)
    assert fit(drawn, with_a_click(patterns) if require_click else patterns) > LEAST_P


@every_model
@kept_or_redrawn
def test_trust_and_noise_have_the_distribution_that_enumeration_gives(model, require_click):
    """P(c ≥ 1 | e) = ε⁺ P(r ≥ 1) + ε⁻ P(r = 0), P(c ≥ l | e) = ε⁺ P(r ≥ l) above."""
    labels, relevant, irrelevant = [1, 4, 0], np.array([0.9, 0.7, 1.0]), np.array([0.4, 0.2, 0.05])
    at_least = relevant[:, None] * GRADED[labels]
    at_least[:, 0] += irrelevant * (1 - GRADED[labels][:, 0])
    drawn = one_list(model, labels, feedback=GRADED, trust=(relevant, irrelevant), require_click=require_click)
    patterns = label_patterns(model, at_least)
    assert fit(drawn, with_a_click(patterns) if require_click else patterns) > LEAST_P


def test_noise_is_the_same_at_every_position():
    noisy = {"noise": 0.2, "require_click": False}
    same = one_list(MODELS["independent"], trust=(1, [0.2] * 4), require_click=False)
    np.testing.assert_array_equal(one_list(MODELS["independent"], **noisy), same)


@pytest.mark.parametrize("name", WALKS)
def test_click_rates_are_relevance_times_examination_and_joint_clicks_follow_psi(name):
    model, n = MODELS[name], 400_000
    clicks = one_list(model, [4, 2, 3, 4], n, require_click=False).astype(float)
    relevance = np.array([15, 3, 7, 15]) / 15
    theta, psi = model.marginal(EVERY), model.joint(EVERY[:, None], EVERY)
    assert within(clicks.mean(axis=0), relevance * theta, n)
    both = np.where(np.eye(4, dtype=bool), relevance * theta, np.outer(relevance, relevance) * psi)
    assert within(clicks.T @ clicks / n, both, n)


@pytest.mark.parametrize("name", WALKS)
@kept_or_redrawn
def test_the_walk_and_the_sampler_of_a_model_draw_the_same_on_long_lists(name, require_click):
    """Two samples of twelve positions, compared by the number of clicks and by the place of the first one."""
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 5, 12)
    model = {
        "independent": Independent(rng.uniform(0.1, 1, 12)),
        "continuous": Continuous(inverse_rank(12)),
        "row skipping": RowSkipping(0.2, rng.uniform(0.6, 1, 12), row_lengths=[5, 4, 3]),
    }[name]
    ours, theirs = (
        one_list(m, labels, 40_000, seed, require_click=require_click)
        for seed, m in ((3, model), (4, OnlySample(model)))
    )
    for summary in (
        lambda c: c.sum(axis=1),
        lambda c: c.argmax(axis=1),
        lambda c: (c * 2 ** np.arange(12) % 61).sum(1),
    ):
        table = [np.bincount(summary(c), minlength=300) for c in (ours, theirs)]
        table = np.array(table)[:, np.sum(table, axis=0) > 20]
        assert stats.chi2_contingency(table).pvalue > LEAST_P


def test_a_click_as_rare_as_one_in_a_billion_is_drawn_as_fast_as_any():
    clicks = one_list(Independent([1, 1e-9]), [0, 1], 1_000)
    assert clicks.sum(axis=0).tolist() == [0, 1_000]


# relevance


def relevance_found(labels, **options):
    """P(r = 1) of each item, as a page that is always seen shows it."""
    clicks = one_list(Independent(np.ones(len(labels))), labels, 40_000, require_click=False, **options)
    return clicks.mean(axis=0)


RELEVANCES = {
    "exp2 by default": ([0, 1, 2, 4], {}, [0, 1 / 15, 3 / 15, 1]),
    "exp2 of a part of the data": ([0, 1, 2, 2], {"max_grade": 4}, [0, 1 / 15, 3 / 15, 3 / 15]),
    "linear": ([0, 1, 3], {"relevance": "linear"}, [0, 1 / 3, 1]),
    "linear of a part of the data": ([0, 1], {"relevance": "linear", "max_grade": 4}, [0, 1 / 4]),
    "given": ([9, 9, 9], {"relevance": [0.5, 0.0, 0.25]}, [0.5, 0, 0.25]),
}


@pytest.mark.parametrize(("labels", "options", "expected"), RELEVANCES.values(), ids=RELEVANCES.keys())
def test_relevance_is(labels, options, expected):
    assert within(relevance_found(labels, **options), expected, 40_000)


# the protocol

LISTS = JudgedLists(
    X=np.zeros((9, 1), dtype=np.float32),
    labels=np.array([0, 1, 0, 0, 0, 3, 0, 0, 4], dtype=np.int32),
    group=np.array([3, 2, 4]),
    query=np.array(["a", "b", "c"]),
)
LOOKS = Continuous(inverse_rank(10))


def test_lists_without_a_relevant_item_are_dropped_and_counted():
    sessions = simulate_clicks(LISTS, LOOKS, sessions_per_list=5)
    assert sessions.query.tolist() == [0] * 5 + [2] * 5
    assert sessions.group.tolist() == [3] * 5 + [4] * 5
    assert sessions.item.reshape(-1)[:15].tolist() == [0, 1, 2] * 5
    assert sessions.item[15:].tolist() == [5, 6, 7, 8] * 5
    assert sessions.positions.tolist() == [1, 2, 3] * 5 + [1, 2, 3, 4] * 5
    assert (sessions.lists_dropped, sessions.n_sessions, sessions.n_rows) == (1, 10, 35)
    assert sessions.swap is None


@pytest.mark.parametrize(("at", "shown"), [(1, [2]), (2, [0, 2]), (4, [0, 2]), (99, [0, 2])])
def test_lists_are_cut_before_they_are_dropped(at, shown):
    sessions = simulate_clicks(LISTS, LOOKS, 2, at=at)
    assert sorted(set(sessions.query.tolist())) == shown
    assert sessions.group.tolist() == [min(at, int(LISTS.group[q])) for q in sessions.query]
    assert sessions.lists_dropped == 3 - len(shown)


def test_every_session_has_a_click_if_it_must_and_none_is_redrawn_otherwise():
    clicks = one_list(LOOKS, [0, 1, 0], 2_000)
    assert clicks.any(axis=1).all()
    kept = one_list(LOOKS, [0, 1, 0], 20_000, require_click=False)
    assert within(kept.any(axis=1).mean(), 0.5, 20_000)


def test_lists_without_a_relevant_item_are_shown_if_asked_for():
    sessions = simulate_clicks(LISTS, LOOKS, 3, require_click=False, drop_irrelevant=False)
    assert (sessions.query.tolist(), sessions.lists_dropped) == ([0] * 3 + [1] * 3 + [2] * 3, 0)
    noisy = simulate_clicks(LISTS, LOOKS, 3, drop_irrelevant=False, noise=0.1)
    assert np.add.reduceat(noisy.clicks, np.r_[0, np.cumsum(noisy.group)[:-1]]).all()


def test_lists_may_be_shown_in_different_numbers():
    sessions = simulate_clicks(LISTS, LOOKS, [2, 7, 0])
    assert (sessions.query.tolist(), sessions.lists_dropped) == ([0, 0], 1)


def test_a_log_is_small_and_goes_into_pair_weights():
    import truerank as tr

    sessions = simulate_clicks(LISTS, LOOKS, 40)
    assert sum(a.nbytes for a in (sessions.clicks, sessions.positions, sessions.item)) == 7 * sessions.n_rows
    pairs = tr.pair_weights(
        sessions.clicks,
        sessions.positions,
        sessions.group,
        "robust",
        LOOKS,
        query=sessions.query,
        item=sessions.item,
    )
    assert pairs.n_lists == 2
    wide = tr.pair_weights(
        sessions.clicks.astype(np.int64), sessions.positions.astype(np.int64), sessions.group, "robust", LOOKS
    )
    narrow = tr.pair_weights(sessions.clicks, sessions.positions, sessions.group, "robust", LOOKS)
    np.testing.assert_array_equal(wide.weight, narrow.weight)


def test_clipped_propensities_do_not_change_people():
    with pytest.warns(match="min_propensity"):
        clipped = Independent([1, 0.01], min_propensity=0.5)
    plain = one_list(Independent([1, 0.01]), [1, 1], 5_000, require_click=False)
    np.testing.assert_array_equal(one_list(clipped, [1, 1], 5_000, require_click=False), plain)

"""What a log can tell, said before anything is estimated; and the one door that refuses to make up numbers."""

import json

import numpy as np
import pytest

import truerank as tr
from truerank.errors import IdentificationError, InputError
from truerank.types import ClickSessions, ItemPositionCounts, SwapArms

THETA = tr.inverse_rank(5)


def linked(*links, clicks=10):
    """One item a link, shown 100 times at each of its two positions and clicked at both."""
    rows = [(0, m, k, 100, clicks) for m, link in enumerate(links) for k in link]
    return ItemPositionCounts(*np.array(rows).T)


def test_a_log_that_varies_is_identified_and_estimated(draw_item_counts, rng):
    counts = draw_item_counts(THETA, 200, 30, rng)
    found = tr.propensity.diagnose(counts)
    assert found.identified
    assert found.groups == ((1, 2, 3, 4, 5),)
    assert found.why_not == ""
    np.testing.assert_array_equal(found.estimate.theta, tr.propensity.harvest(counts).theta)
    np.testing.assert_array_equal(found.impressions, np.bincount(counts.position - 1, counts.impressions))
    np.testing.assert_array_equal(found.clicks, np.bincount(counts.position - 1, counts.clicks))


def test_islands_are_named_with_what_they_lack():
    found = tr.propensity.diagnose(linked((1, 2), (2, 3), (4, 5), (7,)))
    assert not found.identified
    assert found.groups == ((1, 2, 3), (4, 5), (6,), (7,))
    assert found.never_shown.tolist() == [6]
    assert found.comparable.tolist() == [True] * 3 + [False] * 4
    assert "position 6 never shown; position 7 all its items stand always there" in found.why_not
    np.testing.assert_allclose(found.estimate.theta, 1)
    assert "comparable only with each other: positions 4–5" in found.summary()


def test_a_ranking_that_never_changes_has_no_estimate():
    found = tr.propensity.diagnose(linked((1,), (2,), (3,)))
    assert found.estimate is None
    assert not found.identified
    assert found.clipping == ()
    assert found.summary().startswith("θ cannot be told from items that changed their position\nnot: positions 2–3")
    json.dumps(found.to_dict(), allow_nan=False)


def test_clicks_of_use_are_those_on_items_that_moved():
    assert tr.propensity.diagnose(linked((1, 2), (2,), (1,))).linked_clicks.tolist() == [10, 10]


def test_the_cost_of_weights_is_that_of_the_clicks_one_by_one():
    counts = ItemPositionCounts([0, 0, 0], [1, 1, 1], [1, 2, 3], [100] * 3, [40, 20, 10])
    found = tr.propensity.diagnose(counts, tr.Independent([1, 0.5, 0.04]), floors=[0.1])
    weights = np.repeat([1, 2, 25], [40, 20, 10])
    floored = np.repeat([1, 2, 10], [40, 20, 10])
    plain, raised = found.clipping
    assert (plain.floor, plain.clicks_raised) == (None, 0)
    assert plain.effective_share == pytest.approx(weights.sum() ** 2 / (weights**2).sum() / 70)
    assert raised.clicks_raised == pytest.approx(10 / 70)
    assert raised.effective_share == pytest.approx(floored.sum() ** 2 / (floored**2).sum() / 70)
    assert found.propensity_range == (0.04, 1)
    assert found.estimate is None


def test_swap_experiments_count_as_told(draw_sessions, rng):
    relevance = rng.uniform(0.2, 0.9, size=(3, 3))
    log = draw_sessions(tr.Independent([1, 0.6, 0.3]), relevance, [(2, 0), (3, 0)], 4_000, rng)
    found = tr.propensity.diagnose(log)
    assert found.experiments.keys() == {2, 3}
    assert sum(found.experiments.values()) == 4_000
    assert found.identified
    assert "swap experiments: 2 (" in found.summary()


def test_a_diagnosis_is_plain_data(draw_item_counts, rng):
    document = tr.propensity.diagnose(draw_item_counts(THETA, 50, 30, rng)).to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["identified"] is True


def test_floors_that_are_none_are_refused():
    with pytest.raises(InputError, match=r"floors is \[0\]; each must lie in \(0, 1\]"):
        tr.propensity.diagnose(linked((1, 2)), floors=[0])


# the one door


def test_the_best_that_a_log_allows_is_taken(draw_sessions, rng):
    relevance = rng.uniform(0.2, 0.9, size=(3, 3))
    model = tr.Independent([1, 0.6, 0.3])
    swapped = draw_sessions(model, relevance, [(2, 0), (3, 0)], 4_000, rng)
    assert tr.propensity.estimate(swapped).method == "swap"
    plain = ClickSessions(*[getattr(swapped, f) for f in ("clicks", "positions", "group", "query", "item")])
    assert tr.propensity.estimate(plain).method == "harvest"
    assert tr.propensity.estimate(plain, "em", errors="session").method == "em"
    partly = draw_sessions(model, relevance, [(3, 0)], 4_000, rng, shuffle=0.5)
    found = tr.propensity.estimate(partly)
    assert found.method == "harvest"
    assert found.notes[0].startswith("harvested, since the swap experiment does not tell θ: θ at position 2 cannot")


def test_no_number_is_made_up_where_nothing_tells_it(draw_sessions, rng):
    fixed = linked((1,), (2,), (3,))
    with pytest.raises(IdentificationError, match="θ at positions 2–3 cannot be told from this log"):
        tr.propensity.estimate(fixed)
    log = draw_sessions(tr.Independent([1, 0.6, 0.3]), np.zeros((2, 3)), [(2, 0)], 500, rng)
    with pytest.raises(IdentificationError, match=r"neither way tells θ. Swap experiment: .*Natural variation: "):
        tr.propensity.estimate(log)
    with pytest.raises(IdentificationError, match="the log has no sessions that swap single positions"):
        tr.propensity.estimate(SwapArms([], [], [], [], [], [], []), "swap")
    with pytest.raises(InputError, match="method is 'guess'; it must be one of 'auto', 'swap'"):
        tr.propensity.estimate(fixed, "guess")

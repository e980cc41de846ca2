"""γ and C from logs and from tables: the likelihood is that of all ways of looking, errors cover, gaps are refused."""

import numpy as np
import pytest

import truerank as tr
from truerank.errors import IdentificationError, InputError
from truerank.propensity import reference
from truerank.propensity.grid_sessions import on_grid
from truerank.propensity.row_skipping_fit import FAINT, Grid, Likelihood, fit_row_skipping
from truerank.types import ClickSessions

ROWS = [3, 2, 3]
TRUTH = tr.RowSkipping(0.3, 0.8, ROWS)


def grid(continuation="common"):
    n = sum(ROWS)
    return Grid(np.array(ROWS), np.zeros(n, int) if continuation == "common" else np.minimum(np.arange(n), n - 2))


@pytest.fixture
def log(draw_sessions, rng):
    return draw_sessions(TRUTH, rng.beta(1, 2, size=(4, 8)), [], 300, rng, shuffle=0.5)


def gappy(log):
    """The same sessions with a tenth of the rows missing."""
    rng = np.random.default_rng(3)
    keep = rng.random(len(log.clicks)) < 0.9
    keep[::8] = True
    session = np.repeat(np.arange(log.n_sessions), log.group)
    parts = [a[keep] for a in (log.clicks, log.positions)]
    return ClickSessions(*parts, np.bincount(session[keep]), log.query, log.item[keep])


def test_the_likelihood_is_the_sum_over_all_ways_of_looking(draw_sessions, rng):
    log = draw_sessions(TRUTH, rng.beta(1, 2, size=(4, 8)), [], 60, rng, shuffle=0.5)
    for sessions in (log, gappy(log)):
        laid = on_grid(sessions)
        likelihood = Likelihood(laid, grid("position"))
        x = likelihood.start() + rng.normal(size=len(likelihood.scale))
        value, _, own = likelihood.scores(x)
        relevance = likelihood.relevance(x)
        gamma, continuation = likelihood.grid.continuation(x[: likelihood.n_shared])
        seen = np.zeros(len(relevance))
        for rows, last, found in zip(laid.row_of_place, laid.last_place, value, strict=True):
            there = rows >= 0
            # what is not in the log was seen, if at all, without a click: like an item with r = 0
            r = np.where(there, relevance[laid.item[rows]], 0.0)[: last + 1]
            clicks = (there & laid.clicked[rows])[: last + 1]
            chance, examined = reference.row_skipping_likelihood(gamma, continuation, ROWS, r, clicks)
            assert found == pytest.approx(np.log(chance), rel=1e-10)
            np.add.at(seen, laid.item[rows[there]], examined[there[: last + 1]])
        wanted = laid.item_clicks - relevance * (seen + FAINT)
        np.testing.assert_allclose(own, wanted[laid.item_clicks > 0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("continuation", ["common", "position"])
def test_the_gradient_is_the_derivative(log, rng, continuation):
    likelihood = Likelihood(on_grid(gappy(log)), grid(continuation))
    x = likelihood.start() + 0.5 * rng.normal(size=len(likelihood.scale))
    gradient = likelihood.value_gradient(x)[1]
    for k in [*range(likelihood.n_shared), likelihood.n_shared + 3, len(x) - 1]:
        h = 1e-5 * np.eye(1, len(x), k)[0]
        slope = (likelihood.value_gradient(x + h)[0] - likelihood.value_gradient(x - h)[0]) / 2e-5
        assert gradient[k] == pytest.approx(slope, rel=1e-5, abs=1e-4)


def test_the_information_is_the_curvature_of_the_profile(draw_sessions, rng):
    laid = on_grid(draw_sessions(TRUTH, rng.beta(1, 2, size=(2, 8)), [], 2_000, rng, shuffle=0.5))
    fit = fit_row_skipping(laid, grid(), by_list=False)
    likelihood = Likelihood(laid, grid())

    def profile(logits):
        """The likelihood at these γ and C with the relevances that go with them, by plain coordinate steps of EM."""
        x = np.concatenate([logits, np.zeros(len(likelihood.free))])
        r = fit.relevance[likelihood.free]
        for _ in range(150):
            x[2:] = np.log(r) - np.log1p(-r)
            own = likelihood.scores(x)[2]
            clicks = laid.item_clicks[likelihood.free]
            r = clicks / ((clicks - own) / r)  # clicks over how often it was examined
        return likelihood.value_gradient(x)[0]

    h = 0.05
    table = np.empty((2, 2))
    steps = h * np.eye(2)
    for a in range(2):
        for b in range(2):
            corners = [(s, t, profile(fit.logits + s * steps[a] + t * steps[b])) for s in (1, -1) for t in (1, -1)]
            table[a, b] = -sum(s * t * value for s, t, value in corners) / (4 * h * h)
    np.testing.assert_allclose(np.linalg.inv(fit.covariance), table, rtol=0.02)


def off_by(log, rows=ROWS, truth=TRUTH, **options):
    """γ̂, Ĉ and log θ̂ against the truth, in their own errors."""
    found = tr.propensity.row_skipping(log, rows, **options)
    (gamma, gamma_error), (going_on, error) = found.parameters["gamma"], found.parameters["continuation"]
    theta = np.log(found.theta / truth.marginal(found.positions)) / found.log_standard_errors
    return np.array([gamma - 0.3, going_on - 0.8]), np.array(
        [(gamma - 0.3) / gamma_error, (going_on - 0.8) / error, *theta]
    )


def test_errors_shrink_like_one_over_root_n_and_intervals_cover(draw_sessions, rng):
    spread = []
    for n in (800, 7_200):
        logs = [
            off_by(draw_sessions(TRUTH, rng.beta(1, 2, size=(4, 8)), [], n, rng, shuffle=0.5), errors="information")
            for _ in range(30)
        ]
        spread.append(np.array([raw for raw, _ in logs]).std(axis=0))
        apart = np.array([inside for _, inside in logs])
        covered = np.mean(np.abs(apart) <= 1.95996, axis=1)
        assert abs(covered.mean() - 0.95) <= 4 * max(covered.std(), 0.1) / np.sqrt(len(covered)) + 0.01
        assert np.all(np.abs(apart.mean(axis=0)) < 4 / np.sqrt(30) + 0.3)
    # a ratio of two standard deviations from 30 draws each: its logarithm has a standard error of about 0.18
    np.testing.assert_allclose(np.log(spread[0] / spread[1]), np.log(3), atol=0.55)


def test_errors_over_many_lists_are_those_of_the_information_where_the_model_is_true(draw_sessions, rng):
    log = draw_sessions(TRUTH, rng.beta(1, 2, size=(200, 8)), [], 6_000, rng, shuffle=0.5)
    by_list, plain = (tr.propensity.row_skipping(log, ROWS, errors=e) for e in ("list", "information"))
    assert by_list.errors == "sandwich over 200 lists"
    np.testing.assert_allclose(by_list.log_standard_errors, plain.log_standard_errors, rtol=0.3)


def test_relevances_that_are_found_from_few_clicks_do_not_pull_the_estimate(draw_sessions, rng):
    """Lists of 60 sessions, whose lower items have a click or two: only what is most likely is far off."""
    rows = [4, 4, 4]
    off, most_likely = [], []
    for _ in range(3):
        log = draw_sessions(tr.RowSkipping(0.2, 0.75, rows), rng.beta(0.5, 2, size=(250, 12)), [], 15_000, rng)
        found = tr.propensity.row_skipping(log, rows)
        value, error = np.array(list(found.parameters.values())).T
        off.append((value - [0.2, 0.75]) / error)
        most_likely.append((found.details["most_likely"] - [0.2, 0.75]) / error)
    # in standard errors of the estimate; a mean of three has one of 0.58
    assert np.all(np.abs(np.mean(off, axis=0)) < 3 * 0.58)
    assert abs(np.mean(most_likely, axis=0)[1]) > 3 * 0.58


def test_the_order_of_sessions_and_counting_equal_ones_change_nothing_in_what_is_halved(log):
    first, second = on_grid(log).halves()
    assert first.n_sessions + second.n_sessions == log.n_sessions
    assert 100 < first.n_sessions < 200
    turned = ClickSessions(*(a[::-1].copy() for a in (log.clicks, log.positions, log.group, log.query, log.item)))
    np.testing.assert_array_equal(on_grid(turned).halves()[0].item_clicks, first.item_clicks)


def test_a_continuation_for_each_position_is_found(draw_sessions, rng):
    going_on = [0.9, 0.7, 0.85, 0.6, 0.9, 0.8, 0.7, 0.7]
    truth = tr.RowSkipping(0.2, going_on, ROWS)
    log = draw_sessions(truth, rng.beta(2, 2, size=(5, 8)), [], 15_000, rng, shuffle=0.5)
    found = tr.propensity.row_skipping(log, ROWS, continuation="position", errors="information")
    apart = [
        (found.parameters[f"C_{v + 1}"][0] - c) / found.parameters[f"C_{v + 1}"][1] for v, c in enumerate(going_on[:7])
    ]
    assert np.all(np.abs(apart) < 4)
    assert len(found.parameters) == 8
    assert found.examination.continuation[7] == found.examination.continuation[6]


def test_a_ranking_that_never_changes_is_told_by_clicks_that_go_together_and_that_is_said(draw_sessions, rng):
    log = draw_sessions(TRUTH, rng.beta(2, 2, size=(20, 8)), [], 8_000, rng)
    found = tr.propensity.row_skipping(log, ROWS, errors="information")
    assert np.all(np.abs(np.log(found.theta / TRUTH.marginal(found.positions))) < 4 * found.log_standard_errors)
    assert any("no item was shown at two positions" in note for note in found.notes)


def test_a_log_gives_its_own_layout(draw_sessions, rng):
    import pyarrow as pa

    log = draw_sessions(TRUTH, rng.beta(2, 2, size=(4, 8)), [], 1_000, rng, shuffle=0.5)
    table = pa.table(
        {
            "session": np.repeat(np.arange(1_000), 8),
            "query": np.repeat(log.query, 8),
            "item": log.item,
            "position": log.positions,
            "label": log.clicks,
            "row": np.repeat([1, 2, 3], ROWS)[log.positions - 1],
        }
    )
    opened = tr.open_log(table)
    assert opened.row_lengths() == ROWS
    from_log = tr.propensity.estimate(opened, "row_skipping", errors="information")
    direct = tr.propensity.row_skipping(log, ROWS, errors="information")
    assert len(opened.session_counts().group) < 900  # equal sessions are counted, and weigh as many
    # the search stops within a thousandth of a standard error
    np.testing.assert_allclose(from_log.theta, direct.theta, rtol=3e-4)
    np.testing.assert_allclose(from_log.log_standard_errors, direct.log_standard_errors, rtol=1e-2)


# from tables


@pytest.mark.parametrize("continuation", ["common", "position"])
def test_a_model_is_found_again_from_its_own_tables(continuation):
    truth = tr.RowSkipping(0.4, 0.75 if continuation == "common" else [0.9, 0.7, 0.85, 0.6, 0.9, 0.8, 0.7, 0.7], ROWS)
    places = np.arange(1, 9)
    table = tr.Tabulated(truth.marginal(places), truth.joint(places[:, None], places))
    found = tr.propensity.row_skipping(table, ROWS, continuation=continuation)
    np.testing.assert_allclose(found.examination.joint(places[:, None], places), table.joint(places[:, None], places))
    assert found.parameters["gamma"][0] == pytest.approx(0.4)


def test_from_a_curve_and_from_pairs_the_errors_cover(draw_sessions, rng):
    relevance = rng.beta(2, 2, size=(5, 8))
    pairs = [(3, 5), (4, 8), (3, 7), (5, 8), (6, 7)]
    markers = [(k, 0) for k in range(2, 9)] + pairs
    curve_only, with_pairs = [], []
    for _ in range(20):
        log = draw_sessions(TRUTH, relevance, markers, 60_000, rng)
        theta = tr.propensity.swap(log)
        curve_only.append(off_by(theta)[1])
        with_pairs.append(off_by(tr.propensity.joint_swap(log, theta, fill="independent"))[1])
    for apart in (curve_only, with_pairs):
        covered = np.mean(np.abs(apart) <= 1.95996, axis=1)
        assert abs(covered.mean() - 0.95) <= 4 * max(covered.std(), 0.1) / np.sqrt(len(covered)) + 0.01


def test_pairs_that_were_not_swapped_can_be_filled_by_row_skipping(draw_sessions, rng):
    markers = [(k, 0) for k in range(2, 9)] + [(3, 5), (4, 8), (3, 7), (5, 8)]
    log = draw_sessions(TRUTH, rng.beta(2, 2, size=(5, 8)), markers, 200_000, rng)
    found = tr.propensity.joint_swap(log, fill="row_skipping", row_lengths=ROWS)
    missing = np.argwhere(np.triu(~np.isfinite(found.psi)))
    # the procedure takes position 1 as always seen: relative to that, ψ(k1, k2) = θ_2 ψ / ψ(1, 2)
    wanted = TRUTH.joint(*(missing.T + 1)) / TRUTH.joint(1, 2) * TRUTH.marginal(2) / TRUTH.marginal(1)
    theta = found.examination.marginal(np.arange(1, 9))
    low = np.maximum(0, theta[missing[:, 0]] + theta[missing[:, 1]] - 1)
    high = np.minimum(*theta[missing.T])
    np.testing.assert_allclose(found.examination.joint(*(missing.T + 1)), np.clip(wanted, low, high), rtol=0.15)


# refusals


def test_what_cannot_be_told_is_refused(draw_sessions, rng):
    log = draw_sessions(TRUTH, np.zeros((2, 8)), [], 50, rng)
    with pytest.raises(IdentificationError, match="nothing was clicked"):
        tr.propensity.row_skipping(log, ROWS)
    with pytest.raises(InputError, match=r"row_lengths is missing: .*such as \[4, 4, 2\]"):
        tr.propensity.row_skipping(log)
    with pytest.raises(InputError, match="this needs whole sessions"):
        tr.propensity.row_skipping(tr.propensity.item_position_counts(log), ROWS)
    with pytest.raises(InputError, match="continuation is 'row'"):
        tr.propensity.row_skipping(log, ROWS, continuation="row")
    with pytest.raises(InputError, match="the model knows 2 positions and the grid has 8"):
        tr.propensity.row_skipping(tr.Independent([1, 0.5]), ROWS)


def test_a_curve_alone_does_not_tell_a_continuation_for_each_position(draw_sessions, rng):
    markers = [(k, 0) for k in range(2, 9)]
    log = draw_sessions(TRUTH, rng.beta(2, 2, size=(5, 8)), markers, 50_000, rng)
    with pytest.raises(IdentificationError, match="7 measured values do not tell the 8 parameters"):
        tr.propensity.row_skipping(tr.propensity.swap(log), ROWS, continuation="position")

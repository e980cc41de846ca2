"""A report on a log of one's own: what it shows, what it says when the log cannot tell."""

import numpy as np
import pytest

import truerank as tr
from truerank.errors import InputError

N = 6


def opened(swap=True, **columns):
    people = tr.Continuous(tr.inverse_rank(N))
    experiment = tr.SwapExperiment(range(2, N + 1), share=0.5) if swap else None
    grades = np.tile([2, 1, 2, 1, 3, 2], 50)
    sessions = tr.simulate_clicks(grades, people, 100, group=[N] * 50, require_click=False, swap=experiment)
    session = np.repeat(np.arange(sessions.n_sessions), N)
    frame = {
        "session": session,
        "query": sessions.query[session],
        "item": sessions.item,
        "position": sessions.positions,
        "label": sessions.clicks,
    }
    if swap:
        names = [f"{k}:{'swapped' if s else 'control'}" if k else None for k, _, s in sessions.swap]
        frame["swap"] = [names[q] for q in session]
    return tr.open_log(frame | columns)


def texts(page):
    return page.read_text("utf-8").partition('<script type="application/json"')[0]


@pytest.fixture(scope="module")
def log():
    return opened()


def test_it_shows_the_curve_clicks_before_and_after_weighting_pairs_and_health(log, tmp_path):
    report = tr.report_on_log(log)
    (study,) = report.studies
    assert study.curve.method == "swap"
    assert len(study.curve.theta) == len(study.clicks.clicks) == len(study.joint.psi) == N
    weights = np.array(study.clicks.weighted) / study.clicks.clicks
    np.testing.assert_allclose(weights, 1 / np.array(study.curve.theta))
    assert {check.what for check in study.checks} >= {"sessions", "effective sample size", "rules for logs"}
    assert "times as often as position 6" in study.story[0]
    report.to_html(tmp_path / "log.html")
    page = texts(tmp_path / "log.html")
    for title in ("How people look at the page", "Clicks before and after weighting", "Health of the data"):
        assert title in page
    assert "rankers compared" not in page


def test_an_estimate_or_a_model_may_be_given(log, tmp_path):
    tr.propensity.swap(log).save(tmp_path / "estimate.json")
    tr.Independent(tr.inverse_rank(4)).save(tmp_path / "model.json")
    by_estimate = tr.report_on_log(log, tr.propensity.load_estimate(tmp_path / "estimate.json")).studies[0]
    assert by_estimate.curve.low[1] < by_estimate.curve.theta[1] < by_estimate.curve.high[1]
    by_model = tr.report_on_log(log, tr.propensity.load_estimate(tmp_path / "model.json")).studies[0]
    assert by_model.curve.theta == by_model.curve.low == (1.0, 1 / 2, 1 / 3, 1 / 4)
    assert "positions 5 to 6 are left out: how people look is known to position 4" in by_model.warnings


def test_a_log_that_cannot_tell_says_why_and_shows_no_curve(tmp_path):
    report = tr.report_on_log(opened(swap=False))
    (study,) = report.studies
    assert study.curve is None
    assert study.clicks is None
    assert "all its items stand always there" in study.warnings[0]
    report.to_html(tmp_path / "log.html")
    assert "all its items stand always there" in texts(tmp_path / "log.html")


def test_rules_that_the_log_breaks_are_counted():
    often = opened(item=np.zeros(30_000, dtype=int))  # every page shows one item six times
    rules = {
        check.what: check for check in tr.report_on_log(often, tr.Independent(tr.inverse_rank(N))).studies[0].checks
    }
    assert rules["an item more than once in a session (rows beyond the first)"].value == "25,000 rows"
    assert not rules["an item more than once in a session (rows beyond the first)"].fine


def test_a_log_that_cannot_be_counted_is_refused_with_what_mends_it():
    with pytest.raises(InputError, match=r"10 rows of the log have no .*log.repair\(...\) mends it"):
        tr.report_on_log(opened(label=np.where(np.arange(30_000) % 3_000 == 0, -1, 0)))


def test_a_position_that_was_not_measured_has_an_interval_that_says_nothing():
    covariance = np.array([[0.0, 0.0], [0.0, np.nan]])
    found = tr.propensity.PropensityEstimate(
        "harvest", "none", np.array([1.0, np.nan]), covariance, tr.Independent([1, 0.5])
    )
    curve = tr.report_on_log(opened(), found).studies[0].curve
    assert curve.theta == (1.0, 0.5)
    assert (curve.low, curve.high) == ((1.0, 0.0), (1.0, 1.0))


@pytest.mark.parametrize("wrong", ["clicks.parquet", None])
def test_other_things_are_refused(log, wrong):
    with pytest.raises(InputError, match=r"log is a .*it must be what truerank.open_log gives"):
        tr.report_on_log(wrong)
    with pytest.raises(InputError, match="examination is a str; it must be an estimate, a model, or None"):
        tr.report_on_log(log, "exam.json")

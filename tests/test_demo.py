"""The demo shows what it claims to show."""

from __future__ import annotations

import re

import numpy as np
import pytest

from truerank.experiment.demo import CLICKS, LABELS, ROBUST, UNBIASED, run_demo
from truerank.experiment.demo_study import gap_closed, has_gap, story
from truerank.experiment.unbiasedness import compare_losses, main
from truerank.metrics import evaluate


def test_the_unbiased_loss_agrees_with_the_truth_and_the_naive_one_does_not():
    rows = compare_losses(n_pages=50, n_logs=500, seed=1)
    assert [row.browsing for row in rows] == ["independent", "continuous", "row skipping", "tabulated"]
    for row in rows:
        assert row.unbiased.errors_from(row.truth) < 4
        assert row.naive.errors_from(row.truth) > 20


def test_the_same_seed_tells_the_same_story():
    assert compare_losses(10, 20, seed=3) == compare_losses(10, 20, seed=3)


def test_the_table_is_printed(capsys):
    main()
    printed = capsys.readouterr().out
    assert len(re.findall(r"\d+\.\d{3} ± 0\.\d{3}", printed)) == 8


def compared(clicks, labels, robust):
    """Models that are right about so many of a hundred lists of two items."""
    order = np.arange(100)
    right = {CLICKS: clicks, UNBIASED: clicks, ROBUST: robust, LABELS: labels}
    scores = {name: np.where(order[:, None] < n, [0, 1], [1, 0]).ravel() for name, n in right.items()}
    return evaluate(scores, [0, 1] * 100, [2] * 100, ["ndcg@1", "ndcg@10"])


def test_the_share_of_the_gap_is_the_share_of_the_way_from_clicks_to_labels():
    gap = gap_closed(compared(clicks=40, labels=80, robust=70), ROBUST, "ndcg@1")
    assert (gap.worst, gap.best) == (0.4, 0.8)
    assert gap.share == pytest.approx((0.7 - 0.4) / (0.8 - 0.4))
    assert gap.low < gap.share < gap.high


def test_the_story_tells_the_gap_and_what_was_closed():
    lines = story(compared(clicks=40, labels=80, robust=70))
    assert "closed 75% of it" in lines[2]
    assert "closed 0% of it" in lines[3]


def test_where_labels_are_no_better_than_clicks_no_gap_is_claimed():
    comparison = compared(clicks=79, labels=80, robust=80)
    assert not has_gap(comparison, "ndcg@10")
    assert "no gap to speak of" in story(comparison)[-1]
    assert not has_gap(compared(clicks=80, labels=40, robust=40), "ndcg@10")


@pytest.fixture(scope="module")
def told():
    """A quick demo: its lines and its report."""
    lines = []
    return lines, run_demo(3, quick=True, say=lines.append)


def test_the_report_has_everything_that_was_told(told):
    lines, report = told
    for study in report.studies:
        assert {score.model for score in study.scores} == {CLICKS, UNBIASED, ROBUST, LABELS}
        assert len(study.curve.theta) == len(study.clicks.clicks) == len(study.joint.psi)
        assert len(study.training) == 9
        assert study.table in "\n".join(lines)
    assert report.studies[1].joint.row_lengths == (4, 4, 4)


def test_the_same_seed_gives_the_same_report(told):
    assert run_demo(3, quick=True).studies == told[1].studies


def test_the_estimated_curves_are_near_the_truth(told):
    web, shop = (study.curve for study in told[1].studies)
    low, high, truth = np.array(web.low), np.array(web.high), np.array(web.truth)
    assert np.sum((low <= truth + 1e-9) & (truth <= high + 1e-9)) >= len(truth) - 2  # 95 % intervals, each by itself
    assert np.allclose(shop.theta, shop.truth, rtol=0.15)

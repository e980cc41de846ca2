"""The paper's claims held against comparisons whose truth is known, and the page that says so."""

import numpy as np
import pytest

import truerank as tr
from truerank.errors import InputError
from truerank.experiment import results
from truerank.experiment.claims import CLAIMS, FAILS, HOLDS, IN_PART, OPEN, Finding, Statement, check_claims
from truerank.experiment.config import read_config
from truerank.experiment.methods import METHODS
from truerank.experiment.tables import METRICS

LISTS = 400
QUALITY = {"ratio-0": 0.5, "clicks": 0.2, "ratio-1": 0.8, "ratio-2": 1.0, "robust": 1.1, "labels": 3.0}


def made_up(quality_at):
    """Comparisons of models that rank by grade × quality + noise."""
    rng = np.random.default_rng(1)
    labels, group = rng.integers(0, 4, 10 * LISTS), np.full(LISTS, 10)
    noise = rng.normal(size=len(labels))

    def compare(browsing, truncation):
        scores = {
            METHODS[method].title: quality_at(method, browsing, truncation) * labels + noise for method in QUALITY
        }
        return tr.evaluate(scores, labels, group, METRICS, bootstrap=0)

    return {browsing: {t: compare(browsing, t) for t in (10, 20, 30)} for browsing in ("continuous", "independent")}


def verdicts(comparisons):
    return {finding.claim: finding.verdict for finding in check_claims(read_config({}), comparisons)}


def as_in_the_paper(method, browsing, truncation):
    if method == "ratio-0" and browsing == "continuous":
        return QUALITY[method] - 0.01 * truncation
    if method == "clicks":
        return 0.05
    return 1.3 if (method, browsing, truncation) == ("ratio-0", "independent", 10) else QUALITY[method]


def test_all_claims_hold_where_they_are_true():
    assert verdicts(made_up(as_in_the_paper)) == dict.fromkeys(CLAIMS, HOLDS)


def test_no_claim_holds_where_the_opposite_is_true():
    against = {"ratio-0": 1.5, "clicks": 3.0, "ratio-1": 0.8, "ratio-2": 0.7, "robust": 0.5, "labels": 0.1}

    def opposite(method, browsing, truncation):
        if (method, browsing) == ("ratio-0", "independent"):
            return 0.2 if truncation == 10 else 1.5
        return against[method] + (0.02 * truncation if method == "ratio-0" else 0)

    assert set(verdicts(made_up(opposite)).values()) == {FAILS}


def test_nothing_can_be_told_where_all_models_are_alike():
    assert set(verdicts(made_up(lambda *_: 1.0)).values()) == {OPEN}


def test_verdicts_weigh_directions_and_significance():
    def finding(*statements):
        return Finding("so it is", tuple(Statement("here", d, p) for d, p in statements))

    assert finding((1.0, 0.01), (0.1, 0.9)).verdict == HOLDS
    assert finding((1.0, 0.01), (-0.1, 0.9)).verdict == IN_PART
    assert finding((1.0, 0.01), (1.0, 0.01), (-1.0, 0.01)).verdict == IN_PART
    assert finding((1.0, 0.01), (-1.0, 0.01)).verdict == FAILS
    assert finding((1.0, 0.2), (1.0, 0.06)).verdict == OPEN
    told = "**holds in part**; 2 of 3 differences go that way, 2 of them significantly; 1 significantly the other way"
    assert str(finding((1.0, 0.01), (1.0, 0.01), (-1.0, 0.01))) == told


def test_p_values_are_corrected_over_all_statements_of_all_claims():
    comparisons = made_up(as_in_the_paper)
    statements = [s for finding in check_claims(read_config({}), comparisons) for s in finding.statements]
    assert len(statements) == 3 * 4 + 2 * 4 + 3 * 4 + 3 * 4 + 2 * 3 * 4 + 2 * 3 * 4
    plain = comparisons["continuous"][30].p_value(METHODS["robust"].title, METHODS["ratio-0"].title, "ndcg@10")
    (ours,) = (s for s in statements[:12] if s.where == "continuous, 30, ndcg@10")
    assert plain <= ours.p_value <= len(statements) * plain


def test_an_experiment_without_the_papers_models_is_refused():
    config = read_config({"methods": ["ratio-1", "complete"]})
    with pytest.raises(InputError, match="none of the models that the paper's claims are about"):
        check_claims(config, {})


def test_the_page_is_written_by_one_command_from_the_runs(lists_folder, tmp_path, capsys):
    experiment = tmp_path / "small.toml"
    experiment.write_text(
        f"""
        title = "Small lists"
        note = "Far too small."
        truncation_positions = [3, 8]
        sessions_per_list = 4
        seeds = [5]
        dataset = {{name = "svmlight", train = "{lists_folder}/train.txt", test = "{lists_folder}/test.txt"}}
        initial_ranking = {{share = 0.1}}
        booster = {{n_estimators = 3}}
        """
    )
    page = tmp_path / "docs" / "results.md"
    results.main([str(experiment), "--runs", str(tmp_path / "runs"), "--out", str(page)])
    first = page.read_text()
    results.main([str(experiment), "--runs", str(tmp_path / "runs"), "--out", str(page)])
    assert page.read_text() == first  # the second time nothing is trained
    assert "## Small lists\n\nFar too small.\n" in first
    assert "22 models of 3 trees" in first
    table = (tmp_path / "runs" / "small" / "tables.md").read_text().strip()
    assert table in first
    for claim in CLAIMS:
        assert first.count(claim) == 2
    assert "small: 100%" in capsys.readouterr().err

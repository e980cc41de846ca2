from __future__ import annotations

import numpy as np
import pytest

import truerank as tr
from truerank.report import Check, Clicks, Curve, Duel, Gap, Joint, Report, Score, Study, Training

MODELS = ("Clicks as they are", "Unbiased", "Robust", "Labels")


def floats(values):
    return tuple(float(value) for value in values)


def study_of(name, examination, n, row_lengths=None):
    rng = np.random.default_rng(1)
    places = np.arange(1, n + 1)
    theta = examination.marginal(places)
    psi = examination.joint(places[:, None], places)
    edges = np.linspace(-1, 1, 21)
    counts = np.histogram(rng.normal(0.05, 0.2, 500).clip(-1, 1), edges)[0]
    curve = 0.7 - 0.2 * np.exp(-np.arange(60) / 15)
    return Study(
        name,
        "Made up for tests: <b>not bold</b> & </script> not the end.",
        story=("Robust closed most of the gap.",),
        curve=Curve("swap", floats(theta), floats(0.9 * theta), floats(1.1 * theta), floats(theta)),
        joint=Joint("as given", tuple(map(floats, psi)), row_lengths),
        clicks=Clicks((1000,) * n, tuple(int(300 * t) for t in theta), (300.0,) * n, (0.3,) * n),
        scores=tuple(
            Score(model, metric, 0.6 + k / 50, 0.59 + k / 50, 0.61 + k / 50, k / 30 if k else None, 0.01, k > 1)
            for k, model in enumerate(MODELS)
            for metric in ("NDCG@1", "NDCG@10")
        ),
        gaps=tuple(Gap(model, "NDCG@10", 0.2 + k / 4, 0.1, 0.9, 0.6, 0.66) for k, model in enumerate(MODELS[1:3])),
        duels=(Duel("Robust", MODELS[0], "NDCG@10", 250, 50, 200, floats(edges), tuple(counts.tolist())),),
        training=tuple(
            Training(model, "NDCG@10", on, floats(curve + k / 90))
            for on in ("clicks as they are", "clicks, weighted by 1/θ", "labels")
            for k, model in enumerate(MODELS[:3])
        ),
        checks=(Check("sessions", "1,000"), Check("effective sample size", "12", fine=False, why="few clicks")),
        warnings=("θ was smoothed",),
        table="Model  NDCG@10\nclicks   0.600",
    )


@pytest.fixture(scope="session")
def report():
    """A report that has everything: a list and a grid."""
    grid = tr.RowSkipping(gamma=0.3, continuation=0.9, row_lengths=[4, 4, 3])
    studies = (study_of("Web", tr.Continuous(tr.inverse_rank(10)), 10), study_of("Shop", grid, 11, (4, 4, 3)))
    return Report("Clicks lie", "How much can be undone.", studies, {"truerank": "0", "seed": "1"})


@pytest.fixture(scope="session")
def page(report, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    report.to_html(path)
    return path

"""The theorem: over many simulated click logs, the mean of the loss is the loss on the relevance itself."""

import numpy as np
import pytest

from truerank import UnbiasedPairwiseLoss
from truerank.losses.pair_functions import kernel_code

STANDARD_ERRORS = 4
POSITIONS = np.array([5, 1, 9, 2, 7, 4])  # out of order, with gaps, over three rows of the grid
N_ITEMS = len(POSITIONS)
RELEVANCE = {1: np.array([1, 0, 0, 1, 0, 0]), 3: np.array([1, 0, 0, 3, 0, 2])}
CHANCE_RELEVANT = np.array([0.2, 0.7, 0.6, 0.1, 0.3, 0.5])
SCORES = np.array([-0.3, 0.8, 1.5, -1.0, 0.1, 0.4])


def n_logs(pair):
    """How many logs to simulate: fewer where no compiled kernel helps."""
    return 800 if kernel_code(pair) is None else 10_000


def session_values(loss, scores, labels, positions):
    """The loss of each log; one row of labels a log, all in one call."""
    logs = len(labels)
    return loss.session_values(np.tile(scores, logs), labels.ravel(), positions.ravel(), np.full(logs, N_ITEMS))


def standard_errors_from_zero(difference):
    return abs(difference.mean()) / (difference.std(ddof=1) / np.sqrt(len(difference)))


def the_same_relevance_every_time(examination, largest_label, logs, rng):
    """Fixed relevance and fixed positions: only who is examined differs from log to log."""
    examined = examination.sample(logs, POSITIONS.max(), rng)[:, POSITIONS - 1]
    relevance, positions = (np.tile(row, (logs, 1)) for row in (RELEVANCE[largest_label], POSITIONS))
    return examined, relevance, positions


def relevant_items_placed_higher(examination, largest_label, logs, rng):
    """Relevance is drawn first and the system sorts by it, roughly: who is examined depends on relevance."""
    grades = rng.integers(1, largest_label + 1, size=(logs, N_ITEMS))
    relevance = grades * (rng.random((logs, N_ITEMS)) < CHANCE_RELEVANT)
    order = np.argsort(-relevance + rng.normal(size=relevance.shape), axis=1)
    positions = np.argsort(order, axis=1) + 1
    examined = np.take_along_axis(examination.sample(logs, N_ITEMS, rng), positions - 1, axis=1)
    return examined, relevance, positions


@pytest.mark.parametrize("simulate", [the_same_relevance_every_time, relevant_items_placed_higher])
def test_mean_over_click_logs_is_the_loss_on_relevance(simulate, examination, pair, largest_label):
    """At every score, that is; the naive loss on the clicks may be right at one by luck, so two are looked at."""
    rng = np.random.default_rng(2022)
    examined, relevance, positions = simulate(examination, largest_label, n_logs(pair), rng)
    clicks = examined * relevance
    unbiased, plain = (UnbiasedPairwiseLoss(model, pair, gain="linear") for model in (examination, None))
    naive_errors = []
    for scores in (SCORES, -SCORES):
        truth = session_values(plain, scores, relevance, positions)
        debiased = session_values(unbiased, scores, clicks, positions)
        naive = session_values(plain, scores, clicks, positions)
        assert standard_errors_from_zero(debiased - truth) < STANDARD_ERRORS
        naive_errors.append(standard_errors_from_zero(naive - truth))
    assert max(naive_errors) > STANDARD_ERRORS

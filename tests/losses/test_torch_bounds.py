"""What keeps the loss from running away: that training then settles, what each bound does and costs in bias."""

from typing import NamedTuple

import numpy as np
import pytest
from numpy import exp, log
from torch_twins import session_values, torch

import truerank as tr
import truerank.torch as trt
from truerank.errors import InputError

N_ITEMS = 8
EXAMINATION = tr.Independent(tr.inverse_rank(N_ITEMS))
STEPS = 600
BOUNDS = ["clip", "nonnegative", "nonnegative_session"]
STANDARD_ERRORS = 4


@pytest.fixture(autouse=True, scope="module")
def one_torch_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Log(NamedTuple):
    """A small click log: three sessions of each list, each in another order."""

    X: torch.Tensor
    relevance: np.ndarray
    clicks: np.ndarray
    positions: np.ndarray
    group: np.ndarray


def few_clicks(n_lists=20, sessions_per_list=3):
    rng = np.random.default_rng(0)
    relevance = rng.random(n_lists * N_ITEMS) < 0.4
    lists = np.repeat(np.arange(n_lists), sessions_per_list)
    item = (lists[:, None] * N_ITEMS + np.argsort(rng.random((len(lists), N_ITEMS)), axis=1)).ravel()
    examined = EXAMINATION.sample(len(lists), N_ITEMS, rng).ravel()
    X = torch.tensor(rng.normal(size=(n_lists * N_ITEMS, 16)), dtype=torch.float32)
    group = np.full(len(lists), N_ITEMS)
    return Log(X[item], relevance, (examined & relevance[item]).astype(int), tr.list_order(group), group)


class Training(NamedTuple):
    """What was minimised and the loss without any bound, both halfway and at the end, and the largest score."""

    minimised: tuple[float, float]
    unbounded: tuple[float, float]
    largest_score: float


def train(pair, bound):
    """A network with more parameters than there are clicks, let loose on one fixed log."""
    log = few_clicks()
    loss, whole = (
        trt.UnbiasedPairwiseLoss(EXAMINATION, pair, reduction="mean", bound=bound or None) for bound in (bound, "")
    )
    sessions, all_of_it = (module.prepare(log.clicks, log.positions, log.group) for module in (loss, whole))
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    seen = []
    for step in range(1, STEPS + 1):
        optimizer.zero_grad()
        scores = network(log.X).squeeze(1)
        value = loss(scores, sessions)
        value.backward()
        optimizer.step()
        if step in (STEPS // 2, STEPS):
            seen.append((value.item(), whole(scores.detach(), all_of_it).item()))
    return Training(*zip(*seen, strict=True), scores.abs().max().item())


# what training does


def test_without_a_bound_training_diverges():
    """The loss, which no true loss can have below 0, falls without end, and ever faster; so do the scores grow."""
    run = train("ranknet", None)
    halfway, end = run.unbounded
    assert end < 2 * halfway < -1_000
    assert run.largest_score > 1_000


@pytest.mark.parametrize(
    ("pair", "bound"), [*(("ranknet", bound) for bound in BOUNDS), ("sigmoid", None), ("ramp", None)]
)
def test_with_a_bound_training_settles(pair, bound):
    run = train(pair, bound)
    halfway, end = run.minimised
    assert end == pytest.approx(halfway, rel=0.1, abs=0.1)
    assert end >= (-10 if bound is None else 0)
    assert min(run.unbounded) > -100
    assert run.largest_score < 100


# what each bound is


def test_clipping_leaves_the_inverse_propensity_for_a_click_above_a_row_without_one():
    """And so what is assumed about looking at two items together no longer matters."""
    theta, s = [1.0, 0.5, 0.25], np.array([0.3, -0.7, 1.1])
    by_hand = 0.0
    for clicked, inverse in ((0, 1.0), (2, 4.0)):
        by_hand += 2 * inverse * log(1 + exp(-(s[clicked] - s[1])))
    for examination in (tr.Independent(theta), tr.Continuous(theta)):
        loss = trt.UnbiasedPairwiseLoss(examination, bound="clip")
        assert loss(torch.tensor(s), [1, 0, 1], [1, 2, 3], [3]).item() == pytest.approx(by_hand)


@pytest.mark.parametrize("pair", ["sigmoid", "ramp"])
def test_with_bounded_pair_functions_it_does_not_matter_what_is_looked_at_together(pair, clicks):
    """ℓ(d) + ℓ(−d) is a constant, so p_ij moves the value of the loss and nothing of its gradient."""
    theta = tr.inverse_rank(15)
    answers = [
        session_values(trt.UnbiasedPairwiseLoss(model(theta), pair, reduction="none"), clicks)
        for model in (tr.Independent, tr.Continuous)
    ]
    assert not torch.allclose(answers[0][0], answers[1][0])
    torch.testing.assert_close(answers[0][1], answers[1][1], rtol=0, atol=1e-12)
    other = [
        session_values(trt.UnbiasedPairwiseLoss(model(theta)), clicks)[1] for model in (tr.Independent, tr.Continuous)
    ]
    assert not torch.allclose(*other)


def test_clipping_leaves_no_negative_coefficient(examination, batch):
    for pair in ("ranknet", "ranknet_with_ties"):
        whole = trt.UnbiasedPairwiseLoss(examination, pair).prepare(*batch[1:])
        clipped = trt.UnbiasedPairwiseLoss(examination, pair, bound="clip").prepare(*batch[1:])
        for name in ("ordered", "both", "neither"):
            given, before = getattr(clipped, name), getattr(whole, name)
            assert (given is None) == (before is None)
            if given is not None:
                assert torch.equal(given, before.clamp(min=0))
        assert whole.ordered.min() < 0


def test_nonnegative_cuts_the_sum_and_nonnegative_session_every_session(clicks):
    examination = tr.Independent(tr.inverse_rank(15))
    losses = {bound: trt.UnbiasedPairwiseLoss(examination, bound=bound) for bound in (None, *BOUNDS)}
    clicks = clicks._replace(labels=np.where(np.arange(len(clicks.labels)) < 16, clicks.labels, 0))
    clicks.labels[[17, 25]] = 1  # one click in each of two sessions
    values, _ = session_values(trt.UnbiasedPairwiseLoss(examination, reduction="none"), clicks)
    below = values < 0
    assert below.any()
    assert (values > 0).any()
    in_session = np.repeat(below.numpy(), clicks.group)
    value, gradient = session_values(losses["nonnegative_session"], clicks)
    assert value.item() == pytest.approx(values.clamp(min=0).sum().item())
    whole, of_whole = session_values(losses[None], clicks)
    assert not gradient[in_session].any()
    assert torch.equal(gradient[~in_session], of_whole[~in_session])

    assert whole < 0
    value, gradient = session_values(losses["nonnegative"], clicks)
    assert value.item() == 0
    assert not gradient.any()
    kept = clicks._replace(labels=np.where(in_session, 0, clicks.labels))
    for given, expected in zip(*(session_values(losses[b], kept) for b in ("nonnegative", None)), strict=True):
        assert torch.equal(given, expected)


# what each bound costs


def expected_clipped_loss(examination, relevance, scores, positions):
    """The true loss, plus r_i r_j (1 − p_ij / p_i) ℓ10 for each pair and order, as the docstring says."""
    i, j = np.nonzero(~np.eye(len(scores), dtype=bool))
    p_i, p_ij = examination.marginal(positions[i]), examination.joint(positions[i], positions[j])
    weight = relevance[i] * (1 - relevance[j]) + relevance[i] * relevance[j] * (1 - p_ij / p_i)
    return 2 * (weight * log(1 + exp(-(scores[i] - scores[j])))).sum()


@pytest.mark.parametrize("bound", [None, *BOUNDS])
def test_bias_of_each_bound_is_what_the_docstring_says(examination, bound):
    """Over simulated logs: none without a bound, the formula for `clip`, too large by the part below 0 for the rest."""
    rng = np.random.default_rng(5)
    logs, positions = 10_000, np.array([5, 1, 9, 2, 7, 4])
    relevance, scores = np.array([1, 0, 1, 1, 0, 0]), np.array([-1.5, 0.4, 2.0, -1.0, 0.1, 0.4])
    clicks = examination.sample(logs, positions.max(), rng)[:, positions - 1] * relevance
    given = (torch.tensor(np.tile(scores, logs)), clicks.ravel(), np.tile(positions, logs), np.full(logs, 6))
    values = trt.UnbiasedPairwiseLoss(examination, reduction="none")(*given).numpy()
    truth = tr.UnbiasedPairwiseLoss(None).value(scores, relevance, None, [6])
    if bound == "clip":
        values = trt.UnbiasedPairwiseLoss(examination, reduction="none", bound=bound)(*given).numpy()
        truth = expected_clipped_loss(examination, relevance, scores, positions)
    elif bound is not None:
        size = 1 if bound == "nonnegative_session" else 4
        sums = values.reshape(-1, size).sum(axis=1)
        bounded = trt.UnbiasedPairwiseLoss(examination, bound=bound)
        given = torch.tensor(np.tile(scores, size)), np.tile(positions, size), [6] * size
        for batch in range(50):
            labels = clicks[batch * size : (batch + 1) * size].ravel()
            value = bounded(given[0], labels, *given[1:]).item()
            assert value == pytest.approx(max(sums[batch], 0), abs=1e-9)
        values, truth = sums, truth * size
    error = abs(values.mean() - truth) / (values.std(ddof=1) / np.sqrt(len(values)))
    assert error < STANDARD_ERRORS


def test_bias_of_the_corrected_risk_vanishes_as_batches_grow():
    """Too large by the mean of the part below 0: a session by itself is often there, a large batch never."""
    rng = np.random.default_rng(6)
    theta, logs = tr.inverse_rank(6), 8_000
    relevance, scores = np.array([1, 0, 1, 1, 0, 1]), np.array([0.5, 0.4, -0.3, 1.0, 0.1, 0.4])
    clicks = (tr.Independent(theta).sample(logs, 6, rng) * relevance).ravel()
    given = (torch.tensor(np.tile(scores, logs)), clicks, np.tile(np.arange(1, 7), logs), np.full(logs, 6))
    values = trt.UnbiasedPairwiseLoss(tr.Independent(theta), reduction="none")(*given).numpy()
    bias = [np.maximum(-values.reshape(-1, size).mean(axis=1), 0).mean() for size in (1, 10, 100, 1000)]
    assert bias == sorted(bias, reverse=True)
    assert bias[0] > 1
    assert bias[-1] == 0


def test_a_bound_that_needs_the_batch_is_refused_session_by_session():
    with pytest.raises(InputError, match="reduction='none' does not form"):
        trt.UnbiasedPairwiseLoss(EXAMINATION, reduction="none", bound="nonnegative")

"""The loss for PyTorch against its NumPy twin, as a citizen of autograd, and at its door."""

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from torch_twins import IN_TORCH, Exponential, Lopsided, session_values, torch

import truerank as tr
import truerank.torch as trt
from truerank.errors import ExaminationError, InputError
from truerank.losses import torch_pairs, torch_unbiased

ROOT = Path(__file__).resolve().parents[2]
DOUBLE = {"rtol": 1e-10, "atol": 1e-10}
SINGLE = {"rtol": 1e-6, "atol": 1e-9}


@pytest.fixture(autouse=True, scope="module")
def one_torch_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(params=IN_TORCH)
def twins(request, pairs_by_name):
    """A pair function for NumPy, and the arguments that stand for it in PyTorch."""
    return pairs_by_name[request.param], IN_TORCH[request.param]


@pytest.fixture
def loss():
    return trt.UnbiasedPairwiseLoss(tr.Continuous(tr.inverse_rank(15)))


# the NumPy twin


def test_every_pair_function_has_its_twin(pairs_by_name):
    assert IN_TORCH.keys() == pairs_by_name.keys()


def test_value_and_gradient_equal_the_twin(examination, twins, gain, batch):
    """At scores that single precision holds too: rounding those is not the loss's doing."""
    batch = batch._replace(scores=batch.scores.astype(np.float32).astype(np.float64))
    in_numpy, in_torch = twins
    twin = tr.UnbiasedPairwiseLoss(examination, in_numpy, gain=gain)
    expected = twin.session_values(*batch), twin.gradient_hessian(*batch)[0]
    loss = trt.UnbiasedPairwiseLoss(examination, *in_torch, gain, "none")
    for dtype, tolerance in ((torch.float64, DOUBLE), (torch.float32, SINGLE)):
        values, gradient = session_values(loss, batch, dtype)
        assert values.dtype == gradient.dtype == dtype
        np.testing.assert_allclose(values, expected[0], **tolerance)
        np.testing.assert_allclose(gradient, expected[1], **tolerance)


def test_loss_without_an_examination_model_needs_no_positions(twins, batch):
    in_numpy, in_torch = twins
    values, _ = session_values(
        trt.UnbiasedPairwiseLoss(None, *in_torch, reduction="none"), batch._replace(positions=None)
    )
    np.testing.assert_allclose(values, tr.UnbiasedPairwiseLoss(None, in_numpy).session_values(*batch), **DOUBLE)


def test_scores_far_apart_have_the_twins_value_and_gradient(clicks, built_in_pair_name, pairs_by_name):
    far = clicks._replace(scores=clicks.scores * 300)
    examination = tr.Independent(tr.inverse_rank(15))
    twin = tr.UnbiasedPairwiseLoss(examination, pairs_by_name[built_in_pair_name])
    pair = IN_TORCH[built_in_pair_name]
    values, gradient = session_values(trt.UnbiasedPairwiseLoss(examination, *pair, reduction="none"), far)
    np.testing.assert_allclose(values, twin.session_values(*far), **DOUBLE)
    np.testing.assert_allclose(gradient, twin.gradient_hessian(*far)[0], **DOUBLE)


# autograd


def test_first_and_second_derivatives_agree_with_finite_differences(smooth_pair_name, batch):
    pair = IN_TORCH[smooth_pair_name]
    loss = trt.UnbiasedPairwiseLoss(tr.Continuous(tr.inverse_rank(15)), *pair, "exp2", "none")
    batch = batch._replace(scores=batch.scores[:16], labels=batch.labels[:16], positions=batch.positions[:16])
    scores = torch.tensor(batch.scores, requires_grad=True)

    def function(s):
        return loss(s, batch.labels, batch.positions, batch.group[:3])

    assert torch.autograd.gradcheck(function, (scores,))
    assert torch.autograd.gradgradcheck(function, (scores,))


def test_gradient_reaches_the_parameters_of_a_network(loss, clicks):
    network = torch.nn.Linear(4, 1)
    X = torch.randn(len(clicks.labels), 4, generator=torch.Generator().manual_seed(0))
    scores = network(X).squeeze(1)
    loss(scores, *clicks[1:]).backward()
    twin = tr.UnbiasedPairwiseLoss(loss.examination)
    gradient = twin.gradient_hessian(scores.detach().numpy(), *clicks[1:])[0]
    np.testing.assert_allclose(network.weight.grad[0], gradient @ X.numpy(), rtol=1e-4, atol=1e-3)


def test_reductions_agree(clicks):
    none, total, mean = (
        session_values(trt.UnbiasedPairwiseLoss(None, reduction=how), clicks)[0] for how in ("none", "sum", "mean")
    )
    assert none.shape == (len(clicks.group),)
    assert total.item() == pytest.approx(none.sum().item())
    assert mean.item() == pytest.approx(none.mean().item())


@pytest.mark.parametrize("pairs_at_a_time", [1, 7, 64])
def test_the_number_of_pairs_at_a_time_makes_no_difference(twins, batch, pairs_at_a_time, monkeypatch):
    loss = trt.UnbiasedPairwiseLoss(tr.Continuous(tr.inverse_rank(15)), *twins[1], reduction="none")
    assert len(loss.prepare(*batch[1:]).i) > 64
    whole = session_values(loss, batch)
    for module in (torch_pairs, torch_unbiased):
        monkeypatch.setattr(module, "PAIRS_AT_A_TIME", pairs_at_a_time)
    for given, expected in zip(session_values(loss, batch), whole, strict=True):
        np.testing.assert_allclose(given, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("pair", ["ranknet_with_ties", "sigmoid"])
def test_the_number_of_threads_does_not_change_a_bit(loss, clicks, pair):
    loss = trt.UnbiasedPairwiseLoss(loss.examination, pair, sigma=1.5)
    many = type(clicks)(*(np.tile(column, 700) for column in clicks))
    assert len(loss.prepare(*many[1:]).i) > 2 * torch_pairs.PAIRS_AT_A_TIME
    answers = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        answers.append(session_values(loss, many))
    torch.set_num_threads(1)
    for given, expected in zip(*answers, strict=True):
        assert torch.equal(given, expected)


def test_nothing_is_differentiated_where_no_gradient_is_asked_for(loss, clicks):
    with torch.no_grad():
        assert not loss(torch.tensor(clicks.scores, requires_grad=True), *clicks[1:]).requires_grad
    assert not loss(torch.tensor(clicks.scores), *clicks[1:]).requires_grad


def test_half_precision_scores_give_a_single_precision_loss(loss, clicks):
    scores = torch.tensor(clicks.scores, dtype=torch.float16, requires_grad=True)
    value = loss(scores, *clicks[1:])
    value.backward()
    expected = tr.UnbiasedPairwiseLoss(loss.examination).value(scores.detach().double().numpy(), *clicks[1:])
    assert value.dtype == torch.float32
    assert scores.grad.dtype == torch.float16
    assert value.item() == pytest.approx(expected, rel=1e-6)


def test_everything_follows_the_device_of_the_scores(batch):
    """The device without data stands for one that is not here: mixing it with the CPU is an error."""
    for pair in ("ranknet", "ranknet_with_ties"):
        loss = trt.UnbiasedPairwiseLoss(tr.Continuous(tr.inverse_rank(15)), pair, bound="nonnegative")
        scores = torch.zeros(len(batch.labels), device="meta", requires_grad=True)
        value = loss(scores, *batch[1:])
        value.backward()
        assert value.device == scores.grad.device == torch.device("meta")
        assert loss(scores, loss.prepare(*batch[1:]).to("meta")).device == torch.device("meta")


def test_loss_can_be_compiled(clicks):
    """Around its look-ups (which are not for a compiler), and as one graph once they are made."""
    loss = trt.UnbiasedPairwiseLoss(tr.Continuous(tr.inverse_rank(15)), "ranknet_with_ties", bound="nonnegative")
    whole = torch.compile(loss, backend="aot_eager", fullgraph=True)
    broken = torch.compile(loss, backend="aot_eager")
    fewer = type(clicks)(*(column[:16] for column in clicks[:3]), clicks.group[:3])
    for given in (clicks, fewer):
        expected = session_values(loss, given)
        scores = torch.tensor(given.scores, requires_grad=True)
        one_graph = whole(scores, loss.prepare(*given[1:]))
        one_graph.backward()
        for (value, gradient), tolerance in (
            ((one_graph.detach(), scores.grad), DOUBLE),
            (session_values(broken, given), DOUBLE),
        ):
            np.testing.assert_allclose(value, expected[0], **tolerance)
            np.testing.assert_allclose(gradient, expected[1], **tolerance)


# memory

MEMORY = """
import numpy as np, torch
import truerank as tr, truerank.torch as trt
from bench.measure import PeakMemory, trim_memory

def step(sessions, items, pair, every):
    group = np.full(sessions, items)
    labels = (np.arange(sessions * items) % every == 0).astype(int)
    loss = trt.UnbiasedPairwiseLoss(tr.Continuous(tr.inverse_rank(items)), pair)
    scores = torch.zeros(sessions * items, requires_grad=True)
    loss(scores, labels, tr.list_order(group), group).backward()

torch.set_num_threads(1)
for pair, every in (("ranknet", 10), ("ranknet", 1), ("ranknet_with_ties", 1)):
    step(2, 30, pair, every)
    trim_memory()
    with PeakMemory() as memory:
        step(4096, 30, pair, every)
    print(memory.megabytes)
"""


def test_4096_sessions_of_30_items_stay_under_500_megabytes():
    """Forward and backward, prepared on the way: the usual log, one with everything clicked, and that with ties.

    A padded batch would hold a few numbers for each of its 3.7 million pairs, three clicks a session or not.
    """
    answer = subprocess.run([sys.executable, "-c", MEMORY], cwd=ROOT, capture_output=True, text=True, check=True)
    usual, all_clicked, with_ties = (float(line) for line in answer.stdout.split())
    assert 1 < usual < 60
    assert 1 < all_clicked < 250
    assert 1 < with_ties < 350


# forms of input


def test_sessions_may_be_tensors_and_told_apart_by_offsets(loss, clicks):
    expected = session_values(loss, clicks)
    scores = torch.tensor(clicks.scores, requires_grad=True)
    labels, positions, group = (torch.tensor(column) for column in clicks[1:])
    offsets = torch.cat([torch.zeros(1, dtype=torch.long), torch.cumsum(group, 0)])
    for value in (loss(scores, labels, positions, group), loss(scores, labels, positions, offsets=offsets)):
        assert value.item() == expected[0].item()


def test_prepared_sessions_give_the_same_as_raw_ones(loss, clicks):
    pairs = loss.prepare(*clicks[1:])
    scores = torch.tensor(clicks.scores)
    assert loss(scores, pairs).item() == loss(scores, *clicks[1:]).item()


def test_no_sessions_and_no_clicks_cost_nothing_and_can_be_differentiated(loss):
    for labels in ([], [0, 0, 0]):
        scores = torch.zeros(len(labels), requires_grad=True)
        value = loss(scores, labels, list(range(1, len(labels) + 1)), [3] * (len(labels) // 3))
        value.backward()
        assert value.item() == 0
        assert not scores.grad.any()


def test_loss_is_copied_and_pickled_with_the_module_that_holds_it(loss, clicks):
    for again in (copy.deepcopy(loss), pickle.loads(pickle.dumps(loss))):
        assert torch.equal(session_values(again, clicks)[1], session_values(loss, clicks)[1])
    assert loss.state_dict() == {}
    assert "Continuous(15 positions" in repr(loss)


# refusals


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"pair": "rank"}, "pair is 'rank'; it must be a PairFunction or one of 'ranknet'"),
        ({"pair": tr.Hinge()}, r"works on NumPy arrays. Hint: give its name and sigma=, or subclass truerank\.torch"),
        ({"pair": Exponential(), "sigma": 2.0}, "sigma=2.0 is for pair functions given by name"),
        ({"sigma": 0}, "sigma is 0; it must be a number above 0"),
        ({"gain": "log"}, "gain is 'log'; it must be one of 'linear', 'exp2'"),
        ({"reduction": "max"}, "reduction is 'max'; it must be one of 'sum', 'mean', 'none'"),
        ({"bound": "cap"}, "bound is 'cap'; it must be one of None, 'clip', 'nonnegative'"),
        ({"bound": "nonnegative", "reduction": "none"}, "Hint: bound='nonnegative_session'"),
        ({"examination": 0.5}, "examination is 0.5; it needs the methods marginal, joint and sample"),
    ],
)
def test_wrong_arguments_are_refused_at_once(wrong, message):
    with pytest.raises(InputError, match=message):
        trt.UnbiasedPairwiseLoss(**{"examination": None} | wrong)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"scores": torch.zeros(2)}, r"scores has shape \(2,\); it needs one score a row: \(3,\)"),
        ({"scores": torch.zeros(3, 1)}, r"scores has shape \(3, 1\)"),
        ({"labels": [0, 0.5, 1]}, r"labels\[1\] is 0.5"),
        ({"positions": None}, "positions are missing"),
        ({"positions": [1, 2, 2]}, "position 2 is given twice"),
        ({"group": [2]}, "group sizes sum to 2 and there are 3 rows"),
        ({"group": None}, "exactly one of group= and offsets= is needed"),
        ({"offsets": [0, 3]}, "exactly one of group= and offsets= is needed"),
        ({"group": None, "offsets": [1, 3]}, r"offsets begin with \[1\]; the first must be 0"),
        ({"group": None, "offsets": [0, 3, 2]}, r"group\[1\] is -1"),
    ],
)
def test_wrong_sessions_are_refused(loss, wrong, message):
    good = {"scores": torch.zeros(3), "labels": [0, 1, 1], "positions": [1, 2, 3], "group": [3]}
    assert torch.isfinite(loss(**good))
    with pytest.raises(InputError, match=message):
        loss(**good | wrong)


def test_position_that_the_model_does_not_know_is_refused(loss):
    with pytest.raises(ExaminationError, match="position 16 is past the end"):
        loss(torch.zeros(2), [0, 1], [1, 16], [2])


def test_pair_function_without_l10_cannot_be_built():
    class Nothing(trt.PairFunction):
        pass

    with pytest.raises(TypeError, match="l10"):
        Nothing()
    assert Lopsided().l11(torch.ones(1), torch.ones(1)) is not None

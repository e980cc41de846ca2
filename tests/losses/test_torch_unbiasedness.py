"""The theorem for gradient descent: over many click logs, the mean gradient is the gradient of the true loss."""

import numpy as np
import pytest
from torch_twins import torch

import truerank.torch as trt

STANDARD_ERRORS = 4
LOGS = 8_000
N_ITEMS, N_FEATURES = 6, 4
POSITIONS = np.array([5, 1, 9, 2, 7, 4])  # out of order, with gaps, over three rows of the grid


def linear():
    return torch.nn.Linear(N_FEATURES, 1)


def mlp():
    return torch.nn.Sequential(torch.nn.Linear(N_FEATURES, 5), torch.nn.Tanh(), torch.nn.Linear(5, 1))


def gradients_by_log(loss, network, X, labels):
    """The gradient of the loss of each log with respect to all parameters: one row a log."""
    logs = len(labels)
    scores = network(X).squeeze(1)
    by_row = scores.detach().repeat(logs).requires_grad_()
    loss(by_row, labels.ravel(), np.tile(POSITIONS, logs), np.full(logs, N_ITEMS)).backward()
    per_item = [torch.autograd.grad(s, list(network.parameters()), retain_graph=True) for s in scores]
    jacobian = torch.stack([torch.cat([g.ravel() for g in of_item]) for of_item in per_item])
    return (by_row.grad.reshape(logs, N_ITEMS) @ jacobian).numpy()


def standard_errors(gradients, truth):
    """How far the mean is from the truth, in its standard errors, parameter by parameter; biases cancel in pairs."""
    spread = gradients.std(axis=0, ddof=1)
    varies = spread > 1e-9
    assert varies.sum() >= N_FEATURES
    return np.abs(gradients - truth).mean(axis=0)[~varies], (np.abs(gradients.mean(axis=0) - truth)[varies]) / (
        spread[varies] / np.sqrt(len(gradients))
    )


@pytest.mark.parametrize("pair", ["ranknet", "sigmoid", "ranknet_with_ties"])
@pytest.mark.parametrize("build", [linear, mlp])
def test_mean_gradient_over_click_logs_is_the_gradient_of_the_true_loss(examination, build, pair, largest_label):
    rng = np.random.default_rng(2022)
    torch.manual_seed(2022)
    network = build().double()
    X = torch.tensor(rng.normal(size=(N_ITEMS, N_FEATURES)))
    relevance = np.array([1, 0, 0, largest_label, 0, min(2, largest_label)])
    clicks = examination.sample(LOGS, POSITIONS.max(), rng)[:, POSITIONS - 1] * relevance
    unbiased, plain = (trt.UnbiasedPairwiseLoss(model, pair, gain="linear") for model in (examination, None))
    truth = gradients_by_log(plain, network, X, relevance[None])[0]
    same, errors = standard_errors(gradients_by_log(unbiased, network, X, clicks), truth)
    assert same.max(initial=0) < 1e-9
    assert errors.max() < STANDARD_ERRORS
    _, naive = standard_errors(gradients_by_log(plain, network, X, clicks), truth)
    assert naive.max() > 10 * STANDARD_ERRORS

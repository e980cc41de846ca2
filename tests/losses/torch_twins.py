"""Pair functions twice: for NumPy, with derivatives by hand, and for PyTorch; and calls of both losses alike."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed", exc_type=ImportError)

import truerank.torch as trt  # noqa: E402


class Exponential(trt.PairFunction):
    """ℓ10 = exp(−(s_i − s_j) / 2), the rest by default."""

    def l10(self, s_i, s_j):
        return torch.exp((s_j - s_i) / 2)


class Lopsided(trt.PairFunction):
    """No difference of scores gives it; all four terms, none symmetric."""

    def l10(self, s_i, s_j):
        return s_i**2 * s_j - 3 * s_i

    def l01(self, s_i, s_j):
        return torch.sin(s_i) * torch.exp(s_j / 2)

    def l11(self, s_i, s_j):
        return s_i * s_j**2

    def l00(self, s_i, s_j):
        return torch.exp((s_i + 2 * s_j) / 4)


# What stands for the pair functions of conftest, by the same names: the arguments `pair` and `sigma`.
IN_TORCH = {
    "ranknet": ("ranknet", 1.0),
    "ranknet-steep": ("ranknet", 2.5),
    "hinge": ("hinge", 1.0),
    "squared_hinge": ("squared_hinge", 1.0),
    "square": ("square", 0.5),
    "ranknet_with_ties": ("ranknet_with_ties", 1.0),
    "sigmoid": ("sigmoid", 1.5),
    "ramp": ("ramp", 0.7),
    "users_exponential": (Exponential(), 1.0),
    "users_lopsided": (Lopsided(), 1.0),
}


def session_values(loss, batch, dtype=torch.float64):
    """The loss of each session and, if they are added up, its gradient."""
    scores = torch.tensor(batch.scores, dtype=dtype, requires_grad=True)
    values = loss(scores, batch.labels, batch.positions, batch.group)
    values.sum().backward()
    return values.detach(), scores.grad

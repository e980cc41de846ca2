"""Gradient descent on weighted pairs, some lists at a time."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from truerank.errors import InputError
from truerank.losses.torch_pairs import SessionPairs
from truerank.losses.torch_unbiased import UnbiasedPairwiseLoss
from truerank.pairs import PairWeights
from truerank.ragged import offsets_from_sizes
from truerank.rankers.objective import LambdaObjective
from truerank.rankers.torch_network import ROWS_AT_A_TIME, scores_of
from truerank.rankers.validation import Metric
from truerank.types import IntArray

Backward = Callable[[Tensor, PairWeights], float | None]
"""Sends the gradient of a batch of lists back through its scores, and says what the loss was, if there is one."""


@dataclass(frozen=True)
class Epoch:
    """What is known after a pass over all lists: `training_loss` per session (None for the lambda objective)."""

    number: int
    training_loss: float | None
    validation: dict[str, dict[str, float]]
    is_best: bool

    def __str__(self) -> str:
        """One line."""
        parts = [] if self.training_loss is None else [f"loss {self.training_loss:.4f}"]
        parts += [f"{name} {m} {v:.4f}" for name, metrics in self.validation.items() for m, v in metrics.items()]
        return f"epoch {self.number}: " + ", ".join(parts) + (" *" if self.is_best and self.validation else "")


@dataclass(frozen=True)
class Watched:
    """A validation set: its features, ready for the body of the network, and what to measure of their scores."""

    name: str
    features: Tensor
    metrics: tuple[Metric, ...]


@dataclass(frozen=True)
class Plan:
    """How to train."""

    epochs: int
    batch_lists: int
    learning_rate: float
    weight_decay: float
    patience: int | None
    seed: int


@dataclass
class Course:
    """How far training is: what it takes, besides the weights, to go on as if it had not stopped; and its curves."""

    epochs: int = 0
    optimizer: dict[str, Any] | None = None
    best_value: float | None = None
    evals: dict[str, dict[str, list[float]]] = field(default_factory=dict)


def unbiased_loss_backward(loss: UnbiasedPairwiseLoss) -> Backward:
    """The unbiased loss over weighted pairs, per session: a weight is the coefficient of ℓ10."""

    def backward(scores: Tensor, pairs: PairWeights) -> float:
        starts = np.repeat(pairs.row_offsets[:-1], np.diff(pairs.offsets))
        whole = loss(
            scores,
            SessionPairs(
                i=torch.from_numpy(starts + pairs.i),
                j=torch.from_numpy(starts + pairs.j),
                ordered=torch.from_numpy(pairs.weight.copy()),
                both=None,
                neither=None,
                session=torch.from_numpy(np.repeat(np.arange(pairs.n_lists), pairs.group)),
                n_sessions=pairs.n_lists,
            ),
        )
        (whole / int(pairs.sessions.sum())).backward()
        return float(whole.detach())

    return backward


def lambda_backward(**options: Any) -> Backward:
    """LambdaMART's λ of weighted pairs, per list; there is no loss that it is the gradient of."""

    def backward(scores: Tensor, pairs: PairWeights) -> None:
        gradient, _ = LambdaObjective(pairs, **options)(scores.detach().cpu().double().numpy())
        scores.backward(torch.from_numpy(gradient / pairs.n_lists).to(scores))

    return backward


def train(
    body: nn.Module,
    features: Tensor,
    pairs: PairWeights,
    backward: Backward,
    watched: tuple[Watched, ...],
    plan: Plan,
    course: Course,
) -> Generator[Epoch, None, None]:
    """Train `body` in place, an epoch at a time; `course` moves along, so that what was done by then is kept.

    What is left is the last whole epoch or, with patience, the best one, however training ends. An epoch is drawn from
    the seed and its number alone, so that training can be taken up at any of them.
    """
    optimizer = torch.optim.AdamW(body.parameters(), plan.learning_rate, weight_decay=plan.weight_decay)
    if course.optimizer is not None:
        optimizer.load_state_dict(copy.deepcopy(course.optimizer))
        for group in optimizer.param_groups:
            group.update(lr=plan.learning_rate, weight_decay=plan.weight_decay)
        _improves(course, watched, _measure(body, watched))  # the start is what has to be beaten
    kept = copy.deepcopy((course.epochs, body.state_dict(), course.optimizer))
    waited, last = 0, course.epochs + plan.epochs
    try:
        while course.epochs < last and (plan.patience is None or waited < plan.patience):
            loss = _one_epoch(body, features, pairs, backward, optimizer, plan, course.epochs)
            course.epochs += 1
            measured = _measure(body, watched)
            _record(course, loss, measured)
            improved = _improves(course, watched, measured)
            waited = 0 if improved else waited + 1
            if improved or plan.patience is None:
                kept = copy.deepcopy((course.epochs, body.state_dict(), optimizer.state_dict()))
            yield Epoch(course.epochs, loss, measured, improved)
    finally:
        course.epochs, weights, course.optimizer = kept
        body.load_state_dict(weights)
        body.eval()


def _one_epoch(
    body: nn.Module,
    features: Tensor,
    pairs: PairWeights,
    backward: Backward,
    optimizer: torch.optim.Optimizer,
    plan: Plan,
    epoch: int,
) -> float | None:
    """One pass over all lists in random order; the mean loss per session."""
    rng = np.random.default_rng([plan.seed, epoch])
    torch.manual_seed(int(rng.integers(2**62)))  # for dropout
    order = rng.permutation(pairs.n_lists)
    body.train()
    total: float | None = 0.0
    for at in range(0, len(order), plan.batch_lists):
        batch, rows = take_lists(pairs, np.sort(order[at : at + plan.batch_lists]))
        optimizer.zero_grad()
        scores = scores_of(body, features[torch.from_numpy(rows).to(features.device)])
        if not torch.isfinite(scores).all():
            raise InputError(
                f"training diverged: scores are no longer finite in epoch {epoch + 1}. "
                "Hint: a smaller learning_rate=, or bound='clip' if it is None"
            )
        loss = backward(scores, batch)
        optimizer.step()
        total = None if loss is None or total is None else total + loss
    return None if total is None else total / int(pairs.sessions.sum())


def take_lists(pairs: PairWeights, lists: IntArray) -> tuple[PairWeights, IntArray]:
    """Some of the lists, and the rows that are theirs."""
    rows = _ranges(pairs.row_offsets, lists)
    entries = _ranges(pairs.offsets, lists)
    chosen = PairWeights(
        group=pairs.group[lists],
        offsets=offsets_from_sizes(np.diff(pairs.offsets)[lists]),
        i=pairs.i[entries],
        j=pairs.j[entries],
        weight=pairs.weight[entries],
        sessions=pairs.sessions[lists],
    )
    return chosen, rows


def _ranges(offsets: IntArray, chosen: IntArray) -> IntArray:
    """The numbers from offsets[k] up to offsets[k + 1] for each chosen k."""
    sizes = np.diff(offsets)[chosen]
    ends = offsets_from_sizes(sizes)
    numbers: IntArray = np.arange(ends[-1]) + np.repeat(offsets[chosen] - ends[:-1], sizes)
    return numbers


def _measure(body: nn.Module, watched: tuple[Watched, ...]) -> dict[str, dict[str, float]]:
    measured = {}
    for valid in watched:
        scores = score_rows(body, valid.features)
        measured[valid.name] = {metric.name: float(metric.score(scores)) for metric in valid.metrics}
    return measured


def score_rows(module: nn.Module, features: Tensor) -> Any:
    """The scores of all rows as an array in double precision, without a gradient."""
    module.eval()
    with torch.no_grad():
        device = next(module.parameters(), features).device
        parts = [scores_of(module, rows.to(device)).double().cpu() for rows in features.split(ROWS_AT_A_TIME)]
    return torch.cat(parts).numpy()


def _record(course: Course, loss: float | None, measured: dict[str, dict[str, float]]) -> None:
    named = {**({} if loss is None else {"training": {"loss": loss}}), **measured}
    for name, metrics in named.items():
        for metric, value in metrics.items():
            course.evals.setdefault(name, {}).setdefault(metric, []).append(value)


def _improves(course: Course, watched: tuple[Watched, ...], measured: dict[str, dict[str, float]]) -> bool:
    """Whether the first metric of the first validation set, which decides, is the best so far."""
    if not watched:
        return True
    metric = watched[0].metrics[0]
    value = measured[watched[0].name][metric.name]
    before = course.best_value
    better = before is None or (value > before if metric.higher_is_better else value < before)
    if better and not math.isnan(value):
        course.best_value = value
        return True
    return False


@contextmanager
def private_randomness(device: torch.device, seed: int, threads: int | None) -> Iterator[None]:
    """Seed PyTorch inside the block, on so many threads, and leave both as they were."""
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices), torch_threads(threads):
        torch.manual_seed(seed)
        yield


@contextmanager
def torch_threads(threads: int | None) -> Iterator[None]:
    """Let PyTorch use this many threads inside the block; None for as many as it likes."""
    before = torch.get_num_threads()
    try:
        if threads is not None:
            torch.set_num_threads(threads)
        yield
    finally:
        torch.set_num_threads(before)

"""A neural network on weighted pairs, by gradient descent on the unbiased loss."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from truerank.errors import InputError, MissingExtraError
from truerank.examination.base import Examination
from truerank.losses import UnbiasedPairwiseLoss as LossOfArrays
from truerank.metrics.names import read_metric
from truerank.metrics.ranking import read_judged
from truerank.ragged import check_number
from truerank.rankers.base import PairwiseRanker, Task
from truerank.rankers.validation import Metric, ValidationSet

try:
    import torch
except ImportError:
    raise MissingExtraError("torch", "torch") from None

from torch import nn

from truerank.losses.torch_pair_functions import PairFunction, read_pair_function
from truerank.losses.torch_unbiased import BOUNDS, UnbiasedPairwiseLoss
from truerank.rankers.torch_network import (
    NORMALIZATIONS,
    ScoringNetwork,
    build_body,
    check_body,
    learn_inputs,
    read_features,
    refuse_missing,
    refuse_other_features,
)
from truerank.rankers.torch_training import (
    Backward,
    Course,
    Plan,
    Watched,
    lambda_backward,
    private_randomness,
    score_rows,
    torch_threads,
    train,
    unbiased_loss_backward,
)


class NeuralRanker(PairwiseRanker):
    """A neural network trained by gradient descent on the unbiased loss, with the habits of `LambdaMARTRanker`.

    `method="unbiased"` minimises L_u itself (`truerank.torch.UnbiasedPairwiseLoss`): under `examination`, or as it is
    on the clicks without one. `none`, `robust` and `complete` make pair weights as for the boosters and follow the
    LambdaMART gradient; so does `fit_pairs`, whatever the method. With `query` and `item`, the coefficients of sessions
    over the same items are added up before training, which leaves the loss what it was.

    `network_` is a plain PyTorch module, raw features in, scores out. `hidden=()` makes a linear ranker. The same seed
    gives the same bits with the same `n_jobs`, PyTorch and kind of processor; other numbers of threads, and GPUs, add
    up in another order.

    Args:
        method: see above.
        examination: how people look at the page.
        pair: the pair function of `unbiased`, by name or a `truerank.torch.PairFunction`; ties have to cost nothing.
        bound: what keeps the loss from running away where coefficients are negative: `clip`, `nonnegative`,
            `nonnegative_session` or None, see `truerank.torch.UnbiasedPairwiseLoss`. Sessions that were added up are
            clipped in the sum, which is nearer to the truth. All but None clip the weights of a LambdaMART gradient.
        hidden: the widths of the hidden layers.
        dropout: the share of hidden units left out at random in each step.
        module: a `torch.nn.Module` of your own instead (a copy of it is trained), or a function that makes one for a
            number of inputs; it gives one score a row.
        normalization: what features become before they reach the network: `quantile`, their place among the training
            values; `standard`, mean 0 and variance 1; None, nothing.
        epochs: how many times to go over all lists; the most, if training stops early.
        early_stopping_rounds: stop after so many epochs without a better value of the first metric (unbiased ones come
            first) of the first validation set, and go back to the best; None to never.
        batch_lists: how many lists (sessions, if none are added up) make a step.
        learning_rate, weight_decay: of AdamW.
        sigma: σ of a named pair function, and of the LambdaMART gradient.
        truncation, normalize, variance, list_norm, distance_norm: of the LambdaMART gradient.
        merge: which sessions are added up when fit gets `query` and `item`: `exact` or `query`.
        gain: `linear` or `exp2`: what pairs of unequal grades weigh.
        device: where to train and score: `cpu`, `cuda`, …
        n_jobs: how many threads PyTorch may use; None for its own choice.
        random_state: the seed of weights, order and dropout.

    >>> import numpy as np
    >>> from truerank import Independent, inverse_rank
    >>> X, clicks = np.array([[0.0], [1.0]] * 50), [0, 1] * 50
    >>> ranker = NeuralRanker(examination=Independent(inverse_rank(2)), hidden=())
    >>> scores = ranker.fit(X, clicks, group=[2] * 50, position=[1, 2] * 50).predict([[0.0], [1.0]])
    >>> bool(scores[1] > scores[0])
    True
    """

    _fit_params = ("progress",)
    _methods: ClassVar = ("unbiased", "none", "robust", "complete")
    _model_attribute = "network_"
    _unbiased_metric_decides = True
    _refused: ClassVar[dict[str, str]] = {}

    def __init__(
        self,
        method: str = "unbiased",
        examination: Examination | None = None,
        *,
        pair: str | PairFunction = "ranknet",
        bound: str | None = "clip",
        hidden: Sequence[int] = (64, 32),
        dropout: float = 0.0,
        module: nn.Module | Callable[[int], nn.Module] | None = None,
        normalization: str | None = "quantile",
        epochs: int = 30,
        early_stopping_rounds: int | None = None,
        batch_lists: int = 64,
        learning_rate: float = 5e-3,
        weight_decay: float = 1e-2,
        sigma: float = 1.0,
        truncation: int = 30,
        normalize: str | None = "auto",
        merge: str = "exact",
        gain: str = "linear",
        variance: str = "shrink",
        list_norm: bool = False,
        distance_norm: bool = False,
        device: str = "cpu",
        n_jobs: int | None = 1,
        random_state: int = 0,
    ) -> None:
        self.method = method
        self.examination = examination
        self.pair = pair
        self.bound = bound
        self.hidden = hidden
        self.dropout = dropout
        self.module = module
        self.normalization = normalization
        self.epochs = epochs
        self.early_stopping_rounds = early_stopping_rounds
        self.batch_lists = batch_lists
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.sigma = sigma
        self.truncation = truncation
        self.normalize = normalize
        self.merge = merge
        self.gain = gain
        self.variance = variance
        self.list_norm = list_norm
        self.distance_norm = distance_norm
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self._booster_names = ()

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """The score of each row."""
        self._check_fitted()
        refuse_other_features(X, self.n_features_in_, getattr(self, "feature_names_in_", None))
        with torch_threads(self.n_jobs):
            scores: npt.NDArray[np.float64] = score_rows(self.network_, torch.from_numpy(self._read(X, "X")))
        return scores

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the ranker to one zip file: `ranker.json`, readable, and `weights.pt`, PyTorch's tensors."""
        from truerank.rankers.torch_files import save_ranker

        self._check_fitted()
        save_ranker(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], **parameters: Any) -> Self:
        """Read what `save` wrote; nothing in the file is run.

        Args:
            path: the file.
            parameters: those that no file can hold, such as `module`, or others than were saved.
        """
        from truerank.rankers.torch_files import load_ranker

        return load_ranker(cls, path, parameters)

    def _weighting(self) -> tuple[str, str | None, str]:
        if self.method != "unbiased":
            return self.method, self.normalize, self.variance
        return "none" if self.examination is None else "complete", "none", "none"

    def _clips_negative(self, task: Task) -> bool:
        return self.bound == "clip" or (self.bound is not None and not self._by_loss(task))

    def _by_loss(self, task: Task) -> bool:
        return self.method == "unbiased" and task.from_clicks

    def _stops_early(self, booster_fit_params: dict[str, Any]) -> bool:
        return self.early_stopping_rounds is not None

    def _usual_metric(self, eval_labels: str) -> str | None:
        by_loss = self.method == "unbiased" and self.examination is not None and isinstance(self.pair, str)
        return "unbiased_loss" if by_loss and eval_labels == "clicks" else None

    def _validation_loss(self, names: Sequence[str]) -> LossOfArrays:
        if isinstance(self.pair, str):
            return LossOfArrays(self.examination, self.pair, self.sigma, self.gain)
        if "unbiased_loss" in names:
            raise InputError(f"eval_metric 'unbiased_loss' needs a pair function with a name; pair is {self.pair!r}")
        return LossOfArrays(self.examination)

    def _check_model_parameters(self) -> None:
        for name, value, known in (
            ("bound", self.bound, BOUNDS),
            ("normalization", self.normalization, NORMALIZATIONS),
        ):
            if value not in known:
                raise InputError(f"{name} is {value!r}; it must be one of {', '.join(map(repr, known))}")
        for name in ("epochs", "batch_lists"):
            check_number(getattr(self, name), name, 1, whole=True)
        for name in ("early_stopping_rounds", "n_jobs"):
            if getattr(self, name) is not None:
                check_number(getattr(self, name), name, 1, whole=True)
        check_number(self.random_state, "random_state", 0, whole=True)
        check_number(self.learning_rate, "learning_rate", 0, above=True)
        check_number(self.weight_decay, "weight_decay", 0)
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout is {self.dropout!r}; it must be a share from 0 to below 1")
        if not isinstance(self.hidden, list | tuple):
            raise InputError(f"hidden is {self.hidden!r}; it needs a width for each hidden layer: (64, 32), or ()")
        for k, width in enumerate(self.hidden):
            check_number(width, f"hidden[{k}]", 1, whole=True)
        _read_pair(self.pair, self.sigma)

    def _train(self, task: Task, booster_fit_params: dict[str, Any]) -> None:
        device, seed = _read_device(self.device), int(self.random_state)
        X = self._read(task.X, "X")
        plan = Plan(
            self.epochs, self.batch_lists, self.learning_rate, self.weight_decay, self.early_stopping_rounds, seed
        )
        progress = booster_fit_params.get("progress") or (lambda epoch: None)
        with private_randomness(device, seed, self.n_jobs):
            network, course = self._begin(task.init_model, X, seed)
            network.to(device)
            features = network.features_of(torch.from_numpy(X))
            check_body(network.body, features[:2])
            watched = tuple(
                Watched(
                    v.name,
                    network.features_of(torch.from_numpy(self._read(v.shown.X, f"eval_set {v.name!r}"))),
                    v.metrics + tuple(_judged_metric(name, v) for name in task.booster_metrics),
                )
                for v in task.validation
            )
            epochs = train(network.body, features, task.pairs, self._backward(task), watched, plan, course)
            try:
                with closing(epochs):
                    for epoch in epochs:
                        progress(epoch)
            except KeyboardInterrupt:
                self._keep(network, course)
                raise
        self._keep(network, course)

    def _begin(self, init_model: Any, X: Any, seed: int) -> tuple[ScoringNetwork, Course]:
        """A new network, or a copy of one to go on from and how far it is."""
        if init_model is None:
            inputs = learn_inputs(self.normalization, X, seed)
            body = build_body(self.module, inputs.n_outputs, self.hidden, self.dropout)
            return ScoringNetwork(inputs, body), Course()
        start = init_model
        if isinstance(init_model, str | os.PathLike):
            given = {"module": self.module, "examination": self.examination, "pair": self.pair, "device": self.device}
            start = type(self).load(init_model, **given)
        if not isinstance(start, NeuralRanker):
            raise InputError(
                f"init_model is a {type(start).__name__}; NeuralRanker goes on from its own and their files"
            )
        start._check_fitted()
        if start.n_features_in_ != X.shape[1]:
            raise InputError(f"X has {X.shape[1]} columns and init_model was trained on {start.n_features_in_}")
        return copy.deepcopy(start.network_), Course(start.epochs_, copy.deepcopy(start.optimizer_state_))

    def _backward(self, task: Task) -> Backward:
        if self._by_loss(task):
            bound = None if self.bound == "clip" else self.bound  # what is to be clipped is clipped in the weights
            return unbiased_loss_backward(UnbiasedPairwiseLoss(None, self.pair, self.sigma, bound=bound))
        return lambda_backward(
            sigma=self.sigma,
            truncation=self.truncation,
            list_norm=self.list_norm,
            distance_norm=self.distance_norm,
            threads=self.n_jobs,
        )

    def _keep(self, network: ScoringNetwork, course: Course) -> None:
        self.network_ = network
        self.epochs_ = course.epochs
        self.optimizer_state_ = course.optimizer
        self.evals_result_ = course.evals
        stopped = self.early_stopping_rounds is not None
        self.best_iteration_ = course.epochs if stopped else None
        self.best_score_ = course.best_value if stopped else None

    def _read(self, X: Any, name: str) -> Any:
        array = read_features(X, name)
        if self.normalization is None:
            refuse_missing(array, name)
        return array


def _judged_metric(name: str, valid: ValidationSet) -> Metric:
    """A metric that takes the labels at their word; lists without a relevant item are left out."""
    measure, judged = read_metric(name), read_judged(valid.shown.labels, valid.shown.group)

    def score(scores: Any) -> float:
        return float(np.nanmean(measure(judged.ranked_by(scores))))

    return Metric(name, score, higher_is_better=True)


def _read_device(device: Any) -> torch.device:
    try:
        found = torch.device(device)
        torch.empty(0, device=found)
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"device={device!r} cannot be used: {reason}. Hint: device='cpu'") from None
    return found


def _read_pair(pair: Any, sigma: float) -> None:
    function, nothing = read_pair_function(pair, sigma), torch.empty(0)
    if function.l11(nothing, nothing) is not None or function.l00(nothing, nothing) is not None:
        raise InputError(
            f"pair={pair!r} has a cost for items of equal labels, and weighted pairs hold none of these. "
            "Hint: pair='ranknet', or train your module on truerank.torch.UnbiasedPairwiseLoss"
        )

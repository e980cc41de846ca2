"""The unbiased pairwise loss (the paper, Section 3.2) for gradient descent in PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from truerank.errors import InputError
from truerank.examination.base import Examination, check_examination
from truerank.losses.gains import grade_weights
from truerank.losses.torch_pair_functions import PairFunction, read_pair_function
from truerank.losses.torch_pairs import PAIRS_AT_A_TIME, SessionPairs, session_pairs
from truerank.ragged import read_sessions, read_whole_numbers

BOUNDS = (None, "clip", "nonnegative", "nonnegative_session")
REDUCTIONS = ("sum", "mean", "none")


class UnbiasedPairwiseLoss(nn.Module):  # type: ignore[misc]
    """L_u = Σ_q Σ_{i,j} z_ij' A_ij s(c_i, c_j), differentiable: the twin of `truerank.UnbiasedPairwiseLoss`.

    The gradient is worked out with the value, some pairs at a time, so no graph over pairs is kept; it costs
    O(C² + C·N) a session when ℓ00 = 0. Coefficients of pairs of clicks can be negative, so what is trained long enough
    on a fixed log finds scores that push the loss without bound. `bound` says what to do about that:

    - None: nothing. The mean over logs is the true loss, and training on few clicks may diverge.
    - `clip`: negative coefficients become 0. With binary clicks and ℓ11 = ℓ00 = 0 this leaves 1/p_i for each pair of a
      click and a row without one, and p_ij no longer matters. Bias: the mean over logs is the true loss plus
      Σ_{i,j} r_i r_j (1 − p_ij / p_i) ℓ10(s_i, s_j) in each order, so pairs of two relevant items are pulled apart both
      ways, the more the less often they are seen together.
    - `nonnegative`: a batch whose loss is below 0, which no true loss is, counts as 0 and moves nothing (the corrected
      risk of Kiryo et al. 2017). Bias: the mean is too large by that of the part below 0, which vanishes as batches
      grow. For pair functions that are nowhere negative.
    - `nonnegative_session`: the same for each session by itself: the tightest hold and the larger bias.

    A bounded pair function (`sigmoid`, `ramp`) needs no bound: no pair can then gain more than its coefficient. It
    costs no bias for its own true loss, but that loss is not convex, and pairs that are far apart stop to count. Of
    these two ℓ(d) + ℓ(−d) is a constant, so for binary clicks p_ij moves the loss and nothing of its gradient.
    Propensities raised by `min_propensity` of the examination model bound the coefficients themselves.

    Args:
        examination: how people look at the page; None for the plain loss on the clicks, without debiasing.
        pair: a name (`ranknet`, `hinge`, `squared_hinge`, `square`, `ranknet_with_ties`, `sigmoid`, `ramp`) or a
            `truerank.torch.PairFunction`.
        sigma: σ of a named pair function.
        gain: what pairs of unequal grades weigh: None for all the same, otherwise the difference of their `linear`
            or `exp2` gains.
        reduction: `sum` or `mean` over sessions, or `none` for a value a session.
        bound: see above.

    >>> from truerank import Independent
    >>> loss = UnbiasedPairwiseLoss(Independent([1, 0.5]), pair="hinge")
    >>> scores = torch.zeros(2, requires_grad=True)
    >>> loss(scores, labels=[0, 1], positions=[1, 2], group=[2])
    tensor(4., grad_fn=<ToCopyBackward0>)
    """

    def __init__(
        self,
        examination: Examination | None,
        pair: str | PairFunction = "ranknet",
        sigma: float = 1.0,
        gain: str | None = None,
        reduction: str = "sum",
        bound: str | None = None,
    ) -> None:
        super().__init__()
        check_examination(examination)
        grade_weights(1, gain)  # refuses an unknown name now, not at the first batch
        for name, value, known in (("reduction", reduction, REDUCTIONS), ("bound", bound, BOUNDS)):
            if value not in known:
                raise InputError(f"{name} is {value!r}; it must be one of {', '.join(map(repr, known))}")
        if bound == "nonnegative" and reduction == "none":
            raise InputError(
                "bound='nonnegative' is about the sum over a batch, which reduction='none' does not form. "
                "Hint: bound='nonnegative_session'"
            )
        self.examination = examination
        self.pair = read_pair_function(pair, sigma)
        self.gain = gain
        self.reduction = reduction
        self.bound = bound

    def forward(
        self, scores: Tensor, labels: Any, positions: Any = None, group: Any = None, *, offsets: Any = None
    ) -> Tensor:
        """The loss of a batch of sessions, one after another, on the device of the scores.

        It is computed in double precision (where the device has it) and given in that of the scores.

        Args:
            scores: one number a row, the higher the better.
            labels: one number a row: 0, 1 for a click, or higher grades. Or what `prepare` gave, and nothing else:
                then the look-ups are not repeated, and `torch.compile` sees one graph.
            positions: one number a row: where it was shown, from 1; None is fine without an examination model.
            group: the size of each session.
            offsets: where each session begins, and the end of the last, instead of `group`.
        """
        pairs = labels if isinstance(labels, SessionPairs) else self.prepare(labels, positions, group, offsets=offsets)
        rows = pairs.session.shape
        if scores.shape != rows:
            raise InputError(f"scores has shape {tuple(scores.shape)}; it needs one score a row: {tuple(rows)}")
        loss = _session_losses(scores, pairs, self.pair)
        if self.bound == "nonnegative_session":
            loss = torch.relu(loss)
        if self.reduction != "none":
            loss = torch.stack([part.sum() for part in loss.split(PAIRS_AT_A_TIME)]).sum()
        if self.bound == "nonnegative":
            loss = torch.relu(loss)
        if self.reduction == "mean":
            loss = loss / max(pairs.n_sessions, 1)
        return loss.to(torch.promote_types(scores.dtype, torch.float32))

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def prepare(self, labels: Any, positions: Any = None, group: Any = None, *, offsets: Any = None) -> SessionPairs:
        """Check sessions and list their pairs, for one or many calls; `.to(device)` moves them."""
        if (group is None) == (offsets is None):
            raise InputError("exactly one of group= and offsets= is needed to tell sessions apart")
        sizes = _array(group) if offsets is None else _sizes(_array(offsets))
        sessions = read_sessions(_array(labels), _array(positions), sizes, needs_positions=self.examination is not None)
        nothing = torch.empty(0)
        return session_pairs(
            sessions,
            self.examination,
            grade_weights(int(sessions.labels.max(initial=1)), self.gain),
            both=self.pair.l11(nothing, nothing) is not None,
            neither=self.pair.l00(nothing, nothing) is not None,
            clip=self.bound == "clip",
        )

    def extra_repr(self) -> str:
        """What is in the brackets when the module is printed."""
        return f"{self.examination!r}, {self.pair!r}, gain={self.gain}, reduction={self.reduction}, bound={self.bound}"


def _session_losses(scores: Tensor, pairs: SessionPairs, pair: PairFunction) -> Tensor:
    """The loss of each session, in double precision where the device has it."""
    dtype = torch.float32 if scores.device.type == "mps" else torch.float64
    moved = pairs.to(scores.device, dtype)
    if torch.compiler.is_compiling():
        return _in_one_graph(scores.to(dtype), moved, pair)
    values: Tensor = _PairByPair.apply(scores.to(dtype), moved, pair)
    return values


class _PairByPair(torch.autograd.Function):  # type: ignore[misc]
    """The loss of each session, with its gradient worked out on the way, some pairs at a time."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, pairs: SessionPairs, pair: PairFunction) -> Tensor:
        values = scores.new_zeros(pairs.n_sessions)
        gradient = torch.zeros_like(scores)
        from_j = torch.zeros_like(scores)  # apart, so that the order of adding up does not depend on the chunks
        for at in range(0, len(pairs.i), PAIRS_AT_A_TIME):
            chunk = slice(at, at + PAIRS_AT_A_TIME)
            i, j = pairs.i[chunk], pairs.j[chunk]
            s_i, s_j = (scores.index_select(0, rows).detach() for rows in (i, j))
            with torch.set_grad_enabled(ctx.needs_input_grad[0]):
                cost = _weighted(pair, s_i.requires_grad_(), s_j.requires_grad_(), pairs, chunk)
            values.index_add_(0, pairs.session.index_select(0, i), cost.detach())
            if ctx.needs_input_grad[0]:
                d_i, d_j = torch.autograd.grad(cost, (s_i, s_j), torch.ones_like(cost), materialize_grads=True)
                gradient.index_add_(0, i, d_i)
                from_j.index_add_(0, j, d_j)
        ctx.save_for_backward(scores, gradient + from_j)
        ctx.pairs, ctx.pair = pairs, pair
        return values

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None, None]:
        scores, gradient = ctx.saved_tensors
        if torch.is_grad_enabled():  # it will be differentiated once more, which takes the whole graph
            values = _in_one_graph(scores, ctx.pairs, ctx.pair)
            return torch.autograd.grad(values, scores, upstream, create_graph=True)[0], None, None
        return gradient * upstream.index_select(0, ctx.pairs.session), None, None


def _in_one_graph(scores: Tensor, pairs: SessionPairs, pair: PairFunction) -> Tensor:
    """The same in plain operations on all pairs at once: to be compiled, or differentiated twice."""
    s_i, s_j = scores.index_select(0, pairs.i), scores.index_select(0, pairs.j)
    cost = _weighted(pair, s_i, s_j, pairs, slice(None))
    return scores.new_zeros(pairs.n_sessions).index_add(0, pairs.session.index_select(0, pairs.i), cost)


def _weighted(pair: PairFunction, s_i: Tensor, s_j: Tensor, pairs: SessionPairs, chunk: slice) -> Tensor:
    """What each pair of rows contributes: a pair and its mirror image have the same ordered terms."""
    one_way = pair.l10(s_i, s_j)
    other_way = one_way if type(pair).l01 is PairFunction.l01 else pair.l01(s_j, s_i)
    cost = pairs.ordered[chunk] * (one_way + other_way)
    for coefficient, tied in ((pairs.both, pair.l11), (pairs.neither, pair.l00)):
        if coefficient is not None:
            cost = cost + coefficient[chunk] * tied(s_i, s_j)
    return cost


def _array(values: Any) -> Any:
    """What is on a device as an array; anything else as it is."""
    return values.detach().cpu().numpy() if isinstance(values, Tensor) else values


def _sizes(offsets: Any) -> Any:
    values = read_whole_numbers(offsets, "offsets", smallest=0, largest=np.iinfo(np.int32).max)
    if len(values) == 0 or values[0] != 0:
        raise InputError(f"offsets begin with {values[:1]}; the first must be 0 and the last the number of rows")
    return np.diff(values)

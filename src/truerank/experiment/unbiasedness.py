"""See for yourself: the click loss is biased, the unbiased loss is not.

The demo draws one set of result pages whose true relevance is known, simulates many click logs of them under each
examination model, and compares three losses of one and the same ranker: from the relevance (which nobody has), from
the clicks as they are, and from the clicks with the correction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truerank.examination import (
    Continuous,
    ExaminationModel,
    Independent,
    RowSkipping,
    Tabulated,
    geometric,
    inverse_rank,
)
from truerank.losses import UnbiasedPairwiseLoss
from truerank.ragged import list_order
from truerank.types import BoolArray, FloatArray

N_POSITIONS = 10


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over simulated click logs, with its standard error."""

    mean: float
    standard_error: float

    @classmethod
    def of(cls, values: FloatArray) -> Estimate:
        """The mean of independent values."""
        return cls(float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))))

    def errors_from(self, truth: float) -> float:
        """How many standard errors the mean is away from the truth."""
        return abs(self.mean - truth) / self.standard_error

    def __str__(self) -> str:
        """Mean ± standard error."""
        return f"{self.mean:7.3f} ± {self.standard_error:.3f}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The loss per page of one ranker under one examination model, told in three ways."""

    browsing: str
    truth: float
    naive: Estimate
    unbiased: Estimate


def browsing_models() -> dict[str, ExaminationModel]:
    """One model of each kind, over ten positions."""
    every = np.arange(1, N_POSITIONS + 1)
    grid = RowSkipping(gamma=0.3, continuation=0.9, row_lengths=[4, 4, 2])
    return {
        "independent": Independent(inverse_rank(N_POSITIONS)),
        "continuous": Continuous(inverse_rank(N_POSITIONS)),
        "row skipping": grid,
        "tabulated": Tabulated(
            geometric(N_POSITIONS, 0.2), Continuous(geometric(N_POSITIONS, 0.2)).joint(every[:, None], every)
        ),
    }


def compare_losses(n_pages: int = 100, n_logs: int = 4_000, seed: int = 0) -> list[Comparison]:
    """Simulate `n_logs` click logs of the same `n_pages` pages under each browsing model.

    The pages come from a system that already knows something: relevant items tend to stand higher, so what is looked
    at and what is relevant are not independent. The correction does not ask for that.
    """
    rng = np.random.default_rng(seed)
    relevance = rng.random((n_pages, N_POSITIONS)) < 0.3
    shown_first = np.argsort(-1.0 * relevance - rng.gumbel(size=relevance.shape), axis=1)
    relevance = np.take_along_axis(relevance, shown_first, axis=1)
    scores = relevance + rng.normal(size=relevance.shape)
    truth = loss_per_page(None, scores, relevance, 1)[0]
    results = []
    for browsing, model in browsing_models().items():
        examined = model.sample(n_pages * n_logs, N_POSITIONS, rng)
        clicks = examined & np.tile(relevance, (n_logs, 1))
        naive, unbiased = (Estimate.of(loss_per_page(m, scores, clicks, n_logs)) for m in (None, model))
        results.append(Comparison(browsing, float(truth), naive, unbiased))
    return results


def loss_per_page(model: ExaminationModel | None, scores: FloatArray, labels: BoolArray, n_logs: int) -> FloatArray:
    """The mean loss per page in each of the logs."""
    n_pages = len(scores)
    group = np.full(n_pages * n_logs, scores.shape[1])
    loss = UnbiasedPairwiseLoss(model)
    values = loss.session_values(np.tile(scores.ravel(), n_logs), labels.ravel(), list_order(group), group)
    means: FloatArray = values.reshape(n_logs, n_pages).mean(axis=1)
    return means


def main() -> None:
    """Print the comparison as a table."""
    n_pages, n_logs = 100, 4_000
    print(
        f"How wrong is a ranker? The pairwise loss of one ranker on {n_pages} result pages of {N_POSITIONS} items,\n"
        "three ways: from the true relevance, which nobody has; from clicks as they are, which miss whatever was not\n"
        f"looked at; and from the same clicks, corrected. Mean ± standard error over {n_logs:,} simulated click logs.\n"
    )
    print(f"{'how people look':<16}{'true loss':>10}{'clicks as they are':>22}{'clicks, unbiased':>22}")
    for row in compare_losses(n_pages, n_logs):
        print(f"{row.browsing:<16}{row.truth:>10.3f}{row.naive!s:>22}{row.unbiased!s:>22}")
    print(
        "\nThe clicks as they are tell another story; the unbiased loss agrees with the true one within a few\n"
        "standard errors, whatever the way people look, although no relevance was used to compute it."
    )


if __name__ == "__main__":
    main()

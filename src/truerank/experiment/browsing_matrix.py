"""Assumed × true browsing: what each case of the unbiased loss makes of clicks from each way of looking at a page.

First, how far from the true loss of one ranking each of them is; then, what is learned by them.

The paper derives a loss for independent, for continuous and for row-skipping browsing and says that a ranker may be
trained by gradient descent on them. Here linear and MLP rankers are: on clicks of people who browse in each of the
three ways, by each of the three losses and by the plain loss on the clicks.

All three ways look at each position equally often, so only P(examined together) tells them apart, which is what the
three losses differ in. Each world is a shop of its own, whose grid is logged in the order of one feature. How long to
train is chosen by golden labels of other lists, for every loss alike, so that nothing but the loss makes a difference.
A comparison is a paired t-test over worlds, corrected (Holm) for all comparisons of the table.

The whole takes some ten minutes on two cores: `python -m truerank.experiment.browsing_matrix`.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from truerank.datasets import generate_dataset
from truerank.datasets.shop import FEATURES
from truerank.examination import Continuous, ExaminationModel, Independent, RowSkipping
from truerank.experiment.unbiasedness import Estimate, loss_per_page
from truerank.metrics import ndcg
from truerank.metrics.significance import adjust_p_values, paired_t_test
from truerank.ragged import check_number, list_order
from truerank.rankers.torch import NeuralRanker
from truerank.simulate import simulate_clicks
from truerank.types import ClickSessions, FloatArray, JudgedLists, Splits

ROW_LENGTHS = (4, 4, 4)
N_POSITIONS = sum(ROW_LENGTHS)
RANKERS = {"linear": (), "MLP": (64, 32)}
NAIVE, GOLDEN = "none (naive)", "golden labels"


@dataclass(frozen=True, slots=True)
class Size:
    """How much of everything."""

    worlds: int = 10
    lists: int = 200
    sessions_per_list: int = 16
    test_lists: int = 500
    epochs: int = 200


@dataclass(frozen=True)
class Matrix:
    """NDCG@10 with golden labels: rankers, true browsing, losses, worlds."""

    rankers: tuple[str, ...]
    browsing: tuple[str, ...]
    losses: tuple[str, ...]
    values: FloatArray

    def p_values(self) -> FloatArray:
        """Of each loss against the one that is right, corrected for all of them; NaN for that one itself."""
        right = np.stack([self.values[:, b, self.losses.index(name)] for b, name in enumerate(self.browsing)], axis=1)
        p = paired_t_test(self.values - right[:, :, None])[0]
        compared = np.array([[loss not in (true, GOLDEN) for loss in self.losses] for true in self.browsing])
        everywhere = np.broadcast_to(compared, p.shape)
        corrected = np.full(p.shape, np.nan)
        corrected[everywhere] = adjust_p_values(p[everywhere], "holm", int(everywhere.sum()))
        return corrected

    def to_markdown(self) -> str:
        """A table for each ranker; * marks what differs significantly from the loss that is right, in bold."""
        p, means = self.p_values(), self.values.mean(axis=-1)
        lines = []
        for r, ranker in enumerate(self.rankers):
            lines += [f"| {ranker}: trained by | " + " | ".join(f"{b} clicks" for b in self.browsing) + " |"]
            lines += ["| --- " * (1 + len(self.browsing)) + "|"]
            for k, loss in enumerate(self.losses):
                cells = [_cell(means[r, b, k], loss == true, p[r, b, k]) for b, true in enumerate(self.browsing)]
                lines.append(f"| {loss} | " + " | ".join(cells) + " |")
            lines.append("")
        return "\n".join(lines)


def _cell(value: float, is_right: bool, p_value: float) -> str:
    return f"**{value:.4f}**" if is_right else f"{value:.4f}" + ("*" if p_value < 0.05 else "")


def browsing_models() -> dict[str, ExaminationModel]:
    """Three ways to look at a grid of three rows of four, which share P(examined) at each position.

    People skip three rows in ten; after an item nine in ten go on, after a row every other.
    """
    row_skipping = RowSkipping(0.3, np.tile([0.9, 0.9, 0.9, 0.5], len(ROW_LENGTHS)), ROW_LENGTHS)
    theta = row_skipping.marginal(np.arange(1, N_POSITIONS + 1))
    return {"independent": Independent(theta), "continuous": Continuous(theta), "row-skipping": row_skipping}


def run_matrix(size: Size | None = None, pair: str = "ranknet", bound: str | None = "clip", seed: int = 0) -> Matrix:
    """Train everything in every world; a line to stderr tells when a world is done."""
    size = size or Size()
    check_number(size.worlds, "worlds", 2, whole=True)
    worlds = []
    for number in range(size.worlds):
        worlds.append(_one_world(size, pair, bound, seed + number))
        print(f"world {number + 1} of {size.worlds}", file=sys.stderr, flush=True)
    losses = (NAIVE, *browsing_models(), GOLDEN)
    return Matrix(tuple(RANKERS), tuple(browsing_models()), losses, np.stack(worlds, axis=-1))


def _one_world(size: Size, pair: str, bound: str | None, seed: int) -> FloatArray:
    """NDCG@10 by ranker, true browsing and loss."""
    parts = generate_dataset("shop", (size.lists, max(size.lists // 2, 1), size.test_lists), seed)
    train = Training(_as_shown(parts.train), parts, size.epochs, pair, bound, seed)
    models = browsing_models()
    values = np.empty((len(RANKERS), len(models), 2 + len(models)))
    for b, true in enumerate(models.values()):
        clicks = simulate_clicks(
            train.shown, true, size.sessions_per_list, seed, relevance="linear", max_grade=4, require_click=False
        )
        for r, hidden in enumerate(RANKERS.values()):
            for k, assumed in enumerate((None, *models.values())):
                values[r, b, k] = train.on_clicks(hidden, clicks, assumed)
    for r, hidden in enumerate(RANKERS.values()):
        values[r, :, -1] = train.on_labels(hidden)
    return values


@dataclass(frozen=True)
class Training:
    """What all rankers of a world share; its methods train one and give its NDCG@10 on the test lists."""

    shown: JudgedLists
    parts: Splits
    epochs: int
    pair: str
    bound: str | None
    seed: int

    def on_clicks(self, hidden: tuple[int, ...], log: ClickSessions, assumed: ExaminationModel | None) -> float:
        """By the unbiased loss under an examination model, or by the plain one."""
        rows = {"group": log.group, "position": log.positions, "query": log.query, "item": log.item}
        return self._quality(hidden, assumed, self.shown.X[log.item], log.clicks, rows)

    def on_labels(self, hidden: tuple[int, ...]) -> float:
        """By the plain loss on golden labels, which nobody has."""
        return self._quality(hidden, None, self.shown.X, self.shown.labels, {"group": self.shown.group})

    def _quality(
        self, hidden: tuple[int, ...], examination: ExaminationModel | None, X: Any, labels: Any, rows: dict[str, Any]
    ) -> float:
        ranker = NeuralRanker(
            "unbiased",
            examination,
            pair=self.pair,
            bound=self.bound,
            hidden=hidden,
            epochs=self.epochs,
            early_stopping_rounds=20,
            random_state=self.seed,
        )
        valid, test = self.parts.valid, self.parts.test
        if valid is not None:
            rows |= {"eval_set": (valid.X, valid.labels), "eval_group": [valid.group], "eval_labels": "judgments"}
        ranker.fit(X, labels, **rows)
        return float(np.nanmean(ndcg(ranker.predict(test.X), test.labels, test.group)))


@dataclass(frozen=True)
class Losses:
    """The loss per page of one ranking: the true one, and what each loss on clicks says, for each true browsing."""

    truth: float
    estimates: dict[str, dict[str, Estimate]]

    def to_markdown(self) -> str:
        """A table, in shares of the true loss; that of the loss that is right in bold."""
        lines = ["| estimated by | " + " | ".join(f"{b} clicks" for b in self.estimates) + " |"]
        lines += ["| --- " * (1 + len(self.estimates)) + "|"]
        for loss in next(iter(self.estimates.values())):
            cells = []
            for true, by_loss in self.estimates.items():
                mean, error = by_loss[loss].mean / self.truth, by_loss[loss].standard_error / self.truth
                cells.append(f"**{mean:.3f}** ± {error:.3f}" if loss == true else f"{mean:.3f} ± {error:.3f}")
            lines.append(f"| {loss} | " + " | ".join(cells) + " |")
        return "\n".join(lines) + "\n"


def estimate_losses(n_pages: int = 50, n_logs: int = 400, seed: int = 0) -> Losses:
    """The RankNet loss of the logged order, by each loss from simulated click logs of each browsing."""
    rng = np.random.default_rng(seed)
    relevance = rng.random((n_pages, N_POSITIONS)) < np.linspace(0.5, 0.15, N_POSITIONS)
    scores = np.tile(np.linspace(1, -1, N_POSITIONS), (n_pages, 1))
    truth = loss_per_page(None, scores, relevance, 1)[0]
    models = browsing_models()
    estimates: dict[str, dict[str, Estimate]] = {}
    for browsing, true in models.items():
        clicks = true.sample(n_pages * n_logs, N_POSITIONS, rng) & np.tile(relevance, (n_logs, 1))
        estimates[browsing] = {
            loss: Estimate.of(loss_per_page(assumed, scores, clicks, n_logs))
            for loss, assumed in ((NAIVE, None), *models.items())
        }
    return Losses(float(truth), estimates)


def _as_shown(judged: JudgedLists) -> JudgedLists:
    """The top of each list as a shop logs it that ranks by one feature."""
    by = judged.X[:, FEATURES.index("text_match")]
    order = np.lexsort((-by, np.repeat(np.arange(judged.n_lists), judged.group)))
    top = order[list_order(judged.group) <= N_POSITIONS]
    group = np.minimum(judged.group, N_POSITIONS)
    return JudgedLists(judged.X[top], judged.labels[top], group, judged.query)


def main() -> None:
    """Run it and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m truerank.experiment.browsing_matrix", description=__doc__)
    usual = Size()
    parser.add_argument("--worlds", type=int, default=usual.worlds, help="how many generated shops")
    parser.add_argument("--lists", type=int, default=usual.lists, help="how many lists of each are logged")
    parser.add_argument("--sessions", type=int, default=usual.sessions_per_list, help="how often each list is shown")
    parser.add_argument("--pair", default="ranknet", help="the pair function")
    parser.add_argument("--bound", default="clip", help="clip, nonnegative, nonnegative_session or none")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    size = Size(given.worlds, given.lists, given.sessions)
    bound = None if given.bound == "none" else given.bound
    print(estimate_losses().to_markdown())
    print(run_matrix(size, given.pair, bound, given.seed).to_markdown())


if __name__ == "__main__":
    main()

"""θ with relevance as a gradient-boosted function of features: regression-EM, one step of EM a tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import lightgbm as lgb
import numpy as np
import numpy.typing as npt

from truerank.errors import IdentificationError
from truerank.propensity.cells import Cells
from truerank.types import BoolArray, FloatArray

DEFAULTS = {
    "learning_rate": 0.1,
    "num_leaves": 15,
    "min_data_in_leaf": 20,
    "lambda_l2": 1.0,
    "max_bin": 255,
    "verbosity": -1,
    "deterministic": True,
    "force_row_wise": True,
    "seed": 0,
}
_MOST_TREES = 500
_PATIENCE = 20
_BEYOND = 1.5
"""More trees than predict best: what relevance leaves unexplained is a bias of θ, and costs more than its noise."""
_FAINT = 1e-4
_LARGEST = 1 - 1e-6


@dataclass(frozen=True, eq=False)
class BoostedFit:
    """log θ relative to position 1, how many trees the relevance has, and r of every item."""

    log_theta: FloatArray
    n_trees: int
    relevance: FloatArray


def boosted(
    cells: Cells,
    features: npt.NDArray[Any],
    parameters: dict[str, Any],
    n_trees: int | None,
    *,
    held_out: BoolArray,
    weight: FloatArray,
) -> BoostedFit:
    """Maximise Σ_g Σ_k C log(θ_k r(x_g)) + (N − C) log(1 − θ_k r(x_g)) over θ and trees for logit r.

    EM would fit a whole model of relevance each round. One tree a round is enough for the likelihood to rise (a
    generalised EM): its gradient is that of the likelihood, its curvature that of EM's surrogate, r (1 − r) times the
    expected examinations; θ then takes a Newton step. How many trees: half as many again as make the likelihood of
    items `held_out` best; then all items are fitted with as many, each counting by its `weight`.
    """
    if n_trees is None:
        n_trees = round(_BEYOND * _best_number(cells, features, parameters, held_out))
    fit = _Boosting(cells, features, parameters, weight)
    for _ in range(n_trees):
        fit.step()
    fit.finish()
    return BoostedFit(fit.log_theta - fit.log_theta[0], n_trees, fit.relevance)


def _best_number(cells: Cells, features: npt.NDArray[Any], parameters: dict[str, Any], held_out: BoolArray) -> int:
    fit = _Boosting(cells, features, parameters, np.where(held_out, 0.0, 1.0))
    best, best_value = 0, -np.inf
    for round_ in range(1, _MOST_TREES + 1):
        fit.step()
        value = fit.log_likelihood(held_out)  # before the tree that was just added
        if value > best_value:
            best, best_value = round_ - 1, value
        elif round_ > best + _PATIENCE:
            break
    return best


class _Boosting:
    """The state between rounds: θ, and the logit of each item's relevance."""

    def __init__(
        self,
        cells: Cells,
        features: npt.NDArray[Any],
        parameters: dict[str, Any],
        weight: FloatArray,
    ) -> None:
        self._cells, self._item = cells, cells.item
        of_cells = weight[self._item]
        self._clicks, self._misses = cells.clicks * of_cells, (cells.impressions - cells.clicks) * of_cells
        _, self._place = np.unique(cells.place, return_inverse=True)
        self._n = int(self._place.max()) + 1
        clicks, shown = (np.bincount(self._place, c, self._n) for c in (self._clicks, self._clicks + self._misses))
        if not (clicks > 0).all():
            raise IdentificationError("some position has no click among the lists that are learned from")
        # θ_1 moves as well, until the end: the level of θ r is then right from the first tree on
        self.log_theta: FloatArray = np.zeros(self._n)
        rate = float(clicks.sum() / shown.sum())
        self._start = np.log(rate / (1 - rate))
        self._features = features
        self._score = np.full(cells.n_items, self._start)
        data = lgb.Dataset(
            features, label=np.zeros(cells.n_items), init_score=self._score, free_raw_data=False, params=parameters
        )
        self._booster = lgb.Booster({**DEFAULTS, **parameters, "objective": "none"}, data)
        self._settle()

    @property
    def relevance(self) -> FloatArray:
        """r of every item."""
        r: FloatArray = 1 / (1 + np.exp(-self._score))
        return r

    def step(self) -> None:
        """θ for the trees so far, and one more tree."""
        self._booster.update(fobj=self._slopes)

    def finish(self) -> None:
        """θ at the maximum for all the trees."""
        self._score = self._start + self._booster.predict(self._features, raw_score=True)
        self._settle()

    def _settle(self) -> None:
        for _ in range(50):
            if self._newton() < 1e-10:
                break

    def log_likelihood(self, chosen: BoolArray) -> float:
        """Of some items, whatever their weight."""
        cells, p = self._cells, self._chance()
        values = cells.clicks * np.log(p) + (cells.impressions - cells.clicks) * np.log1p(-p)
        return float(values[chosen[self._item]].sum())

    def _chance(self) -> FloatArray:
        return np.minimum(np.exp(self.log_theta)[self._place] * self.relevance[self._item], _LARGEST)

    def _slopes(self, scores: FloatArray, _data: Any) -> tuple[FloatArray, FloatArray]:
        self._score = scores.copy()
        self._newton()
        p, r = self._chance(), self.relevance
        pull = self._cells.item_sums(self._clicks - self._misses * p / (1 - p))
        theta = np.exp(self.log_theta)[self._place]
        seen = self._clicks + self._misses * np.maximum(theta - p, 0) / (1 - p)
        curvature = r * (1 - r) * (self._cells.item_sums(seen) + _FAINT)
        return -pull * (1 - r), curvature

    def _newton(self) -> float:
        p = self._chance()
        odds = self._misses * p / (1 - p)
        slope = np.bincount(self._place, self._clicks - odds, self._n)
        bend = np.bincount(self._place, odds / (1 - p), self._n)
        step = np.clip(slope / np.maximum(bend, 1e-12), -0.5, 0.5)
        self.log_theta = self.log_theta + step
        return float(np.abs(step).max())

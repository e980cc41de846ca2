"""Features in LightGBM's bins: made once, trained on many times."""

from __future__ import annotations

import os
from typing import Any

import lightgbm
import numpy as np

from truerank.atomic import replace_whole
from truerank.rankers.features import table_shape


class BinnedFeatures:
    """A feature table as LightGBM trains on it, for `LambdaMARTRanker.fit_pairs` in place of X.

    Putting features into bins can take as long as dozens of trees; models that differ only in their pairs share it.

    Args:
        X: one row of features for each row of the pairs.
        booster_params: LightGBM's parameters, the same that the rankers are to be given.
    """

    def __init__(self, X: Any, **booster_params: Any) -> None:
        params = _quiet(booster_params)
        self.shape = table_shape(X)
        self.dataset = lightgbm.Dataset(X, label=np.zeros(self.shape[0]), params=params).construct()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write LightGBM's binary file."""
        with replace_whole(path) as temporary:
            self.dataset.save_binary(temporary)

    @classmethod
    def load(cls, path: str | os.PathLike[str], **booster_params: Any) -> BinnedFeatures:
        """Read what `save` wrote; the parameters are those it was made with."""
        loaded = cls.__new__(cls)
        loaded.dataset = lightgbm.Dataset(os.fspath(path), params=_quiet(booster_params)).construct()
        loaded.shape = (loaded.dataset.num_data(), loaded.dataset.num_feature())
        return loaded


def _quiet(params: dict[str, Any]) -> dict[str, Any]:
    return {"verbosity": -1, **params}

"""LightGBM's own lambdarank with its own position correction, as a row to compare with."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
import numpy.typing as npt

from truerank.errors import ResourceError
from truerank.experiment.config import Config
from truerank.experiment.prepared import Prepared, booster_params
from truerank.types import ClickSessions, FloatArray

_BYTES_A_ROW = 64
_MOST_BYTES = 8 * 2**30
"""What fits beside everything else into 12 GiB."""


def peer_scores(config: Config, prepared: Prepared, seed: int, log: ClickSessions, bins: Any) -> FloatArray:
    """Train `lambdarank` on the log, a row for each item of each session, and score the test lists.

    The bins are those of the lists; `min_data_in_leaf` counts rows of the log, as configured. One thread: LightGBM adds
    up its position factors thread by thread, so that the bits would depend on how many there are.
    """
    features = np.load(prepared.features_file, mmap_mode="r")
    params: dict[str, Any] = booster_params(config) | {
        "objective": "lambdarank",
        "lambdarank_truncation_level": config.booster["truncation_level"],
        "seed": seed,
        "num_threads": 1,
        "verbosity": -1,
    }
    data = lightgbm.Dataset(
        _Rows(features, log.item),
        label=log.clicks,
        group=log.group,
        position=log.positions,
        reference=bins.dataset,
        params=params,
    )
    data.construct()
    params["min_data_in_leaf"] = config.booster["min_data_in_leaf"]
    booster = lightgbm.train(params, data)
    scores: FloatArray = booster.predict(prepared.test.X, num_threads=1)
    return scores


class _Rows(lightgbm.Sequence):  # type: ignore[misc]
    """The features of each row of a log, looked up when they are asked for."""

    batch_size = 65_536

    def __init__(self, features: Any, rows: npt.NDArray[Any]) -> None:
        self._features, self._rows = features, rows

    def __getitem__(self, index: Any) -> Any:
        return np.asarray(self._features[self._rows[index]], dtype=np.float64)

    def __len__(self) -> int:
        return len(self._rows)


def refuse_too_large(n_rows: int, n_features: int, at_a_time: int = 1) -> None:
    """Refuse logs whose rows do not fit into memory; `n_rows` is of all those that are trained on at a time."""
    needed = n_rows * (n_features + _BYTES_A_ROW)
    if needed > _MOST_BYTES:
        models, fewer = (f" ({at_a_time} models at a time)", "jobs, ") if at_a_time > 1 else ("", "")
        raise ResourceError(
            f"lightgbm-position trains on the log session by session: {n_rows:,} rows of {n_features} features{models} "
            f"need about {needed / 2**30:.0f} GiB. Hint: fewer {fewer}lists or sessions_per_list, or leave it out of "
            "methods"
        )

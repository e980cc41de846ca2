"""What all cells of an experiment share, kept on disk: logged lists, features in bins, the test lists, one hash."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from truerank.atomic import replace_whole
from truerank.errors import InputError
from truerank.experiment.config import GIVEN, Config
from truerank.experiment.initial_ranking import initial_ranking
from truerank.experiment.methods import METHODS, Peer
from truerank.experiment.sources import row_places
from truerank.ragged import offsets_from_sizes
from truerank.types import IntArray, JudgedLists

_LISTS = ("labels", "group", "query")
_LIGHTGBM_ROWS_A_BIN = 3


@dataclass(frozen=True, slots=True)
class Prepared:
    """The data of an experiment without the features to train on, which are in bins in `folder`."""

    folder: Path
    train: JudgedLists
    test: JudgedLists
    hash: str

    def binned_file(self, truncation: int) -> Path:
        """LightGBM's file of the rows shown when lists are cut at a position."""
        return self.folder / f"binned-{truncation}-{self.hash}.bin"

    @property
    def features_file(self) -> Path:
        """All features to train on, for methods that take the log session by session."""
        return self.folder / f"train-{self.hash}.npy"


def shown_lists(judged: JudgedLists, truncation: int) -> tuple[JudgedLists, IntArray]:
    """Each list cut at a position; those without a relevant item above the cut are dropped. Also their rows.

    X is left whole: the features of what is shown are `judged.X[rows]`.
    """
    kept = row_places(judged) < truncation
    n_relevant = np.add.reduceat((judged.labels > 0) & kept, offsets_from_sizes(judged.group)[:-1])
    with_relevant = n_relevant > 0
    if not with_relevant.any():
        raise InputError(f"no list has a relevant item among the first {truncation}, so no click can be simulated")
    rows = np.flatnonzero(kept & np.repeat(with_relevant, judged.group))
    group = np.minimum(judged.group, truncation)[with_relevant]
    return JudgedLists(None, judged.labels[rows], group, judged.query[with_relevant]), rows


def load_logged(config: Config) -> tuple[JudgedLists, JudgedLists]:
    """The lists to train on, in the order in which they are logged, and those to test on."""
    train, test = config.dataset.load()
    _check_parts(train, test)
    if config.initial_ranking.source != GIVEN:
        train = initial_ranking(train, config.initial_ranking.share, config.initial_ranking.seed)
    return train, test


def _check_parts(train: JudgedLists, test: JudgedLists) -> None:
    """Refuse at once what would fail only after training: other features to test on, or too few lists."""
    if train.X.shape[1] != test.X.shape[1]:
        raise InputError(
            f"the lists to train on have {train.X.shape[1]} features and those to test on have {test.X.shape[1]}; both "
            "need the same ones. Hint: are both from the same data set, in the same layout?"
        )
    relevant = np.repeat(np.arange(test.n_lists), test.group)[test.labels > 0]
    n_relevant = len(np.unique(relevant))
    if n_relevant < 2:
        raise InputError(
            f"{n_relevant} of {test.n_lists} lists to test on have a relevant item (a label above 0); a comparison "
            "needs at least two such lists. Hint: test on more lists"
        )


def prepare(
    config: Config, logged: tuple[JudgedLists, JudgedLists], data_hash: str, truncations: Collection[int], folder: Path
) -> Prepared:
    """Keep in `folder` what the cells of these truncation positions need of the data."""
    from truerank.rankers.lightgbm_binned import BinnedFeatures

    folder.mkdir(parents=True, exist_ok=True)
    train, test = logged
    prepared = Prepared(folder, _without_features(train), test, data_hash)
    for truncation in truncations:
        file = prepared.binned_file(truncation)
        if not file.exists():
            _, rows = shown_lists(train, truncation)
            BinnedFeatures(train.X[rows], **booster_params(config)).save(file)
    if truncations and any(isinstance(METHODS[name], Peer) for name in config.methods):
        _save_array(prepared.features_file, train.X)
    return prepared


def booster_params(config: Config) -> dict[str, Any]:
    """LightGBM's parameters for a table that holds each list once, where the paper's holds each session.

    50 rows of a log that repeats each list 16 times are 50/16 rows of the lists themselves, rounded up, since leaves of
    the log grow by 16 rows at a time; the three rows that LightGBM wants in a bin are a part of one. Hessians are sums
    over all sessions either way. What differs is bagging: it leaves out items, not single impressions of them.
    """
    params: dict[str, Any] = dict(config.booster)
    params.pop("truncation_level")
    for name, of_log in (("min_data_in_leaf", params["min_data_in_leaf"]), ("min_data_in_bin", _LIGHTGBM_ROWS_A_BIN)):
        params[name] = -(-of_log // config.sessions_per_list)
    return params | {"deterministic": True, "force_col_wise": True}


def save_for_workers(prepared: Prepared) -> None:
    """Write what workers need and can share in memory."""
    _save_array(prepared.folder / f"test-{prepared.hash}.npy", prepared.test.X)
    lists = prepared.folder / f"lists-{prepared.hash}.npz"
    parts = {"train": prepared.train, "test": prepared.test}
    with replace_whole(lists) as temporary:
        np.savez(temporary, **{f"{p}_{name}": getattr(parts[p], name) for p in parts for name in _LISTS})


def load_in_worker(folder: Path, data_hash: str) -> Prepared:
    """Read what `save_for_workers` wrote; the test features are mapped, not copied."""
    X = np.load(folder / f"test-{data_hash}.npy", mmap_mode="r")
    with np.load(folder / f"lists-{data_hash}.npz", allow_pickle=False) as archive:
        train, test = (JudgedLists(None, *(archive[f"{part}_{name}"] for name in _LISTS)) for part in ("train", "test"))
    return Prepared(folder, train, JudgedLists(X, test.labels, test.group, test.query), data_hash)


def _save_array(path: Path, array: Any) -> None:
    if not path.exists():
        with replace_whole(path) as temporary:
            np.save(temporary, array)


def _without_features(judged: JudgedLists) -> JudgedLists:
    return JudgedLists(None, judged.labels, judged.group, judged.query)


def hash_of(*parts: JudgedLists) -> str:
    """BLAKE2b over everything in the lists, in the logged order."""
    found = hashlib.blake2b(digest_size=12)
    for judged in parts:
        dense = not hasattr(judged.X, "indptr")
        features = (judged.X,) if dense else (judged.X.data, judged.X.indices, judged.X.indptr)
        for array in (*features, judged.labels, judged.group, judged.query):
            array = np.ascontiguousarray(array)
            found.update(f"{array.dtype.str} {array.shape}".encode())
            found.update(array.data if array.dtype.kind != "O" else repr(array.tolist()).encode())
    return found.hexdigest()

"""The cells of an experiment: one model each, trained, asked for its scores of the test lists, and kept."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from truerank.atomic import replace_whole
from truerank.errors import InputError
from truerank.experiment.browsing import Browsing
from truerank.experiment.config import Config
from truerank.experiment.methods import METHODS, Method, Peer, pairs_of_clicks, pairs_of_labels
from truerank.experiment.prepared import Prepared, booster_params, shown_lists
from truerank.pairs import PairWeights
from truerank.simulate import simulate_clicks
from truerank.types import ClickSessions, FloatArray


@dataclass(frozen=True, slots=True)
class Cell:
    """One model: how people browse (no matter for labels), where lists are cut, the method, and the seed."""

    truncation: int
    browsing: str | None
    method: str
    seed: int

    @property
    def name(self) -> str:
        """A name that can be that of a file."""
        return "-".join(map(str, (self.truncation, self.browsing or "judged", self.method, self.seed)))


def cells_of(config: Config) -> Iterator[Cell]:
    """All cells, those that share most next to each other; what learns from labels is there once."""
    for truncation in config.truncation_positions:
        for seed in config.seeds:
            for browsing in config.browsing:
                for method in config.methods:
                    cell = cell_for(truncation, browsing.name, method, seed)
                    if cell.browsing is not None or browsing is config.browsing[0]:
                        yield cell


def cell_for(truncation: int, browsing: str, method: str, seed: int) -> Cell:
    """The cell that a place in the tables shows."""
    return Cell(truncation, None if METHODS[method].learns_from_labels else browsing, method, seed)


@dataclass(frozen=True, slots=True)
class Trained:
    """The scores that a model gives the rows of the test lists, and what it took.

    `peak_megabytes` is the most memory that the process held until then, 0 where the system does not tell.
    """

    scores: FloatArray
    seconds: float
    cpu_seconds: float
    peak_megabytes: float = 0.0


def _peak_megabytes() -> float:
    try:
        import resource
    except ImportError:  # not on Windows
        return 0.0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


class Workshop:
    """Where a process trains cells one after another, keeping at hand what the next is likely to share."""

    def __init__(self, config: Config, prepared: Prepared, threads: int) -> None:
        self._config, self._prepared, self._threads = config, prepared, threads
        self._features: dict[int, Any] = {}
        self._sessions: dict[tuple[int, str, int], ClickSessions] = {}

    def train(self, cell: Cell) -> Trained:
        """Train the model of a cell and let it score the test lists."""
        began, cpu = time.perf_counter(), time.process_time()
        method = METHODS[cell.method]
        if isinstance(method, Peer):
            from truerank.experiment.lightgbm_peer import peer_scores

            log, features = self.sessions_of(cell), self._features_of(cell.truncation)
            scores = peer_scores(self._config, self._prepared, cell.seed, log, features)
        else:
            scores = self._own_scores(cell, method)
        return Trained(scores, time.perf_counter() - began, time.process_time() - cpu, _peak_megabytes())

    def _own_scores(self, cell: Cell, method: Method) -> FloatArray:
        from truerank.rankers.lightgbm import LambdaMARTRanker

        examination = self._browsing(cell).model if method.knows_examination else None
        ranker = LambdaMARTRanker(
            method.method,
            examination,
            truncation=int(self._config.booster["truncation_level"]),
            **method.ranker,
            **booster_params(self._config),
            seed=cell.seed,
            num_threads=self._threads,
        )
        ranker.fit_pairs(self._features_of(cell.truncation), self.pairs_of(cell, method))
        return ranker.predict(self._prepared.test.X, num_threads=self._threads)

    def pairs_of(self, cell: Cell, method: Method) -> PairWeights:
        """The weighted pairs of a cell, over the rows whose features are in bins."""
        shown, rows = shown_lists(self._prepared.train, cell.truncation)
        if method.learns_from_labels:
            return pairs_of_labels(shown, self._config.sessions_per_list)
        pairs = pairs_of_clicks(method, self.sessions_of(cell), self._browsing(cell).model)
        if pairs.item is None or not np.array_equal(pairs.item, rows):
            raise InputError("the lists of the log are not those whose features are in bins")
        return pairs

    def _browsing(self, cell: Cell) -> Browsing:
        return next(browsing for browsing in self._config.browsing if browsing.name == cell.browsing)

    def _features_of(self, truncation: int) -> Any:
        from truerank.rankers.lightgbm_binned import BinnedFeatures

        if truncation not in self._features:
            file = self._prepared.binned_file(truncation)
            self._features = {truncation: BinnedFeatures.load(file, **booster_params(self._config))}
        return self._features[truncation]

    def sessions_of(self, cell: Cell) -> ClickSessions:
        """Click = relevance × examination, redrawn until there is a click; the seed of the cell decides."""
        browsing = self._browsing(cell)
        key = (cell.truncation, browsing.name, cell.seed)
        if key not in self._sessions:
            train, repeats = self._prepared.train, self._config.sessions_per_list
            log = simulate_clicks(
                train.labels, browsing.model, repeats, cell.seed, group=train.group, at=cell.truncation
            )
            self._sessions = {key: log}
        return self._sessions[key]


class Shelf:
    """The folder in which finished cells are kept, each in a file written whole, with its manifest inside."""

    def __init__(self, folder: Path, manifest: dict[str, Any], n_rows: int) -> None:
        self.folder, self._manifest, self._n_rows = folder, manifest, n_rows

    def keep(self, cell: Cell, trained: Trained) -> None:
        """Write a finished cell."""
        self.folder.mkdir(parents=True, exist_ok=True)
        took = {name: round(getattr(trained, name), 3) for name in ("seconds", "cpu_seconds", "peak_megabytes")}
        manifest = {"cell": asdict(cell), "took": took, **self._manifest}
        with replace_whole(self._path(cell)) as temporary:
            np.savez(temporary, scores=trained.scores, manifest=np.array(json.dumps(manifest)))

    def find(self, cell: Cell) -> Trained | None:
        """A finished cell, or None if it is not there, damaged, or of another experiment."""
        try:
            with np.load(self._path(cell), allow_pickle=False) as archive:
                scores, manifest = archive["scores"], json.loads(str(archive["manifest"]))
        except FileNotFoundError:
            return None
        except Exception:  # a damaged archive fails in zipfile, zlib, json or numpy, each in its own way
            return None
        took = manifest.pop("took", {})
        if manifest != {"cell": asdict(cell), **self._manifest} or scores.shape != (self._n_rows,):
            return None
        return Trained(scores, **took)

    def _path(self, cell: Cell) -> Path:
        return self.folder / f"{cell.name}.npz"

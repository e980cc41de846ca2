import gzip
from pathlib import Path

import numpy as np
import pytest
from generated import World, world

EXAMPLE = Path(__file__).parents[3] / "shared" / "data" / "lightgbm_rank"


@pytest.fixture(scope="session")
def shop() -> World:
    return world()


@pytest.fixture(scope="session")
def lightgbm_example():
    """LightGBM's ranking example: training features, labels, group; then the same for testing."""
    if not EXAMPLE.exists():
        pytest.skip(f"LightGBM's ranking example is not at {EXAMPLE}")
    from sklearn.datasets import load_svmlight_file

    parts = []
    for name in ("train", "test"):
        with gzip.open(EXAMPLE / f"{name}.txt.gz") as file:
            X, y, qid = load_svmlight_file(file, query_id=True, n_features=300)
        parts += [X, y, np.unique(qid, return_counts=True)[1]]
    return parts

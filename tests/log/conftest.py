"""One engine for all tests of logs, and a generator."""

from __future__ import annotations

import numpy as np
import pytest

from truerank.log.duckdb import connect


@pytest.fixture(scope="session")
def engine():
    return connect(threads=2)


@pytest.fixture
def rng():
    return np.random.default_rng(5)

"""The examination models that the shared property suite runs over: a model added here gets every test for free."""

import numpy as np
import pytest

from truerank import Continuous, Independent, RowSkipping, Tabulated, geometric, inverse_rank


def table_of(model):
    k = np.arange(1, model.n_positions + 1)
    return Tabulated(model.marginal(k), model.joint(k[:, None], k))


BUILT = {
    "independent": Independent(inverse_rank(6)),
    "independent-not-monotone": Independent([0.3, 0.9, 1.0, 0.5]),
    "continuous": Continuous(geometric(6, stop=0.3)),
    "continuous-with-plateau": Continuous([1.0, 0.6, 0.6, 0.1]),
    "rows-equal": RowSkipping(gamma=0.3, continuation=0.8, row_lengths=[3, 3]),
    "rows-unequal-ragged-end": RowSkipping(gamma=0.3, continuation=0.6, row_lengths=[2, 3, 1]),
    "rows-ragged-patterns": RowSkipping(gamma=0.3, continuation=0.6, row_lengths=[2, 3, 2]),
    "rows-continuation-per-position": RowSkipping(0.2, [0.9, 0.5, 1.0, 0.7, 0.6], row_lengths=[2, 3]),
    "rows-never-skipped": RowSkipping(gamma=0.0, continuation=0.7, row_lengths=[2, 2, 1]),
    "rows-only-one": RowSkipping(gamma=0.4, continuation=0.7, row_lengths=[4]),
    "rows-of-one": RowSkipping(gamma=0.4, continuation=0.7, row_lengths=[1, 1, 1, 1]),
    "independent-one-position": Independent([0.4]),
    "continuous-one-position": Continuous([1.0]),
    "rows-one-position": RowSkipping(gamma=0.4, continuation=0.7, row_lengths=[1]),
}
MODELS = BUILT | {f"table-of-{name}": table_of(model) for name, model in BUILT.items()}


@pytest.fixture(params=MODELS.values(), ids=MODELS.keys())
def model(request):
    return request.param


@pytest.fixture
def positions(model):
    """Every position the model knows."""
    return np.arange(1, model.n_positions + 1)


@pytest.fixture
def theta(model, positions):
    return model.marginal(positions)


@pytest.fixture
def psi(model, positions):
    """p_ij of every pair of positions, as a square table."""
    return model.joint(positions[:, None], positions)


@pytest.fixture(name="table_of")
def table_of_fixture():
    return table_of

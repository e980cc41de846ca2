"""The examination models and pair functions that the loss suite runs over, and sessions to run them on."""

from typing import NamedTuple

import numba
import numpy as np
import pytest

from truerank import (
    Continuous,
    Hinge,
    Independent,
    Jet,
    PairFunction,
    Ramp,
    RankNet,
    RankNetWithTies,
    RowSkipping,
    Sigmoid,
    Square,
    Tabulated,
    geometric,
    inverse_rank,
)
from truerank.losses import SquaredHinge

N_POSITIONS = 15


class TwoKindsOfPeople:
    """A user's own examination: half of the people see everything, the others each position independently."""

    theta = inverse_rank(N_POSITIONS)

    def marginal(self, positions):
        return (1 + self.theta[np.asarray(positions) - 1]) / 2

    def joint(self, positions_i, positions_j):
        i, j = np.asarray(positions_i) - 1, np.asarray(positions_j) - 1
        return (1 + np.where(i == j, self.theta[i], self.theta[i] * self.theta[j])) / 2

    def sample(self, n_sessions, n_positions, rng):
        everything = rng.random((n_sessions, 1)) < 0.5
        return everything | (rng.random((n_sessions, n_positions)) < self.theta[:n_positions])


class Exponential(PairFunction):
    """A user's own pair function: ℓ10 = exp(−(s_i − s_j) / 2), the rest by default."""

    def l10(self, s_i, s_j):
        cost = np.exp((s_j - s_i) / 2)
        return Jet.of_difference(cost, -cost / 2, cost / 4)


class Lopsided(PairFunction):
    """A user's own pair function that no difference of scores gives, with all four terms, none symmetric."""

    def l10(self, s_i, s_j):
        return Jet(s_i**2 * s_j - 3 * s_i, 2 * s_i * s_j - 3, s_i**2, 2 * s_j, 0 * s_j, 2 * s_i)

    def l01(self, s_i, s_j):
        u, v = np.sin(s_i), np.exp(s_j / 2)
        return Jet(u * v, np.cos(s_i) * v, u * v / 2, -u * v, u * v / 4, np.cos(s_i) * v / 2)

    def l11(self, s_i, s_j):
        return Jet(s_i * s_j**2, s_j**2, 2 * s_i * s_j, 0 * s_i, 2 * s_i, 2 * s_j)

    def l00(self, s_i, s_j):
        cost = np.exp((s_i + 2 * s_j) / 4)
        return Jet(cost, cost / 4, cost / 2, cost / 16, cost / 4, cost / 8)


_ROWS = RowSkipping(gamma=0.3, continuation=0.85, row_lengths=[4, 4, 4, 3])
_K = np.arange(1, N_POSITIONS + 1)
MODELS = {
    "independent": Independent(inverse_rank(N_POSITIONS, power=0.7)),
    "continuous": Continuous(geometric(N_POSITIONS, stop=0.15)),
    "row_skipping": _ROWS,
    "row_skipping-ragged": RowSkipping(0.2, np.linspace(0.95, 0.8, N_POSITIONS), row_lengths=[2, 5, 3, 4, 1]),
    "table": Tabulated(_ROWS.marginal(_K), _ROWS.joint(_K[:, None], _K)),
    "users_own": TwoKindsOfPeople(),
}
BUILT_IN_PAIRS = {
    "ranknet": RankNet(),
    "ranknet-steep": RankNet(sigma=2.5),
    "hinge": Hinge(),
    "squared_hinge": SquaredHinge(),
    "square": Square(sigma=0.5),
    "ranknet_with_ties": RankNetWithTies(),
    "sigmoid": Sigmoid(sigma=1.5),
    "ramp": Ramp(sigma=0.7),
}
PAIRS = BUILT_IN_PAIRS | {"users_exponential": Exponential(), "users_lopsided": Lopsided()}
SMOOTH = [name for name in PAIRS if "hinge" not in name and name != "ramp"]


class Batch(NamedTuple):
    """What a loss takes."""

    scores: np.ndarray
    labels: np.ndarray
    positions: np.ndarray
    group: np.ndarray


def random_batch(seed, largest_label, sizes=(1, 12, 3, 7, 1, 5)):
    """Ragged sessions in random row order, with gaps in the positions and about half of the rows clicked."""
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    clicked = rng.random(n) < 0.5
    return Batch(
        scores=rng.normal(size=n),
        labels=np.where(clicked, rng.integers(1, largest_label + 1, n), 0),
        positions=np.concatenate([rng.permutation(N_POSITIONS)[:size] + 1 for size in sizes]),
        group=np.array(sizes),
    )


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Many tiny calls are quickest on one thread, above all on a busy machine; one test asks for two."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)


@pytest.fixture(params=MODELS.values(), ids=MODELS.keys())
def examination(request):
    return request.param


@pytest.fixture(params=PAIRS.values(), ids=PAIRS.keys())
def pair(request):
    return request.param


@pytest.fixture(params=BUILT_IN_PAIRS.values(), ids=BUILT_IN_PAIRS.keys())
def built_in_pair(request):
    return request.param


@pytest.fixture(params=BUILT_IN_PAIRS)
def built_in_pair_name(request):
    return request.param


@pytest.fixture(params=SMOOTH)
def smooth_pair_name(request):
    return request.param


@pytest.fixture
def smooth_pair(smooth_pair_name):
    return PAIRS[smooth_pair_name]


@pytest.fixture(scope="session")
def pairs_by_name():
    return PAIRS


@pytest.fixture(params=[1, 3], ids=["binary", "graded"])
def largest_label(request):
    return request.param


@pytest.fixture(params=[None, "linear", "exp2"])
def gain(request):
    return request.param


@pytest.fixture
def batch(largest_label):
    return random_batch(11, largest_label)


@pytest.fixture
def clicks():
    """A binary batch, for tests that do not ask about grades."""
    return random_batch(12, 1)


@pytest.fixture
def theta():
    """Examination of three positions, for hand-made sessions."""
    return np.array([1.0, 0.5, 0.25])

"""Look-ups cost memory in proportion to the look-ups, never to the square of the positions."""

import tracemalloc

import numpy as np
import pytest

from truerank import Continuous, Independent, RowSkipping, inverse_rank

N_POSITIONS = 1_000
MODELS = {
    "independent": Independent(inverse_rank(N_POSITIONS)),
    "continuous": Continuous(inverse_rank(N_POSITIONS)),
    "row_skipping": RowSkipping(gamma=0.6, continuation=0.9, row_lengths=[4] * 250),
}


@pytest.fixture(params=MODELS.values(), ids=MODELS.keys())
def model(request):
    return request.param


def peak_bytes(do):
    tracemalloc.start()
    try:
        do()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_ten_million_joint_look_ups_take_a_few_arrays_of_that_size(model):
    i, j = np.random.default_rng(0).integers(1, N_POSITIONS + 1, size=(2, 10_000_000), dtype=np.int32)
    one_array = 8 * len(i)
    assert peak_bytes(lambda: model.joint(i, j)) < 30 * one_array


def test_a_few_look_ups_build_no_table_of_all_pairs(model):
    table = 8 * N_POSITIONS**2
    assert peak_bytes(lambda: model.joint([1, 2, 1000], [1000, 3, 999])) < table / 100

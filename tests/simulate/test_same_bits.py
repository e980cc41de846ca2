"""One seed, the same sessions: whatever the threads, the portions, and the other lists."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from enumerated import OnlySample
from hypothesis import given, settings, strategies as st

from truerank import Continuous, Independent, RowSkipping, SwapExperiment, inverse_rank, simulate_clicks
from truerank.simulate import plan as planning, random_kernels, walk_kernels
from truerank.simulate.plan import plan_sessions
from truerank.simulate.random_kernels import key_of, new_stream, seek, uniform

MODELS = {
    "independent": Independent(inverse_rank(7)),
    "continuous": Continuous(inverse_rank(7)),
    "row skipping": RowSkipping(0.3, 0.8, row_lengths=[3, 4]),
    "through sample": OnlySample(Continuous(inverse_rank(7))),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
RNG = np.random.default_rng(0)
GROUP = RNG.integers(1, 8, 300)
LABELS = RNG.integers(0, 5, GROUP.sum())


def simulated(model, sessions_per_list=9, seed=3, labels=LABELS, group=GROUP, **options):
    swap = SwapExperiment([2, 3], share=0.5)
    return simulate_clicks(labels, model, sessions_per_list, seed, group=group, swap=swap, max_grade=4, **options)


def assert_same(a, b):
    for name in ("clicks", "positions", "group", "query", "item", "swap"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


@given(
    seed=st.one_of(st.integers(0, 2**70), st.lists(st.integers(0, 2**32), min_size=1, max_size=3)),
    list_number=st.integers(0, 2**40),
    session=st.integers(0, 2**62),
)
@settings(max_examples=50, deadline=None)
def test_the_draws_of_a_session_are_those_of_numpys_philox(seed, list_number, session):
    """NumPy's generator, whose statistics others have tested, is the oracle, bit for bit."""
    key, stream = key_of(seed), new_stream()
    seek(stream, list_number, session)
    ours = [uniform(key, stream) for _ in range(11)]
    numpys = np.random.Generator(np.random.Philox(seed, counter=[0, session, list_number, 0]))
    assert ours == numpys.random(11).tolist()


@every_model
@pytest.mark.parametrize("require_click", [False, True])
def test_any_number_of_threads_draws_the_same(model, require_click):
    many = simulated(model, require_click=require_click)
    threads = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        one = simulated(model, require_click=require_click)
    finally:
        numba.set_num_threads(threads)
    assert_same(one, many)


@pytest.mark.parametrize("name", ["independent", "continuous", "row skipping"])
@pytest.mark.parametrize("rows", [1, 50, 999])
def test_portions_of_any_size_make_the_same_whole(name, rows, monkeypatch):
    whole = simulated(MODELS[name], 2)
    monkeypatch.setattr(planning, "ROWS_PER_PORTION", rows)
    assert_same(simulated(MODELS[name], 2), whole)


def test_the_portions_of_other_models_are_of_one_size_that_nobody_can_change():
    """Their draws come from one generator a portion, so the size is part of what a seed means."""
    assert planning.ROWS_PER_PORTION == 2**20
    plan = plan_sessions(np.ones(2_000, dtype=int), MODELS["through sample"], 5_000, 0, group=[5] * 400)
    portions = list(plan.portions())
    assert {p.last - p.first for p in portions[:-1]} == {2**20 // 5}
    assert [p.first for p in portions[1:]] == [p.last for p in portions[:-1]]
    assert (portions[0].first, portions[-1].last) == (0, plan.n_sessions)


@pytest.mark.parametrize("name", ["independent", "continuous", "row skipping"])
def test_sessions_of_a_list_do_not_depend_on_other_lists_or_on_how_many_there_are(name):
    few, many = simulated(MODELS[name], 4), simulated(MODELS[name], 9)
    first_four = np.repeat(np.arange(many.n_sessions) % 9 < 4, many.group)
    np.testing.assert_array_equal(many.clicks[first_four], few.clicks)
    q = np.flatnonzero(GROUP == 7)[20]
    alone = simulated(MODELS[name], np.where(np.arange(300) == q, 9, 0))
    np.testing.assert_array_equal(many.clicks[np.repeat(many.query == q, many.group)], alone.clicks)


@every_model
def test_another_seed_draws_something_else(model):
    a, b = simulated(model, seed=3), simulated(model, seed=4)
    assert 0.3 < np.mean(a.clicks != b.clicks) / (2 * a.clicks.mean()) < 1.1
    assert_same(simulated(model, seed=[3, 1]), simulated(model, seed=(3, 1)))


def test_sessions_and_lists_are_uncorrelated():
    """The number of clicks of neighbours: correlations of 200,000 pairs within 4.5 standard errors of none."""
    clicks = simulate_clicks(np.tile([4, 3, 2, 1, 3], 2_000), Independent([0.5] * 5), 100, 0, group=[5] * 2_000)
    per_list = clicks.clicks.reshape(2_000, 100, 5).sum(axis=2).astype(float)
    for a, b in ((per_list[:, 1:], per_list[:, :-1]), (per_list[1:], per_list[:-1])):
        assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 4.5 / np.sqrt(a.size)


def test_one_compiled_kernel_serves_every_model_and_option():
    for model in (MODELS["independent"], MODELS["row skipping"]):
        simulated(model, require_click=False)
        simulate_clicks(LABELS, model, 1, group=GROUP, feedback=np.linspace([0, 0], [1, 1], 5), noise=0.1, at=3)
    assert len(walk_kernels.draw_walks.signatures) == 1
    assert len(random_kernels.uniform.signatures) == 1

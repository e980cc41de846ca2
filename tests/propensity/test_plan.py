"""Planning swap experiments: what is promised is what experiments then show, and the allocation is the best one."""

import numpy as np
import pytest

import truerank as tr
from truerank.errors import ClippedPropensityWarning, InputError
from truerank.types import PositionCounts, SwapArms

THETA = np.array([1, 0.5, 0.3, 0.2])
RATES = np.array([0.4, 0.1, 0.045, 0.02])


def run(plan, sessions, draw, rng, replicates):
    """log θ̂ of experiments with so many sessions a position."""
    target_at_top = plan.click_rate / plan.theta
    both = plan.theta * RATES[0] * target_at_top
    drawn = []
    for _ in range(replicates):
        parts = [
            draw(plan.theta[m : m + 1], RATES[0], target_at_top[m], both[m], int(n), rng)
            for m, n in enumerate(sessions)
        ]
        k1 = np.repeat(plan.positions, 2)
        columns = [np.concatenate([getattr(p, f) for p in parts]) for f in SwapArms.__slots__[1:]]
        drawn.append(np.log(tr.propensity.swap(SwapArms(k1, *columns)).theta[plan.positions - 1]))
    return np.array(drawn)


def test_experiments_of_the_planned_size_have_the_wanted_error(draw_swap_arms, rng):
    wanted = np.array([0.05, 0.1, 0.15])
    plan = tr.propensity.plan(THETA, RATES, relative_error=wanted)
    found = run(plan, plan.sessions, draw_swap_arms, rng, 600)
    # a standard deviation from n draws has a relative error of about 1/√(2n) = 2.9 %
    np.testing.assert_allclose(found.std(axis=0), wanted, rtol=0.11)


def test_the_allocation_gives_the_least_error_of_the_weights_used_in_training(draw_swap_arms, rng):
    plan, total = tr.propensity.plan(THETA, RATES), 60_000

    def squared_error(shares):
        logs = run(plan, np.rint(total * shares), draw_swap_arms, rng, 500)
        return np.sum(np.var(np.exp(-logs), axis=0))

    even = np.full(3, 1 / 3)
    # the ratio of two sums of variances from 500 draws each is within about 20 % (three standard errors)
    assert squared_error(even) / squared_error(plan.allocation) == pytest.approx(plan.gain, rel=0.2)
    assert plan.gain > 1.2


def test_no_other_allocation_promises_less(rng):
    plan = tr.propensity.plan(THETA, RATES)

    def promised(shares):
        return np.sum((plan.expected_errors(10_000, shares) / plan.theta) ** 2)

    best = promised(plan.allocation)
    assert promised(np.ones(3)) / best == pytest.approx(plan.gain)
    for _ in range(100):
        assert promised(plan.allocation * rng.uniform(0.7, 1.4, size=3)) >= best


def test_a_plan_reads_estimates_models_and_logs_and_feeds_an_experiment():
    counts = PositionCounts(np.arange(1, 5), np.full(4, 1_000), (1_000 * RATES).astype(int))
    wanted = tr.propensity.plan(THETA, RATES)
    for theta in (tr.Independent(THETA), tr.Independent(0.8 * THETA)):
        np.testing.assert_array_equal(tr.propensity.plan(theta, counts).sessions, wanted.sessions)
    some = tr.propensity.plan(THETA, RATES, positions=[2, 4])
    assert some.sessions.tolist() == wanted.sessions[[0, 2]].tolist()
    experiment = tr.SwapExperiment(some.positions.tolist(), allocation=some.allocation)
    assert experiment.positions == (2, 4)
    assert some.to_dict()["total"] == some.total == wanted.sessions[[0, 2]].sum()


def test_people_who_read_on_make_experiments_smaller():
    independent, continuous = (tr.propensity.plan(model(THETA), RATES) for model in (tr.Independent, tr.Continuous))
    np.testing.assert_array_equal(independent.sessions, continuous.sessions)  # position 1 is always seen: no difference
    seldom = [model(0.5 * THETA) for model in (tr.Independent, tr.Continuous)]
    apart, together = (tr.propensity.plan(model, RATES).sessions for model in seldom)
    assert (together != apart).all()


def test_the_summary_names_every_position():
    text = tr.propensity.plan(THETA, RATES).summary()
    assert [line.split()[0] for line in text.splitlines()[1:4]] == ["2", "3", "4"]
    assert "sessions in all, half of them swapped" in text


@pytest.mark.parametrize(
    ("theta", "rates", "options", "message"),
    [
        ([1, 0.1], [0.4, 0.2], {}, r"at the top its item would be clicked more than always. Hint: guess a larger θ"),
        ([1, 0.5], [0.4, 0.0], {}, r"click rate at position 2 is 0.0; it must lie between 0 and 1"),
        ([1, 0.5], [0.4, 0.1], {"positions": [3]}, r"positions is \[3\]; they must be whole numbers from 2 to 2"),
        ([1, 0.5], [0.4, 0.1], {"relative_error": 0}, "relative_error is 0; it must be above 0"),
    ],
)
def test_what_cannot_be_planned_is_refused(theta, rates, options, message):
    with pytest.raises(InputError, match=message):
        tr.propensity.plan(theta, rates, **options)


def test_an_allocation_of_another_length_is_refused():
    with pytest.raises(InputError, match="it needs a number above 0 for each of"):
        tr.propensity.plan(THETA, RATES).expected_errors(100, [1, 2])


def test_a_clipped_model_is_planned_with_as_it_is():
    with pytest.warns(ClippedPropensityWarning):
        clipped = tr.Independent(THETA, min_propensity=0.25)
    np.testing.assert_allclose(tr.propensity.plan(clipped, RATES).theta, [0.5, 0.3, 0.25])

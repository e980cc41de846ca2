"""What every examination model must do, over the list of models in conftest.py."""

import copy
import json
import pickle

import numpy as np
import pytest

from truerank import Independent, load_examination
from truerank.errors import ExaminationError, InputError
from truerank.examination import Examination

N_DRAWS = 40_000
STANDARD_ERRORS = 5  # about one false alarm in two million comparisons
ROUNDING = 1e-12


def rng(seed=0):
    return np.random.default_rng(seed)


def assert_drawn_from(draws, theta, psi):
    """The draws have these marginals and pairs, to within STANDARD_ERRORS of a mean of Bernoulli draws."""
    together = draws.astype(float).T @ draws / len(draws)
    standard_error = np.sqrt(psi * (1 - psi) / len(draws))
    assert np.all(np.abs(together - psi) <= STANDARD_ERRORS * standard_error + ROUNDING)
    np.testing.assert_allclose(np.diagonal(psi), theta, rtol=0, atol=ROUNDING)  # so the marginals were compared too


def test_joint_of_a_position_with_itself_is_its_marginal(theta, psi):
    np.testing.assert_array_equal(np.diagonal(psi), theta)


def test_joint_does_not_depend_on_the_order_of_the_pair(psi):
    np.testing.assert_array_equal(psi, psi.T)


def test_joint_is_at_most_the_smaller_marginal(theta, psi):
    assert np.all(psi <= np.minimum.outer(theta, theta) + ROUNDING)


def test_joint_is_at_least_what_the_marginals_force(theta, psi):
    assert np.all(psi >= np.add.outer(theta, theta) - 1 - ROUNDING)


def test_every_probability_is_positive_and_at_most_one(theta, psi):
    assert np.all((theta > 0) & (theta <= 1))
    assert np.all((psi > 0) & (psi <= 1))


def test_model_is_an_examination(model):
    assert isinstance(model, Examination)


@pytest.mark.parametrize("shape", [(), (1,), (7,), (2, 3), (2, 1, 2), (0,), (3, 0)], ids=str)
def test_look_ups_have_the_shape_of_the_positions(model, theta, psi, shape):
    i, j = rng().integers(1, model.n_positions + 1, size=(2, *shape))
    marginal, joint = model.marginal(i), model.joint(i, j)
    assert marginal.shape == joint.shape == shape
    assert marginal.dtype == joint.dtype == np.float64
    np.testing.assert_array_equal(marginal, theta[i - 1])
    np.testing.assert_array_equal(joint, psi[i - 1, j - 1])


def test_joint_broadcasts_a_scalar_against_an_array(model, positions, psi):
    np.testing.assert_array_equal(model.joint(1, positions), psi[0])
    np.testing.assert_array_equal(model.joint(positions, 1), psi[0])


@pytest.mark.parametrize(
    "kind",
    [list, tuple, np.uint8, np.int32, np.int64, np.uint64, np.float32, np.float64],
    ids=lambda kind: kind.__name__,
)
def test_positions_may_be_lists_and_any_kind_of_whole_number(model, positions, theta, psi, kind):
    given = kind(positions)
    np.testing.assert_array_equal(model.marginal(given), theta)
    np.testing.assert_array_equal(model.joint(given, given), theta)


def test_empty_list_has_no_probabilities(model):
    assert model.marginal([]).shape == model.joint([], []).shape == (0,)


def test_look_ups_leave_the_positions_as_they_were(model, positions):
    positions.flags.writeable = False
    model.marginal(positions)
    model.joint(positions, positions[::-1])


def test_changing_an_answer_does_not_change_the_model(model, positions, theta, psi):
    expected = theta.copy(), psi.copy()
    theta[:] = psi[:] = 0.123
    np.testing.assert_array_equal(model.marginal(positions), expected[0])
    np.testing.assert_array_equal(model.joint(positions[:, None], positions), expected[1])


def test_sampler_agrees_with_marginal_and_joint(model, theta, psi):
    draws = model.sample(N_DRAWS, model.n_positions, rng())
    assert draws.shape == (N_DRAWS, model.n_positions)
    assert draws.dtype == np.bool_
    assert_drawn_from(draws, theta, psi)


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_sampler_of_fewer_positions_agrees_with_the_top_of_the_tables(model, theta, psi, cut):
    n = min(cut, model.n_positions)
    draws = model.sample(N_DRAWS, n, rng(1))
    assert draws.shape == (N_DRAWS, n)
    assert_drawn_from(draws, theta[:n], psi[:n, :n])


@pytest.mark.parametrize(("n_sessions", "n_positions"), [(0, 1), (5, 0), (0, 0), (1, 1)])
def test_sampler_draws_empty_and_tiny_tables(model, n_sessions, n_positions):
    assert model.sample(n_sessions, n_positions, rng()).shape == (n_sessions, n_positions)


def test_same_seed_gives_the_same_draw(model):
    draws = [model.sample(50, model.n_positions, rng(7)) for _ in range(2)]
    np.testing.assert_array_equal(*draws)


def test_sampler_moves_the_generator_on(model, theta):
    generator = rng(7)
    first, second = (model.sample(200, model.n_positions, generator) for _ in range(2))
    assert np.any(first != second) == np.any(theta < 1)  # with θ = 1 everywhere every draw is the same


def test_saving_and_loading_gives_an_equal_model(model, tmp_path, positions, theta, psi):
    model.save(tmp_path / "model.json")
    loaded = load_examination(tmp_path / "model.json")
    assert loaded == model
    assert hash(loaded) == hash(model)
    assert type(loaded) is type(model)
    np.testing.assert_array_equal(loaded.marginal(positions), theta)
    np.testing.assert_array_equal(loaded.joint(positions[:, None], positions), psi)


def test_file_is_readable_json_that_names_its_format_version_and_model(model, tmp_path):
    model.save(str(tmp_path / "model.json"))
    document = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))
    assert document == {
        "format": "truerank.examination",
        "version": 1,
        "model": model.kind,
        "min_propensity": None,
        **model.parameters(),
    }


@pytest.mark.parametrize("again", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy, copy.copy])
def test_copies_are_equal_and_draw_the_same(model, positions, theta, again):
    copied = again(model)
    assert copied == model
    assert hash(copied) == hash(model)
    np.testing.assert_array_equal(copied.marginal(positions), theta)
    np.testing.assert_array_equal(
        copied.sample(50, model.n_positions, rng(3)), model.sample(50, model.n_positions, rng(3))
    )


def test_models_with_different_tables_are_not_equal(model):
    assert model != Independent([0.123])
    assert model != "model"


def test_repr_names_the_class_and_the_number_of_positions(model):
    assert repr(model).startswith(f"{type(model).__name__}({model.n_positions} positions")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (0, r"count from 1; got 0"),
        (-3, r"count from 1; got -3"),
        (1.5, r"whole numbers from 1; got 1\.5"),
        (float("nan"), r"whole numbers from 1; got nan"),
        (float("inf"), r"whole numbers from 1; got inf"),
        ("first", r"whole numbers from 1; got first"),
        (None, r"whole numbers from 1; got None"),
        (True, r"whole numbers from 1; got True"),
    ],
)
def test_what_is_not_a_position_is_refused(model, wrong, message):
    for look_up in (lambda: model.marginal(wrong), lambda: model.joint(1, wrong), lambda: model.joint(wrong, 1)):
        with pytest.raises(ExaminationError, match=message):
            look_up()


@pytest.mark.parametrize("wrong", [[1, 0], [1, -1], [1, 0.5], [1, float("nan")], [1, None], ["1"]], ids=str)
def test_one_bad_position_spoils_the_list(model, wrong):
    with pytest.raises(ExaminationError, match=r"positions (count from 1|must be whole numbers from 1)"):
        model.marginal(wrong)


@pytest.mark.parametrize("beyond", [1, 100])
def test_position_past_the_table_is_named_with_the_length_of_the_table(model, beyond):
    position = model.n_positions + beyond
    message = rf"position {position} is past the end of this {type(model).__name__}.* {model.n_positions} positions"
    for look_up in (
        lambda: model.marginal([1, position]),
        lambda: model.joint(1, position),
        lambda: model.joint(float(position), 1),
        lambda: model.sample(10, position, rng()),
    ):
        with pytest.raises(ExaminationError, match=message):
            look_up()


def test_bad_position_late_in_a_long_array_is_refused(model):
    positions = np.r_[np.ones(10_000), np.nan]
    with pytest.raises(ExaminationError, match="whole numbers from 1"):
        model.marginal(positions)


@pytest.mark.parametrize("size", [(-1, 1), (1, -1)])
def test_negative_sizes_of_a_draw_are_refused(model, size):
    with pytest.raises(InputError, match=rf"cannot draw {size[0]} sessions of {size[1]} positions"):
        model.sample(*size, rng())

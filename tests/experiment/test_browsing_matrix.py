"""The matrix of assumed and true browsing: that it compares what it says, and does so again."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed", exc_type=ImportError)

from truerank.experiment.browsing_matrix import (
    GOLDEN,
    N_POSITIONS,
    NAIVE,
    Matrix,
    Size,
    browsing_models,
    estimate_losses,
    run_matrix,
)

TINY = Size(worlds=2, lists=20, sessions_per_list=4, test_lists=30, epochs=3)
LOSSES = (NAIVE, "independent", "continuous", "row-skipping", GOLDEN)
BROWSING = LOSSES[1:-1]
STANDARD_ERRORS = 4


def test_the_ways_to_look_differ_only_in_what_is_seen_together():
    every = np.arange(1, N_POSITIONS + 1)
    independent, continuous, row_skipping = browsing_models().values()
    for model in (continuous, row_skipping):
        np.testing.assert_allclose(model.marginal(every), independent.marginal(every))
    joint = [model.joint(1, np.array([2, 5])) for model in (independent, continuous, row_skipping)]
    assert joint[2][0] == pytest.approx(joint[1][0])  # in one row people go on as on a list
    assert joint[1][0] > joint[0][0]
    assert joint[2][1] < joint[0][1] < joint[1][1]  # who saw row 1 is less likely to reach row 2 than who skipped it


def test_only_the_right_loss_is_on_average_the_true_one():
    found = estimate_losses(n_pages=30, n_logs=300)
    for true, by_loss in found.estimates.items():
        for loss, estimate in by_loss.items():
            errors = estimate.errors_from(found.truth)
            if loss == true:
                assert errors < STANDARD_ERRORS
            elif (true, loss) != ("independent", "row-skipping"):  # too much in a row, too little between rows
                assert errors > 2 * STANDARD_ERRORS
    assert found.to_markdown().count("**") == 2 * len(BROWSING)


def test_the_matrix_is_the_same_again_and_no_two_losses_are_one():
    first, again = (run_matrix(TINY, seed=3) for _ in range(2))
    np.testing.assert_array_equal(first.values, again.values)
    assert first.values.shape == (2, 3, 5, 2)
    assert (first.values > 0.3).all()
    assert (first.values <= 1).all()
    golden = first.values[:, :, -1]
    np.testing.assert_array_equal(golden, np.repeat(golden[:, :1], 3, axis=1))
    assert len({value.tobytes() for value in first.values[1, 0]}) == 5


def test_each_loss_is_compared_with_the_one_that_is_right():
    rng = np.random.default_rng(0)
    values = 0.7 + 0.01 * rng.normal(size=(1, 3, 5, 10))
    values[0, 0, 0] = values[0, 0, 1] - 0.05 + 0.001 * rng.normal(size=10)  # naive under independent browsing
    matrix = Matrix(("linear",), BROWSING, LOSSES, values)
    p = matrix.p_values()
    assert np.isnan(p[0, [0, 1, 2], [1, 2, 3]]).all()
    assert np.isnan(p[0, :, 4]).all()
    assert p[0, 0, 0] < 1e-6
    assert np.isfinite(p).sum() == 9
    table = matrix.to_markdown().splitlines()
    assert table[0] == "| linear: trained by | independent clicks | continuous clicks | row-skipping clicks |"
    assert table[2].startswith(f"| {NAIVE} | {values[0, 0, 0].mean():.4f}* |")
    assert f"| **{values[0, 1, 2].mean():.4f}** |" in table[4]

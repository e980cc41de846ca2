"""The matrices B, E[B] and A of the paper's Section 3."""

from itertools import product

import numpy as np
import pytest

from truerank.losses.coefficients import correction, distortion


def s(b_i, b_j):
    """The paper's s: one-hot type of a pair."""
    return np.array([b_i * b_j, b_i * (1 - b_j), (1 - b_i) * b_j, (1 - b_i) * (1 - b_j)])


@pytest.fixture
def probabilities(examination):
    """p_i, p_j, p_ij of every pair of the first 15 positions."""
    k = np.arange(1, 16)
    i, j = k[:, None], k[None, :]
    return np.broadcast_arrays(examination.marginal(i), examination.marginal(j), examination.joint(i, j))


def test_correction_undoes_distortion(probabilities):
    undone = correction(*probabilities) @ distortion(*probabilities)
    np.testing.assert_allclose(undone, np.broadcast_to(np.eye(4), undone.shape), atol=1e-9)


@pytest.mark.parametrize(("e_i", "e_j", "r_i", "r_j"), list(product([0, 1], repeat=4)))
def test_distortion_turns_relevance_types_into_click_types(e_i, e_j, r_i, r_j):
    np.testing.assert_array_equal(distortion(e_i, e_j, e_i * e_j) @ s(r_i, r_j), s(e_i * r_i, e_j * r_j))


def test_distortion_is_the_expectation_of_b(probabilities):
    p_i, p_j, p_ij = (p[..., None, None] for p in probabilities)
    chance = {(1, 1): p_ij, (1, 0): p_i - p_ij, (0, 1): p_j - p_ij, (0, 0): 1 - p_i - p_j + p_ij}
    expected = sum(p * distortion(e_i, e_j, e_i * e_j) for (e_i, e_j), p in chance.items())
    np.testing.assert_allclose(distortion(*probabilities), expected, atol=1e-12)


def test_correction_is_the_inverse_of_distortion_by_linear_algebra(probabilities):
    np.testing.assert_allclose(correction(*probabilities), np.linalg.inv(distortion(*probabilities)), atol=1e-9)


@pytest.mark.parametrize("matrix", [correction, distortion])
def test_every_pair_is_of_one_type_so_columns_add_to_one(probabilities, matrix):
    np.testing.assert_allclose(matrix(*probabilities).sum(axis=-2), 1, atol=1e-9)


@pytest.mark.parametrize("matrix", [correction, distortion])
def test_matrices_broadcast_and_take_lists(matrix):
    table = matrix([0.5, 0.4], 0.8, [[0.3], [0.35]])
    assert table.shape == (2, 2, 4, 4)
    np.testing.assert_array_equal(table[1, 0], matrix(0.5, 0.8, 0.35))


def test_coefficients_of_the_published_formula_stand_in_the_columns():
    p_i, p_j, p_ij = 0.5, 0.4, 0.25
    a_i, a_j, a_ij = 1 / p_i, 1 / p_j, 1 / p_ij
    expected = np.array(
        [
            [a_ij, 0, 0, 0],
            [a_i - a_ij, a_i, 0, 0],
            [a_j - a_ij, 0, a_j, 0],
            [1 - a_i - a_j + a_ij, 1 - a_i, 1 - a_j, 1],
        ]
    )
    np.testing.assert_allclose(correction(p_i, p_j, p_ij), expected, rtol=1e-12)

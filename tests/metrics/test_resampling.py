"""The bootstrap: its twin, its bits, and how often its intervals hold what they promise."""

from __future__ import annotations

import numpy as np
import pytest
from judged_lists import on_one_thread_and_two

from truerank.metrics import reference, resampling
from truerank.metrics.resampling import percentile_interval, resampled_means

VALUES = np.random.default_rng(0).random((57, 3))


def test_resampled_means_equal_the_twin():
    draws = np.random.default_rng(3).integers(0, 57, size=(40, 57), dtype=np.int32)
    np.testing.assert_allclose(resampled_means(VALUES, 40, 3), reference.means_of_draws(VALUES, draws), rtol=1e-13)


def test_columns_are_resampled_together():
    twice = np.column_stack([VALUES[:, 0], VALUES[:, 0] + 1])
    means = resampled_means(twice, 50, 0)
    np.testing.assert_allclose(means[:, 1] - means[:, 0], 1)
    assert means[:, 0].std() > 0


@pytest.mark.parametrize("at_once", [1, 57 * 7, 10**9])
def test_the_bits_do_not_depend_on_how_many_are_drawn_at_once(at_once, monkeypatch):
    whole = resampled_means(VALUES, 100, 1)
    monkeypatch.setattr(resampling, "_DRAWS_AT_ONCE", at_once)
    assert resampled_means(VALUES, 100, 1).tobytes() == whole.tobytes()
    assert resampled_means(VALUES, 100, 2).tobytes() != whole.tobytes()


def test_one_thread_and_two_give_the_same_bits():
    one, two = on_one_thread_and_two(lambda: resampled_means(VALUES, 500, 1).tobytes())
    assert one == two


def test_no_resamples_give_no_interval():
    assert np.isnan(percentile_interval(resampled_means(VALUES, 0, 0), 0.05)).all()


def test_intervals_cover_the_truth_as_often_as_they_say():
    """400 samples of 100 lists; 90 % intervals of a skewed mean and of a difference of pairs.

    The standard error of a coverage is √(.9 · .1 / 400) = .015. The values of two models agree with r = .8, so an
    interval that took them for independent would cover the difference in 99.9 % of the samples.
    """
    rng, covered = np.random.default_rng(7), []
    for sample in range(400):
        hard = rng.exponential(size=100)
        one, other = (np.column_stack([hard, hard]) + 0.5 * rng.exponential(size=(100, 2))).T
        means = resampled_means(np.column_stack([one, other]), 300, sample)
        (low, low_difference), (high, high_difference) = percentile_interval(
            np.column_stack([means[:, 0], means[:, 0] - means[:, 1]]), 0.1
        )
        covered.append([low < 1.5 < high, low_difference < 0 < high_difference])
    np.testing.assert_allclose(np.mean(covered, axis=0), 0.9, atol=4 * 0.015)

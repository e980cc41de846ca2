"""Judged lists for the tests of metrics: hypothesis strategies, random lists, and the formula list by list."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import strategies as st

from truerank.metrics import reference

WHOLE = 10**6  # more ranks than any list has


@st.composite
def judged_and_scored(draw):
    """Labels, group and scores of a few short lists, with many ties and lists without a relevant item."""
    sizes = draw(st.lists(st.integers(1, 8), min_size=1, max_size=5))
    n = sum(sizes)
    labels = draw(st.lists(st.sampled_from([0, 0, 0, 1, 2, 4]), min_size=n, max_size=n))
    scores = draw(st.lists(st.sampled_from([-1.5, 0.0, 0.1, 3.0]), min_size=n, max_size=n))
    return np.array(labels), np.array(sizes), np.array(scores)


def random_lists(seed, n_lists=300, longest=90, relevant=0.3):
    """Labels 0 … 4, group, and scores without ties; some lists longer than those that are ranked by counting."""
    rng = np.random.default_rng(seed)
    group = rng.integers(1, longest, n_lists)
    labels = rng.integers(0, 5, group.sum()) * (rng.random(group.sum()) < relevant)
    return labels, group, rng.permutation(group.sum()).astype(float)


def on_one_thread_and_two(work):
    """What `work` answers with one thread and with two."""
    if numba.config.NUMBA_NUM_THREADS < 2:
        pytest.skip("one thread only")
    before, answers = numba.get_num_threads(), []
    try:
        for n in (1, 2):
            numba.set_num_threads(n)
            answers.append(work())
    finally:
        numba.set_num_threads(before)
    return answers


def lists_of(labels, group, scores):
    """The rows of each list: its labels and its scores."""
    return list(zip(*(np.split(np.asarray(a), np.cumsum(group)[:-1]) for a in (labels, scores)), strict=True))


def by_formula(name, labels, group, scores, at, *options):
    """A metric of `reference`, list by list; NaN without a relevant item."""
    formula = getattr(reference, name)
    return np.array(
        [
            formula(reference.ranked_labels(s, y), WHOLE if at is None else at, *options) if y.any() else np.nan
            for y, s in lists_of(labels, group, scores)
        ]
    )

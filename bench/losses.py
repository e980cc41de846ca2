"""What the unbiased pairwise loss costs."""

from __future__ import annotations

import numpy as np

import truerank as tr
from bench.measure import seconds
from truerank.losses import reference
from truerank.ragged import read_sessions

CLICKS = 3
ROWS = 4_000_000


def main(_seeds: int) -> None:
    """Time against list length at a fixed number of clicks, and against the NumPy twin."""
    print(f"Unbiased pairwise loss, value + gradient + Hessian, {CLICKS} clicks a session, {ROWS:,} rows in all")
    print(f"{'items a session':>16}{'ms':>10}{'ns a row':>10}   (ns a row stays flat: the cost is linear in N)")
    for n in (10, 20, 40, 80, 160, 320):
        work = _work(n, ROWS // n)
        took = seconds(lambda w=work: w[0].gradient_hessian(*w[1:]))
        print(f"{n:>16}{took * 1e3:>10.0f}{took / ROWS * 1e9:>10.1f}")
    loss, scores, labels, positions, group = _work(10, 20_000)
    sessions = read_sessions(labels, positions, group)
    weight = np.ones((2, 2))
    compiled = seconds(lambda: loss.gradient_hessian(scores, labels, positions, group))
    plain = seconds(
        lambda: reference.losses_and_derivatives(scores, sessions, loss.examination, loss.pair, weight), repeats=1
    )
    print(f"against the NumPy twin on 20,000 sessions of 10: {plain / compiled:.0f} × faster")


def _work(n: int, sessions: int) -> tuple:
    rng = np.random.default_rng(0)
    labels = np.zeros((sessions, n), dtype=np.int32)
    labels[:, :CLICKS] = 1
    labels = rng.permuted(labels, axis=1).ravel()
    group = np.full(sessions, n)
    loss = tr.UnbiasedPairwiseLoss(tr.Continuous(tr.inverse_rank(n)))
    return loss, rng.normal(size=n * sessions), labels, tr.list_order(group), group

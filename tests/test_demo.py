"""The demo shows what it claims to show."""

from __future__ import annotations

import re

from truerank.experiment.unbiasedness import compare_losses, main


def test_the_unbiased_loss_agrees_with_the_truth_and_the_naive_one_does_not():
    rows = compare_losses(n_pages=50, n_logs=500, seed=1)
    assert [row.browsing for row in rows] == ["independent", "continuous", "row skipping", "tabulated"]
    for row in rows:
        assert row.unbiased.errors_from(row.truth) < 4
        assert row.naive.errors_from(row.truth) > 20


def test_the_same_seed_tells_the_same_story():
    assert compare_losses(10, 20, seed=3) == compare_losses(10, 20, seed=3)


def test_the_table_is_printed(capsys):
    main()
    printed = capsys.readouterr().out
    assert len(re.findall(r"\d+\.\d{3} ± 0\.\d{3}", printed)) == 8

"""Random svmlight text, and the slow way to read it."""

from __future__ import annotations

import numpy as np

from truerank.datasets.svmlight_lines import parse_line
from truerank.types import JudgedLists

HEADS = ("{:.6f}", "{:.3g}", "{!r}", "{:.2e}", "{:.0f}", "{:+.4f}")


def random_text(seed, n_lists=20, n_features=30, density=0.7, first=1, end="\n"):
    """Lists of 1 to 9 rows, values in many notations, comments, blank lines and odd spaces."""
    rng = np.random.default_rng(seed)
    lines = ["# a header"]
    for query in rng.permutation(n_lists):
        for _ in range(rng.integers(1, 10)):
            features = np.flatnonzero(rng.random(n_features) < density)
            values = rng.normal(size=len(features)) * 10.0 ** rng.integers(-12, 12, len(features))
            words = [
                f"{first + f}:{HEADS[rng.integers(len(HEADS))].format(float(v))}"
                for f, v in zip(features, values, strict=True)
            ]
            comment = rng.choice(["", " # docid = GX1-2 inc = 1", "#", "  "])
            lines.append(f"{rng.integers(5)} qid:{query} {rng.choice([' ', '  ', chr(9)]).join(words)}{comment}")
            if rng.random() < 0.1:
                lines.append(rng.choice(["", "   ", "# between", "\t#"]))
    return end.join(lines) + end


def holds_a_row(line):
    """Whether there is anything before the comment."""
    return line.split("#")[0].strip(" \t\r\v\f\xa0") != ""


def read_slowly(text, n_features, first=1):
    """What the text says, line by line, without compiled code."""
    rows = [parse_line(line) for line in text.decode("latin-1").split("\n") if holds_a_row(line)]
    X = np.zeros((len(rows), n_features), dtype=np.float32)
    for x, row in zip(X, rows, strict=True):
        x[row.features - first] = row.values
    queries = [row.query for row in rows]
    ids = list(dict.fromkeys(queries))
    group = np.array([queries.count(query) for query in ids])
    return JudgedLists(X, np.array([row.label for row in rows]), group, np.array(ids))


def dense(X):
    return X.toarray() if hasattr(X, "toarray") else X


def assert_same_lists(lists, expected):
    """Equal to the bit, whether dense or sparse."""
    np.testing.assert_array_equal(dense(lists.X), dense(expected.X), strict=True)
    np.testing.assert_array_equal(lists.labels, expected.labels)
    np.testing.assert_array_equal(lists.group, expected.group)
    np.testing.assert_array_equal(lists.query, expected.query)
    assert lists.labels.dtype == np.int32

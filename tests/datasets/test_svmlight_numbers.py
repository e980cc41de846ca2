"""Decimal numbers become float32 as Python and NumPy make them, to the last bit."""

from __future__ import annotations

import re
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from svmlight_texts import assert_same_lists, holds_a_row, read_slowly

import truerank as tr
from truerank.datasets.svmlight_lines import parse_line
from truerank.errors import FileFormatError

LARGEST = float(np.finfo(np.float32).max)
FORMATS = ("{!r}", "{:.17g}", "{:.9g}", "{:.3e}", "{:f}", "{:.25f}", "{:E}", "{:+.1f}", "{:.0f}.")


def expected(text):
    return np.float32(min(max(float(text), -LARGEST), LARGEST))


def read_values(texts, path):
    """The values of one row."""
    path.write_text("0 qid:1 " + " ".join(f"{f}:{text}" for f, text in enumerate(texts, 1)))
    return tr.read_svmlight(path, dense=True).X[0]


def assert_read_exactly(texts, path):
    wanted = np.array([expected(text) for text in texts])
    values = read_values(texts, path)
    np.testing.assert_array_equal(values, wanted)
    np.testing.assert_array_equal(np.signbit(values), np.signbit(wanted))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("numbers") / "row.txt"


floats = st.floats(allow_nan=False, allow_infinity=False)
formatted = st.builds(lambda value, form: form.format(value), floats, st.sampled_from(FORMATS))
digits = st.builds("{:0{}d}".format, st.integers(0, 10**40), st.integers(1, 40))
assembled = st.builds(
    lambda sign, whole, point, exponent: sign + whole + point + exponent,
    st.sampled_from(["", "-", "+"]),
    digits,
    st.one_of(st.just(""), st.just("."), digits.map(".{}".format)),
    st.one_of(st.just(""), st.integers(-400, 400).map("e{}".format), st.integers(0, 99).map("E+{:03d}".format)),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.one_of(formatted, assembled), min_size=1, max_size=50))
@example(["0", "-0", "-0.0e5", ".5", "5.", "1e-400", "-1e-60", "1e400", "-1.797e308", "3.4028236e38", "3.4028234e38"])
@example(["0" * 30 + "1", "0." + "0" * 50 + "1e50", "1" + "0" * 60, "1" + "0" * 60 + "e-60", "1e0000000000000001"])
@example(["inf", "-Infinity", "+INF", "nan", "1e-45", "7e-46", "7.1e-46", "1.17549435e-38", "9007199254740993"])
def test_numbers_in_any_notation_are_the_nearest_float32_of_the_nearest_float64(path, texts):
    assert_read_exactly(texts, path)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(width=32, min_value=2.0**-149, max_value=2.0**127), min_size=1, max_size=30))
def test_numbers_halfway_between_two_float32_and_next_to_it_are_told_apart(path, values):
    texts = []
    for value in values:
        half = (Decimal(value) + Decimal(float(np.nextafter(np.float32(value), np.float32(np.inf))))) / 2
        texts += [f"{half:f}", f"{half:e}"]
        for nudge in (Decimal("1e-12"), Decimal("1e-17"), Decimal("1e-30")):
            texts += [f"{half * (1 + nudge):e}", f"{half * (1 - nudge):e}"]
    assert_read_exactly(texts, path)


def test_every_short_number_is_exact(path):
    texts = [
        f"{sign}{n / 10**places:.{places}f}" for n in range(0, 100_000, 7) for places in (3,) for sign in ("", "-")
    ]
    assert_read_exactly(texts, path)


def test_missing_values_are_nan(path):
    assert np.isnan(read_values(["nan", "NaN", "NULL"], path)).all()


lines = st.one_of(
    st.binary(max_size=60).map(lambda b: b.replace(b"\n", b" ")),
    st.text("0123456789:.eE+-# \tqidnaNULl_\r\xa0", max_size=60).map(lambda s: s.encode("latin-1")),
    st.builds(
        lambda line, at, byte: line[:at] + bytes([byte]) * (byte != 10) + line[at + 1 :],
        st.sampled_from([b"3 qid:12 1:0.5 2:1e-3 40:-7 # docid = 1", b"2.0 qid:7 0:NaN 7:12345678901234567890.5"]),
        st.integers(0, 40),
        st.integers(0, 255),
    ),
)


@settings(max_examples=150, deadline=None)
@given(lines)
def test_the_compiled_reader_reads_or_refuses_any_line_as_the_slow_one(path, line):
    path.write_bytes(b"0 qid:99 1:1\n" + line + b"\n")
    text, refusal = line.decode("latin-1"), None
    try:
        row = parse_line(text) if holds_a_row(text) else None
    except FileFormatError as error:
        refusal = f"{path}, line 2: {error}"
    if refusal is not None:
        with pytest.raises(FileFormatError, match=re.escape(refusal)):
            tr.read_svmlight(path)
    elif row is None or row.features.max(initial=0) < 60:
        lists = tr.read_svmlight(path, n_features=60, first_feature=0, dense=True)
        assert_same_lists(lists, read_slowly(path.read_bytes(), 60, first=0))

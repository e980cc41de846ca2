"""What is written as svmlight text is read back as it was."""

from __future__ import annotations

import dataclasses
import gzip

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from svmlight_texts import assert_same_lists, random_text

import truerank as tr
from truerank.datasets import svmlight_writer
from truerank.errors import InputError
from truerank.types import JudgedLists

LISTS = JudgedLists(
    np.array([[0, 1.5, 0], [0, 0, 0], [-2, np.nan, 0]], dtype=np.float32),
    np.array([2, 0, 1], dtype=np.int32),
    np.array([2, 1]),
    np.array([30, 7]),
)


def test_lines_name_what_is_not_zero_and_the_first_names_the_last_feature(tmp_path):
    tr.write_svmlight(LISTS, tmp_path / "lists.txt")
    assert (tmp_path / "lists.txt").read_text() == "2 qid:30 2:1.5 3:0\n0 qid:30 \n1 qid:7 1:-2 2:nan\n"
    assert_same_lists(tr.read_svmlight(tmp_path / "lists.txt"), LISTS)


@pytest.mark.parametrize("ending", [".txt", ".txt.gz", ".txt.zst"])
@pytest.mark.parametrize("dense", [True, False])
def test_lists_come_back_as_they_were(tmp_path, monkeypatch, dense, ending):
    monkeypatch.setattr(svmlight_writer, "_ROWS", 7)
    (tmp_path / "first.txt").write_text(random_text(1, first=1))
    lists = tr.read_svmlight(tmp_path / "first.txt", dense=dense, n_features=31)
    tr.write_svmlight(lists, tmp_path / f"second{ending}")
    assert_same_lists(tr.read_svmlight(tmp_path / f"second{ending}", dense=dense), lists)


def test_real_lists_come_back_as_they_were_and_scikit_learn_reads_them(real_data, tmp_path):
    lists = tr.read_svmlight(real_data / "mq2008" / "S5.txt.gz")
    tr.write_svmlight(lists, tmp_path / "lists.txt")
    assert_same_lists(tr.read_svmlight(tmp_path / "lists.txt", dense=True), lists)
    X, y, qid = load_svmlight_file(str(tmp_path / "lists.txt"), query_id=True)
    np.testing.assert_array_equal(X.toarray().astype(np.float32), lists.X)
    np.testing.assert_array_equal(y, lists.labels)
    np.testing.assert_array_equal(qid, np.repeat(lists.query, lists.group))


@settings(max_examples=50, deadline=None)
@given(values=st.lists(st.floats(width=32, allow_infinity=False), min_size=1, max_size=20))
def test_every_float32_comes_back_to_the_bit(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("values") / "lists.txt"
    X = np.array([values], dtype=np.float32)
    tr.write_svmlight(JudgedLists(X, np.array([1]), np.array([1]), np.array([0])), path)
    np.testing.assert_array_equal(tr.read_svmlight(path, dense=True).X, X)


def test_compressed_files_are_what_their_ending_says(tmp_path):
    tr.write_svmlight(LISTS, tmp_path / "lists.txt")
    text = (tmp_path / "lists.txt").read_bytes()
    tr.write_svmlight(LISTS, tmp_path / "lists.txt.gz")
    assert gzip.decompress((tmp_path / "lists.txt.gz").read_bytes()) == text
    tr.write_svmlight(LISTS, tmp_path / "lists.txt.zst")
    with pa.CompressedInputStream(str(tmp_path / "lists.txt.zst"), "zstd") as stream:
        assert stream.read() == text


def test_sparse_rows_are_written_with_their_ids_rising(tmp_path):
    X = sparse.csr_matrix(([3.0, 1, 2, 4], [2, 0, 1, 1], [0, 2, 4]), shape=(2, 3), dtype=np.float32)
    kept = X.copy()
    tr.write_svmlight(JudgedLists(X, np.array([1, 0]), np.array([2]), np.array([0])), tmp_path / "lists.txt")
    assert (tmp_path / "lists.txt").read_text() == "1 qid:0 1:1 3:3\n0 qid:0 2:6\n"
    np.testing.assert_array_equal(X.indices, kept.indices)


REFUSED = {
    "text ids": ({"query": np.array(["a", "b"])}, "query holds ids such as .*whole numbers from 0. Hint: number the"),
    "negative ids": ({"query": np.array([-1, 2])}, "query holds ids such as"),
    "an id twice": ({"query": np.array([7, 7])}, "names two lists by the same id"),
    "too few ids": ({"query": np.array([7])}, "query has 1 ids and there are 2 lists"),
    "a wrong group": ({"group": np.array([2, 2])}, "group sizes sum to 4"),
    "negative labels": ({"labels": np.array([0, -1, 1])}, r"labels\[1\] is -1"),
    "too few rows": ({"X": LISTS.X[:2]}, r"X has shape \(2, 3\); it needs a row for each of the 3 labels"),
    "no columns": ({"X": LISTS.X[:, :0]}, r"X has shape \(3, 0\)"),
    "an infinite value": ({"X": np.where(LISTS.X == -2, np.inf, LISTS.X)}, r"X\[2\] holds an infinite value"),
    "a value too large": ({"X": np.where(LISTS.X == -2, -1e39, LISTS.X.astype(float))}, r"X\[2\] holds an infinite"),
}


@pytest.mark.parametrize(("change", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_written_is_refused_and_leaves_what_was_there(tmp_path, change, message):
    path = tmp_path / "lists.txt"
    path.write_text("before")
    with pytest.raises(InputError, match=message):
        tr.write_svmlight(dataclasses.replace(LISTS, **change), path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_writing_that_is_interrupted_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(svmlight_writer, "_ROWS", 1)
    told = []

    def interrupt(done, total):
        told.append((done, total))
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tr.write_svmlight(LISTS, tmp_path / "lists.txt", progress=interrupt)
    assert told == [(1, 3), (2, 3)]
    assert list(tmp_path.iterdir()) == []

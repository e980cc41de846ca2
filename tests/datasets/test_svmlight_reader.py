"""svmlight text becomes judged lists, as scikit-learn has them too, whatever its form and however it is cut up."""

from __future__ import annotations

import gzip
import tracemalloc

import numba
import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from svmlight_texts import assert_same_lists, dense, random_text, read_slowly

import truerank as tr
from truerank.datasets import feature_text, text_chunks
from truerank.datasets.feature_text import FeatureReader, common_columns
from truerank.errors import FileFormatError, InputError

TWO_LISTS = "2 qid:7 1:0.5 3:1\n0 qid:7 2:0.25\n1 qid:8 1:3 3:-2\n"


@pytest.fixture
def read(tmp_path):
    """Writes text to a file and reads it."""

    def read(text, **options):
        path = tmp_path / "lists.txt"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return tr.read_svmlight(path, **options)

    return read


def assert_as_sklearn(path, lists):
    X, y, qid = load_svmlight_file(str(path), query_id=True, n_features=lists.X.shape[1])
    np.testing.assert_array_equal(dense(lists.X), X.toarray().astype(np.float32))
    np.testing.assert_array_equal(lists.labels, y)
    np.testing.assert_array_equal(np.repeat(lists.query, lists.group), qid)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("density", [0.05, 0.9])
def test_any_text_is_read_as_the_slow_reader_and_scikit_learn_read_it(read, tmp_path, seed, density):
    text = random_text(seed, density=density)
    lists = read(text, n_features=30)
    assert_same_lists(lists, read_slowly(text.encode(), 30))
    assert_as_sklearn(tmp_path / "lists.txt", lists)


REAL = (
    *(f"mq2008/S{k}.txt.gz" for k in range(1, 6)),
    "mslr_web_sample/mslr.txt.gz",
    "lightgbm_rank/train.txt.gz",
    "lightgbm_rank/test.txt.gz",
)


@pytest.mark.parametrize("name", REAL)
def test_public_data_sets_are_read_as_scikit_learn_reads_them(real_data, tmp_path, name):
    lines = gzip.decompress((real_data / name).read_bytes()).split(b"\n")[:2_000]
    path = tmp_path / "lists.txt"
    path.write_bytes(b"\n".join(lines))
    assert_as_sklearn(path, tr.read_svmlight(path))


def test_mq2008_and_mslr_have_the_sizes_they_are_known_for(real_data):
    mslr = tr.read_svmlight(real_data / "mslr_web_sample" / "mslr.txt.gz")
    assert mslr.X.shape == (17_798, 136)
    assert (mslr.n_lists, *np.bincount(mslr.labels)) == (161, 9989, 5193, 2252, 260, 104)
    assert (mslr.group.min(), np.median(mslr.group), mslr.group.max()) == (15, 97, 337)


def test_neither_chunks_nor_threads_change_a_bit(read, monkeypatch):
    text = random_text(11)
    expected = read(text)
    before = numba.get_num_threads()
    for chunk in (1, 7, 100, 2_048):
        for threads in {1, before}:
            monkeypatch.setattr(text_chunks, "CHUNK", chunk)
            numba.set_num_threads(threads)
            try:
                assert_same_lists(read(text), expected)
                assert_same_lists(read(text, dense=False), expected)
            finally:
                numba.set_num_threads(before)


@pytest.mark.parametrize("end", ["\n", "\r\n", " \n", "\n\n"])
def test_lines_may_end_as_they_like(read, end):
    text = random_text(3, end=end)
    expected = read(random_text(3))
    assert_same_lists(read(text), expected)
    assert_same_lists(read(text.removesuffix(end)), expected)
    assert_same_lists(read(b"\xef\xbb\xbf" + text.encode()), expected)


def test_compressed_files_are_seen_from_their_first_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(text_chunks, "CHUNK", 1_000)
    text = random_text(4).encode()
    (tmp_path / "plain").write_bytes(text)
    (tmp_path / "gzip").write_bytes(gzip.compress(text))
    (tmp_path / "two gzips").write_bytes(gzip.compress(text[:500]) + gzip.compress(text[500:]))
    (tmp_path / "zstd").write_bytes(pa.compress(text, "zstd", asbytes=True))
    expected = tr.read_svmlight(tmp_path / "plain")
    for name in ("gzip", "two gzips", "zstd"):
        assert_same_lists(tr.read_svmlight(tmp_path / name), expected)


def test_features_begin_at_0_if_one_is_named_0_and_at_1_otherwise_or_as_told(read):
    assert dense(read("1 qid:1 1:1 2:2").X).tolist() == [[1, 2]]
    assert dense(read("1 qid:1 0:1 1:2").X).tolist() == [[1, 2]]
    assert dense(read("1 qid:1 1:1 2:2", first_feature=0).X).tolist() == [[0, 1, 2]]
    assert dense(read("1 qid:1 2:2", n_features=4).X).tolist() == [[0, 2, 0, 0]]
    assert dense(read("1 qid:1 2:2", n_features=4, first_feature=0).X).tolist() == [[0, 0, 2, 0]]
    assert dense(read("1 qid:1", n_features=2).X).tolist() == [[0, 0]]


@pytest.mark.parametrize(
    ("texts", "columns"),
    [
        (["1 qid:1 1:1 2:2\n", "1 qid:1 5:1\n"], (5, 1)),
        (["1 qid:1 1:1 2:2\n", "1 qid:1\n1 qid:2 0:1\n"], (3, 0)),
        (["1 qid:1 0:1 0007:2\n", "1 qid:1 3:NULL\n"], (8, 0)),
        (["1 qid:1 0:0\n", "1 qid:1\n"], (1, 0)),
        (["1 qid:1\n", "# nothing\n"], (None, 1)),
    ],
)
def test_files_that_belong_together_have_the_columns_that_all_of_them_ask_for(tmp_path, texts, columns):
    files = [tmp_path / f"{k}.txt" for k in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    assert common_columns(files, judged=True) == columns
    assert common_columns(files[::-1], judged=True) == columns


def test_the_array_is_dense_where_that_takes_no_more_memory(read):
    half, less = "1 qid:1 1:1 2:2\n0 qid:1 4:1 5:0\n0 qid:1 1:1 6:1\n", "1 qid:1 1:1 2:2\n0 qid:1 4:1 6:1\n"
    assert read(half[: half.rindex("0 qid")] + "0 qid:1 1:1 2:1 3:1 4:1 6:1\n").X.__class__ is np.ndarray
    lists = read(less)
    assert isinstance(lists.X, sparse.csr_matrix)
    assert lists.X.dtype == np.float32
    assert lists.X.has_canonical_format
    told = read(less, dense=True).X
    assert isinstance(told, np.ndarray)
    assert told.flags.c_contiguous
    np.testing.assert_array_equal(told, lists.X.toarray())
    assert read(half, dense=False).X.nnz == 6  # a zero that is written stays written


def test_queries_come_in_the_order_of_the_file_which_need_not_be_that_of_their_ids(read):
    lists = read("1 qid:9223372036854775807 1:1\n0 qid:3 1:1\n0 qid:3 1:2\n2.0 qid:12 1:1\n")
    assert lists.query.tolist() == [2**63 - 1, 3, 12]
    assert lists.group.tolist() == [1, 2, 1]
    assert lists.labels.tolist() == [1, 0, 0, 2]


# what is refused

REFUSED = {
    "nothing": (b"", r"lists.txt has no rows"),
    "only comments": (b"# a\n\n \n", r"lists.txt has no rows"),
    "no features": (b"1 qid:1\n", r"names no feature"),
    "no query": (b"1 1:2\n", r"line 1: '1:2' comes after the label; it must be qid:number"),
    "only a label": (b"1\n", r"line 1: nothing comes after the label"),
    "a query that is text": (b"1 qid:a 1:2\n", r"line 1: the query is 'qid:a'"),
    "a query without an id": (b"1 qid: 1:2\n", r"line 1: the query is 'qid:'"),
    "a huge query": (b"1 qid:9223372036854775808 1:2\n", r"line 1: the query is 'qid:9223372036854775808'"),
    "a negative label": (b"-1 qid:1 1:2\n", r"line 1: the line begins with '-1'; it must begin with a label"),
    "a label with a fraction": (b"0.5 qid:1 1:2\n", r"line 1: the line begins with '0.5'"),
    "a huge label": (b"1001 qid:1 1:2\n", r"line 1: the line begins with '1001'"),
    "no value": (b"1 qid:1 1:\n", r"line 1: feature '1:' has a value that is not a number"),
    "no colon": (b"1 qid:1 1:2 x\n", r"line 1: a feature reads 'x'; it must be id:value"),
    "no id": (b"1 qid:1 :2\n", r"line 1: a feature reads ':2'"),
    "a negative id": (b"1 qid:1 -1:2\n", r"line 1: a feature reads '-1:2'"),
    "text for a number": (b"1 qid:1 1:2 2:1,5\n", r"line 1: feature '2:1,5' has a value that is not a number"),
    "two colons": (b"1 qid:1 1:2:3\n", r"line 1: feature '1:2:3' has a value"),
    "an underscore": (b"1 qid:1 1:1_0\n", r"line 1: feature '1:1_0' has a value"),
    "a huge id": (b"1 qid:1 2147483647:1\n", r"line 1: feature id '2147483647' is above 2147483646"),
    "ids that fall": (b"1 qid:1 2:1 1:1\n", r"line 1: feature '1:1' comes after feature 2; ids must rise"),
    "an id given twice": (b"1 qid:1 1:1 1:1\n", r"line 1: feature '1:1' comes after feature 1"),
    "a zero byte": (b"1 qid:1 1:1\0\n", r"line 1: feature '1:1\\x00' has a value"),
    "a long word": (b"1 qid:1 " + b"x" * 10_000, r"line 1: a feature reads 'x{80}…'"),
    "the lines before counted": (b"# a\n\n1 qid:1 1:1\r\n\n2 qid:1 1:e5\n", r"line 5: feature '1:e5' has a value"),
    "a query that comes back": (
        b"1 qid:1 1:1\n1 qid:1 1:1\n# a\n\n1 qid:2 1:1\n1 qid:1 1:1\n1 qid:2 1:1\n",
        r"line 6: query 1 begins again, and its rows ended in line 2; the rows of a query must stand together",
    ),
}


@pytest.mark.parametrize("chunk", [16, 1 << 20])
@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_not_in_the_format_is_refused_with_its_line(read, monkeypatch, text, message, chunk):
    monkeypatch.setattr(text_chunks, "CHUNK", chunk)
    with pytest.raises(FileFormatError, match=message):
        read(text)


def test_ids_that_are_not_in_the_table_are_refused(read):
    with pytest.raises(FileFormatError, match=r"line 2: feature id 3 is not one of 1 to 2\. Hint: n_features="):
        read("1 qid:1 1:1 2:1\n1 qid:1 1:1 3:1\n", n_features=2)
    with pytest.raises(FileFormatError, match="line 2: feature id 0 is not one of 1 to 2"):
        read("1 qid:1 1:1 2:1\n1 qid:1 0:1\n", first_feature=1)
    with pytest.raises(FileFormatError, match="line 1: feature id 2 is not one of 0 to 1"):
        read("1 qid:1 1:1 2:1\n1 qid:1 0:1\n", n_features=2, dense=False)


def test_options_that_cannot_be_are_refused(read):
    with pytest.raises(InputError, match="n_features is 0"):
        read(TWO_LISTS, n_features=0)
    with pytest.raises(InputError, match="first_feature is 2; it must be 0 or 1"):
        read(TWO_LISTS, first_feature=2)


def test_files_that_are_not_there_or_no_files_or_cut_short_are_refused(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"nowhere.txt does not exist"):
        tr.read_svmlight(tmp_path / "nowhere.txt")
    with pytest.raises(FileFormatError, match="is not a file"):
        tr.read_svmlight(tmp_path)
    (tmp_path / "cut.txt.gz").write_bytes(gzip.compress(random_text(0).encode())[:-100])
    with pytest.raises(FileFormatError, match=r"cut.txt.gz cannot be decompressed: .*is it cut short"):
        tr.read_svmlight(tmp_path / "cut.txt.gz")
    monkeypatch.setattr(text_chunks, "LONGEST_LINE", 100)
    monkeypatch.setattr(text_chunks, "CHUNK", 64)
    (tmp_path / "one line").write_bytes(b"1 qid:1 1:1\n" + b"1" * 1_000)
    with pytest.raises(FileFormatError, match=r"one line, line 2 has over 100 bytes\. Hint: is this a text file"):
        tr.read_svmlight(tmp_path / "one line")


CHANGES = {
    "more rows": TWO_LISTS + "1 qid:9 1:1\n",
    "fewer rows": "2 qid:7 1:0.5 3:1\n",
    "more features in a row": TWO_LISTS.replace("2:0.25", "2:0.25 3:1"),
    "fewer features in a row": TWO_LISTS.replace(" 3:1", ""),
    "a feature beyond the last": TWO_LISTS.replace("3:1", "4:1"),
}


@pytest.mark.parametrize("text", CHANGES.values(), ids=CHANGES.keys())
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch, text):
    path = tmp_path / "lists.txt"
    path.write_text(TWO_LISTS)
    measure = FeatureReader._measure

    def measure_before_it_changes(self, *given):
        table = measure(self, *given)
        path.write_text(text)
        return table

    monkeypatch.setattr(FeatureReader, "_measure", measure_before_it_changes)
    with pytest.raises(FileFormatError, match=r"changed while it was being read|is not one of 1 to 3"):
        tr.read_svmlight(path, dense=False)


# what it costs


def test_progress_counts_the_bytes_of_both_passes(tmp_path, monkeypatch):
    monkeypatch.setattr(text_chunks, "CHUNK", 1_000)
    path = tmp_path / "lists.txt"
    path.write_text(random_text(5))
    told = []
    tr.read_svmlight(path, progress=lambda done, total: told.append((done, total)))
    size = path.stat().st_size
    assert told[-1] == (2 * size, 2 * size)
    assert told == sorted(told)
    assert len(told) > 2 * size // 1_000
    assert {total for _, total in told} == {2 * size}


def test_memory_holds_the_result_and_a_chunk(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    values = rng.random((4_000, 100)).round(5)
    lines = [" ".join(f"{f}:{v}" for f, v in enumerate(row, 1)) for row in values.tolist()]
    path = tmp_path / "lists.txt"
    path.write_text("".join(f"0 qid:{k // 20} {line}\n" for k, line in enumerate(lines)))
    tr.read_svmlight(path)  # compiled and imported
    chunk = 1 << 16
    monkeypatch.setattr(text_chunks, "CHUNK", chunk)
    for options, result in (({}, values.size * 4), ({"dense": False}, values.size * 8)):
        tracemalloc.start()
        tr.read_svmlight(path, **options)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert result < peak < result + 40 * len(values) + 8 * chunk < path.stat().st_size + result


def test_ordinary_lines_never_need_the_slow_reader(read, monkeypatch):
    def never(line, judged):
        raise AssertionError(line)

    monkeypatch.setattr(feature_text, "parse_line", never)
    lists = read(random_text(6) + "2.000 qid:999999 1:0.1234567890123456789 2:1e-30 3:1.7976931348623157e308\n")
    assert lists.n_lists == 21

"""Weighted pairs saved and loaded: nothing lost, nothing half written, nothing else taken for pairs."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click_logs import assert_same, random_log

from truerank import PairWeights, pair_weights
from truerank.errors import FileFormatError, InputError

ENDINGS = (".parquet", ".npz")
in_both_formats = pytest.mark.parametrize("ending", ENDINGS)


def with_text_ids(**options):
    log = random_log(30)
    query, item = [f"q{q}" for q in log.query], [f"häuser {i}" for i in log.item]
    return log.pairs(**{"query": query, "item": item} | options)


KINDS = {
    "merged": lambda: random_log(30).pairs(),
    "merged by query": lambda: random_log(30).pairs(merge="query"),
    "with positions": lambda: random_log(30).pairs("ratio"),
    "without ids": lambda: random_log(30).unmerged(),
    "without sources": lambda: random_log(30).pairs() + random_log(31).pairs(),
    "text ids": with_text_ids,
    "numpy object text": lambda: with_text_ids(item=np.array([f"i{i}" for i in random_log(30).item], dtype=object)),
    "huge ids": lambda: random_log(30).pairs(item=2**63 - 1 - np.asarray(random_log(30).item)),
    "unsigned ids": lambda: random_log(30).pairs(item=2**64 - 1 - random_log(30).item.astype(np.uint64)),
    "numbers as objects": lambda: random_log(30).pairs(item=random_log(30).item.astype(object)),
    "a list of 300": lambda: pair_weights(np.arange(300) < 2, None, [300], "none"),
    "no lists": lambda: pair_weights([], [], [], "none"),
    "lists without pairs": lambda: pair_weights([0, 0, 0], None, [2, 1], "none"),
}


@in_both_formats
@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS.keys())
def test_what_is_saved_comes_back(make, ending, tmp_path):
    pairs, path = make(), tmp_path / f"pairs{ending}"
    pairs.save(path)
    loaded = PairWeights.load(str(path))
    assert_same(loaded, pairs)
    assert (loaded.i.dtype, loaded.weight.dtype) == (pairs.i.dtype, pairs.weight.dtype)


@in_both_formats
def test_loaded_pairs_add_up_with_fresh_ones(ending, tmp_path):
    pairs = with_text_ids()
    pairs.save(tmp_path / f"pairs{ending}")
    total = PairWeights.load(tmp_path / f"pairs{ending}") + pairs
    np.testing.assert_allclose(total.weight, 2 * pairs.weight)


def test_any_tool_reads_one_row_a_list(tmp_path):
    pairs = with_text_ids()
    pairs.save(tmp_path / "pairs.parquet")
    table = pq.read_table(tmp_path / "pairs.parquet").to_pylist()
    assert len(table) == pairs.n_lists
    for q, row in enumerate(table):
        rows, entries = (slice(o[q], o[q + 1]) for o in (pairs.row_offsets, pairs.offsets))
        assert (row["query"], row["sessions"], row["group"]) == (pairs.query[q], pairs.sessions[q], len(row["item"]))
        assert row["item"] == pairs.item[rows].tolist()
        assert row["weight"] == pairs.weight[entries].tolist()
        assert row["j"] == pairs.j[entries].tolist()


FOREIGN_TABLES = {
    "another table": {"query": ["a"], "clicks": [1]},
    "a flat table with our names": {"query": ["a"], "item": ["b"], "weight": [1.0]},
}


@pytest.mark.parametrize("columns", FOREIGN_TABLES.values(), ids=FOREIGN_TABLES.keys())
def test_other_parquet_files_are_refused_by_name(columns, tmp_path):
    path = tmp_path / "other.parquet"
    pq.write_table(pa.table(columns), path)
    with pytest.raises(FileFormatError, match=f"{re.escape(str(path))} does not hold weighted pairs"):
        PairWeights.load(path)


def test_other_npz_files_are_refused_by_name(tmp_path):
    path = tmp_path / "other.npz"
    np.savez(path, weight=np.ones(3))
    with pytest.raises(FileFormatError, match=f"{re.escape(str(path))} does not hold weighted pairs"):
        PairWeights.load(path)


@in_both_formats
@pytest.mark.parametrize(
    "contents", [b"", b"not pairs at all", b"PAR1", b"PK\x03\x04"], ids=["empty", "text", "PAR", "PK"]
)
def test_other_files_are_refused_by_name(contents, ending, tmp_path):
    path = tmp_path / f"other{ending}"
    path.write_bytes(contents)
    with pytest.raises(FileFormatError, match=re.escape(str(path))):
        PairWeights.load(path)


def test_a_single_array_under_the_name_npz_is_refused_by_name(tmp_path):
    path = tmp_path / "other.npz"
    with path.open("wb") as file:
        np.save(file, np.ones(3))
    with pytest.raises(FileFormatError, match=re.escape(str(path))):
        PairWeights.load(path)


@in_both_formats
@pytest.mark.parametrize("part", [0.1, 0.5, 0.9, 0.999])
def test_a_file_cut_short_is_refused_by_name(part, ending, tmp_path):
    path = tmp_path / f"cut{ending}"
    random_log(30).pairs().save(path)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * part)])
    with pytest.raises(FileFormatError, match=re.escape(str(path))):
        PairWeights.load(path)


def loaded_or_refused(path):
    try:
        return PairWeights.load(path), None
    except FileFormatError as error:
        return None, str(error)


@in_both_formats
def test_a_flipped_byte_is_refused_by_name_or_does_no_harm(ending, tmp_path):
    path = tmp_path / f"damaged{ending}"
    pairs = random_log(30).pairs()
    pairs.save(path)
    whole = path.read_bytes()
    for place in np.linspace(0, len(whole) - 1, 60).astype(int):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        loaded, refusal = loaded_or_refused(path)
        if refusal is None:
            assert_same(loaded, pairs)
        else:
            assert str(path) in refusal


def rewritten(path, **header):
    table = pq.read_table(path)
    metadata = {k.decode(): v.decode() for k, v in table.schema.metadata.items()} | header
    pq.write_table(table.replace_schema_metadata({k: v for k, v in metadata.items() if v is not None}), path)


HEADERS = {
    "a later version": ({"version": "99"}, "has version 99; this truerank reads version 1"),
    "a version in words": ({"version": "two"}, "version"),
    "a missing count": ({"sessions_without_pairs": None}, "sessions_without_pairs"),
    "a field too many": ({"colour": "red"}, "colour"),
}


@pytest.mark.parametrize(("header", "message"), HEADERS.values(), ids=HEADERS.keys())
def test_headers_that_cannot_be_read_are_refused_by_name(header, message, tmp_path):
    path = tmp_path / "pairs.parquet"
    random_log(30).pairs().save(path)
    rewritten(path, **header)
    with pytest.raises(FileFormatError, match=f"{re.escape(str(path))}.*{message}"):
        PairWeights.load(path)


def test_impossible_pairs_in_a_file_are_refused_by_name(tmp_path):
    path = tmp_path / "pairs.parquet"
    pair_weights([1, 0], None, [2], "none").save(path)
    table = pq.read_table(path)
    table = table.set_column(table.column_names.index("group"), "group", pa.array([1]))
    pq.write_table(table, path)
    with pytest.raises(FileFormatError, match=re.escape(str(path))):
        PairWeights.load(path)


@pytest.mark.parametrize("name", ["pairs.csv", "pairs", "pairs.parquet.gz"])
def test_other_endings_are_refused(name, tmp_path):
    for act in (random_log(30).pairs().save, PairWeights.load):
        with pytest.raises(InputError, match=rf"{name} must end in \.parquet or \.npz"):
            act(tmp_path / name)
    assert not list(tmp_path.iterdir())


@in_both_formats
def test_a_missing_file_is_named(ending, tmp_path):
    with pytest.raises(FileNotFoundError, match=f"nowhere{ending} does not exist"):
        PairWeights.load(tmp_path / f"nowhere{ending}")


@in_both_formats
def test_a_failed_save_leaves_the_old_file_and_nothing_else(ending, tmp_path, monkeypatch):
    path, old = tmp_path / f"pairs{ending}", random_log(30).pairs()
    old.save(path)

    def fails_half_way(*args, **kwargs):
        temporary = next(a for a in args if not isinstance(a, pa.Table))
        temporary.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez_compressed", fails_half_way)
    monkeypatch.setattr(pq, "write_table", fails_half_way)
    with pytest.raises(OSError, match="disk full"):
        random_log(31).pairs().save(path)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert_same(PairWeights.load(path), old)


@in_both_formats
def test_saving_again_replaces_the_file(ending, tmp_path):
    path, new = tmp_path / f"pairs{ending}", random_log(31).pairs()
    random_log(30).pairs().save(path)
    new.save(path)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert_same(PairWeights.load(path), new)

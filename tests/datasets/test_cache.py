"""What was read is kept, found again by content, and never trusted when damaged."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from svmlight_texts import assert_same_lists, random_text

import truerank as tr
from truerank.datasets import cache, default_cache_folder
from truerank.datasets.feature_text import FeatureReader
from truerank.errors import CacheWarning


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text(random_text(0))
    return path


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache" / "inside"


@pytest.fixture
def count_reads(monkeypatch):
    """How often text was read."""
    reads, read = [], FeatureReader.read
    monkeypatch.setattr(FeatureReader, "read", lambda *given: (reads.append(given), read(*given))[1])
    return lambda: len(reads)


@pytest.mark.parametrize("dense", [True, False])
def test_the_second_time_nothing_is_parsed(source, folder, count_reads, dense):
    first = tr.read_svmlight(source, dense=dense, cache=folder)
    second = tr.read_svmlight(source, dense=dense, cache=str(folder))
    assert count_reads() == 1
    assert type(second.X) is type(first.X)
    assert_same_lists(second, first)
    (kept,) = folder.iterdir()
    assert kept.name.startswith("train-")


def test_another_content_another_option_and_another_reader_are_read_anew(source, folder, count_reads, monkeypatch):
    tr.read_svmlight(source, cache=folder)
    tr.read_svmlight(source, cache=folder, n_features=40)
    tr.read_svmlight(source, cache=folder, dense=False)
    assert count_reads() == 3
    times = source.stat()
    source.write_text(source.read_text().replace("qid:3", "qid:9003"))
    os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert 9003 in tr.read_svmlight(source, cache=folder).query
    assert count_reads() == 4
    monkeypatch.setattr(cache, "READER_VERSION", cache.READER_VERSION + 1)
    tr.read_svmlight(source, cache=folder)
    assert count_reads() == 5


def test_the_same_content_in_another_place_is_not_read_again(source, folder, count_reads, tmp_path):
    lists = tr.read_svmlight(source, cache=folder)
    (tmp_path / "elsewhere").mkdir()
    moved = source.rename(tmp_path / "elsewhere" / source.name)
    assert_same_lists(tr.read_svmlight(moved, cache=folder), lists)
    assert count_reads() == 1


def cut(content):
    return content[: len(content) // 2]


def flip(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def other_arrays(content):
    path = Path("other.npz")
    np.savez(path, labels=np.zeros(3))
    return path.read_bytes()


@pytest.mark.parametrize("damage", [cut, flip, lambda _: b"", lambda _: b"text", other_arrays])
def test_what_is_damaged_is_rebuilt(source, folder, count_reads, damage, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    lists = tr.read_svmlight(source, cache=folder)
    (kept,) = folder.iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(damage(whole))
    assert_same_lists(tr.read_svmlight(source, cache=folder), lists)
    assert count_reads() == 2
    assert_same_lists(tr.read_svmlight(source, cache=folder), lists)
    assert count_reads() == 2
    assert list(folder.iterdir()) == [kept]


@pytest.mark.parametrize("off", [None, False])
def test_the_cache_can_be_left_alone(source, off, count_reads, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    for _ in range(2):
        tr.read_svmlight(source, cache=off)
    assert count_reads() == 2
    assert not (tmp_path / "home").exists()


def test_the_default_folder_is_where_xdg_says(source, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    assert default_cache_folder() == tmp_path / "home" / "truerank" / "datasets"
    tr.read_svmlight(source, cache=True)
    assert len(list(default_cache_folder().iterdir())) == 1
    for value in ("", "relative/folder"):
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        assert default_cache_folder() == Path.home() / ".cache" / "truerank" / "datasets"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_cache_folder() == Path.home() / ".cache" / "truerank" / "datasets"


def test_where_nothing_can_be_kept_the_lists_are_read_with_a_warning(source, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.warns(CacheWarning, match=r"could not be kept in .*Hint: cache= names another folder, or None"):
        lists = tr.read_svmlight(source, cache=tmp_path / "file")
    assert_same_lists(lists, tr.read_svmlight(source))


def test_what_changed_while_it_was_read_is_not_kept(source, folder, monkeypatch):
    read = FeatureReader.read

    def read_and_change(*given):
        text = read(*given)
        source.write_text(source.read_text() + "1 qid:500 1:1\n")
        return text

    monkeypatch.setattr(FeatureReader, "read", read_and_change)
    tr.read_svmlight(source, cache=folder)
    assert not folder.exists()

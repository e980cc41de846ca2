"""Files of examination models: what is refused, and that a failed save does no harm."""

import json
from pathlib import Path

import pytest

from truerank import Independent, load_examination
from truerank.errors import FileFormatError

GOOD = {
    "format": "truerank.examination",
    "version": 1,
    "model": "row_skipping",
    "min_propensity": None,
    "gamma": 0.2,
    "continuation": 0.5,
    "row_lengths": [2, 2],
}


def without(key):
    return {k: v for k, v in GOOD.items() if k != key}


TABLE = GOOD | {"model": "tabulated", "theta": [0.5], "psi": [[0.5]]}
for key in ("gamma", "continuation", "row_lengths"):
    del TABLE[key]

BAD_DOCUMENTS = {
    "a list": ([1, 2], "holds a list, not an examination model"),
    "a number": (3, "holds a int, not an examination model"),
    "no format": (without("format"), 'is not an examination model: it lacks "format"'),
    "another format": (GOOD | {"format": "truerank.pairs"}, "is not an examination model"),
    "no version": (without("version"), "has version None; this truerank reads version 1"),
    "a later version": (GOOD | {"version": 2}, r"has version 2; this truerank reads version 1\. Hint: upgrade"),
    "no model": (without("model"), "holds a model named None; known are continuous, independent"),
    "unknown model": (GOOD | {"model": "psychic"}, "holds a model named 'psychic'; known are"),
    "model is a list": (GOOD | {"model": ["row_skipping"]}, "holds a model named"),
    "missing argument": (without("gamma"), "cannot be used: .*gamma"),
    "extra argument": (GOOD | {"colour": "red"}, "cannot be used: .*colour"),
    "gamma out of range": (GOOD | {"gamma": 1}, "cannot be used: gamma is 1"),
    "gamma null": (GOOD | {"gamma": None}, "cannot be used: .*"),
    "gamma a word": (GOOD | {"gamma": "often"}, "cannot be used: .*"),
    "continuation words": (GOOD | {"continuation": ["a", "b", "c", "d"]}, "cannot be used: .*"),
    "continuation nan": (GOOD | {"continuation": float("nan")}, "cannot be used: continuation at position 1 is nan"),
    "rows ragged": (GOOD | {"row_lengths": [[2], [1, 1]]}, "cannot be used: .*"),
    "rows of floats": (GOOD | {"row_lengths": [2.0]}, "cannot be used: row_lengths"),
    "min_propensity a word": (GOOD | {"min_propensity": "low"}, "cannot be used: .*"),
    "min_propensity out of range": (GOOD | {"min_propensity": 2}, "cannot be used: min_propensity is 2"),
    "theta out of range": (TABLE | {"theta": [1.5]}, "cannot be used: theta at position 1 is 1.5"),
    "theta words": (TABLE | {"theta": ["a"]}, "cannot be used: theta must be numbers"),
    "tables disagree": (TABLE | {"theta": [0.4]}, "cannot be used: psi on the diagonal at position 1"),
    "tables of unequal size": (TABLE | {"theta": [0.4, 0.4]}, "cannot be used: psi has shape"),
}


def test_file_that_the_refused_ones_are_made_from_is_read(tmp_path):
    path = tmp_path / "model.json"
    for document in (GOOD, TABLE):
        path.write_text(json.dumps(document))
        assert load_examination(str(path)).kind == document["model"]


@pytest.mark.parametrize(("document", "message"), BAD_DOCUMENTS.values(), ids=BAD_DOCUMENTS.keys())
def test_file_that_is_not_an_examination_model_is_refused(tmp_path, document, message):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(document))
    with pytest.raises(FileFormatError, match=f"model.json {message}"):
        load_examination(path)


@pytest.mark.parametrize(
    "content", [b"", b"theta = 0.5", b'{"format": "truerank.exam', b"\xff\xfe\x00", json.dumps(GOOD).encode()[:-9]]
)
def test_file_that_is_not_json_is_refused(tmp_path, content):
    path = tmp_path / "model.json"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"model\.json is not JSON"):
        load_examination(path)


def test_missing_file_is_an_ordinary_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_examination(tmp_path / "nowhere.json")


def test_saving_replaces_an_older_model_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "model.json"
    Independent([0.5]).save(path)
    Independent([0.25, 0.125]).save(path)
    assert load_examination(path) == Independent([0.25, 0.125])
    assert list(tmp_path.iterdir()) == [path]


def fail_to_describe(monkeypatch):
    monkeypatch.setattr(Independent, "parameters", lambda self: {"theta": [float("nan")]})


def fail_to_write(monkeypatch):
    def half_write(self, text, **options):
        self.write_bytes(text.encode()[:10])
        raise OSError("disk full")

    monkeypatch.setattr(Path, "write_text", half_write)


def fail_to_move(monkeypatch):
    def refuse(self, target):
        raise OSError("not allowed")

    monkeypatch.setattr(Path, "replace", refuse)


@pytest.mark.parametrize("fail", [fail_to_describe, fail_to_write, fail_to_move])
def test_failed_save_leaves_the_old_file_and_no_temporary(tmp_path, monkeypatch, fail):
    path = tmp_path / "model.json"
    Independent([0.5]).save(path)
    before = path.read_bytes()
    fail(monkeypatch)
    with pytest.raises((OSError, ValueError)):
        Independent([0.25]).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]

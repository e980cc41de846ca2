"""Files are written whole or not at all, and a full disk is named."""

import errno

import pytest

import truerank as tr
from truerank.atomic import replace_whole
from truerank.errors import InputError, ResourceError


def write_half(path, error):
    with replace_whole(path) as temporary:
        temporary.write_text("half")
        raise error


@pytest.mark.parametrize("error", [ValueError("no"), OSError(errno.EIO, "broken"), KeyboardInterrupt()])
def test_what_fails_leaves_the_old_file_and_no_other(tmp_path, error):
    path = tmp_path / "kept.json"
    path.write_text("old")
    with pytest.raises(type(error)):
        write_half(path, error)
    assert [file.name for file in tmp_path.iterdir()] == ["kept.json"]
    assert path.read_text() == "old"


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"no folder .*nowhere\. Hint: make it first"):
        tr.Independent([1, 0.5]).save(tmp_path / "nowhere" / "exam.json")


def test_a_full_disk_is_an_error_that_names_the_file(tmp_path):
    with pytest.raises(ResourceError, match=r"the disk is full: .*pairs\.npz cannot be written \(No space left"):
        write_half(tmp_path / "pairs.npz", OSError(errno.ENOSPC, "No space left on device"))


def test_a_real_limit_on_files_is_named_for_every_format(tmp_path):
    resource = pytest.importorskip("resource", reason="limits on files are of Unix")
    import signal

    pairs = tr.pair_weights([1, 0] * 40_000, [1, 2] * 40_000, [2] * 40_000, "robust", tr.Independent([1, 0.5]))
    before, ignored = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        for name in ("pairs.parquet", "pairs.npz"):
            with pytest.raises(ResourceError, match=rf"the disk is full: .*{name}"):
                pairs.save(tmp_path / name)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert list(tmp_path.iterdir()) == []

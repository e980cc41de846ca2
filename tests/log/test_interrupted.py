"""Killed, out of disk, or fed with damaged files: nothing half-written, and an error that says which file."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dirty import ROW_RULES, SCHEMA, broken_rules
from impressions import random_log
from test_compaction import LOOKS, assert_same_bits

import truerank as tr
from truerank.errors import InputError

posix = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")

START = """
import resource, sys, time
import truerank as tr
looks = tr.RowSkipping(gamma=0.3, continuation=0.85, row_lengths=[2, 3, 2])
log = tr.open_log(sys.argv[1] + "/log.parquet", temp_directory=sys.argv[1], threads=1)
store = tr.SessionStore(sys.argv[1] + "/store", log.engine)
"""
HANG = "def progress(done, total):\n    print('portion', flush=True)\n    time.sleep(60)\n"


def process(script, folder):
    command = [sys.executable, "-c", START + textwrap.dedent(script), str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def written(tmp_path, rng):
    log = random_log(rng, 200)
    pq.write_table(log, tmp_path / "log.parquet")
    (tmp_path / "store").mkdir()
    return log


@posix
@pytest.mark.parametrize(
    "work",
    [
        "store.add(log, 'today', portion=100, progress=progress)",
        "log.compact(looks, portion=100, progress=progress).save(sys.argv[1] + '/pairs.parquet')",
    ],
    ids=["a day for the store", "weighted pairs"],
)
def test_killed_in_the_middle_leaves_nothing_and_the_next_run_is_right(work, written, tmp_path):
    running = process(HANG + work, tmp_path)
    assert running.stdout.readline() == "portion\n", running.stderr.read()
    running.send_signal(signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL
    running.stdout.close()
    running.stderr.close()
    assert not (tmp_path / "pairs.parquet").exists()
    assert any(p.name.startswith("truerank-spill") for p in tmp_path.iterdir())

    log = tr.open_log(tmp_path / "log.parquet", temp_directory=tmp_path)
    assert len([p for p in tmp_path.iterdir() if p.name.startswith("truerank-spill")]) == 1  # the one of this process
    store = tr.SessionStore(tmp_path / "store", log.engine)
    assert store.days == {}
    day = store.add(log, "today")
    assert sorted(p.name for p in (tmp_path / "store").iterdir()) == sorted([day.file, "manifest.json"])
    assert_same_bits(store.compact(LOOKS), log.compact(LOOKS))


@posix
@pytest.mark.parametrize(
    ("work", "file"),
    [
        ("store.add(log, 'today')", r"store/\.today\.parquet"),
        ("log.save(sys.argv[1] + '/saved.parquet')", r"saved\.\w+\.parquet|No space|File too large"),
    ],
    ids=["a day for the store", "a saved log"],
)
def test_a_full_disk_is_said_to_be_full(work, file, written, tmp_path):
    """A limit to the size of files stands in for a full disk: writing fails in the same way, at the same places."""
    script = f"""
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))
    try:
        {work}
    except tr.errors.ResourceError as error:
        print(error, flush=True)
    """
    before = sorted(p.name for p in tmp_path.iterdir())
    running = process(script, tmp_path)
    out, err = running.communicate(timeout=60)
    assert "the disk is full" in out, err
    assert re.search(file, out)
    left = [p.name for p in tmp_path.iterdir() if not p.name.startswith("truerank-spill")]
    assert sorted(left) == before
    assert list((tmp_path / "store").iterdir()) == []


@pytest.mark.parametrize("damage", [lambda b: b[: len(b) // 2], lambda b: b"XXXX" + b[4:-4] + b"XXXX", lambda b: b""])
def test_a_damaged_file_is_named(damage, tmp_path, engine, rng):
    for name in ("a", "b", "c"):
        pq.write_table(random_log(rng), tmp_path / f"{name}.parquet")
    (tmp_path / "b.parquet").write_bytes(damage((tmp_path / "b.parquet").read_bytes()))
    with pytest.raises(InputError, match=r"b\.parquet"):
        tr.open_log(tmp_path, engine).compact(LOOKS)


def test_every_problem_of_a_log_with_a_tenth_of_its_rows_corrupted_is_counted(engine):
    rng = np.random.default_rng(8)
    rows = clean_rows(rng, 300)
    wrong = {
        "session": [None],
        "query": [None, "", "other"],
        "item": [None],
        "position": [None, "x", "1.5", "-1", "0"],
        "label": [None, 0.5, -1.0, 4.0],
        "swap": ["1:control", "swapped"],
        "timestamp": ["yesterday"],
    }
    spoiled = rng.choice(len(rows), len(rows) // 10, replace=False)
    for k in spoiled:
        column = list(wrong)[rng.integers(len(wrong))]
        rows[k][column] = wrong[column][rng.integers(len(wrong[column]))]
    log = tr.open_log(pa.Table.from_pylist(rows, schema=SCHEMA), engine)
    report = log.validate(largest_label=3)
    found = {problem.rule: (problem.rows, problem.sessions) for problem in report.problems}
    expected = broken_rules(rows)
    assert {name: found[name] for name in expected} == expected
    assert sum(expected[name][0] > 0 for name in ROW_RULES) >= 10
    with pytest.raises(InputError, match=r"log\.validate\(\) says what is wrong"):
        log.compact(LOOKS)


def clean_rows(rng, n_sessions):
    return [
        {
            "session": session,
            "query": "abc"[session % 3],
            "item": position,
            "position": str(position),
            "label": float(rng.integers(0, 3)),
            "swap": "",
            "timestamp": "2024-05-01T10:00:00Z",
        }
        for session in range(n_sessions)
        for position in range(1, 8)
    ]

"""Ctrl-C: nothing half-written stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

VERBS = {
    "simulate": "simulate judged.txt -o out.parquet --sessions 60000",
    "train": "train --log clicks.parquet --features items.parquet --method none --trees 2000000 -o out.txt",
}


@pytest.mark.parametrize("verb", VERBS)
def test_ctrl_c_leaves_no_file_and_says_so(verb, judged, log, in_folder):
    before = set(os.listdir())
    command = [sys.executable, "-m", "truerank", *VERBS[verb].split()]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.2)
            begun = set(os.listdir()) - before if verb == "simulate" else time.monotonic() > deadline - 56
            if begun:
                break
        assert process.poll() is None, process.stderr.read()
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "stopped" in told
    assert "Traceback" not in told
    assert set(os.listdir()) == before

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("truerank", deadline=None)  # how long an example takes depends on what else the machine does
settings.load_profile("truerank")

NOT_HERE = "the public data sets are not on this machine"
NO_TORCH = "torch is not installed"
NO_BROWSER = "Chromium and its driver are not on this machine"


@pytest.fixture(scope="session")
def real_data():
    """The folder of public data sets to test on, which the project must not pass on."""
    folder = Path(os.environ.get("TRUERANK_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"{NOT_HERE}: TRUERANK_DATA names their folder")
    return folder


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    """Where nothing may be skipped (`.ci/run`), a skip is a failure, except for want of what can't be had everywhere.

    That is data nobody may pass on, a build of PyTorch without GPU packages, and a browser.
    """
    report = yield
    excused = any(reason in str(report.longrepr) for reason in (NOT_HERE, NO_TORCH, NO_BROWSER))
    if report.skipped and not excused and os.environ.get("TRUERANK_NOTHING_SKIPS"):
        report.outcome = "failed"
        report.longrepr = f"skipped, and nothing may be: {report.longrepr}"
    return report

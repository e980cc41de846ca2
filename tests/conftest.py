import os

import pytest
from hypothesis import settings

settings.register_profile("truerank", deadline=None)  # how long an example takes depends on what else the machine does
settings.load_profile("truerank")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    """Where nothing may be skipped (`.ci/run`), a skip is a failure."""
    report = yield
    if report.skipped and os.environ.get("TRUERANK_NOTHING_SKIPS"):
        report.outcome = "failed"
        report.longrepr = f"skipped, and nothing may be: {report.longrepr}"
    return report

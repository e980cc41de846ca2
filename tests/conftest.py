import os

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    """Where nothing may be skipped (`.ci/run`), a skip is a failure."""
    report = yield
    if report.skipped and os.environ.get("TRUERANK_NOTHING_SKIPS"):
        report.outcome = "failed"
        report.longrepr = f"skipped, and nothing may be: {report.longrepr}"
    return report

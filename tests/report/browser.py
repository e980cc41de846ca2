"""A real headless Chromium that tells what it saw."""

from __future__ import annotations

import base64
import json
import shutil
from contextlib import contextmanager

import pytest

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --force-device-scale-factor=1"
)


def chromium_or_skip():
    """The browser and its driver, or a skip."""
    found = shutil.which("chromium") or shutil.which("chromium-browser"), shutil.which("chromedriver")
    if None in found:
        pytest.skip("Chromium and its driver are not on this machine")
    return found


@contextmanager
def open_browser(profile):
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    binary, driver = chromium_or_skip()
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in (*FLAGS.split(), f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield browser
    finally:
        browser.quit()


def show(browser, page, *, width=1280, height=900, scheme="light", medium="screen"):
    """Load a page and wait until its charts are drawn."""
    from selenium.webdriver.support.ui import WebDriverWait

    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": medium, "features": features})
    browser.get(page.as_uri())
    WebDriverWait(browser, 30).until(
        lambda b: b.execute_script("return document.documentElement.dataset.drawn !== undefined")
    )


def requests(browser):
    """The addresses of everything that was asked for since the last time."""
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]


def picture(browser, path):
    """The whole page as a picture."""
    taken = browser.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "format": "png"})
    path.write_bytes(base64.b64decode(taken["data"]))
    return path

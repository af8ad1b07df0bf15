"""A headless browser for tests of pages, and what its console says."""

import shutil
from collections.abc import Generator
from contextlib import contextmanager

import pytest
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

_BROWSER, _DRIVER = shutil.which("chromium"), shutil.which("chromedriver")

needs_a_browser = pytest.mark.skipif(
    _BROWSER is None or _DRIVER is None, reason="needs chromium and chromedriver"
)

_FLAGS = (
    "--headless=new",
    "--no-sandbox",  # root, as in a container
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--window-size=1280,900",
    # A name would be a server elsewhere.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


@contextmanager
def opened() -> Generator[Chrome]:
    """Yield a browser that reaches this machine alone."""
    options = ChromeOptions()
    options.binary_location = str(_BROWSER)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for flag in _FLAGS:
        options.add_argument(flag)
    driver = Chrome(options=options, service=Service(executable_path=str(_DRIVER)))
    try:
        yield driver
    finally:
        driver.quit()


def said(browser: Chrome) -> list[str]:
    """Return the warnings and errors of the browser's console since the last call."""
    log = browser.get_log("browser")  # type: ignore[no-untyped-call]  # it says no types
    return [str(entry["message"]) for entry in log if entry["level"] in {"WARNING", "SEVERE"}]

"""Many jobs are cancelled in a browser: step by step by itself, until somebody stops it."""

import socket
import threading
from collections.abc import Iterator
from functools import partial
from operator import methodcaller

import pytest
import uvicorn
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from fairlead_console.reads import many
from fairlead_console.screens.source import Source
from fairlead_console.settings import ConsoleSettings
from fairlead_console.web import acting
from fairlead_console.web.app import Console
from tests.support.accessible import violations
from tests.support.browsers import needs_a_browser, opened, said
from tests.support.race import Database
from tests.support.waiting import until

pytestmark = [
    pytest.mark.xdist_group("console in a browser"),
    pytest.mark.timeout(300),
    needs_a_browser,
]

_JOBS = (
    "INSERT INTO fairlead.jobs (queue, tenant, kind)"
    " SELECT 'mail', 'acme', 'send' FROM generate_series(1, %s) n"
)
_LEFT = "SELECT count(*) FROM fairlead.jobs"


@pytest.fixture(scope="module")
def browser() -> Iterator[Chrome]:
    """Yield a browser that reaches this machine alone."""
    with opened() as found:
        yield found


@pytest.fixture
def address(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield where a console lets everybody act, whose steps are of ten jobs."""
    monkeypatch.setattr(acting, "_STEP_SECONDS", 0.0)
    monkeypatch.setattr(many, "_BATCH", 10)
    settings = ConsoleSettings(database_url=database_url, console_operator_url=database_url)
    source = Source.of(settings)
    config = uvicorn.Config(
        Console(settings, source).app(),
        lifespan="off",
        log_config=None,
        ws="none",
        timeout_graceful_shutdown=1,
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(config)
        thread = threading.Thread(target=partial(server.run, sockets=[listener]))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            source.close()
            server.should_exit = True
            thread.join()


def left(db: Database) -> int:
    """Return how many jobs are left."""
    row = db.execute(_LEFT).fetchone()
    assert row is not None
    return int(row[0])


def title(browser: Chrome) -> str:
    """Return what the part that tells of it is headed."""
    try:
        return "".join(each.text for each in browser.find_elements(By.ID, "far"))
    except StaleElementReferenceException:  # it is drawn anew at this moment
        return ""


def begin(browser: Chrome, address: str) -> None:
    """Go by the links of the list, type a reason, and say yes."""
    browser.get(f"{address}/jobs?queue=mail")
    browser.find_element(By.PARTIAL_LINK_TEXT, "Cancel all unfinished").click()
    reason = browser.find_element(By.CSS_SELECTOR, "main input[name=reason]")
    reason.send_keys("the bank is away", Keys.ENTER)
    until(lambda: title(browser) != "", what="the first step", seconds=60)


def test_it_goes_on_by_itself_until_it_is_stopped(
    browser: Chrome, address: str, db: Database
) -> None:
    """Nothing is done after that; the same page goes on when it is asked to."""
    db.execute(_JOBS, [400])
    said(browser)
    begin(browser, address)
    until(lambda: left(db) <= 370, what="some steps", seconds=60)
    browser.find_element(By.ID, "step-stop").click()
    until(lambda: title(browser) == "Stopped", what="the stop")
    idle = "return !document.querySelector('.htmx-request')"
    until(lambda: bool(methodcaller("execute_script", idle)(browser)), what="its last step")
    stopped = left(db)

    assert 0 < stopped <= 370
    assert [] == violations(browser)
    tally = browser.find_element(By.CSS_SELECTOR, ".tally").text
    assert f"{400 - stopped} cancelled" == tally
    assert stopped == left(db)
    browser.find_element(By.ID, "step-on").click()
    until(lambda: title(browser) == "It is done", what="the end", seconds=120)
    assert 0 == left(db)
    assert "400 cancelled" == browser.find_element(By.CSS_SELECTOR, ".tally").text
    assert [] == said(browser)


def test_a_step_that_fails_stops_it_and_says_so(
    browser: Chrome, address: str, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was told so far stays, and it can go on."""
    db.execute(_JOBS, [60])
    begin(browser, address)
    monkeypatch.setattr(many, "SETTINGS", {"role": "fairlead_viewer"})
    until(lambda: title(browser) == "Stopped", what="the stop", seconds=60)
    assert browser.find_element(By.ID, "step-failed").is_displayed()
    monkeypatch.setattr(many, "SETTINGS", {"role": "fairlead_operator"})
    browser.find_element(By.ID, "step-on").click()
    until(lambda: title(browser) == "It is done", what="the end", seconds=60)

    assert 0 == left(db)


def test_without_scripts_a_button_does_the_next_step(
    browser: Chrome, address: str, db: Database
) -> None:
    """And there is nothing to stop."""
    db.execute(_JOBS, [25])
    switch = partial(methodcaller, "execute_cdp_cmd", "Emulation.setScriptExecutionDisabled")
    switch({"value": True})(browser)
    try:
        begin(browser, address)
        assert 15 == left(db)
        assert not browser.find_element(By.ID, "step-stop").is_displayed()
        browser.find_element(By.ID, "step-on").click()
        until(lambda: left(db) == 5, what="the second step")
        until(lambda: bool(browser.find_elements(By.ID, "step-on")), what="its page")
        browser.find_element(By.ID, "step-on").click()
        until(lambda: title(browser) == "It is done", what="the end")
    finally:
        switch({"value": False})(browser)

    assert 0 == left(db)

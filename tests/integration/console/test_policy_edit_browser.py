"""The policy's editor in a browser: by keys alone, without scripts, and read by everybody."""

from collections.abc import Iterator
from functools import partial
from operator import methodcaller
from pathlib import Path

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.integration.console.test_accessible import size
from tests.support.accessible import unreached, violations
from tests.support.browsers import needs_a_browser, opened, said
from tests.support.consoles import console
from tests.support.policy_editor import OLD, edit_in_the_cluster, fill
from tests.support.race import Database
from tests.support.sampled import sampled
from tests.support.waiting import until

pytestmark = [
    pytest.mark.xdist_group("console in a browser"),
    pytest.mark.timeout(600),
    needs_a_browser,
]

_MORE = "    tenants: {overrides: [{match: {tenant: acme}, weight: 10}]}\n"


@pytest.fixture(scope="module")
def browser() -> Iterator[Chrome]:
    """Yield a browser that reaches this machine alone."""
    with opened() as found:
        yield found


@pytest.fixture
def address(database_url: str, db: Database, tmp_path: Path) -> Iterator[str]:
    """Yield where a console lets everybody act, over a fleet with a policy in force."""
    fill(db)
    with console(database_url, tmp_path, FAIRLEAD_CONSOLE_OPERATOR_URL=database_url) as found:
        yield found


def shown(browser: Chrome, what: str) -> None:
    """Wait for the page that has this."""
    until(lambda: bool(browser.find_elements(By.CSS_SELECTOR, what)), what=what, seconds=90)


def press(browser: Chrome, step: str, what: str) -> None:
    """Press a button of the editor by a key, and wait for its page."""
    browser.find_element(By.CSS_SELECTOR, f"button[value={step}]").send_keys(Keys.ENTER)
    shown(browser, what)


def write(browser: Chrome, text: str) -> None:
    """Type behind the document."""
    browser.find_element(By.ID, "text").send_keys(text)


@pytest.mark.parametrize("width", [360, 1600])
@pytest.mark.parametrize("theme", sampled(["light", "dark"], of=2))
def test_axe_finds_nothing_at_any_step(
    browser: Chrome, address: str, db: Database, width: int, theme: str
) -> None:
    """What is wrong, what differs, what it would do, and what to give to Kubernetes."""
    size(browser, width)
    browser.get(address)
    methodcaller("execute_script", "localStorage.setItem('theme', arguments[0])", theme)(
        browser
    )
    said(browser)
    browser.get(f"{address}/policy/edit")
    found = {"begun": violations(browser)}
    write(browser, "    wieght: 3\n")
    press(browser, "check", "#wrong")
    found["wrong"] = violations(browser)
    browser.find_element(By.ID, "text").clear()
    write(browser, OLD + _MORE)
    press(browser, "check", "button[value=simulate]")
    found["checked"] = violations(browser)
    press(browser, "simulate", "button[value=apply]")
    found["simulated"] = violations(browser)
    assert 0 == unreached(browser)
    edit_in_the_cluster(db)
    press(browser, "simulate", "pre[aria-label='The command']")
    found["configmap"] = violations(browser)

    assert {} == {step: wrong for step, wrong in found.items() if wrong}
    assert [] == said(browser)


@pytest.mark.parametrize("has_scripts", [True, False], ids=["scripts", "no scripts"])
def test_keys_alone_apply_a_policy(
    browser: Chrome, address: str, db: Database, *, has_scripts: bool
) -> None:
    """From its page to the new version's, with a text that is stored as it was typed."""
    size(browser, 1600)
    switch = partial(methodcaller, "execute_cdp_cmd", "Emulation.setScriptExecutionDisabled")
    switch({"value": not has_scripts})(browser)
    try:
        browser.get(f"{address}/policy")
        browser.find_element(By.LINK_TEXT, "Edit it").send_keys(Keys.ENTER)
        shown(browser, "#text")
        write(browser, _MORE)
        press(browser, "check", "button[value=simulate]")
        press(browser, "simulate", "button[value=apply]")
        reason = browser.find_element(By.NAME, "reason")
        reason.send_keys("acme pays")
        press(browser, "apply", "p.done")
    finally:
        switch({"value": False})(browser)

    row = db.execute(
        "SELECT document, reason FROM fairlead.policy_versions ORDER BY version DESC LIMIT 1"
    ).fetchone()
    assert (OLD + _MORE, "acme pays") == row


def test_enter_in_a_field_applies_nothing(browser: Chrome, address: str, db: Database) -> None:
    """It checks: the first button of the form is the one that harms nobody."""
    browser.get(f"{address}/policy/edit?version=1")
    press(browser, "simulate", "button[value=apply]")
    browser.find_element(By.NAME, "reason").send_keys("because", Keys.ENTER)
    until(
        lambda: not browser.find_elements(By.CSS_SELECTOR, "button[value=apply]"),
        what="the check",
    )

    assert [(1,)] == db.execute("SELECT version FROM fairlead.policy_versions").fetchall()

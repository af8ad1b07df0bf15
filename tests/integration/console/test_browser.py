"""The console in a browser: markup in names stays text, keys, both themes, narrow and wide."""

from collections.abc import Iterator
from functools import partial
from operator import methodcaller
from pathlib import Path

import pytest
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver import Chrome
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.support.browsers import needs_a_browser, opened, said
from tests.support.consoles import SCREENS, console
from tests.support.race import Database
from tests.support.sampled import sampled
from tests.support.waiting import until

pytestmark = [
    pytest.mark.xdist_group("console in a browser"),
    pytest.mark.timeout(300),
    needs_a_browser,
]

_HARM = "document.title='harm'"
MARKUP = f'<img src=x onerror="{_HARM}"><script>{_HARM}</script>\'"{{{{7*7}}}}'
_WIDE = "return document.documentElement.scrollWidth"
_GROUND = "return getComputedStyle(document.documentElement).backgroundColor"
_STORED = """
    INSERT INTO fairlead.jobs (queue, tenant, kind, payload, headers, dedup_key)
    VALUES (%(said)s, %(said)s, %(said)s, to_jsonb(%(said)s::text),
            jsonb_build_object(%(said)s::text, %(said)s::text), %(said)s) RETURNING id
"""
_ENDED = """
    INSERT INTO fairlead.job_history (
        id, created_at, finished_at, attempt, max_attempts, crashes, losses, priority, outcome,
        queue, tenant, kind, payload, result, error, enqueued_by, dedup_key)
    VALUES (900, now(), now(), 1, 1, 0, 0, 0, 'failed', %(said)s, %(said)s, %(said)s,
            to_jsonb(%(said)s::text), to_jsonb(%(said)s::text), %(said)s, %(said)s, %(said)s)
"""
_RECORDS = (
    """INSERT INTO fairlead.schedules (name, cron, timezone, queue, tenant, kind, problem)
    VALUES (%(said)s, '* * * * *', 'UTC', %(said)s, %(said)s, %(said)s, %(said)s)""",
    """INSERT INTO fairlead.policy_versions (digest, author, reason, document)
    SELECT repeat(n::text, 12), %(said)s, %(said)s, %(said)s || n
    FROM generate_series(1, 2) n""",
    """INSERT INTO fairlead.policy_events (version, event, said)
    SELECT version, 'in_force', %(said)s FROM fairlead.policy_versions""",
    """INSERT INTO fairlead.pool_decisions VALUES (1, now(), %(said)s, jsonb_build_object(
    'reason', %(said)s::text, 'message', %(said)s::text,
    'slots', jsonb_build_object(%(said)s::text, 3),
    'limitedBy', jsonb_build_array(%(said)s::text),
    'conditions', jsonb_build_array(jsonb_build_object('type', %(said)s::text,
    'message', %(said)s::text, 'status', 'True'))))""",
    """INSERT INTO fairlead.worker_leases (name, pool, host, slots, lease_until, version)
    VALUES (%(said)s, %(said)s, %(said)s, 1, now() + interval '1 hour', %(said)s)""",
    """INSERT INTO fairlead.rate_usage VALUES (%(said)s, %(said)s, %(said)s, 1000000, 9e17)""",
)
_ATTEMPT = """
    INSERT INTO fairlead.attempt_errors (job_id, attempt, token, at, error, ended_as)
    VALUES (900, 1, 1, now(), %(said)s, 'failed')
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Chrome]:
    """Yield a browser that reaches this machine alone."""
    with opened() as found:
        yield found


@pytest.fixture
def address(database_url: str, tmp_path: Path) -> Iterator[str]:
    """Yield where a console shows this test's database, payloads too."""
    with console(database_url, tmp_path, FAIRLEAD_CONSOLE_PAYLOADS="true") as found:
        yield found


def run(browser: Chrome, script: str, *arguments: str) -> object:
    """Run a script in the page and return what it returns."""
    returned: object = methodcaller("execute_script", script, *arguments)(browser)
    return returned


def ask(browser: Chrome, command: str, values: dict[str, object]) -> None:
    """Have the browser's tools do something."""
    methodcaller("execute_cdp_cmd", command, values)(browser)


def size(browser: Chrome, width: int) -> None:
    """Make the window so wide."""
    metrics: dict[str, object] = {
        "width": width,
        "height": 800,
        "deviceScaleFactor": 1,
        "mobile": width < 500,
    }
    ask(browser, "Emulation.setDeviceMetricsOverride", metrics)


def heading(browser: Chrome) -> str:
    """Return what the page is about."""
    return browser.find_element(By.TAG_NAME, "h1").text


def is_headed(browser: Chrome, title: str) -> bool:
    """Tell whether the page is about this."""
    return heading(browser) == title


def live_part(browser: Chrome) -> str:
    """Return what the page says that follows changes."""
    try:
        return browser.find_element(By.ID, "live-part").text
    except StaleElementReferenceException:  # it is drawn anew at this moment
        return ""


def test_markup_in_any_column_stays_text(browser: Chrome, address: str, db: Database) -> None:
    """It is seen as it is, runs nothing, and the browser has nothing to complain of."""
    row = db.execute(_STORED, {"said": MARKUP[:100]}).fetchone()
    assert row is not None
    db.execute(_ENDED, {"said": MARKUP[:100]})
    db.execute(_ATTEMPT, {"said": MARKUP})
    db.execute("SELECT set_config('fairlead.reason', %s, false)", [MARKUP])
    db.execute("SELECT set_config('fairlead.actor', %s, false)", [MARKUP[:100]])
    db.execute("SELECT fairlead.pause(%s, %s)", [MARKUP[:100], MARKUP[:100]])
    db.execute("SELECT fairlead.pause(%s)", [MARKUP[:100]])
    for statement in _RECORDS:
        db.execute(statement, {"said": MARKUP[:100]})
    said(browser)

    for path in (*SCREENS, f"/jobs/{row[0]}", "/jobs/900"):
        browser.get(address + path)
        for each in browser.find_elements(By.TAG_NAME, "summary"):
            each.click()
        assert "harm" not in browser.title
        assert [] == browser.find_elements(By.CSS_SELECTOR, "img[src=x]")
        assert MARKUP[:40] in browser.find_element(By.TAG_NAME, "main").text, path
    assert [] == said(browser)


@pytest.mark.parametrize("width", [360, 1600])
@pytest.mark.parametrize("theme", sampled(["light", "dark"], of=2))
def test_every_screen_fits_and_no_word_is_on_the_console(
    browser: Chrome, address: str, db: Database, width: int, theme: str
) -> None:
    """Nothing but tables, in boxes of their own, is wider than the window."""
    row = db.execute(_STORED, {"said": "w" * 120}).fetchone()
    assert row is not None
    size(browser, width)
    browser.get(address)
    run(browser, "localStorage.setItem('theme', arguments[0])", theme)
    said(browser)

    grounds: set[str] = set()
    for path in (*SCREENS, f"/jobs/{row[0]}"):
        browser.get(address + path)
        assert width >= int(str(run(browser, _WIDE))), path
        grounds.add(str(run(browser, _GROUND)))
    assert [] == said(browser)
    assert 1 == len(grounds)
    assert (theme == "dark") == ("18, 21, 26" in grounds.pop())


def test_keys_alone_go_everywhere(browser: Chrome, address: str, db: Database) -> None:
    """To each screen, to a job by its number, and past the bar to the page."""
    row = db.execute(_STORED, {"said": "mail"}).fetchone()
    assert row is not None
    size(browser, 1280)
    browser.get(address)
    for key, title in (
        ("j", "Jobs"),
        ("q", "Queues and pools"),
        ("s", "Schedules"),
        ("t", "Tenants"),
    ):
        ActionChains(browser).send_keys(key).perform()
        until(partial(is_headed, browser, title), what=title)
    ActionChains(browser).send_keys("/").send_keys(str(row[0]), Keys.ENTER).perform()
    until(lambda: heading(browser) == f"Job {row[0]}", what="the job")
    ActionChains(browser).send_keys(Keys.TAB).perform()

    focused = browser.switch_to.active_element
    assert "Skip to the page" == focused.text


def test_a_page_follows_what_happens(browser: Chrome, address: str, db: Database) -> None:
    """Without being loaded again, until it is told to pause."""
    size(browser, 1280)
    browser.get(address)
    run(browser, "window.isTheSame = true")
    db.execute(_STORED, {"said": "mail"})

    until(lambda: "mail" in live_part(browser), what="a change", seconds=90)
    assert run(browser, "return window.isTheSame")
    live = browser.find_element(By.ID, "live")
    live.click()
    assert ("Paused", "false") == (live.text, live.get_attribute("aria-pressed"))


def test_a_page_is_whole_without_scripts(browser: Chrome, address: str, db: Database) -> None:
    """What it says is in what the server sends."""
    db.execute(_STORED, {"said": "mail"})
    ask(browser, "Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(f"{address}/jobs")
        browser.find_element(By.CSS_SELECTOR, "tbody a").click()
        text = browser.find_element(By.TAG_NAME, "main").text
    finally:
        ask(browser, "Emulation.setScriptExecutionDisabled", {"value": False})

    assert "Why it waits" in text
    assert "No scheduler leads" in text

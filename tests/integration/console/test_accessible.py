"""Everybody can read the pages and act on them: axe finds nothing, keys reach everything."""

from collections.abc import Iterator
from operator import methodcaller
from pathlib import Path

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.support.accessible import unreached, violations
from tests.support.browsers import needs_a_browser, opened
from tests.support.consoles import SCREENS, console
from tests.support.race import Database
from tests.support.sampled import sampled
from tests.support.waiting import until

pytestmark = [
    pytest.mark.xdist_group("console in a browser"),
    pytest.mark.timeout(600),
    needs_a_browser,
]

_FLEET = rb"""
INSERT INTO fairlead.jobs (queue, tenant, kind, payload)
    SELECT q, t, 'send', '{"to": "ada"}'
    FROM unnest(ARRAY['mail', 'exports']) q, unnest(ARRAY['acme', 'globex']) t;
SELECT set_config('fairlead.reason', 'the server moves', false);
SELECT fairlead.pause('mail'), fairlead.pause('exports', 'acme');
INSERT INTO fairlead.job_history (id, created_at, finished_at, attempt, max_attempts, crashes,
        losses, priority, outcome, queue, tenant, kind, error)
    VALUES (900, now(), now(), 1, 1, 0, 0, 0, 'failed', 'mail', 'acme', 'send', 'no');
INSERT INTO fairlead.attempt_errors (job_id, attempt, token, at, error, ended_as)
    VALUES (900, 1, 1, now(), E'ValueError: no\n  a.py:7 in send\n    1 / 0', 'failed');
INSERT INTO fairlead.schedules (name, cron, timezone, queue, tenant, kind, problem)
    VALUES ('nightly', '0 2 * * *', 'Europe/Berlin', 'mail', 'acme', 'send', 'it is late');
INSERT INTO fairlead.policy_versions (digest, author, reason, document)
    SELECT repeat(n::text, 12), 'ada', 'why not', 'version: ' || n FROM generate_series(1, 2) n;
INSERT INTO fairlead.policy_events (version, event, said)
    SELECT version, 'in_force', '' FROM fairlead.policy_versions;
INSERT INTO fairlead.worker_leases (name, pool, host, slots, lease_until, version)
    VALUES ('w1', 'default', 'here', 4, now() + interval '1 hour', '1.0');
INSERT INTO fairlead.pool_decisions VALUES (1, now(), 'default', '{"reason": "Slots",
    "message": "2 pods", "slots": {"work": 3}, "limitedBy": ["max"],
    "pods": {"requested": 2, "desired": 3},
    "conditions": [{"type": "AtMax", "status": "True", "message": "no more"}]}');
INSERT INTO fairlead.rate_usage VALUES ('mail', 'mail', 'acme', 1000000, 9e17);
INSERT INTO fairlead.fairness_reports (pool, epoch, since, at, report)
    VALUES ('default', 1, now() - interval '1 minute', now(), '{"jain": 0.9, "jain_tenants": 2,
    "tenants": [{"queue": "mail", "tenant": "acme", "share": 0.7, "entitled_share": 0.5,
    "slot_seconds": 4, "lag_slot_seconds": 1}, {"queue": "mail", "tenant": "globex",
    "share": 0.3, "entitled_share": 0.5, "slot_seconds": 2, "lag_slot_seconds": -1}]}');
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Chrome]:
    """Yield a browser that reaches this machine alone."""
    with opened() as found:
        yield found


@pytest.fixture
def address(database_url: str, db: Database, tmp_path: Path) -> Iterator[str]:
    """Yield where a console shows something of everything, and lets everybody act."""
    db.execute(_FLEET)
    asked = {"FAIRLEAD_CONSOLE_OPERATOR_URL": database_url, "FAIRLEAD_CONSOLE_PAYLOADS": "true"}
    with console(database_url, tmp_path, **asked) as found:
        yield found


@pytest.fixture
def pages(db: Database) -> tuple[str, ...]:
    """Return every page: the screens, jobs that wait, failed or are not, an old policy."""
    row = db.execute("SELECT max(id) FROM fairlead.jobs").fetchone()
    assert row is not None
    jobs = (f"/jobs/{row[0]}", "/jobs/900", "/jobs/77777")
    return (*SCREENS, *jobs, "/policy?version=1", "/policy/edit?version=1")


def size(browser: Chrome, width: int) -> None:
    """Make the window so wide."""
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    command = "Emulation.setDeviceMetricsOverride"
    methodcaller("execute_cdp_cmd", command, metrics)(browser)


@pytest.mark.parametrize("width", [360, 1600])
@pytest.mark.parametrize("theme", sampled(["light", "dark"], of=2))
def test_axe_finds_nothing(
    browser: Chrome, address: str, pages: tuple[str, ...], width: int, theme: str
) -> None:
    """By the rules of WCAG 2.2, level AA, and what axe calls the best practice."""
    size(browser, width)
    browser.get(address)
    methodcaller("execute_script", "localStorage.setItem('theme', arguments[0])", theme)(
        browser
    )
    found: dict[str, list[str]] = {}
    for path in pages:
        browser.get(address + path)
        for each in browser.find_elements(By.TAG_NAME, "summary"):
            each.click()
        if wrong := violations(browser):
            found[path] = wrong

    assert {} == found


def test_keys_reach_everything(browser: Chrome, address: str, pages: tuple[str, ...]) -> None:
    """Each link, button and field of each page."""
    size(browser, 1600)
    found: dict[str, int] = {}
    for path in pages:
        browser.get(address + path)
        if left := unreached(browser):
            found[path] = left

    assert {} == found


def test_keys_alone_act(browser: Chrome, address: str, db: Database) -> None:
    """A queue is paused for so long, with the reason that was typed, and resumed."""
    size(browser, 1600)
    browser.get(f"{address}/queues")
    keys = ActionChains(browser)
    browser.find_element(By.CSS_SELECTOR, "form.acts input[name=queue]").send_keys("exports")
    keys.send_keys(
        Keys.TAB, Keys.TAB, "2h", Keys.TAB, "no paper", Keys.TAB, Keys.ENTER
    ).perform()
    paused = "SELECT queue FROM fairlead.paused WHERE tenant IS NULL ORDER BY 1"

    def now() -> list[str]:
        return [str(row[0]) for row in db.execute(paused.encode()).fetchall()]

    until(lambda: now() == ["exports", "mail"], what="the pause", seconds=30)
    until(
        lambda: bool(browser.find_elements(By.CSS_SELECTOR, "p.done")),
        what="the page that says so",
    )
    button = browser.find_element(By.CSS_SELECTOR, "form[action='/queues/resume'] button")
    button.send_keys(Keys.ENTER)
    until(lambda: len(now()) == 1, what="the end of a pause", seconds=30)

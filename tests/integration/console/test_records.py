"""The screens that list: queues, failures, schedules, decisions, policies, the audit log."""

import json
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from fairlead import policy_storage
from tests.support.children import register
from tests.support.consoles import browsing
from tests.support.race import Database

_FAILED = (
    "INSERT INTO fairlead.job_history (id, created_at, finished_at, attempt, max_attempts,"
    " crashes, losses, priority, outcome, queue, tenant, kind, error)"
    " SELECT -n - %(from)s, now(), now() - %(ago)s::interval, 1, 1, 0, 0, 0, 'failed', 'mail',"
    " 'acme' || n, 'send', %(error)s FROM generate_series(1, %(count)s) n"
)
_SCHEDULE = (
    "INSERT INTO fairlead.schedules (name, cron, timezone, queue, kind, tenant)"
    " VALUES (%s, %s, %s, 'mail', 'send', '')"
)
_DECISION = {
    "reason": "AtMax",
    "message": "max is reached",
    "pods": {"requested": 3, "desired": 5},
    "slots": {"backlog": 40.0, "arrivals": 12.5},
    "limits": {"max": 3},
    "limitedBy": ["AtMax"],
}


@pytest.fixture
def client(database_url: str) -> Iterator[TestClient]:
    """Yield a client of a console as a developer has it."""
    with browsing(database_url) as found:
        yield found


def shown(client: TestClient, path: str) -> str:
    """Return the text of a page."""
    answer = client.get(path)
    assert 200 == answer.status_code, answer.text
    return answer.text


def test_an_empty_fleet_says_what_each_screen_is_for(client: TestClient) -> None:
    """No screen is an empty table."""
    assert "No worker is there" in shown(client, "/queues")
    assert "No job failed or expired in the last 24 hours" in shown(client, "/failures")
    assert "There is no schedule" in shown(client, "/schedules")
    assert "No decision is written down" in shown(client, "/autoscaler")
    assert "No policy is stored" in shown(client, "/policy")
    assert "The audit log has no such entry" in shown(client, "/audit")


def test_a_paused_queue_says_who_paused_it_and_why(client: TestClient, db: Database) -> None:
    """And a worker says how many of its slots are in use, and that it drains."""
    db.execute("INSERT INTO fairlead.jobs (queue, kind) VALUES ('mail', 'k')")
    db.execute("SELECT set_config('fairlead.actor', 'ada', false)")
    db.execute("SELECT set_config('fairlead.reason', 'the bank is away', false)")
    db.execute("SELECT fairlead.pause('mail')")
    register(db, slots=4)

    page = shown(client, "/queues")

    assert "by ada: the bank is away" in page
    assert "0 of 4" in page
    assert "live" in page


def test_a_rate_says_how_far_it_is_used_up(client: TestClient, db: Database) -> None:
    """By what the leader writes with each dispatch."""
    db.execute("INSERT INTO fairlead.jobs (queue, kind) VALUES ('mail', 'k')")
    db.execute(
        "INSERT INTO fairlead.rate_usage VALUES ('default', 'mail', null, 60000000,"
        " 1000000 * (extract(epoch from clock_timestamp()) + 45.4))"
    )

    assert "of its 60 s" in (page := shown(client, "/queues"))
    assert "75% of" in page or "76% of" in page or "74% of" in page


def test_queues_go_on_behind_the_last_name(client: TestClient, db: Database) -> None:
    """No queue is shown twice, and none is left out."""
    db.execute(
        "INSERT INTO fairlead.jobs (queue, kind)"
        " SELECT 'q' || lpad(n::text, 3, '0'), 'k' FROM generate_series(1, 130) n"
    )
    first = shown(client, "/queues")
    second = shown(client, "/queues?after=q100")

    assert 'href="/queues?after=q100"' in first
    assert (100, 30) == tuple(
        len(set(page.split("/jobs?queue=q")[1:])) for page in (first, second)
    )


def test_failures_are_grouped_by_kind_and_exception(client: TestClient, db: Database) -> None:
    """Of the window that is asked for."""
    for error, count, ago, start in (
        ("ValueError: no such account 17\n  a.py:7", 3, "5 minutes", 0),
        ("ValueError: no such account 18", 2, "5 minutes", 100),
        ("TimeoutError: bank", 4, "3 hours", 200),
    ):
        given = {"error": error, "count": count, "ago": ago, "from": start}
        db.execute(_FAILED, given)

    hour, day = (shown(client, f"/failures?within={each}") for each in ("1h", "24h"))

    assert "5 jobs failed or expired in the last 1 hour, in 1 ways" in hour
    assert "9 jobs failed or expired in the last 24 hours, in 2 ways" in day
    assert "TimeoutError" not in hour
    assert "account" not in hour
    assert '<a href="/jobs/-1">-1</a>' in hour


def test_a_schedule_says_in_words_when_it_fires_next(client: TestClient, db: Database) -> None:
    """In its zone's time; one that cannot be read says why."""
    db.execute(_SCHEDULE, ["report", "30 2 * * 1-5", "Europe/Berlin"])
    db.execute(_SCHEDULE, ["lost", "61 2 * * 1-5", "Europe/Berlin"])
    db.execute("UPDATE fairlead.schedules SET enabled = false WHERE name = 'lost'")
    db.execute("SELECT fairlead.pause('mail')")

    page = shown(client, "/schedules")

    assert "At 02:30 on Monday through Friday" in page
    assert 3 == page.count("02:30:00</time>")
    assert "disabled" in page
    assert 1 == page.count("Monday through Friday")
    assert '<span class="tag warn">paused</span>' in page


def test_schedules_go_on_behind_the_last_one(client: TestClient, db: Database) -> None:
    """By tenant and name."""
    for number in range(60):
        db.execute(_SCHEDULE, [f"s{number:02}", "* * * * *", "UTC"])
    first = shown(client, "/schedules")
    second = shown(client, "/schedules?tenant=&after=s49")

    assert "/schedules?tenant=&amp;after=s49" in first
    assert ("s49" in first, "s50" in first) == (True, False)
    assert ('"name">s49<' in second, '"name">s50<' in second) == (False, True)


def test_the_autoscaler_says_what_asks_for_most(client: TestClient, db: Database) -> None:
    """Its reason as a sentence, the terms, and the bounds."""
    db.execute(
        "INSERT INTO fairlead.pool_decisions VALUES"
        " (1, now() - interval '1 hour', 'default', %s)",
        [json.dumps(_DECISION)],
    )

    page = shown(client, "/autoscaler")

    assert "AtMax: max is reached." in page
    assert 'backlog <span class="tag">decides</span>' in page
    assert "40.0" in page
    assert "No autoscaler decides on this pool now" in page


def test_the_policy_shows_what_a_version_changed(client: TestClient, db: Database) -> None:
    """Its document, author and reason, and the history."""
    for limit, author in ((1, "ada"), (2, "grace")):
        document = f"queues:\n- match: {{queue: mail}}\n  slots: {{limit: {limit}}}\n"
        policy_storage.store(db, document, author=author, reason=f"to {limit}")
    db.execute("INSERT INTO fairlead.policy_events (version, event) VALUES (2, 'in_force')")

    page, first = (shown(client, f"/policy{query}") for query in ("", "?version=1"))

    assert "Version 2 is in force" in page
    assert "by grace: to 2" in page
    assert '<span class="added">+   slots: {limit: 2}' in page
    assert '<span class="removed">-   slots: {limit: 1}' in page
    assert "Version 1 is not in force" in first
    assert "What it changed" not in first
    assert "There is no such version" in shown(client, "/policy?version=9")


def test_the_audit_log_goes_on_and_is_filtered(client: TestClient, db: Database) -> None:
    """Who did what, newest first, no entry twice."""
    db.execute("SELECT set_config('fairlead.actor', 'ada', false)")
    for number in range(60):
        db.execute("SELECT fairlead.pause(%s)", [f"q{number:02}"])
    db.execute("SELECT set_config('fairlead.actor', 'grace', false)")
    db.execute("SELECT fairlead.resume('q00')")

    first = shown(client, "/audit")
    href = first.partition('" rel="next">')[0].rpartition('href="')[2].replace("&amp;", "&")
    second = shown(client, href)

    assert (50, 11) == tuple(page.count("<tr>\n    <td><time") for page in (first, second))
    assert "queue q59" in first
    assert "queue q59" not in second
    assert 1 == shown(client, "/audit?actor=grace").count("<tr>\n    <td><time")
    assert 0 == shown(client, "/audit?verb=cancel").count("<tr>\n    <td><time")


@pytest.mark.parametrize(
    "path",
    [
        "/queues?after=%00",
        "/failures?within=9d",
        "/schedules?after=%F0%9F%92%A9",
        "/policy?version=99999999999999999999",
        "/policy?version=x&before=-1",
        "/audit?before=x~y",
        "/audit?before=2026-01-01T00:00:00~1",
        "/audit?before=2026-01-01T00:00:00%2B00:00~99999999999999999999",
    ],
)
def test_an_address_that_makes_no_sense_is_a_page(client: TestClient, path: str) -> None:
    """And no error."""
    shown(client, path)

"""Rules for single jobs against a real database: held, passed over, recalled, explained."""

import pytest

from fairlead import policy_storage
from fairlead.db.statements import integers, load
from tests.support.children import register
from tests.support.race import Database, answer, claim
from tests.support.schedulers import led, scheduling
from tests.support.waiting import until

REPORTS = """
rules:
  - {name: crowded, match: {kind: report}, when: workers.slots < 50, hold: true}
"""
HURRIED = """
rules:
  - {name: hurried, when: job.deadline_in_s < 3600.0 && job.attempt == 1, hold: true}
"""

RETRIED = "rules: [{name: retried, when: job.attempt > 1, hold: true}]"


def insert(db: Database, kind: str, count: int = 1, *, expires_in: str | None = None) -> None:
    """Insert jobs of a kind."""
    db.execute(
        "INSERT INTO fairlead.jobs (kind, expires_at)"
        " SELECT %s, now() + %s::interval FROM generate_series(1, %s)",
        [kind, expires_in, count],
    )


def in_flight(db: Database) -> dict[str, int]:
    """Count the rows of work_queue by kind."""
    rows = db.execute(
        "SELECT j.kind, count(*) FROM fairlead.work_queue q"
        " JOIN fairlead.jobs j ON j.id = q.job_id GROUP BY j.kind"
    )
    return {str(kind): int(count) for kind, count in rows.fetchall()}


def explained(db: Database, kind: str) -> dict[str, object]:
    """Return what is said of the last job of a kind."""
    row = db.execute(
        "SELECT fairlead.explain(max(id)) FROM fairlead.jobs WHERE kind = %s", [kind]
    ).fetchone()
    assert row is not None
    found: dict[str, object] = row[0]
    return found


def test_reports_wait_while_the_fleet_is_busy_and_others_go_past_them(
    database_url: str, db: Database
) -> None:
    """A held head is skipped, and explain says so; when the condition is over it goes."""
    policy_storage.store(db, REPORTS)
    register(db, slots=40)
    insert(db, "report", 20)
    insert(db, "mail", 5)
    with scheduling(database_url) as replica:
        led(db)
        until(lambda: in_flight(db) == {"mail": 5}, what="the others")
        until(lambda: explained(db, "report").get("rule") == "crowded", what="an answer")
        said = explained(db, "report")
        assert ("hold", None) == (said["blocked_by"], said["by"])
        assert "the policy's rule crowded blocks it" in str(said["sentence"])
        shown = replica.metrics.registry.get_sample_value
        until(
            lambda: shown("fairlead_lanes_blocked", {"reason": "hold"}) == 1.0,
            what="the lane being shown",
        )

        register(db, slots=40)

        until(lambda: in_flight(db) == {"mail": 5, "report": 20}, what="the release")


@pytest.mark.parametrize("policy", [REPORTS, HURRIED])
def test_what_is_queued_is_recalled_when_a_rule_comes_that_holds_it(
    policy: str, database_url: str, db: Database
) -> None:
    """Unclaimed rows go, within two seconds; no other does."""
    register(db, slots=40)
    insert(db, "report", 6, expires_in="10 minutes")
    insert(db, "mail", 6, expires_in="1 day")
    insert(db, "mail", 6)
    with scheduling(database_url):
        led(db)
        until(lambda: in_flight(db) == {"mail": 12, "report": 6}, what="all of them")

        policy_storage.store(db, policy)

        until(lambda: in_flight(db) == {"mail": 12}, what="the recall", seconds=5)
        policy_storage.store(db, "{}")
        until(lambda: in_flight(db) == {"mail": 12, "report": 6}, what="the release")


def test_a_job_that_failed_is_looked_at_anew(database_url: str, db: Database) -> None:
    """Its next attempt has another number, which the rule is for."""
    policy_storage.store(db, RETRIED)
    worker = register(db, slots=40)
    insert(db, "report")
    with scheduling(database_url):
        led(db)
        until(lambda: in_flight(db) == {"report": 1}, what="the first attempt")
        (lease,) = claim(db, worker)

        answer(db, "fail(%s, %s, 'no', interval '0')", lease.job, lease.token)

        until(lambda: explained(db, "report").get("rule") == "retried", what="the hold")
        assert {} == in_flight(db)


def test_what_is_read_of_a_job_is_one_text(db: Database) -> None:
    """Priority, failed attempts, since when, until when, and the kind, however long it is."""
    kind = "a b" + "ä" * 62
    db.execute(
        "INSERT INTO fairlead.jobs (kind, priority, attempts, created_at, due_at, expires_at)"
        " VALUES (%s, -7, 2, to_timestamp(1), to_timestamp(5.5), '2030-01-01 00:00+00'),"
        " ('x', 0, 0, to_timestamp(1), NULL, NULL)",
        [kind],
    )
    ids = [int(row[0]) for row in db.execute("SELECT id FROM fairlead.jobs ORDER BY id")]
    asked = [*ids, 10**9]
    values = {
        "ids": integers(asked),
        "roots": ["job"] * 3,
        "paths": ["facts"] * 3,
        "bytes_max": 1 << 20,
        "least": 2,
    }

    (found,) = db.execute(load("fairlead_scheduler.loop", "job_attributes"), values).fetchall()

    assert ([f"-7 2 5500000 1893456000000000 {kind}", "0 0 1000000 - x", None],) == found

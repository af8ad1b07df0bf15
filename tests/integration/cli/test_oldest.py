"""`fairlead jobs list --oldest`: whose job waits longest, however many tenants there are."""

import json

from psycopg import Connection
from psycopg.rows import TupleRow

from tests.integration.conftest import Fairlead
from tests.support.children import register

_MANY = """
    INSERT INTO fairlead.jobs (queue, tenant, kind, created_at)
    SELECT 'mail', 't' || i % 60, 'send', now() - interval '1 minute' + i * interval '1 ms'
    FROM generate_series(0, 179) i
"""
_DISPATCH = """
    INSERT INTO fairlead.work_queue (
        job_id, vtag, estimate_us, epoch, runnable_at, timeout, band, pool, queue, tenant,
        worker, token, claimed_at, deadline)
    SELECT id, 1, 1, 1, now() - interval '1 day', '1 min', 0, 'default', queue, tenant,
           %(worker)s, 7, CASE WHEN %(worker)s::bigint IS NOT NULL THEN now() END,
           now() + interval '1 min'
    FROM fairlead.jobs WHERE id = %(job)s
"""


def insert(db: Connection[TupleRow], waits: str, **columns: object) -> int:
    """Insert a job that has waited for a time, and return its id."""
    names = ", ".join(columns)
    places = ", ".join(["%s"] * len(columns))
    statement = (
        f"INSERT INTO fairlead.jobs (kind, created_at, {names})"
        f" VALUES ('send', now() - %s::interval, {places}) RETURNING id"
    )
    row = db.execute(statement.encode(), [waits, *columns.values()]).fetchone()
    assert row is not None
    return int(row[0])


def oldest(fairlead: Fairlead, *options: str) -> list[tuple[int, str]]:
    """Return the ids and states that the command lists."""
    found = json.loads(fairlead("jobs", "list", "--oldest", "--json", *options))
    return [(row["id"], row["state"]) for row in found]


def test_whose_job_waits_longest_is_said_beside_sixty_other_tenants(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """Neither among the newest jobs nor the tenants with most work does it stand."""
    starved = insert(db, "3 hours", queue="mail", tenant="starved")
    db.execute(_MANY)

    assert "starved" not in fairlead("jobs", "list", "--queue", "mail", "--state", "pending")
    assert "starved" not in fairlead("tenants", "--queue", "mail")
    listed = fairlead("jobs", "list", "--oldest", "--queue", "mail")
    heading, _, first, *others = listed.splitlines()
    assert heading.split()[:4] == ["id", "waits", "state", "queue"]
    assert [str(starved), "3", "h", "pending", "mail", "starved"] == first.split()[:6]
    assert 19 == len(others)


def test_of_each_tenant_the_next_job_is_listed_the_longest_wait_first(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """What is not due yet, or runs, waits for nothing; what is queued does."""
    running = insert(db, "9 hours", queue="mail", tenant="a")
    queued = insert(db, "1 hour", queue="mail", tenant="a")
    a = insert(db, "2 hours", queue="mail", tenant="a")
    insert(db, "1 hour", queue="mail", tenant="a")
    b = insert(db, "3 hours", queue="mail", tenant="b")
    due = insert(db, "9 hours", queue="bulk", tenant="b")
    insert(db, "9 hours", queue="mail", tenant="c", run_at="2999-01-01")
    worker = register(db, slots=8, name="w1")
    db.execute(_DISPATCH, {"job": running, "worker": worker})
    db.execute(_DISPATCH, {"job": queued, "worker": None})
    db.execute("UPDATE fairlead.jobs SET due_at = now() WHERE id = %s", [due])

    every = [(queued, "queued"), (b, "pending"), (a, "pending"), (due, "pending")]
    assert every == oldest(fairlead)
    assert every[:2] == oldest(fairlead, "--limit", "2")
    assert every[:3] == oldest(fairlead, "--queue", "mail")
    assert every[3:] == oldest(fairlead, "--queue", "bulk")
    assert [every[1], every[3]] == oldest(fairlead, "--tenant", "b")
    assert every[1:] == oldest(fairlead, "--state", "pending")
    assert every[1:2] == oldest(fairlead, "--state", "pending", "--limit", "1")
    assert every[:1] == oldest(fairlead, "--state", "queued")
    assert [] == oldest(fairlead, "--queue", "none")
    assert [] == oldest(fairlead, "--queue", "between")
    assert "no job like that waits" in fairlead("jobs", "list", "--oldest", "--queue", "none")


def test_a_job_that_its_tenants_more_urgent_ones_starve_is_the_first(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """Each priority has its own next one, as what the alert measures has."""
    starved = insert(db, "2 hours", queue="mail", tenant="acme", priority=0)
    urgent = insert(db, "3 seconds", queue="mail", tenant="acme", priority=10)
    insert(db, "2 seconds", queue="mail", tenant="acme", priority=10)
    other = insert(db, "1 hour", queue="mail", tenant="b", priority=-10)

    every = [(starved, "pending"), (other, "pending"), (urgent, "pending")]
    assert every == oldest(fairlead)
    assert every[:1] == oldest(fairlead, "--limit", "1")
    assert [every[0], every[2]] == oldest(fairlead, "--tenant", "acme")
    assert every[:1] == oldest(fairlead, "--queue", "mail", "--state", "pending", "--limit=1")


def test_the_longest_wait_of_many_lanes_is_found_behind_the_thousand_that_are_gone_to(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """It is among the oldest jobs; a tenant has its lanes whatever stands before them."""
    starved = insert(db, "3 hours", queue="mail", tenant="zoo")
    db.execute(_MANY.replace("% 60", "").replace("179", "1199"))
    other = insert(db, "1 second", queue="mail", tenant="zzz")
    insert(db, "1 second", queue="news", tenant="aaa")

    assert (starved, "pending") == oldest(fairlead, "--limit", "1")[0]
    assert [(other, "pending")] == oldest(fairlead, "--tenant", "zzz")
    assert [] == oldest(fairlead, "--tenant", "zzzz")
    assert [(starved, "pending")] == oldest(fairlead, "--tenant", "zoo", "--queue", "mail")

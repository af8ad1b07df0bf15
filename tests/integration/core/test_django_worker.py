"""Workers run Django's tasks: real ones, with a scheduler, over Django's own connections."""

from typing import Any

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow
from psycopg.types.json import Jsonb

from tests.chaos.fleet import Fleet
from tests.support import django_sites
from tests.support.waiting import until

pytestmark = pytest.mark.any_server

_SHOP = "tests.support.django_site.shop.tasks"
_APP = "tests.support.django_site.jobs:tasks"
_LEFT = "SELECT count(*) FROM fairlead.jobs"
_ENDED = """
SELECT kind, outcome, attempt, result, split_part(error, E'\n', 1), tenant
FROM fairlead.job_history ORDER BY id
"""
_SESSIONS = """
SELECT pid FROM pg_stat_activity
WHERE datname = current_database() AND application_name = '' AND backend_type = 'client backend'
  AND pid <> pg_backend_pid()
"""


def insert(db: Connection[TupleRow], name: str, *args: object, queue: str = "default") -> str:
    """Insert the job of a task as any client may; return its id."""
    row = db.execute(
        "INSERT INTO fairlead.jobs (kind, queue, tenant, payload) VALUES (%s, %s, 'acme', %s)"
        " RETURNING id",
        [
            name if "." in name or name == "own" else f"{_SHOP}.{name}",
            queue,
            Jsonb({"args": [*args]}),
        ],
    ).fetchone()
    assert row is not None
    return str(row[0])


@pytest.fixture
def worked(fleet: Fleet, database_url: str, db: Connection[TupleRow]) -> list[str]:
    """Have a worker run a job of each task, and return their ids."""
    django_sites.run(database_url, "migrate")
    ids = [
        insert(db, "write", "a"),
        insert(db, "write_later", "b", queue="mail"),
        insert(db, "fail", "c"),
        insert(db, "discard"),
        insert(db, "unusable"),
        insert(db, "in_process"),
        insert(db, "own"),
    ]
    fleet.scheduler()
    fleet.start("worker", "fairlead_worker.main", "--app", _APP, "--concurrency", "4")
    until(lambda: db.execute(_LEFT).fetchone() == (0,), what="the end of all jobs", seconds=60)
    return ids


def test_a_worker_runs_each_sort_of_task(
    worked: list[str], database_url: str, db: Connection[TupleRow]
) -> None:
    """Functions, coroutines, in a process, with retries; what it enqueues has its tenant."""
    ended = {
        str(kind).removeprefix(f"{_SHOP}."): rest
        for kind, *rest in db.execute(_ENDED).fetchall()
        if rest[-1] == "acme"
    }
    assert ["succeeded", 1, ["wrote", "b"], None, "acme"] == ended["write_later"]
    assert ["failed", 2, None, "ValueError: c 2 of 2", "acme"] == ended["fail"]
    assert ["failed", 1, None, "never", "acme"] == ended["discard"]
    assert ["failed", 1, None, "the task returned what is no JSON value"] == [
        *ended["unusable"][:3],
        str(ended["unusable"][3]).partition(":")[0],
    ]
    assert ["succeeded", 1, "in a process", None, "acme"] == ended["in_process"]
    assert "succeeded" == ended["own"][0]
    assert ["acme"] * 8 == [row[-1] for row in db.execute(_ENDED).fetchall()]

    results: list[Any] = django_sites.run(database_url, "results", *worked[:6])
    assert ["SUCCESSFUL", "SUCCESSFUL", "FAILED", "FAILED", "FAILED", "SUCCESSFUL"] == [
        each["status"] for each in results
    ]
    assert ["wrote", "b"] == results[1]["value"]
    assert (2, "builtins.ValueError") == (results[2]["attempts"], results[2]["errors"][0][0])
    assert [True] * 4 == results[0]["times"]

    notes = sorted(str(row[0]) for row in db.execute("SELECT text FROM notes").fetchall())
    assert [
        "a",
        "after b",
        "b",
        "finished discard FAILED 1",
        "finished fail FAILED 2",
        "finished in_process SUCCESSFUL 1",
        "finished unusable FAILED 1",
        *["finished write SUCCESSFUL 1"] * 2,
        "finished write_later SUCCESSFUL 1",
        "started discard RUNNING 1",
        "started fail RUNNING 1",
        "started fail RUNNING 2",
        "started in_process RUNNING 1",
        "started unusable RUNNING 1",
        *["started write RUNNING 1"] * 2,
        "started write_later RUNNING 1",
    ] == notes  # fmt: skip - what belongs together stands together


def test_no_connection_of_djangos_outlives_an_attempt(
    worked: list[str], db: Connection[TupleRow]
) -> None:
    """Unless CONN_MAX_AGE says otherwise: as around a request."""
    assert worked
    until(lambda: db.execute(_SESSIONS).fetchall() == [], what="the end of all sessions")

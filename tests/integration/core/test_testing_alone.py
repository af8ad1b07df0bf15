"""A drain is alone in its database, and leaves nothing claimed when it is interrupted."""

import asyncio

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

import fairlead
from fairlead import testing
from fairlead_cli.dev.postgres import Server
from tests.support.children import register
from tests.support.testing_app import noting, outcomes

_HELD = "SELECT worker, token FROM fairlead.work_queue"
_ENDED_AS = "SELECT ended_as FROM fairlead.attempt_errors"


@pytest.fixture
def tasks() -> fairlead.Tasks:
    """Return an application of the test's own."""
    return fairlead.Tasks()


def test_a_drain_refuses_to_run_beside_a_scheduler(
    tasks: fairlead.Tasks, database_url: str, db: Connection[TupleRow]
) -> None:
    """It acts under the leader's epoch, so that none may lead: one clear sentence."""
    noting(tasks)
    fairlead.enqueue(db, "note", 1)
    leads = "UPDATE fairlead.leaders SET holder = 'pod-7', lease_until = now() + %s::interval"
    db.execute(leads, ["3 s"])

    with pytest.raises(RuntimeError, match=r"scheduler 'pod-7' leads .*: stop it first"):
        testing.drain(tasks, database_url)
    assert [] == db.execute("SELECT FROM fairlead.worker_leases").fetchall()

    db.execute(leads, ["-1 s"])
    assert {"succeeded": 1} == testing.drain(tasks, database_url).counts


@pytest.mark.parametrize("rest", ["pending", "due"])
def test_a_scheduler_that_starts_meanwhile_is_noticed(
    tasks: fairlead.Tasks, database_url: str, db: Connection[TupleRow], rest: str
) -> None:
    """Under a new epoch a drain moves nothing, and says so instead of ending quietly."""
    leads = (
        "UPDATE fairlead.leaders SET holder = 'pod-8', epoch = epoch + 1,"
        " lease_until = now() + interval '3 s' WHERE role = 'scheduler'"
    )

    @tasks.handler("start")
    def start(_job: fairlead.Job) -> None:
        db.execute(leads)

    fairlead.enqueue(db, "start")
    left = fairlead.enqueue(db, "start")
    if rest == "due":
        db.execute("UPDATE fairlead.jobs SET run_at = now() WHERE id = %s", [left])

    with pytest.raises(RuntimeError, match="scheduler 'pod-8' leads"):
        testing.drain(tasks, database_url)
    found = db.execute("SELECT id, run_at IS NOT NULL FROM fairlead.jobs").fetchall()
    assert [(left, rest == "due")] == found


def test_a_drain_refuses_to_run_beside_a_worker(
    tasks: fairlead.Tasks, database_url: str, db: Connection[TupleRow]
) -> None:
    """It would claim what the drain has queued."""
    register(db)

    with pytest.raises(RuntimeError, match=r"worker '.*' is at work .*: stop it first"):
        testing.drain(tasks, database_url)


def test_a_database_without_the_schema_is_told(tasks: fairlead.Tasks, server: Server) -> None:
    """The first mistake that one makes."""
    with pytest.raises(RuntimeError, match="no schema fairlead: run fairlead migrate"):
        testing.drain(tasks, server.url)


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt, SystemExit, asyncio.CancelledError, pytest.fail.Exception]
)
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_an_interrupted_attempt_is_handed_back(
    tasks: fairlead.Tasks,
    database_url: str,
    db: Connection[TupleRow],
    kind: str,
    error: type[BaseException],
) -> None:
    """What is no Exception leaves the drain, and no job stays claimed behind it."""
    errors = [error("stop")]

    @tasks.handler("sync")
    def stops(_job: fairlead.Job) -> None:
        if errors:
            raise errors.pop()

    @tasks.handler("async")
    async def stops_too(_job: fairlead.Job) -> None:
        await asyncio.sleep(0)
        if errors:
            raise errors.pop()

    fairlead.enqueue(db, kind)
    fairlead.enqueue(db, kind)

    with pytest.raises(error):
        testing.drain(tasks, database_url)

    assert {(None, None)} >= set(db.execute(_HELD).fetchall())
    assert [("released",)] == db.execute(_ENDED_AS).fetchall()
    assert [(1, "succeeded")] * 2 == outcomes(testing.drain(tasks, database_url))

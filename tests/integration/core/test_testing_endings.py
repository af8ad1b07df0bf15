"""A drain tells what became of every attempt, and keeps deadlines right."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

import fairlead
from fairlead import testing
from tests.support.testing_app import noting, outcomes

HOUR = timedelta(hours=1)


@pytest.fixture
def tasks() -> fairlead.Tasks:
    """Return an application of the test's own."""
    return fairlead.Tasks()


# --- what a drain returns -------------------------------------------------------------------


def test_every_ending_is_told(
    tasks: fairlead.Tasks, database_url: str, db: Connection[TupleRow]
) -> None:
    """Id, kind, tenant, attempt, outcome, result and error of each attempt, and the counts."""
    noting(tasks)

    @tasks.handler("own")
    def own(job: fairlead.Job) -> None:
        with psycopg.connect(database_url) as connection:
            job.complete(connection, {"by": "itself"})

    @tasks.handler("discard")
    def discard(_job: fairlead.Job) -> None:
        raise fairlead.Discard("never")

    noted = fairlead.enqueue(db, "note", [1], queue="mail", tenant="acme")
    completed, discarded = fairlead.enqueue(db, "own"), fairlead.enqueue(db, "discard")
    late = fairlead.enqueue(db, "note", expires_at=datetime.now(UTC) - HOUR)
    unknown = fairlead.enqueue(db, "unknown")

    drained = testing.drain(tasks, database_url)

    first, second, third, fourth, fifth = drained.endings
    assert (noted, "note", "mail", "acme") == (first.id, first.kind, first.queue, first.tenant)
    assert (1, "succeeded", [1], None) == (
        first.attempt,
        first.outcome,
        first.result,
        first.error,
    )
    assert (completed, "succeeded", {"by": "itself"}) == (
        second.id,
        second.outcome,
        second.result,
    )
    assert (discarded, "failed", "never") == (third.id, third.outcome, third.error)
    assert (late, "expired", "it expired while it waited to run") == (
        fourth.id,
        fourth.outcome,
        fourth.error,
    )
    assert (unknown, "unhandled") == (fifth.id, fifth.outcome)
    assert {"succeeded": 2, "failed": 1, "expired": 1, "unhandled": 1} == drained.counts
    assert 0 == drained.counts["retried"]
    assert ("never", fourth.error, fifth.error) == drained.errors


def test_a_cancelled_attempt_is_told(
    tasks: fairlead.Tasks, database_url: str, db: Connection[TupleRow]
) -> None:
    """A request that came while it ran decides what a failure becomes."""

    @tasks.handler("fail")
    def fail(job: fairlead.Job) -> None:
        db.execute("SELECT fairlead.cancel(%s)", [job.id])
        raise fairlead.Retry("asked to stop")

    fairlead.enqueue(db, "fail")

    assert [(1, "cancelled")] == outcomes(testing.drain(tasks, database_url))


def test_an_attempt_that_lost_its_job_is_told(
    tasks: fairlead.Tasks, database_url: str, db: Connection[TupleRow]
) -> None:
    """An ending whose token holds nothing any more changes nothing, and shows as stale."""
    steal = "UPDATE fairlead.work_queue SET token = token + 1000 WHERE job_id = %s"

    @tasks.handler("lose")
    def lose(job: fairlead.Job) -> None:
        db.execute(steal, [job.id])
        if job.payload:
            raise fairlead.Retry

    fairlead.enqueue(db, "lose", payload=True)
    fairlead.enqueue(db, "lose", payload=False)

    drained = testing.drain(tasks, database_url)

    assert [(1, "stale"), (1, "stale")] == outcomes(drained)
    assert {"stale": 2} == drained.counts


def test_a_completion_that_was_rolled_back_is_a_failure(
    tasks: fairlead.Tasks, database_url: str, db: Connection[TupleRow]
) -> None:
    """The handler said that it finishes the job itself, and did not."""

    @tasks.handler("undo")
    def undo(job: fairlead.Job) -> str:
        with psycopg.connect(database_url) as connection:
            job.complete(connection)
            connection.rollback()
        return "done"

    fairlead.enqueue(db, "undo")

    (ended,) = testing.drain(tasks, database_url).endings

    assert ("retried", None) == (ended.outcome, ended.result)
    assert "a transaction that was not committed" in (ended.error or "")


def test_an_attempt_that_ended_itself_by_sql_is_no_stale_one(
    tasks: fairlead.Tasks, database_url: str, db: Connection[TupleRow]
) -> None:
    """The result is what the handler wrote by SQL."""

    @tasks.handler("by_sql")
    def by_sql(job: fairlead.Job) -> None:
        if job.payload:
            db.execute("SELECT fairlead.complete(%s, %s, '7')", [job.id, job.token])
        else:
            db.execute("SELECT fairlead.fail(%s, %s, 'by hand', '0')", [job.id, job.token])

    fairlead.enqueue(db, "by_sql", payload=True)
    fairlead.enqueue(db, "by_sql", payload=False)

    completed, failed = testing.drain(tasks, database_url).endings

    assert ("succeeded", 7, None) == (completed.outcome, completed.result, completed.error)
    assert ("retried", None, "by hand") == (failed.outcome, failed.result, failed.error)


def test_an_attempt_that_failed_itself_by_sql_waits_from_the_instant_reached(
    tasks: fairlead.Tasks, database_url: str, db: Connection[TupleRow]
) -> None:
    """As one that the drain has handed back."""

    @tasks.handler("by_sql")
    def by_sql(job: fairlead.Job) -> None:
        db.execute("SELECT fairlead.fail(%s, %s, '', '1 hour')", [job.id, job.token])

    start = datetime.now(UTC)
    fairlead.enqueue(db, "by_sql", run_at=start + HOUR)

    assert 2 == len(testing.drain(tasks, database_url, now=start + 2.5 * HOUR).endings)


@pytest.mark.parametrize("raised", [None, fairlead.Retry(), fairlead.Discard()])
def test_an_attempt_that_an_open_transaction_holds_is_told(
    tasks: fairlead.Tasks,
    database_url: str,
    db: Connection[TupleRow],
    raised: Exception | None,
) -> None:
    """Completed and not committed: nothing can be written, and the next drain runs it again."""
    left_open: list[psycopg.Connection[TupleRow]] = []

    @tasks.handler("forget")
    def forget(job: fairlead.Job) -> None:
        left_open.append(psycopg.connect(database_url))
        job.complete(left_open[-1])
        if raised is not None:
            raise raised

    fairlead.enqueue(db, "forget")

    drained = testing.drain(tasks, database_url)
    # Closing alone does not wait for the server, which may hold the row a moment longer.
    left_open[0].rollback()
    again = testing.drain(tasks, database_url, jobs_max=1)
    for each in left_open:
        each.close()

    assert [(1, "locked")] == outcomes(drained)
    assert [(1, "locked")] == outcomes(again)


def test_a_job_that_a_transaction_holds_is_passed_over(
    tasks: fairlead.Tasks,
    database_url: str,
    db: Connection[TupleRow],
    connect: Callable[..., Connection[TupleRow]],
) -> None:
    """It neither runs nor keeps the others from running."""
    ran = noting(tasks)
    held = fairlead.enqueue(db, "note", "held")
    fairlead.enqueue(db, "note", "free")
    holder = connect(autocommit=False)
    holder.execute("SELECT FROM fairlead.jobs WHERE id = %s FOR UPDATE", [held])

    testing.drain(tasks, database_url)

    assert ["free"] == ran


# --- deadlines ------------------------------------------------------------------------------


def test_a_deadline_is_the_jobs_budget_from_its_start(
    tasks: fairlead.Tasks, database_url: str, db: Connection[TupleRow]
) -> None:
    """The least of the row's and the handler's timeout; 10 minutes where neither says."""
    left: list[float] = []

    def note(job: fairlead.Job) -> None:
        left.append((job.deadline - datetime.now(UTC)).total_seconds())

    tasks.handler("plain")(note)
    tasks.handler("short", timeout=30)(note)
    for kind, timeout in (("plain", None), ("plain", 60), ("short", 60), ("plain", 86_400)):
        fairlead.enqueue(db, kind, timeout=timeout)

    testing.drain(tasks, database_url)

    assert [600, 60, 30, 3600] == [pytest.approx(seconds, abs=5) for seconds in left]


def test_extending_moves_the_deadline_here_and_in_the_database(
    tasks: fairlead.Tasks, database_url: str, db: Connection[TupleRow]
) -> None:
    """Never back, nor beyond the longest timeout; of coroutines as well."""
    left: list[float] = []
    query = "SELECT extract(epoch FROM deadline - now())::float8 FROM fairlead.work_queue"

    def note(job: fairlead.Job) -> None:
        row = db.execute(query).fetchone()
        assert row is not None
        left.extend([(job.deadline - datetime.now(UTC)).total_seconds(), row[0]])

    @tasks.handler("long")
    async def long(job: fairlead.Job) -> None:
        await asyncio.sleep(0)
        job.extend(3000)
        note(job)
        job.extend(1)
        note(job)
        job.extend(7200)
        note(job)

    fairlead.enqueue(db, "long")

    testing.drain(tasks, database_url)

    assert [3000] * 4 + [3600] * 2 == [pytest.approx(seconds, abs=5) for seconds in left]

"""An application tests its handlers without a worker: one by hand, or the whole queue."""

import asyncio

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

import fairlead
from fairlead import testing
from fairlead.testing import Drained

tasks = fairlead.Tasks()


@tasks.handler("add")
def add(job: fairlead.Job[dict[str, int]]) -> int:
    """Add two numbers."""
    return job.payload["a"] + job.payload["b"]


@tasks.handler("greet")
async def greet(job: fairlead.Job) -> fairlead.Json:
    """Say who is asked, for whom and how often."""
    await asyncio.sleep(0)
    job.progress(0.5)
    job.extend(60)
    return [job.tenant, job.queue, job.attempt, job.headers, job.cancelled, job.max_attempts]


@tasks.handler("tuple")
def returns_a_tuple(_job: fairlead.Job) -> tuple[int, ...]:
    """Return what JSON has no word for."""
    return (1, 2)


@tasks.handler("object")
def returns_an_object(_job: fairlead.Job) -> object:
    """Return what JSON cannot hold."""
    return object()


@tasks.handler("fail")
def fail(job: fairlead.Job) -> None:
    """Raise what the payload says."""
    errors = {
        "retry": fairlead.Retry(after=60),
        "snooze": fairlead.Snooze(for_=60),
        "discard": fairlead.Discard("never"),
    }
    raise errors[str(job.payload)]


@tasks.handler("fan_out")
def fan_out(job: fairlead.Job[str]) -> None:
    """Enqueue two jobs and finish, in one transaction."""
    with psycopg.connect(job.payload) as connection:
        fairlead.enqueue(connection, "add", {"a": 1, "b": 2})
        fairlead.enqueue(connection, "unknown")
        job.complete(connection, "fanned out")


def test_one_handler_runs_by_hand_and_answers_its_result() -> None:
    """`run` calls a handler with a payload, whether it is a coroutine or not."""
    assert 3 == testing.run(tasks, "add", {"a": 1, "b": 2})
    greeting = testing.run(
        tasks, "greet", tenant="acme", queue="mail", headers={"trace": 1}, attempt=7
    )
    assert ["acme", "mail", 7, {"trace": 1}, False, 7] == greeting


def test_a_result_is_answered_as_it_would_be_stored() -> None:
    """A tuple comes back as a list, and what is not JSON is refused."""
    assert [1, 2] == testing.run(tasks, "tuple")
    with pytest.raises(ValueError, match="result cannot be written as JSON"):
        testing.run(tasks, "object")


def test_a_handler_runs_inside_a_test_that_has_an_event_loop() -> None:
    """A test may be a coroutine itself."""

    async def test() -> fairlead.Json:
        return testing.run(tasks, "greet")

    assert ["", "default", 1, {}, False, 5] == asyncio.run(test())


@pytest.mark.parametrize(
    ("payload", "error"),
    [("retry", fairlead.Retry), ("snooze", fairlead.Snooze), ("discard", fairlead.Discard)],
)
def test_what_a_handler_raises_is_raised(payload: str, error: type[Exception]) -> None:
    """A test can expect a Retry, and a bug shows its traceback."""
    with pytest.raises(error):
        testing.run(tasks, "fail", payload)


def test_a_kind_without_a_handler_is_named_with_those_that_have_one() -> None:
    """A misspelt kind is a sentence."""
    with pytest.raises(
        LookupError, match="no handler for kind 'ad'; this application has: add,"
    ):
        testing.run(tasks, "ad")


def test_completing_needs_no_database_by_hand() -> None:
    """`job.complete` does nothing in `run`, and is awaitable where it should be."""

    @(own := fairlead.Tasks()).handler("complete")
    async def complete(job: fairlead.Job) -> str:
        await job.complete(_AsyncCursor())
        return "done"

    assert complete is own.handlers["complete"].run
    assert "done" == testing.run(own, "complete")


class _AsyncCursor:
    """A cursor that must not be used."""

    async def execute(self, query: bytes, params: object, /) -> object:
        """Fail the test."""
        raise AssertionError(query, params)


def test_a_queue_is_drained_with_what_its_jobs_enqueue(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """`drain` runs all that is due and says what became of it."""
    fairlead.enqueue(db, "fan_out", database_url)
    for verdict in ("retry", "snooze", "discard"):
        fairlead.enqueue(db, "fail", verdict)
    fairlead.enqueue_many(
        db, [fairlead.NewJob(kind="add", payload={"a": n, "b": n}) for n in range(250)]
    )

    drained = testing.drain(tasks, database_url)

    assert 252 == drained.succeeded
    assert (2, 1, 1) == (drained.failed, drained.retried, drained.snoozed)
    kinds = "add, fail, fan_out, greet, object, tuple"
    assert [
        "Retry",
        "never",
        f"no handler for kind 'unknown'; this application has: {kinds}",
    ] == [error.split("\n")[0] for error in drained.errors]
    assert {(0,), (1,)} == set(db.execute("SELECT attempts FROM fairlead.jobs").fetchall())
    assert (2 * sum(range(250)) + 3,) == db.execute(
        "SELECT sum(result::integer) FROM fairlead.job_history WHERE kind = 'add'"
    ).fetchone()


def test_an_empty_queue_is_drained_at_once_and_again(database_url: str) -> None:
    """A repeat finds nothing, and says so."""
    nothing = Drained(
        succeeded=0, failed=0, cancelled=0, expired=0, retried=0, snoozed=0, errors=()
    )

    assert [nothing, nothing] == [testing.drain(tasks, database_url) for _ in range(2)]

"""The public face as a type checker sees it in an application; it is never run."""

from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import TypedDict, assert_type

import psycopg
from psycopg.rows import DictRow, TupleRow
from sqlalchemy import Connection as SqlAlchemyConnection
from sqlalchemy.orm import Session, scoped_session

import fairlead
from fairlead import Job, Json, NewJob, Task
from fairlead.testing import AttemptRecorder, Drained, Enqueued, drain, enqueued, run

tasks = fairlead.Tasks()


class Email(TypedDict):
    """A payload of known shape."""

    to: str


@tasks.handler("send_email", timeout=30)
async def send_email(job: Job) -> None:
    """A coroutine that returns nothing; the payload is any JSON value."""
    assert_type(job.payload, Json)
    assert_type(job.id, int)
    assert_type(job.token, int)
    assert_type(job.deadline, datetime)
    assert_type(job.headers, dict[str, Json])
    assert_type(job.cancelled, bool)
    job.extend(timedelta(minutes=1))
    job.progress(0.5, "half")


@tasks.handler("typed", timeout=timedelta(minutes=1), concurrency=2, fleet_concurrency=9)
def typed(job: Job[Email]) -> dict[str, str]:
    """A function whose payload has a shape."""
    assert_type(job.payload, Email)
    return {"sent": job.payload["to"]}


@tasks.handler
def named(job: Job[Email]) -> int:
    """A function that is its own kind."""
    assert_type(job.payload, Email)
    return 1


@tasks.handler(priority=3)
async def configured(job: Job) -> None:
    """The same, with settings."""
    assert_type(job.payload, Json)


@tasks.handler("apart", process=True)
def apart(job: fairlead.Job) -> Json:
    """A function in a process of its own."""
    if job.attempt > 3:
        raise fairlead.Discard("three times is enough")
    if job.attempt > 2:
        raise fairlead.Snooze(for_=timedelta(hours=1))
    raise fairlead.Retry("busy", after=2.5)


def report(job: Job, error: BaseException, *, will_retry: bool) -> None:
    """What is reported of failures."""
    assert_type(job, Job)
    assert_type(error, BaseException)
    assert_type(will_retry, bool)


reporting = fairlead.Tasks(on_error=report)

assert_type(typed, Task[[Job[Email]], [Email], dict[str, str]])
assert_type(named, Task[[Job[Email]], [Email], int])
sent: Callable[[Job[Email]], dict[str, str]] = typed


def synchronous(connection: psycopg.Connection, dicts: psycopg.Connection[DictRow]) -> None:
    """Synchronous connections and cursors answer at once."""
    assert_type(fairlead.enqueue(connection, "a", {"b": [1, None]}), int | None)
    assert_type(fairlead.enqueue(dicts, "a", run_at=datetime.now(UTC)), int | None)
    assert_type(fairlead.enqueue(connection.cursor(), "a", timeout=1.5), int | None)
    assert_type(fairlead.enqueue_many(dicts.cursor(), [NewJob(kind="a")]), tuple[int, ...])
    try:
        fairlead.enqueue(connection, "a")
    except fairlead.OverBacklog as error:
        assert_type(error, fairlead.OverBacklog)


def others(
    session: Session, scoped: scoped_session[Session], connection: SqlAlchemyConnection
) -> None:
    """SQLAlchemy's answer at once, too."""
    assert_type(fairlead.enqueue(session, "a", {"b": 1}), int | None)
    assert_type(fairlead.enqueue(scoped, "a"), int | None)
    assert_type(fairlead.enqueue(connection, "a"), int | None)
    assert_type(fairlead.enqueue_many(session, [NewJob(kind="a")]), tuple[int, ...])


async def asynchronous(connection: psycopg.AsyncConnection[TupleRow]) -> None:
    """Asynchronous ones are awaited."""
    later: Coroutine[object, None, int | None] = fairlead.enqueue(connection, "a")
    assert_type(await later, int | None)
    assert_type(await fairlead.enqueue(connection.cursor(), "a"), int | None)
    assert_type(await fairlead.enqueue_many(connection, []), tuple[int, ...])


def completing(job: Job, connection: psycopg.Connection) -> None:
    """A job is completed in the handler's own transaction."""
    job.complete(connection)
    job.complete(connection.cursor(), {"result": 1})
    job.raise_if_cancelled()


async def completing_async(job: Job, connection: psycopg.AsyncConnection) -> None:
    """The same, awaited."""
    await job.complete(connection)
    await job.complete(connection.cursor(), {"result": 1})


def tested(url: str) -> None:
    """An application's tests."""
    assert_type(run(tasks, "send_email", {"to": "a"}), Json)
    assert_type(run(tasks, "typed", recorder=AttemptRecorder(cancelled=True)), Json)
    drained = drain(tasks, url, queues=["mail"], now=datetime.now(UTC), jobs_max=5)
    assert_type(drained, Drained)
    assert_type(drained.counts["succeeded"], int)
    assert_type(drained.endings[0].result, Json)


async def seen(
    connection: psycopg.Connection[DictRow], later: psycopg.AsyncConnection[TupleRow]
) -> None:
    """Connections of an application's tests; only what looks may be asynchronous."""
    assert_type(drain(tasks, connection), Drained)
    assert_type(enqueued(connection, "a", payload={"b": 1}), tuple[Enqueued, ...])
    assert_type(enqueued(connection.cursor(), tenant="acme"), tuple[Enqueued, ...])
    assert_type(await enqueued(later, queue="mail"), tuple[Enqueued, ...])

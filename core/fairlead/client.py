"""Enqueue from Python, inside the caller's transaction.

It is an INSERT and nothing more: committed with the caller's work, rolled back with it, and
refused by the database's own constraints. Any language may insert the same row by itself.
"""

from collections.abc import Coroutine, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import chain, islice
from typing import cast, overload

from fairlead import connections, new_jobs
from fairlead.connections import AsyncConnection, Statement, SyncConnection
from fairlead.errors import OVER_BACKLOG_SQLSTATE, OverBacklog, caused_by
from fairlead.jsontext import JsonLike
from fairlead.new_jobs import NewJob, Page

_ENQUEUE = Statement("enqueue", "enqueue")
_ENQUEUE_UNIQUE = Statement("enqueue", "enqueue_unique")
_NEW_BATCH = Statement("enqueue_many", "new_batch")


@overload
def enqueue(
    connection: AsyncConnection,
    kind: str,
    payload: JsonLike = None,
    *,
    queue: str | None = ...,
    tenant: str = ...,
    priority: int | None = ...,
    run_at: datetime | None = ...,
    expires_at: datetime | None = ...,
    dedup_key: str | None = ...,
    max_attempts: int | None = ...,
    timeout: float | timedelta | None = ...,
    cost_hint: float | timedelta | None = ...,
    headers: Mapping[str, JsonLike] | None = ...,
    batch: int | None = ...,
    replace: bool = ...,
    debounce: float | timedelta | None = ...,
    debounce_max: float | timedelta | None = ...,
    unique_for: float | timedelta | None = ...,
) -> Coroutine[object, None, int | None]: ...
@overload
def enqueue(
    connection: SyncConnection,
    kind: str,
    payload: JsonLike = None,
    *,
    queue: str | None = ...,
    tenant: str = ...,
    priority: int | None = ...,
    run_at: datetime | None = ...,
    expires_at: datetime | None = ...,
    dedup_key: str | None = ...,
    max_attempts: int | None = ...,
    timeout: float | timedelta | None = ...,
    cost_hint: float | timedelta | None = ...,
    headers: Mapping[str, JsonLike] | None = ...,
    batch: int | None = ...,
    replace: bool = ...,
    debounce: float | timedelta | None = ...,
    debounce_max: float | timedelta | None = ...,
    unique_for: float | timedelta | None = ...,
) -> int | None: ...
def enqueue(  # noqa: PLR0913 - each is a column of the table
    connection: AsyncConnection | SyncConnection,
    kind: str,
    payload: JsonLike = None,
    *,
    queue: str | None = None,
    tenant: str = "",
    priority: int | None = None,
    run_at: datetime | None = None,
    expires_at: datetime | None = None,
    dedup_key: str | None = None,
    max_attempts: int | None = None,
    timeout: float | timedelta | None = None,
    cost_hint: float | timedelta | None = None,
    headers: Mapping[str, JsonLike] | None = None,
    batch: int | None = None,
    replace: bool = False,
    debounce: float | timedelta | None = None,
    debounce_max: float | timedelta | None = None,
    unique_for: float | timedelta | None = None,
) -> Coroutine[object, None, int | None] | int | None:
    """Insert one job and return its id, or None when its dedup key is live.

    It joins the connection's transaction: the job exists once that commits. A repeat inserts
    another job, unless a dedup key says that it is the same one. The connection, or cursor, is
    psycopg's, asyncpg's or another DB-API driver's, SQLAlchemy's (a Session, too) or Django's;
    with an asynchronous one, await the answer. The other arguments are described at `NewJob`.

    Raises:
        TypeError: it is no such connection, or an argument is of another type, such as a
            handler in place of its kind.
        ValueError: the payload is not JSON, or does not fit the handler of its kind in this
            process; or an instant has no time zone; or what says how it is the only job of its
            key is out of bounds, or does not go together.
        OverBacklog: its tenant or its queue has too many unfinished jobs.
        psycopg.errors.CheckViolation: a field is out of bounds; the constraint's name says
            which. Other drivers raise their own error.
    """
    said = {**locals()}  # the fields of the job, by their names
    del said["connection"]
    return enqueue_job(connection, NewJob(**said))


def enqueue_job(
    connection: AsyncConnection | SyncConnection, job: NewJob
) -> Coroutine[object, None, int | None] | int | None:
    """Insert one job as `enqueue` does."""
    (page,) = new_jobs.pages((job,))
    if connections.is_async(connection):
        return _enqueue_async(connection, page)
    return next(iter(_insert(cast("SyncConnection", connection), page)), None)


@overload
def enqueue_many(
    connection: AsyncConnection, jobs: Iterable[NewJob], *, then: NewJob | None = ...
) -> Coroutine[object, None, tuple[int, ...]]: ...
@overload
def enqueue_many(
    connection: SyncConnection, jobs: Iterable[NewJob], *, then: NewJob | None = ...
) -> tuple[int, ...]: ...
def enqueue_many(
    connection: AsyncConnection | SyncConnection,
    jobs: Iterable[NewJob],
    *,
    then: NewJob | None = None,
) -> Coroutine[object, None, tuple[int, ...]] | tuple[int, ...]:
    """Insert many jobs and return the ids, without those of live dedup keys.

    All or none: one job that is refused refuses the others. They may come from a generator:
    up to 10,000 jobs or 16 MiB of JSON are held in memory and sent in one statement, and the
    next follow in the same transaction. A connection that commits by itself is given a
    transaction if it is psycopg's; another has to be in one where there are more, or with
    `then`. Otherwise as `enqueue`.

    Args:
        connection: as for `enqueue`; with an asynchronous one, await the answer.
        jobs: the jobs.
        then: a job that is inserted once all of them have ended, however they did, at once if
            there are none. Its payload, an object of at most 64 KiB, has one member more then:
            `batch`, with an `id` and the numbers of `jobs`, `succeeded`, `failed`, `cancelled`,
            `expired` and `unknown`.

    Raises:
        ValueError: as for `enqueue`; or there are more and the connection commits each
            statement; or `then` has what a batch's job has not, or a job has a batch besides.
    """
    made = None if then is None else new_jobs.completion(then)
    if connections.is_async(connection):
        if made is not None:
            return _insert_batch_async(connection, jobs, made)
        return _insert_many_async(connection, new_jobs.pages(jobs))
    if made is not None:
        return _insert_batch(cast("SyncConnection", connection), jobs, made)
    return _insert_many(cast("SyncConnection", connection), new_jobs.pages(jobs))


def _insert_batch(
    connection: SyncConnection, jobs: Iterable[NewJob], made: str
) -> tuple[int, ...]:
    with connections.whole(connection):
        with refusals():
            (batch,) = connections.answers(connection, _NEW_BATCH, made)
        return tuple(
            new
            for page in new_jobs.pages(jobs, _id(batch))
            for new in _insert(connection, page)
        )


async def _insert_batch_async(
    connection: AsyncConnection, jobs: Iterable[NewJob], made: str
) -> tuple[int, ...]:
    inserted: list[int] = []
    async with connections.whole_async(connection):
        with refusals():
            (batch,) = await connections.answers_async(connection, _NEW_BATCH, made)
        for page in new_jobs.pages(jobs, _id(batch)):
            inserted += await _insert_async(connection, page)
    return tuple(inserted)


def _insert_many(connection: SyncConnection, pages: Iterator[Page]) -> tuple[int, ...]:
    first = [*islice(pages, 2)]
    if len(first) < 2:
        return _insert(connection, first[0]) if first else ()
    with connections.whole(connection):
        return tuple(new for page in chain(first, pages) for new in _insert(connection, page))


async def _insert_many_async(
    connection: AsyncConnection, pages: Iterator[Page]
) -> tuple[int, ...]:
    first = [*islice(pages, 2)]
    if len(first) < 2:
        return await _insert_async(connection, first[0]) if first else ()
    inserted: list[int] = []
    async with connections.whole_async(connection):
        for page in chain(first, pages):
            inserted += await _insert_async(connection, page)
    return tuple(inserted)


def _insert(connection: SyncConnection, page: Page) -> tuple[int, ...]:
    with refusals():
        return tuple(map(_id, connections.answers(connection, _statement(page), page.text)))


async def _insert_async(connection: AsyncConnection, page: Page) -> tuple[int, ...]:
    with refusals():
        found = await connections.answers_async(connection, _statement(page), page.text)
        return tuple(map(_id, found))


def _statement(page: Page) -> Statement:
    return _ENQUEUE_UNIQUE if page.unique else _ENQUEUE


@contextmanager
def refusals() -> Generator[None]:
    """Raise `OverBacklog` for the driver's error about a backlog limit."""
    try:
        yield
    except Exception as error:
        refusal = caused_by(error, OVER_BACKLOG_SQLSTATE)
        if refusal is None:
            raise
        said = getattr(getattr(refusal, "diag", None), "message_primary", None) or str(refusal)
        raise OverBacklog(said.removeprefix("fairlead: ")) from error


async def _enqueue_async(connection: AsyncConnection, page: Page) -> int | None:
    return next(iter(await _insert_async(connection, page)), None)


def _id(value: object) -> int:
    return int(cast("int", value))

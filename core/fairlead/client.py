"""Enqueue from Python, inside the caller's transaction.

It is an INSERT and nothing more: committed with the caller's work, rolled back with it, and
refused by the database's own constraints. Any language may insert the same row by itself.
"""

import json
from collections.abc import Awaitable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias, cast, overload

import psycopg
from psycopg.rows import tuple_row

from fairlead import jsontext, tracecontext
from fairlead.db import statements
from fairlead.errors import OVER_BACKLOG_SQLSTATE, OverBacklog, caused_by
from fairlead.job import DbApiCursor
from fairlead.jsontext import Json

_JOBS_BYTES_MAX = 256 * 1024 * 1024
_JOBS_LEVELS_MAX = _JOBS_BYTES_MAX  # each payload's are bounded by the table
_HEADERS_BYTES_MAX = 8192  # the table's bound; its text has spaces, as json.dumps has


AsyncPsycopg: TypeAlias = psycopg.AsyncConnection[object] | psycopg.AsyncCursor[object]
Psycopg: TypeAlias = psycopg.Connection[object] | psycopg.Cursor[object]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """A job to be inserted; the database's constraints say what each field may be.

    Args:
        kind: the name of its handler.
        payload: any JSON value, at most 1 MiB as stored; None is an empty object.
        queue: a queue belongs to one pool of workers.
        tenant: whose job it is; the tenants of a queue share it fairly.
        priority: order inside the tenant's lane, -100 to 100, higher first; where the policy
            has bands, which of them too, unless its queue names one.
        run_at: not before this instant (with a time zone); None is now.
        expires_at: end as expired unless it has started by then.
        dedup_key: at most one unfinished job per queue, tenant and key.
        max_attempts: failures until it has failed for good, 1 to 1000.
        timeout: seconds or timedelta for one attempt; None is the pool's default.
        cost_hint: seconds or timedelta that an attempt will take, where known.
        headers: an object of at most 8 KiB: trace context and the like. The current span of
            OpenTelemetry is added as `traceparent`, unless they have one or no room for it.

    Raises:
        ValueError: an instant without a time zone, which would mean another time elsewhere.
    """

    kind: str
    payload: Json = None
    queue: str = "default"
    tenant: str = ""
    priority: int = 0
    run_at: datetime | None = None
    expires_at: datetime | None = None
    dedup_key: str | None = None
    max_attempts: int = 5
    timeout: float | timedelta | None = None
    cost_hint: float | timedelta | None = None
    headers: Mapping[str, Json] | None = None

    def __post_init__(self) -> None:
        for name, instant in (("run_at", self.run_at), ("expires_at", self.expires_at)):
            if instant is not None and instant.utcoffset() is None:
                raise ValueError(f"{name} {instant} has no time zone: give one, such as UTC")


@overload
def enqueue(
    connection: AsyncPsycopg,
    kind: str,
    payload: Json = None,
    *,
    queue: str = ...,
    tenant: str = ...,
    priority: int = ...,
    run_at: datetime | None = ...,
    expires_at: datetime | None = ...,
    dedup_key: str | None = ...,
    max_attempts: int = ...,
    timeout: float | timedelta | None = ...,
    cost_hint: float | timedelta | None = ...,
    headers: Mapping[str, Json] | None = ...,
) -> Awaitable[int | None]: ...
@overload
def enqueue(
    connection: Psycopg | DbApiCursor,
    kind: str,
    payload: Json = None,
    *,
    queue: str = ...,
    tenant: str = ...,
    priority: int = ...,
    run_at: datetime | None = ...,
    expires_at: datetime | None = ...,
    dedup_key: str | None = ...,
    max_attempts: int = ...,
    timeout: float | timedelta | None = ...,
    cost_hint: float | timedelta | None = ...,
    headers: Mapping[str, Json] | None = ...,
) -> int | None: ...
def enqueue(  # noqa: PLR0913 - each is a column of the table
    connection: AsyncPsycopg | Psycopg | DbApiCursor,
    kind: str,
    payload: Json = None,
    *,
    queue: str = "default",
    tenant: str = "",
    priority: int = 0,
    run_at: datetime | None = None,
    expires_at: datetime | None = None,
    dedup_key: str | None = None,
    max_attempts: int = 5,
    timeout: float | timedelta | None = None,
    cost_hint: float | timedelta | None = None,
    headers: Mapping[str, Json] | None = None,
) -> Awaitable[int | None] | int | None:
    """Insert one job and return its id, or None when its dedup key is live.

    It joins the connection's transaction: the job exists once that commits. A repeat inserts
    another job, unless a dedup key says that it is the same one. The connection is psycopg's,
    or a cursor of psycopg or another driver; with an asynchronous one, await the answer. The
    other arguments are described at `NewJob`.

    Raises:
        ValueError: the payload is not JSON, or an instant has no time zone.
        OverBacklog: its tenant or its queue has too many unfinished jobs.
        psycopg.errors.CheckViolation: a field is out of bounds; the constraint's name says
        which.
            Other drivers raise their own error.
    """
    job = NewJob(
        kind=kind,
        payload=payload,
        queue=queue,
        tenant=tenant,
        priority=priority,
        run_at=run_at,
        expires_at=expires_at,
        dedup_key=dedup_key,
        max_attempts=max_attempts,
        timeout=timeout,
        cost_hint=cost_hint,
        headers=headers,
    )
    text = _text((job,))
    if isinstance(connection, psycopg.AsyncConnection | psycopg.AsyncCursor):
        return _first_async(connection, text)
    return next(iter(_insert(connection, text)), None)


@overload
def enqueue_many(
    connection: AsyncPsycopg, jobs: Iterable[NewJob]
) -> Awaitable[tuple[int, ...]]: ...
@overload
def enqueue_many(
    connection: Psycopg | DbApiCursor, jobs: Iterable[NewJob]
) -> tuple[int, ...]: ...
def enqueue_many(
    connection: AsyncPsycopg | Psycopg | DbApiCursor, jobs: Iterable[NewJob]
) -> Awaitable[tuple[int, ...]] | tuple[int, ...]:
    """Insert many jobs with one statement and return the ids, without those of live dedup keys.

    All or none: one job that is refused refuses the others. Some thousand jobs per
    call are quick; the limit is 256 MiB of JSON. Otherwise as `enqueue`.
    """
    text = _text(jobs)
    if isinstance(connection, psycopg.AsyncConnection | psycopg.AsyncCursor):
        return _insert_async(connection, text)
    return _insert(connection, text)


def _text(jobs: Iterable[NewJob]) -> str:
    carried = tracecontext.current_headers()
    rows = [_row(job, carried) for job in jobs]
    return jsontext.encode("job", rows, bytes_max=_JOBS_BYTES_MAX, levels_max=_JOBS_LEVELS_MAX)


def _row(job: NewJob, carried: Mapping[str, str]) -> dict[str, object]:
    return {
        "kind": job.kind,
        "payload": job.payload,
        "queue": job.queue,
        "tenant": job.tenant,
        "priority": job.priority,
        "run_at": _instant(job.run_at),
        "expires_at": _instant(job.expires_at),
        "dedup_key": job.dedup_key,
        "max_attempts": job.max_attempts,
        "timeout": _interval(job.timeout),
        "cost_hint": _interval(job.cost_hint),
        "headers": _headers(job.headers, carried),
    }


def _headers(given: Mapping[str, Json] | None, carried: Mapping[str, str]) -> object:
    """Return a job's headers with the current trace, which never makes them too large."""
    if given is None:
        return dict(carried) or None
    if not carried or tracecontext.TRACEPARENT in given:
        return dict(given)
    both = {**carried, **given}
    return both if _size(both) <= _HEADERS_BYTES_MAX else dict(given)


def _size(headers: Mapping[str, object]) -> int:
    """Return how long the table's text of these headers is; 0 if they cannot be written."""
    try:
        return len(json.dumps(headers, ensure_ascii=False).encode(errors="replace"))
    except (TypeError, ValueError, RecursionError):
        return 0  # encoding the whole job raises the error


def _instant(instant: datetime | None) -> str | None:
    return None if instant is None else instant.isoformat()


def _interval(duration: float | timedelta | None) -> str | None:
    if duration is None:
        return None
    number = duration.total_seconds() if isinstance(duration, timedelta) else duration
    return f"{number} s"


def _statement() -> str:
    """Return the statement as text: some drivers take no bytes."""
    return statements.load("fairlead", "enqueue").decode()


def _insert(connection: Psycopg | DbApiCursor, text: str) -> tuple[int, ...]:
    if isinstance(connection, psycopg.Cursor):
        connection = connection.connection
    with _refusals():
        if isinstance(connection, psycopg.Connection):
            with connection.cursor(row_factory=tuple_row) as cursor:
                cursor.execute(_statement().encode(), [text])
                return tuple(int(row[0]) for row in cursor.fetchall())
        connection.execute(_statement(), [text])
        return tuple(_id(row) for row in connection.fetchall())


async def _insert_async(connection: AsyncPsycopg, text: str) -> tuple[int, ...]:
    if isinstance(connection, psycopg.AsyncCursor):
        connection = connection.connection
    async with connection.cursor(row_factory=tuple_row) as cursor:
        with _refusals():
            await cursor.execute(_statement().encode(), [text])
        return tuple(int(row[0]) for row in await cursor.fetchall())


@contextmanager
def _refusals() -> Generator[None]:
    """Raise `OverBacklog` for the driver's error about a backlog limit."""
    try:
        yield
    except Exception as error:
        refusal = caused_by(error, OVER_BACKLOG_SQLSTATE)
        if refusal is None:
            raise
        said = getattr(getattr(refusal, "diag", None), "message_primary", None) or str(refusal)
        raise OverBacklog(said.removeprefix("fairlead: ")) from error


async def _first_async(connection: AsyncPsycopg, text: str) -> int | None:
    return next(iter(await _insert_async(connection, text)), None)


def _id(row: object) -> int:
    """Read the only column, from a driver whose rows are sequences or mappings."""
    if isinstance(row, Mapping):
        return int(next(iter(cast("Mapping[str, int]", row).values())))
    return int(cast("Sequence[int]", row)[0])

"""Look at what an application has enqueued, inside the test's own transaction.

Nothing has to run, nor be committed: a test of code that enqueues reads the jobs back through
the connection that the code used, and rolls back.
"""

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast, overload

import psycopg
from psycopg.rows import scalar_row

from fairlead import jsontext
from fairlead.client import AsyncPsycopg, Psycopg
from fairlead.db import statements
from fairlead.job import DbApiCursor
from fairlead.jsontext import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Enqueued:
    """A job that waits to run; its fields are those of `fairlead.NewJob`, with the id.

    Instants are in UTC. `run_at` is None for a job that is due, also if it was given an instant
    that had passed.
    """

    id: int
    kind: str
    payload: Json
    queue: str
    tenant: str
    priority: int
    run_at: datetime | None
    expires_at: datetime | None
    dedup_key: str | None
    max_attempts: int
    headers: Mapping[str, Json] | None


@overload
def enqueued(
    connection: AsyncPsycopg,
    kind: str | None = None,
    *,
    payload: Json = ...,
    queue: str | None = ...,
    tenant: str | None = ...,
) -> Awaitable[tuple[Enqueued, ...]]: ...
@overload
def enqueued(
    connection: Psycopg | DbApiCursor,
    kind: str | None = None,
    *,
    payload: Json = ...,
    queue: str | None = ...,
    tenant: str | None = ...,
) -> tuple[Enqueued, ...]: ...
def enqueued(
    connection: AsyncPsycopg | Psycopg | DbApiCursor,
    kind: str | None = None,
    *,
    payload: Json = None,
    queue: str | None = None,
    tenant: str | None = None,
) -> Awaitable[tuple[Enqueued, ...]] | tuple[Enqueued, ...]:
    """Return the jobs that wait to run, and match, in the order in which they were inserted.

    Scheduled jobs and those that wait for a retry are among them; what runs or has ended is
    not. At most 10,000 are returned. It reads in the connection's transaction, so it sees what
    that has not committed, and changes nothing. With an asynchronous connection, await the
    answer.

    Args:
        connection: psycopg's, or a cursor of psycopg or another driver, as for
            `fairlead.enqueue`.
        kind: only of this kind.
        payload: only with a payload that contains this: of an object, some of its members
            (PostgreSQL's `@>`).
        queue: only of this queue.
        tenant: only of this tenant.
    """
    wanted = {"kind": kind, "payload": payload, "queue": queue, "tenant": tenant}
    text = jsontext.encode("what is looked for", wanted)
    if isinstance(connection, psycopg.AsyncConnection | psycopg.AsyncCursor):
        return _read_async(connection, text)
    if isinstance(connection, psycopg.Cursor):
        connection = connection.connection
    if isinstance(connection, psycopg.Connection):
        with connection.cursor(row_factory=scalar_row) as cursor:
            return _jobs(cursor.execute(_statement().encode(), [text]).fetchall())
    connection.execute(_statement(), [text])
    return _jobs([_only(row) for row in connection.fetchall()])


async def _read_async(connection: AsyncPsycopg, text: str) -> tuple[Enqueued, ...]:
    if isinstance(connection, psycopg.AsyncCursor):
        connection = connection.connection
    async with connection.cursor(row_factory=scalar_row) as cursor:
        await cursor.execute(_statement().encode(), [text])
        return _jobs(await cursor.fetchall())


def _statement() -> str:
    """Return the statement as text: some drivers take no bytes."""
    return statements.load("fairlead.testing", "enqueued").decode()


def _only(row: object) -> object:
    """Read the only column, from a driver whose rows are sequences or mappings."""
    if isinstance(row, Mapping):
        return next(iter(cast("Mapping[str, object]", row).values()))
    return cast("Sequence[object]", row)[0]


def _jobs(texts: Sequence[object]) -> tuple[Enqueued, ...]:
    return tuple(_job(jsontext.parse("job", str(text))) for text in texts)


def _job(row: Json) -> Enqueued:
    fields = cast("dict[str, Json]", row)
    return Enqueued(
        id=cast("int", fields["id"]),
        kind=str(fields["kind"]),
        payload=fields["payload"],
        queue=str(fields["queue"]),
        tenant=str(fields["tenant"]),
        priority=cast("int", fields["priority"]),
        run_at=_instant(fields["run_at"]),
        expires_at=_instant(fields["expires_at"]),
        dedup_key=cast("str | None", fields["dedup_key"]),
        max_attempts=cast("int", fields["max_attempts"]),
        headers=cast("dict[str, Json] | None", fields["headers"]),
    )


def _instant(text: Json) -> datetime | None:
    return None if text is None else datetime.fromisoformat(str(text)).astimezone(UTC)

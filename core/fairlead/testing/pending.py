"""Look at what an application has enqueued, inside the test's own transaction.

Nothing has to run, nor be committed: a test of code that enqueues reads the jobs back through
the connection that the code used, and rolls back.
"""

from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast, overload

from fairlead import connections, jsontext
from fairlead.connections import AsyncConnection, Statement, SyncConnection
from fairlead.jsontext import Json, JsonLike

_ENQUEUED = Statement("enqueued", "enqueued", "fairlead.testing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Enqueued:
    """A job that waits to run; its fields are those of `fairlead.NewJob`, with the id.

    Instants are in UTC. `run_at` is None for a job that is due, also if it was given an instant
    that had passed, `max_attempts` None where the job says nothing.
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
    max_attempts: int | None
    headers: Mapping[str, Json] | None


@overload
def enqueued(
    connection: AsyncConnection,
    kind: str | None = None,
    *,
    payload: JsonLike = ...,
    queue: str | None = ...,
    tenant: str | None = ...,
) -> Coroutine[object, None, tuple[Enqueued, ...]]: ...
@overload
def enqueued(
    connection: SyncConnection,
    kind: str | None = None,
    *,
    payload: JsonLike = ...,
    queue: str | None = ...,
    tenant: str | None = ...,
) -> tuple[Enqueued, ...]: ...
def enqueued(
    connection: AsyncConnection | SyncConnection,
    kind: str | None = None,
    *,
    payload: JsonLike = None,
    queue: str | None = None,
    tenant: str | None = None,
) -> Coroutine[object, None, tuple[Enqueued, ...]] | tuple[Enqueued, ...]:
    """Return the jobs that wait to run, and match, in the order in which they were inserted.

    Scheduled jobs and those that wait for a retry are among them; what runs or has ended is
    not. At most 10,000 are returned. It reads in the connection's transaction, so it sees what
    that has not committed, and changes nothing. With an asynchronous connection, await the
    answer.

    Args:
        connection: as for `fairlead.enqueue`.
        kind: only of this kind.
        payload: only with a payload that contains this: of an object, some of its members
            (PostgreSQL's `@>`).
        queue: only of this queue.
        tenant: only of this tenant.
    """
    wanted = {"kind": kind, "payload": payload, "queue": queue, "tenant": tenant}
    text = jsontext.encode("what is looked for", wanted)
    if connections.is_async(connection):
        return _read_async(connection, text)
    return _jobs(connections.answers(cast("SyncConnection", connection), _ENQUEUED, text))


async def _read_async(connection: AsyncConnection, text: str) -> tuple[Enqueued, ...]:
    return _jobs(await connections.answers_async(connection, _ENQUEUED, text))


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
        max_attempts=cast("int | None", fields["max_attempts"]),
        headers=cast("dict[str, Json] | None", fields["headers"]),
    )


def _instant(text: Json) -> datetime | None:
    return None if text is None else datetime.fromisoformat(str(text)).astimezone(UTC)

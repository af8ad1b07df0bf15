"""An application's own functions around enqueue."""

from collections.abc import Mapping

import psycopg

import fairlead
from fairlead import Json, JsonLike


def send(
    connection: psycopg.Connection,
    kind: str,
    payload: JsonLike,
    headers: Mapping[str, JsonLike] | None = None,
) -> int | None:
    """Enqueue for the tenant of this process."""
    return fairlead.enqueue(connection, kind, payload, tenant="acme", headers=headers)


async def send_later(connection: psycopg.AsyncConnection, kind: str, payload: Json) -> None:
    """Enqueue what was read."""
    await fairlead.enqueue(connection, kind, payload)


def again(connection: psycopg.Connection, job: fairlead.Job) -> None:
    """Enqueue once more what a job carries."""
    send(connection, job.kind, job.payload, job.headers)
    send(connection, "audit", {"job": job.id, "payload": job.payload})

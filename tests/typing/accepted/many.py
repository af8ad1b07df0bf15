"""Many jobs at once."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import psycopg

import fairlead


def jobs(users: dict[int, list[str]]) -> Iterator[fairlead.NewJob]:
    """Yield one for each user."""
    for user, addresses in users.items():
        yield fairlead.NewJob(
            kind="newsletter",
            payload={"user": user, "to": addresses},
            run_at=datetime.now(UTC) + timedelta(hours=1),
            timeout=timedelta(minutes=5),
            cost_hint=2,
            headers={"request": "r1"},
        )


def order(connection: psycopg.Connection, users: dict[int, list[str]]) -> tuple[int, ...]:
    """Insert them with one statement."""
    return fairlead.enqueue_many(connection, jobs(users))


async def order_later(
    connection: psycopg.AsyncConnection, users: dict[int, list[str]]
) -> tuple[int, ...]:
    """Insert them over an asynchronous connection."""
    return await fairlead.enqueue_many(connection, jobs(users))

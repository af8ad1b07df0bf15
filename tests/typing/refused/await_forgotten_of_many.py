"""Nothing is enqueued."""

import psycopg

import fairlead


async def order(connection: psycopg.AsyncConnection, jobs: list[fairlead.NewJob]) -> None:
    """Forget to await."""
    fairlead.enqueue_many(connection, jobs)  # refused
    await connection.commit()

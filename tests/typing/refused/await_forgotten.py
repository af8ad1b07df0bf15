"""Nothing is enqueued."""

import psycopg

import fairlead


async def order(connection: psycopg.AsyncConnection) -> None:
    """Forget to await."""
    async with connection.transaction():
        fairlead.enqueue(connection, "a", {"b": 1})  # refused

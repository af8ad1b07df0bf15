"""Nothing is enqueued."""

import psycopg

import fairlead


async def order(connection: psycopg.AsyncConnection) -> None:
    """Forget to await."""
    async with connection.cursor() as cursor:
        fairlead.enqueue(cursor, "a")  # refused

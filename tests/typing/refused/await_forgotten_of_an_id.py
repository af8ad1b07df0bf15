"""A coroutine is no id."""

import psycopg

import fairlead


async def order(connection: psycopg.AsyncConnection) -> int | None:
    """Forget to await."""
    return fairlead.enqueue(connection, "a")  # refused

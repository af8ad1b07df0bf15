"""A synchronous connection blocks the loop, and its answer cannot be awaited."""

import psycopg

import fairlead


async def order(connection: psycopg.Connection) -> None:
    """Await an id."""
    await fairlead.enqueue(connection, "a")  # refused

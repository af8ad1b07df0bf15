"""Asynchronous connections and cursors are awaited."""

import psycopg

import fairlead


async def order(connection: psycopg.AsyncConnection) -> int:
    """Enqueue in one transaction."""
    async with connection.transaction():
        first = await fairlead.enqueue(connection, "a", {"b": 1}, dedup_key="once")
        second = await fairlead.enqueue(connection.cursor(), "a")
    return (first or 0) + (second or 0)

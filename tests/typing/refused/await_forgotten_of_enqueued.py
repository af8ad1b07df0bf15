"""A coroutine has no length."""

import psycopg

from fairlead.testing import enqueued


async def order(connection: psycopg.AsyncConnection) -> None:
    """Forget to await."""
    assert len(enqueued(connection, "a")) == 1  # refused

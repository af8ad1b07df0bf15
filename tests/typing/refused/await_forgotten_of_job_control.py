"""Nothing is cancelled, and nobody waits."""

import psycopg
from sqlalchemy.ext.asyncio import AsyncSession

import fairlead


async def look_after(
    connection: psycopg.AsyncConnection, session: AsyncSession, job: int
) -> None:
    """Forget to await."""
    fairlead.cancel(connection, job)  # refused
    fairlead.cancel(session, tenant="acme")  # refused
    fairlead.retry(session, job)  # refused
    fairlead.wait(connection, job, timeout=5)  # refused
    print(fairlead.status(connection, job).state)  # refused
    fairlead.enqueue(session, "a")  # refused

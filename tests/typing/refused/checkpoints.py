"""From where a job goes on, said wrongly."""

from datetime import UTC, datetime

import psycopg

import fairlead

tasks = fairlead.Tasks()


@tasks.handler("a")
async def works(job: fairlead.Job) -> None:
    """Forget to await, keep what is no JSON, and take the value for a number."""
    async with await psycopg.AsyncConnection.connect() as connection:
        job.checkpoint(7, connection)  # refused
    job.checkpoint(datetime.now(UTC))  # refused
    print(job.checkpoint_value + 1)  # refused

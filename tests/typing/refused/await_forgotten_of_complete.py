"""The job is not completed."""

import psycopg

import fairlead

tasks = fairlead.Tasks()


@tasks.handler("a")
async def works(job: fairlead.Job) -> None:
    """Forget to await."""
    async with await psycopg.AsyncConnection.connect() as connection:
        job.complete(connection, {"done": True})  # refused

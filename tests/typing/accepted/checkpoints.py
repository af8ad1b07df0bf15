"""From where a job goes on."""

import psycopg

import fairlead

tasks = fairlead.Tasks()


@tasks.handler("index")
def index(job: fairlead.Job[list[str]]) -> int:
    """Say it over no connection, and over one of each sort."""
    done = job.checkpoint_value
    begun_at = done if isinstance(done, int) else 0
    for number, _ in enumerate(job.payload[begun_at:], start=begun_at + 1):
        job.checkpoint(number)
    with psycopg.connect() as connection:
        job.checkpoint({"page": 7, "seen": (1, 2)}, connection)
        job.checkpoint(None, on=connection.cursor())
    return begun_at


@tasks.handler("index_later")
async def index_later(job: fairlead.Job) -> None:
    """Say it over an asynchronous one."""
    job.checkpoint([1, 2])
    async with await psycopg.AsyncConnection.connect() as connection:
        await job.checkpoint(7, connection)

"""The job ends in the handler's own transaction."""

from typing import TypedDict

import psycopg

import fairlead

tasks = fairlead.Tasks()


class Sums(TypedDict):
    """A result of known shape."""

    total: int


@tasks.handler("sum")
def add_up(job: fairlead.Job[list[int]]) -> None:
    """Complete over a connection."""
    with psycopg.connect() as connection:
        job.complete(connection, Sums(total=sum(job.payload)))


@tasks.handler("sum_later")
async def add_up_later(job: fairlead.Job[list[int]]) -> None:
    """Complete over an asynchronous one."""
    async with await psycopg.AsyncConnection.connect() as connection:
        await job.complete(connection.cursor(), {"total": sum(job.payload)})

"""How a job is the only one of its key, by each way to enqueue."""

from datetime import timedelta

import psycopg

import fairlead

tasks = fairlead.Tasks()


@tasks.handler("index")
async def index(job: fairlead.Job, document: int) -> None:
    """Index it."""
    print(job.id, document)


def change(connection: psycopg.Connection) -> tuple[int | None, ...]:
    """Replace, debounce, and keep to a period."""
    replaced = fairlead.enqueue(connection, "a", {"b": 1}, dedup_key="c", replace=True)
    debounced = index.using(
        dedup_key="7", debounce=5, debounce_max=timedelta(minutes=1)
    ).enqueue(connection, document=7)
    once = fairlead.enqueue(connection, "a", dedup_key="c", unique_for=timedelta(hours=1))
    many = [fairlead.NewJob(kind="a", dedup_key="d", debounce=0.5, debounce_max=None)]
    return replaced, debounced, once, *fairlead.enqueue_many(connection, many)


async def change_later(connection: psycopg.AsyncConnection) -> int | None:
    """Await the answer."""
    return await index.using(dedup_key="7", unique_for=3600).enqueue(connection, 7)

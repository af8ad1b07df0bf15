"""Ways to be the only job of a key that are none, or of another type."""

import psycopg

import fairlead

tasks = fairlead.Tasks()


@tasks.handler("index")
async def index(job: fairlead.Job, document: int) -> None:
    """Index it."""
    print(job.id, document)


def change(connection: psycopg.Connection) -> None:
    """Be wrong in each line."""
    fairlead.enqueue(connection, "a", dedup_key="b", debounce="5s")  # refused
    fairlead.enqueue(connection, "a", dedup_key="b", replace="yes")  # refused
    fairlead.NewJob(kind="a", dedup_key="b", unique_for="1h")  # refused
    index.using(dedup_key="b", debounce=[5])  # refused
    index.enqueue(connection, 7, debounce=5)  # refused

"""Nothing is enqueued."""

import psycopg

import fairlead

tasks = fairlead.Tasks()


@tasks.handler
async def send_email(job: fairlead.Job, to: str) -> None:
    """Send it."""
    print(job.id, to)


async def order(connection: psycopg.AsyncConnection) -> None:
    """Forget to await."""
    send_email.enqueue(connection, "a")  # refused
    send_email.using(tenant="b").enqueue(connection, to="a")  # refused

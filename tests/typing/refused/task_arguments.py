"""Arguments that the handler does not take, lacks, or takes of another type."""

import psycopg

import fairlead

tasks = fairlead.Tasks()


@tasks.handler("send_email")
async def send_email(job: fairlead.Job, to: str, copies: int = 1) -> None:
    """Send it."""
    print(job.id, to, copies)


def order(connection: psycopg.Connection) -> None:
    """Be wrong in each line."""
    send_email.enqueue(connection)  # refused
    send_email.enqueue(connection, to=5)  # refused
    send_email.enqueue(connection, too="a")  # refused
    send_email.enqueue(connection, to="a", tenant="b")  # refused
    send_email.using(tennant="b")  # refused
    send_email.new_job("a", copies="b")  # refused
    send_email.enqueue("postgresql://", to="a")  # refused

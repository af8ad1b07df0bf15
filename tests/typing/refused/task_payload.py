"""A payload of another shape."""

from dataclasses import dataclass

import psycopg

import fairlead

tasks = fairlead.Tasks()


@dataclass
class Email:
    """What to send."""

    to: str


@tasks.handler
def send_email(job: fairlead.Job[Email]) -> None:
    """Send it."""
    print(job.payload.too)  # refused


def order(connection: psycopg.Connection) -> None:
    """Be wrong in each line."""
    send_email.enqueue(connection, "a")  # refused
    send_email.enqueue(connection)  # refused
    send_email.enqueue(connection, {"to": "a"})  # refused

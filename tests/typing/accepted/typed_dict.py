"""A payload of known shape, and the handler that reads it."""

from typing import TypedDict

import psycopg

import fairlead

tasks = fairlead.Tasks()


class Email(TypedDict):
    """What to send."""

    to: str
    copies: list[str]


def order(connection: psycopg.Connection, email: Email) -> None:
    """Enqueue it in the caller's transaction."""
    fairlead.enqueue(connection, "send_email", email, tenant="acme")


@tasks.handler("send_email", timeout=30)
async def send_email(job: fairlead.Job[Email]) -> None:
    """Send it."""
    print(job.payload["to"], *job.payload["copies"])

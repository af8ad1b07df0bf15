"""A handler that takes the members of its payload, enqueued with them."""

from dataclasses import dataclass
from datetime import datetime
from typing import assert_type

import psycopg
from sqlalchemy.orm import Session

import fairlead

tasks = fairlead.Tasks()


@dataclass
class Attachment:
    """What is sent along."""

    name: str


@tasks.handler("send_email", queue="mail", max_attempts=5)
async def send_email(
    job: fairlead.Job, to: str, attachments: list[Attachment], *, copies: int = 1
) -> dict[str, int]:
    """Send it."""
    print(job.id, to, [each.name for each in attachments])
    return {"sent": copies}


@tasks.handler
def remind(job: fairlead.Job, at: datetime) -> None:
    """Remind somebody."""
    print(job.tenant, at)


def order(connection: psycopg.Connection, session: Session) -> None:
    """Enqueue with arguments, which may be no JSON."""
    new = send_email.enqueue(connection, "a", [Attachment("b")], copies=2)
    assert_type(new, int | None)
    send_email.using(tenant="acme", priority=3).enqueue(session, to="a", attachments=[])
    many = (remind.new_job(datetime.now()) for _ in range(3))  # noqa: DTZ005 - any will do
    assert_type(fairlead.enqueue_many(connection, many), tuple[int, ...])


async def order_later(connection: psycopg.AsyncConnection) -> None:
    """Enqueue, and await it."""
    new = await send_email.enqueue(connection, to="a", attachments=[])
    assert_type(new, int | None)


async def call(job: fairlead.Job) -> None:
    """Call the function itself."""
    assert_type(await send_email(job, "a", []), dict[str, int])

"""An application's tests."""

from typing import TypedDict

import psycopg

import fairlead
from fairlead.testing import AttemptRecorder, drain, enqueued, run

tasks = fairlead.Tasks()


class Email(TypedDict):
    """What to send."""

    to: str


def test_email(connection: psycopg.Connection) -> None:
    """The handler sends it, and the code enqueues it."""
    email: Email = {"to": "a"}
    recorder = AttemptRecorder()
    assert run(tasks, "send", email, headers={"a": "b"}, recorder=recorder) is None
    (job,) = enqueued(connection, "send", payload=email)
    assert job.payload == email
    assert drain(tasks, connection).counts["succeeded"] == 1


async def test_email_later(connection: psycopg.AsyncConnection) -> None:
    """The same, over an asynchronous connection."""
    assert len(await enqueued(connection, payload={"to": "a"})) == 1

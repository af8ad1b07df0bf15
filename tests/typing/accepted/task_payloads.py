"""Handlers that take a payload of known shape, and one that takes any."""

from dataclasses import dataclass
from typing import TypedDict

import psycopg
from pydantic import BaseModel

import fairlead

tasks = fairlead.Tasks(name="mail")


class Email(BaseModel):
    """A model."""

    to: str


@dataclass
class Letter:
    """A dataclass."""

    street: str


class Call(TypedDict):
    """A TypedDict."""

    number: str


@tasks.handler
async def send_email(job: fairlead.Job[Email]) -> None:
    """Read an attribute."""
    print(job.payload.to)


@tasks.handler("send_letter", priority=1)
def send_letter(job: fairlead.Job[Letter]) -> int:
    """Read an attribute."""
    return len(job.payload.street)


@tasks.cron("0 3 * * *", tenant="acme", timezone="Europe/Berlin", payload={"number": "1"})
@tasks.handler
def call(job: fairlead.Job[Call]) -> None:
    """Read a key."""
    print(job.payload["number"])


@tasks.cron("*/5 * * * *")
async def clean(job: fairlead.Job) -> None:
    """Be declared by the schedule alone."""
    print(job.payload)


def order(connection: psycopg.Connection) -> None:
    """Enqueue some of each."""
    send_email.enqueue(connection, Email(to="a"))
    send_letter.using(dedup_key="b").enqueue(connection, Letter("b"))
    call.enqueue(connection, {"number": "c"})
    clean.enqueue(connection)
    clean.enqueue(connection, {"all": True})
    fairlead.sync_schedules(connection, tasks)

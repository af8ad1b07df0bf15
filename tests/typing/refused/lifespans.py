"""What is no lifespan, and what is no payload beside what a lifespan yields."""

from dataclasses import dataclass

import psycopg

import fairlead

tasks = fairlead.Tasks()


@tasks.lifespan  # refused
async def start() -> None:
    """Yield nothing."""


def takes_an_application(app: object) -> None:
    """Yield nothing, and ask for something."""


tasks.lifespan(takes_an_application)  # refused
tasks.lifespan(timeout="5 s")  # refused
tasks.middleware(same_sort_only="yes")  # refused


@dataclass
class Page:
    """A payload of known shape."""

    path: str


class Clients:
    """What handlers share."""


@tasks.handler
def archive(job: fairlead.Job[Page], clients: Clients = fairlead.GIVEN) -> None:
    """Read what the payload does not have."""
    print(job.payload.name, clients)  # refused


@tasks.handler
def move(job: fairlead.Job, path: str, clients: Clients = fairlead.GIVEN) -> None:
    """Read what the lifespan does not yield."""
    print(job.id, path, clients.pool)  # refused


def order(connection: psycopg.Connection) -> None:
    """Be wrong in each line."""
    archive.enqueue(connection)  # refused
    archive.enqueue(connection, "/")  # refused
    archive.enqueue(connection, Page("/"), Clients())  # refused
    move.enqueue(connection)  # refused
    move.enqueue(connection, 7)  # refused

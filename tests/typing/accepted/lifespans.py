"""What is opened once in a process, and what runs around attempts."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import psycopg

import fairlead
from fairlead import GIVEN, Job, JsonLike

tasks = fairlead.Tasks()
plain = fairlead.Tasks()
timed = fairlead.Tasks()


@dataclass
class Clients:
    """What handlers share."""

    url: str


@dataclass
class Page:
    """A payload of known shape."""

    path: str


@tasks.lifespan
async def lifespan() -> AsyncIterator[Clients]:
    """Open and close."""
    yield Clients("https://example.com")


@plain.lifespan
def plain_lifespan() -> Iterator[tuple[Clients, int]]:
    """Do so without a loop."""
    yield Clients("https://example.com"), 7


@timed.lifespan(timeout=5)
@asynccontextmanager
async def timed_lifespan() -> AsyncGenerator[None]:
    """Do so as a context manager, in five seconds."""
    yield


@tasks.middleware
async def traced(
    job: Job, call_next: Callable[[Job], Awaitable[JsonLike]], clients: Clients = GIVEN
) -> JsonLike:
    """Run around attempts."""
    print(clients.url, job.id)
    return await call_next(job)


@plain.middleware(same_sort_only=True)
def plainly_traced(job: Job, call_next: Callable[[Job], JsonLike]) -> JsonLike:
    """Run around those of plain handlers."""
    return {"result": call_next(job)}


@plain.middleware
def spelt_out(job: Job, call_next: Callable[[Job], JsonLike]) -> JsonLike:
    """Say the type of what comes next in other words."""
    return call_next(job)


@tasks.middleware
async def spelt_out_too(job: Job, call_next: Callable[[Job], Awaitable[JsonLike]]) -> JsonLike:
    """Do the same on the loop."""
    return await call_next(job)


@tasks.handler("fetch")
async def fetch(job: Job[dict[str, str]], clients: Clients = GIVEN) -> str:
    """Ask for what the lifespan yields."""
    return clients.url + job.payload["path"]


@tasks.handler
async def archive(job: Job[Page], clients: Clients = GIVEN) -> str:
    """Take a payload of known shape, and what the lifespan yields."""
    return clients.url + job.payload.path


@tasks.handler
async def move(job: Job, path: str, clients: Clients = GIVEN, *, tries: int = 1) -> str:
    """Take members of the payload, and what the lifespan yields."""
    return f"{job.id} {clients.url}{path} {tries}"


def order(connection: psycopg.Connection) -> None:
    """Enqueue the payload alone."""
    fetch.enqueue(connection, {"path": "/"})
    archive.enqueue(connection, Page("/"))
    move.enqueue(connection, "/")
    move.using(tenant="acme").enqueue(connection, path="/", tries=2)
    count.enqueue(connection)


@plain.handler
def count(_job: Job, *, clients: Clients = GIVEN, number: int = GIVEN) -> int:
    """Ask for several things by keyword."""
    return len(clients.url) + number

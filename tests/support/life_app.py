"""An application with a lifespan, middleware and checkpoints; a file says how it fails.

LIFE_LOG names a file in which each process writes what happens in it, a line each. LIFE_FAILS
names a file: while it exists, the lifespan fails as the file says.
"""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

import fairlead
from fairlead import GIVEN, Job, Json, JsonLike

tasks = fairlead.Tasks()


@dataclass
class Pool:
    """What an application opens once in a process."""

    pid: int = field(default_factory=os.getpid)
    is_open: bool = True


class Settings(dict[str, str]):
    """What an application reads once."""


def note(line: str) -> None:
    """Write a line."""
    with Path(os.environ["LIFE_LOG"]).open("a", encoding="utf-8") as log:
        log.write(f"{line}\n")


@tasks.lifespan(timeout=float(os.environ.get("LIFE_TIMEOUT", "30")))
@asynccontextmanager
async def life() -> AsyncGenerator[tuple[Pool, Settings]]:
    """Open a pool, and close it."""
    how = _how_it_fails()
    if how == "raises":
        raise ConnectionError("no broker at 10.0.0.7")
    if how == "blocks":
        time.sleep(600)  # noqa: ASYNC251 - what must not be done
    if how == "waits":
        await asyncio.sleep(600)
    note(f"start {os.getpid()}")
    pool = Pool()
    async with asyncio.TaskGroup() as group:
        if how == "ends early":
            group.create_task(_fails())
        yield pool, Settings(currency="EUR")
    pool.is_open = False
    note(f"stop {os.getpid()}")
    if how == "raises at its end":
        raise ConnectionError("already closed")


def _how_it_fails() -> str:
    failing = Path(os.environ.get("LIFE_FAILS", "/nowhere"))
    return failing.read_text(encoding="utf-8") if failing.exists() else ""


async def _fails() -> None:
    await asyncio.sleep(0.2)
    raise ConnectionError("lost the broker")


@tasks.middleware(same_sort_only=True)
async def traced(job: Job, call_next: Callable[[Job], Awaitable[JsonLike]]) -> JsonLike:
    """Note what it is around."""
    note(f"before {job.kind}")
    try:
        return await call_next(job)
    finally:
        note(f"after {job.kind}")


@tasks.middleware(same_sort_only=True)
def plainly_traced(
    job: Job, call_next: Callable[[Job], JsonLike], settings: Settings = GIVEN
) -> JsonLike:
    """Do the same in a thread, with something of the lifespan."""
    note(f"before {job.kind} in {settings['currency']}")
    return call_next(job)


@tasks.handler("on_loop")
async def on_loop(_job: Job, pool: Pool = GIVEN) -> Json:
    """Say what it was given."""
    return [pool.pid == os.getpid(), pool.is_open]


@tasks.handler("in_thread")
def in_thread(_job: Job, *, settings: Settings = GIVEN, pool: Pool = GIVEN) -> Json:
    """Say what it was given, in a thread."""
    return [pool.pid == os.getpid(), pool.is_open, dict(settings)]


@tasks.handler("apart", process=True)
def apart(job: Job, pool: Pool = GIVEN) -> Json:
    """Say what it was given, in a process of its own."""
    job.checkpoint("apart")
    return [pool.pid == os.getpid(), pool.is_open]


@tasks.handler("without")
async def without(job: Job) -> Json:
    """Ask for nothing."""
    return job.checkpoint_value


@tasks.handler("counts")
async def counts(job: Job) -> Json:
    """Count from its checkpoint to what the payload says, a step at a time."""
    payload = job.payload
    assert isinstance(payload, dict)
    begun_at = job.checkpoint_value or 0
    assert isinstance(begun_at, int)
    for step in range(begun_at, int(str(payload["steps"]))):
        note(f"step {step}")
        await asyncio.sleep(float(str(payload["seconds"])))
        job.checkpoint(step + 1)
    return begun_at


@tasks.handler("completes")
async def completes(job: Job) -> None:
    """Complete the job, and go on for longer than a checkpoint takes to be stored."""
    url = os.environ["FAIRLEAD_DATABASE_URL"]
    async with await psycopg.AsyncConnection.connect(url) as connection:
        await job.complete(connection, "early")
    job.checkpoint("late")
    await asyncio.sleep(0.5)
    note(f"cancelled: {job.cancelled}")


@tasks.handler("fails_once")
def fails_once(job: Job) -> Json:
    """Fail, and be tried again at once, with its last checkpoint."""
    if job.attempt == 1:
        job.checkpoint({"at": 1})
        job.checkpoint({"at": 2})
        raise fairlead.Retry("again", after=0)
    return job.checkpoint_value

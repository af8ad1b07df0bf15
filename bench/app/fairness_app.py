"""The application of the fairness bench: jobs that occupy a slot, and handlers that do harm."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psycopg

import fairlead

tasks = fairlead.Tasks()
_URL = os.environ["FAIRLEAD_DATABASE_URL"]
_HELD = Path("held.log").resolve()
_NUMBERS = count()


@contextmanager
def _held() -> Generator[None]:
    """Note when a handler begins and ends: the product's own figures are not to be believed."""
    run = f"{os.getpid()}-{next(_NUMBERS)}"
    _note(run)
    try:
        yield
    finally:
        _note(run)


def _note(run: str) -> None:
    with _HELD.open("a", encoding="ascii") as notes:
        notes.write(f"{run} {time.time()}\n")


@tasks.handler("sleep")
async def sleep(job: fairlead.Job) -> None:
    """Occupy a slot for as many seconds as the payload says."""
    await asyncio.sleep(_seconds(job))


def _seconds(job: fairlead.Job) -> float:
    payload = job.payload
    assert isinstance(payload, dict)
    seconds = payload["seconds"]
    assert isinstance(seconds, int | float)
    return seconds


@tasks.handler("plain")
async def plain(job: fairlead.Job) -> None:
    """Do what `sleep` does, and be counted apart from it."""
    with _held():
        await asyncio.sleep(_seconds(job))


@tasks.handler("empty")
async def empty(_job: fairlead.Job) -> None:
    """Do nothing."""


@tasks.handler("completes early")
async def complete_early(job: fairlead.Job) -> None:
    """Complete the job at once, and keep the slot."""
    with _held():
        async with await psycopg.AsyncConnection.connect(_URL) as connection:
            await job.complete(connection)
        await asyncio.sleep(_seconds(job))


@tasks.handler("one at a time", concurrency=1)
async def one_at_a_time(job: fairlead.Job) -> None:
    """Occupy the only place of its kind."""
    with _held():
        await asyncio.sleep(_seconds(job))


@tasks.handler("processes", process=True)
def in_a_process(job: fairlead.Job) -> None:
    """Occupy a process."""
    with _held():
        time.sleep(_seconds(job))


@tasks.handler("blocks the loop")
async def block_the_loop(job: fairlead.Job) -> None:
    """Keep every other coroutine of the worker waiting."""
    with _held():
        time.sleep(_seconds(job))  # noqa: ASYNC251 - an honest mistake, which is played here


@tasks.handler("extends for ever")
async def extend_for_ever(job: fairlead.Job) -> None:
    """Move the deadline for as long as the worker lets it."""
    with _held():
        while True:
            job.extend(60)
            await asyncio.sleep(_seconds(job))


@tasks.handler("dies")
def die(_job: fairlead.Job) -> None:
    """End the process."""
    with _held():
        os._exit(9)


@tasks.handler("ignores its timeout", timeout=1)
def ignore_the_timeout(job: fairlead.Job) -> None:
    """Occupy a thread for longer than its timeout allows, and never look."""
    with _held():
        time.sleep(_seconds(job))

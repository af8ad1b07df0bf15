"""The application of the chaos tests: its handlers record every start and finish.

Each event is one line, appended by one write to a file that all processes share, so that it is
there even when the process is killed a moment later. The kinds in `TRANSACTIONAL` write a row
in a table, and finish their job in one transaction of their own.
"""

import asyncio
import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from time import monotonic, sleep, time

import psycopg

import fairlead
from tests.chaos.records import EFFECT

HISTORY_VARIABLE = "CHAOS_HISTORY"
RELEASED = ".released"
"""Suffix of the file whose existence lets `held` handlers end."""
HELD_VARIABLE = "CHAOS_HELD"
"""Names a file: until it exists, no handler of a process with this variable ends its work."""
TRANSACTIONAL = frozenset({"book", "book_async", "book_apart"})
APART = frozenset({"book_apart", "crunch"})
"""The kinds whose handlers run in isolated processes."""
SESSIONS = "chaos handler"
"""The name of the handlers' own connections."""
_STEP_SECONDS = 0.005
_BITE_BYTES, _BITES = 2**23, 128

tasks = fairlead.Tasks()


@cache
def _history() -> int:
    path = os.environ[HISTORY_VARIABLE]
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)


def line(event: str, *, job: int, token: int) -> bytes:
    """Return the record of an event of an attempt, timed now.

    On a line of its own, even if the last writer was killed in the middle of a line.
    """
    said = {"event": event, "job": job, "token": token, "at": time(), "pid": os.getpid()}
    return b"\n" + json.dumps(said).encode() + b"\n"


def note(event: str, job: fairlead.Job) -> None:
    """Record an event of an attempt now."""
    os.write(_history(), line(event, job=job.id, token=job.token))


@contextmanager
def noted(job: fairlead.Job) -> Generator[None]:
    """Record that an attempt started, and how it ended: a killed one has no end."""
    note("started", job)
    try:
        yield
    except (asyncio.CancelledError, fairlead.Cancelled):
        note("stop_requested", job)
        raise
    except fairlead.StaleToken:
        note("refused", job)
        raise
    except Exception:
        note("failed", job)
        raise
    note("finished", job)


def seconds_of(job: fairlead.Job) -> float:
    """Return how long the job takes."""
    payload = job.payload
    assert isinstance(payload, dict)
    milliseconds = payload["ms"]
    assert isinstance(milliseconds, int)
    return milliseconds / 1000


def is_held() -> bool:
    """Return whether handlers of this process are to go on for now."""
    path = os.environ.get(HELD_VARIABLE)
    return path is not None and not Path(path).exists()


def work(job: fairlead.Job) -> None:
    """Take as long as the job does, in a thread."""
    sleep(seconds_of(job))
    while is_held():
        sleep(_STEP_SECONDS)


async def work_on_loop(job: fairlead.Job) -> None:
    """Take as long as the job does, on the event loop."""
    await asyncio.sleep(seconds_of(job))
    while is_held():  # noqa: ASYNC110 - another process makes the file
        await asyncio.sleep(_STEP_SECONDS)


@tasks.handler("nap")
async def nap(job: fairlead.Job) -> None:
    """Wait on the event loop."""
    with noted(job):
        await work_on_loop(job)


@tasks.handler("held")
def held(job: fairlead.Job) -> None:
    """Wait in a thread until the test releases it."""
    released = Path(os.environ[HISTORY_VARIABLE] + RELEASED)
    with noted(job):
        while not released.exists():
            job.raise_if_cancelled()
            sleep(_STEP_SECONDS)


def _grind(job: fairlead.Job) -> None:
    with noted(job):
        until = monotonic() + seconds_of(job)
        while monotonic() < until or is_held():
            job.raise_if_cancelled()
            sleep(_STEP_SECONDS)


@tasks.handler("grind")
def grind(job: fairlead.Job) -> None:
    """Work in a thread, and check periodically whether to stop."""
    _grind(job)


@tasks.handler("crunch", process=True)
def crunch(job: fairlead.Job) -> None:
    """Work in an isolated process, and check periodically whether to stop."""
    _grind(job)


@tasks.handler("deaf")
def deaf(job: fairlead.Job) -> None:
    """Work in a thread that ignores the request to stop."""
    with noted(job):
        work(job)


@tasks.handler("stall")
async def stall(job: fairlead.Job) -> None:
    """Block the event loop."""
    with noted(job):
        sleep(seconds_of(job))  # noqa: ASYNC251 - it is what the handler is for


@tasks.handler("turn", concurrency=1)
def turn(job: fairlead.Job) -> None:
    """Work in a thread, one at a time in a process."""
    with noted(job):
        sleep(seconds_of(job))


def _book(job: fairlead.Job) -> None:
    url = os.environ["FAIRLEAD_DATABASE_URL"]
    with noted(job), psycopg.connect(url, application_name=SESSIONS) as connection:
        connection.execute(EFFECT, [job.id, job.token])
        work(job)
        job.complete(connection)


@tasks.handler("book")
def book(job: fairlead.Job) -> None:
    """Work and finish the job in one transaction, in a thread that ignores the stop request."""
    _book(job)


@tasks.handler("book_apart", process=True)
def book_apart(job: fairlead.Job) -> None:
    """Do what `book` does in an isolated process."""
    _book(job)


@tasks.handler("book_async")
async def book_async(job: fairlead.Job) -> None:
    """Do what `book` does on the event loop, where it is cancelled when asked to stop."""
    url = os.environ["FAIRLEAD_DATABASE_URL"]
    connect = psycopg.AsyncConnection.connect
    with noted(job):
        async with await connect(url, application_name=SESSIONS) as connection:
            await connection.execute(EFFECT, [job.id, job.token])
            await work_on_loop(job)
            await job.complete(connection)


@tasks.handler("hog")
def hog(job: fairlead.Job) -> None:
    """Hold the interpreter's lock for a minute or more."""
    note("started", job)
    pow(3, 10**8)
    note("finished", job)


@tasks.handler("glutton")
def glutton(job: fairlead.Job) -> None:
    """Take more memory than a machine has that is as small as a test makes it."""
    with noted(job):
        _ = [b"." * _BITE_BYTES for _ in range(_BITES)]


@tasks.handler("poison")
def poison(job: fairlead.Job) -> None:
    """Kill the process that runs it."""
    note("started", job)
    os.abort()


@tasks.handler("k")
def read(job: fairlead.Job) -> None:
    """Read all fields of the job; its kind is the one that generated rows have."""
    with noted(job):
        _ = job.payload, job.headers

"""The application that tests of the child run: handlers that do one remarkable thing each.

Handlers leave what happened in the table `seen`, on connections of their own, and wait for an
advisory lock that the test holds.
"""

import asyncio
import contextvars
import ctypes
import os
import re
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import psycopg

import fairlead
from fairlead import Job, Json

HOLD = "SELECT pg_advisory_lock(1)"
"""What a test's connection holds, for as long as handlers are to wait."""
WAIT = "SELECT pg_advisory_lock_shared(1)"

tasks = fairlead.Tasks()
_leftover: contextvars.ContextVar[int] = contextvars.ContextVar("leftover", default=0)


def _url() -> str:
    return os.environ["FAIRLEAD_DATABASE_URL"]


@contextmanager
def _connection() -> Generator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(_url(), autocommit=True) as connection:
        yield connection


def _see(what: str) -> None:
    with _connection() as connection:
        connection.execute("INSERT INTO seen (what) VALUES (%s)", [what])


@tasks.handler("echo")
async def echo(job: Job) -> Json:
    """Return the payload."""
    return job.payload


@tasks.handler("where")
def where(job: Job) -> Json:
    """Say where it runs, in a thread."""
    return {
        "pid": os.getpid(),
        "thread": threading.current_thread().name,
        "attempt": job.attempt,
    }


@tasks.handler("where_apart", process=True)
def where_apart(job: Job) -> Json:
    """Say where it runs, in a process of its own."""
    folder = str(Path.cwd())
    return {"pid": os.getpid(), "group": os.getpgid(0), "id": job.id, "folder": folder}


@tasks.handler("raises")
async def raises(job: Job) -> None:
    """Raise what the payload names."""
    errors: dict[str, BaseException] = {
        "error": ValueError("no luck"),
        "retry": fairlead.Retry("busy", after=3600),
        "discard": fairlead.Discard("no such user"),
        "snooze": fairlead.Snooze(for_=3600),
        "exit": SystemExit(3),
        "interrupt": KeyboardInterrupt(),
        "cancelled": asyncio.CancelledError(),
        "closed": GeneratorExit(),
    }
    await asyncio.sleep(0)
    raise errors[str(job.payload)]


@tasks.handler("returns")
def returns(job: Job) -> Json:
    """Return something that is no JSON."""
    results: dict[str, object] = {"nul": "\0", "set": {1}, "inf": float("inf")}
    return cast("Json", results[str(job.payload)])


@tasks.handler("reads")
def reads(job: Job) -> None:
    """Read the payload."""
    _ = job.payload


@tasks.handler("context")
async def context(_job: Job) -> Json:
    """Say what an earlier job left in the context, and leave something."""
    found = _leftover.get()
    _leftover.set(found + 1)
    await asyncio.sleep(0)
    return found


@tasks.handler("forever")
async def forever(_job: Job) -> None:
    """Wait until cancelled; say so."""
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        _see("cancelled")
        raise


@tasks.handler("naps")
async def naps(job: Job[float]) -> None:
    """Wait for some seconds."""
    await asyncio.sleep(job.payload)


@tasks.handler("blocks")
async def blocks(job: Job[float]) -> int:
    """Block the event loop for some seconds; return the process."""
    time.sleep(job.payload)  # noqa: ASYNC251 - it is what the handler is for
    return os.getpid()


@tasks.handler("blocks_within")
async def blocks_within(job: Job[float]) -> int:
    """Block the event loop in a task of its own."""
    (pid,) = await asyncio.gather(blocks(job))
    return pid


_together: list[asyncio.Future[None]] = []


@tasks.handler("blocks_together")
async def blocks_together(job: Job[int]) -> None:
    """Wait for so many of this kind; then block the event loop a little, each after another."""
    mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    _together.append(mine)
    if len(_together) == job.payload:
        for each in _together:
            each.set_result(None)
    await mine
    time.sleep(0.06)  # noqa: ASYNC251 - it is what the handler is for


@tasks.handler("computes")
async def computes(job: Job[float]) -> None:
    """Keep the interpreter's lock for some seconds, a long call at a time."""
    until = time.monotonic() + job.payload
    while time.monotonic() < until:
        sum(range(10_000_000))


@tasks.handler("hogs")
async def hogs(_job: Job) -> None:
    """Keep the interpreter's lock for ever, in one call."""
    re.fullmatch("(a+)+", "a" * 64 + "b")


@tasks.handler("short", timeout=0.2)
async def short(_job: Job) -> None:
    """Wait for longer than its handler allows."""
    await asyncio.Event().wait()


@tasks.handler("asks")
def asks(job: Job) -> None:
    """Poll whether to stop, in a thread."""
    rest = threading.Event()
    while not job.cancelled:
        rest.wait(0.01)
    _see("asked to stop")
    job.raise_if_cancelled()


@tasks.handler("wanders")
def wanders(job: Job[str]) -> None:
    """Go to another folder, with the whole process."""
    os.chdir(job.payload)


@tasks.handler("misplaces")
def misplaces(job: Job[str]) -> str:
    """Have Python be looked for elsewhere; return where it was."""
    before, sys.executable = sys.executable, job.payload
    return before


@tasks.handler("asks_apart", process=True)
def asks_apart(job: Job) -> None:
    """Poll whether to stop, in a process."""
    job.progress(0.5, "asking")
    rest = threading.Event()
    while not job.cancelled:
        rest.wait(0.01)
    job.raise_if_cancelled()


@tasks.handler("deaf_apart", process=True, timeout=0.2)
def deaf_apart(_job: Job) -> None:
    """Never poll whether to stop, in a process."""
    while True:
        threading.Event().wait(60)


@tasks.handler("waits")
def waits(_job: Job) -> Json:
    """Wait, in a thread, until the test gives up its lock; never check whether to stop."""
    with _connection() as connection:
        connection.execute(WAIT)
    return "waited"


@tasks.handler("gated", concurrency=1)
def gated(job: Job) -> None:
    """Wait likewise, one at a time."""
    waits(job)


@tasks.handler("dies")
def dies(_job: Job) -> None:
    """Take the process down."""
    ctypes.string_at(0)


@tasks.handler("dies_apart", process=True)
def dies_apart(_job: Job) -> None:
    """Take its own process down."""
    os.kill(os.getpid(), 9)


@tasks.handler("completes")
def completes(job: Job) -> None:
    """Finish the job in a transaction; the payload says what happens to that."""
    with psycopg.connect(_url()) as connection:
        connection.execute("INSERT INTO seen (what) VALUES ('worked')")
        job.complete(connection, {"by": "handler"})
        if job.payload == "roll back":
            connection.rollback()
    if job.payload == "then fail":
        raise ValueError("too late to matter")


@tasks.handler("completes_and_stays")
def completes_and_stays(job: Job) -> None:
    """Finish the job in a transaction, and wait for the test."""
    with psycopg.connect(_url()) as connection:
        job.complete(connection, "early")
    waits(job)


@tasks.handler("completes_for_ever", timeout=0.3)
async def completes_for_ever(job: Job) -> None:
    """Finish the job in a transaction, and wait for ever."""
    async with await psycopg.AsyncConnection.connect(_url()) as connection:
        await job.complete(connection)
    await asyncio.Event().wait()


@tasks.handler("completes_async")
async def completes_async(job: Job) -> None:
    """Finish the job in a transaction of an asynchronous connection."""
    async with await psycopg.AsyncConnection.connect(_url()) as connection:
        await job.complete(connection.cursor(), [job.id])


@tasks.handler("completes_apart", process=True)
def completes_apart(job: Job) -> None:
    """Finish the job in a transaction, from another process."""
    with psycopg.connect(_url()) as connection:
        job.complete(connection, "apart")


@tasks.handler("completes_late")
def completes_late(job: Job) -> None:
    """Wait for the test, then try to finish a job that was taken away."""
    waits(job)
    with psycopg.connect(_url()) as connection:
        connection.execute("INSERT INTO seen (what) VALUES ('worked')")
        try:
            job.complete(connection)
        except fairlead.StaleToken:
            _see("stale")
            raise


@tasks.handler("reports")
async def reports(job: Job) -> None:
    """Say how far it is, ask for more time, and wait."""
    job.progress(0.25, "a quarter")
    job.extend(3000)
    await asyncio.Event().wait()


@tasks.handler("extends_late")
def extends_late(job: Job) -> None:
    """Wait for the test, then ask for more time, and obey the answer."""
    waits(job)
    job.extend(60)
    asks(job)


@tasks.handler("makes_room", evictable=True)
async def makes_room(job: Job) -> str:
    """Wait until it is stopped, or end at once if a run before this one was cut short."""
    if job.checkpoint_value:
        return f"{job.checkpoint_value}, attempt {job.attempt}"
    try:
        await asyncio.Event().wait()
    finally:
        job.checkpoint(f"half of {job.id}")
    return ""


@tasks.handler("makes_room_in_thread", evictable=True)
def makes_room_in_thread(job: Job) -> str:
    """Do the same in a thread, which has to look."""
    if job.checkpoint_value:
        return f"{job.checkpoint_value}, attempt {job.attempt}"
    rest = threading.Event()
    while not job.cancelled:
        rest.wait(0.01)
    job.checkpoint(f"half of {job.id}")
    job.raise_if_cancelled()
    return ""


@tasks.handler("makes_room_apart", evictable=True, process=True)
def makes_room_apart(job: Job) -> str:
    """Do the same in a process."""
    return makes_room_in_thread(job)


@tasks.handler("never_makes_room", evictable=True)
def never_makes_room(job: Job) -> str:
    """Agree to make room and never look, in a thread; end at once when it runs again."""
    if job.checkpoint_value:
        return str(job.checkpoint_value)
    job.progress(0.1, "deaf")
    job.checkpoint("deaf")
    threading.Event().wait(600)
    return ""


@tasks.handler("naps_in_turn", concurrency=1)
async def naps_in_turn(_job: Job) -> None:
    """Take half a second, one at a time."""
    await asyncio.sleep(0.5)


@tasks.handler("naps_apart", process=True, concurrency=1)
def naps_apart(_job: Job) -> None:
    """Do the same in a process."""
    time.sleep(0.5)


@tasks.handler("extends_always", timeout=0.2)
async def extends_always(job: Job) -> None:
    """Ask for a minute more again and again, and leave what the first answer was."""
    _see(f"{(job.extend(60) - datetime.now(UTC)).total_seconds():.1f}")
    while True:
        job.extend(60)
        await asyncio.sleep(0.01)


@tasks.handler("extends_apart", timeout=0.2, process=True)
def extends_apart(job: Job) -> None:
    """Do the same in a process."""
    _see(f"{(job.extend(60) - datetime.now(UTC)).total_seconds():.1f}")
    while True:
        job.extend(60)
        job.raise_if_cancelled()
        time.sleep(0.01)


@tasks.handler("waits_for_file")
def waits_for_file(job: Job) -> str:
    """Wait for a file that the test makes; the database is not asked."""
    rest = threading.Event()
    while not Path(str(job.payload)).exists():
        rest.wait(0.01)
    return "found"

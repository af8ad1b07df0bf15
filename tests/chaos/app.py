"""The application that the chaos tests run: its handlers write down every start and finish.

Each event is one line, appended by one write to a file that all processes share, so that it
stands there even when the process is killed a moment later.
"""

import asyncio
import json
import os
from functools import cache
from pathlib import Path
from time import sleep, time

import fairlead

HISTORY_VARIABLE = "CHAOS_HISTORY"
RELEASED = ".released"
"""What the name of the file ends with at which `held` handlers end."""
_STEP_SECONDS = 0.005

tasks = fairlead.Tasks()


@cache
def _history() -> int:
    path = os.environ[HISTORY_VARIABLE]
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)


def note(event: str, job: fairlead.Job) -> None:
    """Write down that something happened to an attempt now."""
    line = {"event": event, "job": job.id, "token": job.token, "at": time(), "pid": os.getpid()}
    os.write(_history(), json.dumps(line).encode() + b"\n")


def seconds_of(job: fairlead.Job) -> float:
    """Return how long the job is to take."""
    payload = job.payload
    assert isinstance(payload, dict)
    milliseconds = payload["ms"]
    assert isinstance(milliseconds, int)
    return milliseconds / 1000


@tasks.handler("nap")
async def nap(job: fairlead.Job) -> None:
    """Wait on the event loop."""
    note("started", job)
    try:
        await asyncio.sleep(seconds_of(job))
    except asyncio.CancelledError:
        note("told", job)
        raise
    note("finished", job)


@tasks.handler("held")
def held(job: fairlead.Job) -> None:
    """Wait in a thread until the test lets go."""
    note("started", job)
    released = Path(os.environ[HISTORY_VARIABLE] + RELEASED)
    while not released.exists():
        if job.cancelled:
            note("told", job)
            raise fairlead.Cancelled
        sleep(_STEP_SECONDS)
    note("finished", job)


@tasks.handler("grind")
def grind(job: fairlead.Job) -> None:
    """Work in a thread, and look now and then whether to stop."""
    note("started", job)
    until = time() + seconds_of(job)
    while time() < until:
        if job.cancelled:
            note("told", job)
            raise fairlead.Cancelled
        sleep(_STEP_SECONDS)
    note("finished", job)


@tasks.handler("deaf")
def deaf(job: fairlead.Job) -> None:
    """Work in a thread that heeds nothing."""
    note("started", job)
    sleep(seconds_of(job))
    note("finished", job)


@tasks.handler("hog")
def hog(job: fairlead.Job) -> None:
    """Hold the interpreter's lock for a minute or more."""
    note("started", job)
    pow(3, 10**8)
    note("finished", job)


@tasks.handler("poison")
def poison(job: fairlead.Job) -> None:
    """Kill the process that runs it."""
    note("started", job)
    os.abort()

"""The application that tests of traces and of reported errors run."""

import asyncio
import logging
import os
import sys
import threading
from pathlib import Path

import psycopg

import fairlead
from fairlead import Job, Json

_log = logging.getLogger("shop.orders")


def _see(what: str) -> None:
    with psycopg.connect(os.environ["FAIRLEAD_DATABASE_URL"], autocommit=True) as connection:
        connection.execute("INSERT INTO seen (what) VALUES (%s)", [what])


def report(job: Job, error: BaseException, *, will_retry: bool) -> None:
    """Leave in a table what failed; or fail, too, if the payload says so."""
    if job.payload == "and so does the hook":
        raise LookupError("no listener")
    cause = "" if error.__cause__ is None else f" from {type(error.__cause__).__name__}"
    traced = "with" if error.__traceback__ is not None else "without"
    _see(
        f"{job.kind} {job.attempt} {type(error).__name__}: {error}{cause}"
        f" {traced} traceback, {'again' if will_retry else 'never again'}"
    )


tasks = fairlead.Tasks(on_error=report)


def _traced(job: Job) -> Json:
    """Log a line, make a span, and say in which trace that was."""
    from opentelemetry import trace  # noqa: PLC0415 - most handlers do without

    _log.warning("packed", extra={"order": 7})
    with trace.get_tracer("shop").start_as_current_span("inner") as span:
        context = span.get_span_context()
        return {"trace_id": f"{context.trace_id:032x}", "attempt": job.attempt}


@tasks.handler("on_loop")
async def on_loop(job: Job) -> Json:
    """Be traced on the loop, before and after a wait."""
    found = _traced(job)
    await asyncio.sleep(0)
    return {"before": found, "after": _traced(job)}


@tasks.handler("in_thread")
def in_thread(job: Job) -> Json:
    """Be traced in a thread."""
    return _traced(job)


@tasks.handler("in_process", process=True)
def in_process(job: Job) -> Json:
    """Be traced in a process."""
    return _traced(job)


@tasks.handler("modules")
def modules(_job: Job) -> Json:
    """Say whether anything of OpenTelemetry was loaded."""
    return any(name.partition(".")[0] == "opentelemetry" for name in sys.modules)


def _raise(job: Job) -> None:
    errors: dict[str, BaseException] = {
        "error": ValueError("no luck"),
        "retry": fairlead.Retry("busy", after=3600),
        "discard": fairlead.Discard("no such user"),
        "snooze": fairlead.Snooze(for_=3600),
        "exit": SystemExit(3),
        "and so does the hook": ValueError("no luck"),
    }
    raise errors[str(job.payload)]


@tasks.handler("raises")
async def raises(job: Job) -> None:
    """Raise what the payload names, on the loop."""
    _raise(job)


@tasks.handler("raises_in_thread")
def raises_in_thread(job: Job) -> None:
    """Raise it in a thread."""
    _raise(job)


@tasks.handler("raises_in_process", process=True)
def raises_in_process(job: Job) -> None:
    """Raise it in a process."""
    _raise(job)


@tasks.handler("late", timeout=0.2)
async def late(_job: Job) -> None:
    """Wait for longer than there is time."""
    await asyncio.Event().wait()


@tasks.handler("deaf", process=True, timeout=0.2)
def deaf(_job: Job) -> None:
    """Never look whether to stop."""
    while True:
        threading.Event().wait(60)


@tasks.handler("forever")
async def forever(_job: Job) -> None:
    """Wait until asked to stop."""
    await asyncio.Event().wait()


@tasks.handler("until_there")
def until_there(job: Job) -> str:
    """Wait for a file that the test makes."""
    rest = threading.Event()
    while not Path(str(job.payload)).exists():
        rest.wait(0.01)
    return "there"

"""What commands with --wait do: look again and again, and say meanwhile why they wait."""

import time
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from fairlead.inspection import formats, jobs
from fairlead.inspection.rows import Row
from fairlead_cli.errors import NegativeAnswer
from fairlead_cli.session import settings

if TYPE_CHECKING:
    from fairlead.db.connect import Connection

Wait = Annotated[
    str | None,
    typer.Option(
        help="Wait until the job has ended, at most this long: 90s, 5m, 2h. Exit code 1 "
        "unless it has succeeded."
    ),
]
WaitForDatabase = Annotated[
    str | None,
    typer.Option(
        "--wait", help="Wait for the database, if need be, at most this long: 90s, 5m, 2h."
    ),
]

_AGAIN_SECONDS = 0.1
_RECONNECT_SECONDS = 1.0
_ENDED = ("succeeded", "failed", "cancelled", "expired")


def connected(*, within: timedelta) -> "Connection":
    """Connect, and try again while there is time; each new reason is a line on standard error.

    Raises:
        Unreachable: the time is over; with the last attempt's sentence.
    """
    from fairlead.db.connect import Unreachable, connect

    where = settings()
    until = time.monotonic() + within.total_seconds()
    said = ""
    while True:
        try:
            return connect(where, name="cli")
        except Unreachable as error:
            if time.monotonic() >= until:
                raise
            if str(error) != said:
                said = str(error)
                typer.echo(f"fairlead: waiting: {said}", err=True)
            time.sleep(_RECONNECT_SECONDS)


def succeeded(connection: "Connection", job_id: int, *, within: timedelta) -> Row:
    """Wait for a job's end, and return it as it then stands.

    Raises:
        NegativeAnswer: it ended otherwise, or not in time; the sentence says where it is.
    """
    until = time.monotonic() + within.total_seconds()
    while True:
        job = jobs.show(connection, job_id)
        if job is None:
            raise NegativeAnswer(
                f"job {job_id} is gone: what was kept of it was deleted meanwhile"
            )
        state = str(job["state"])
        if state == "succeeded":
            return job
        if state in _ENDED:
            raise NegativeAnswer(f"job {job_id} {state}: {_why(job)}")
        if time.monotonic() >= until:
            raise NegativeAnswer(
                f"job {job_id} is {state} after {formats.age(within)}: "
                f"`fairlead explain {job_id}` says why"
            )
        time.sleep(_AGAIN_SECONDS)


def _why(job: Row) -> str:
    """Return the first line of a job's error, and where to read the others."""
    first, *others = str(job["error"] or "it did not run").splitlines()
    more = f" (`fairlead jobs show {job['id']}` has the rest)" if others else ""
    return formats.printable(first) + more

"""What commands with --wait do: look again and again, and say meanwhile why they wait."""

import time
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from fairlead_cli.errors import NegativeAnswer
from fairlead_cli.output import formats
from fairlead_cli.session import Row, ask, settings

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
        found = ask(connection, "show_job", {"id": job_id})
        if not found:
            raise NegativeAnswer(
                f"job {job_id} is gone: what was kept of it was deleted meanwhile"
            )
        (job,) = found
        state = str(job["state"])
        if state == "succeeded":
            return job
        if state in _ENDED:
            error = formats.printable(str(job["error"] or "it did not run"))
            raise NegativeAnswer(f"job {job_id} {state}: {error}")
        if time.monotonic() >= until:
            raise NegativeAnswer(
                f"job {job_id} is {state} after {formats.age(within)}: "
                f"`fairlead explain {job_id}` says why"
            )
        time.sleep(_AGAIN_SECONDS)

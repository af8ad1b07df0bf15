"""Wait for a job's end, told by a notification where the connection can hear one.

An ending notifies only while somebody waits for it, which `wait` says anew with each look. It
looks by itself as well, ever more seldom: a notification may be left out. Where none arrives,
behind a pooler that shares sessions, it looks more often, and what it adds is a small part of
what the job took.
"""

import asyncio
import random
import re
import time
from collections.abc import Coroutine
from contextlib import aclosing, closing, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import NamedTuple, cast, overload

import psycopg
from psycopg.pq import TransactionStatus

from fairlead import connections, errors, job_control
from fairlead.connections import Statement
from fairlead.job_control import JobStatus

TIMEOUT_SECONDS_MAX = 30 * 86_400.0
_CHANNEL = "fairlead_ended"
_AWAIT = Statement("wait", "await_ending")
_LISTEN, _UNLISTEN = f"LISTEN {_CHANNEL}".encode(), f"UNLISTEN {_CHANNEL}".encode()
_CANNOT = (
    psycopg.errors.ReadOnlySqlTransaction,
    psycopg.errors.UndefinedFunction,
    psycopg.errors.InsufficientPrivilege,
)
"""What a standby or a read-only session says, and a schema of the release before."""
_OF_SQLALCHEMY = re.compile(r"^(postgres(?:ql)?)\+\w+:")


@overload
def wait(
    connection: "psycopg.AsyncConnection[object]", job: int, *, timeout: float | timedelta
) -> Coroutine[object, None, JobStatus]: ...
@overload
def wait(
    connection: "psycopg.Connection[object] | str", job: int, *, timeout: float | timedelta
) -> JobStatus: ...
def wait(
    connection: "psycopg.AsyncConnection[object] | psycopg.Connection[object] | str",
    job: int,
    *,
    timeout: float | timedelta,
) -> Coroutine[object, None, JobStatus] | JobStatus:
    """Wait until a job has ended, however it did, and return it with its result or error.

    A notification tells it, at the cost of those endings alone that somebody waits for. A job
    that has ended before is returned at once. Behind a pooler that shares sessions, and over a
    connection that listens to something already, it looks again and again instead: it notices
    the end about a tenth later than it came, and a second at most. A repeat, also after an
    error of the connection, is harmless.

    Args:
        connection: psycopg's, in no transaction, which it is not either afterwards, and used by
            nobody else meanwhile; with an asynchronous one, await the answer. Or a URL, for a
            connection of its own.
        job: its id. Commit before: a job that is not there ends the wait.
        timeout: seconds or a timedelta, up to 30 days.

    Raises:
        TimeoutError: it has not ended in time; the job goes on. 0 looks once.
        LookupError: there is no such job, or none that is the caller's, or its history was
            deleted.
        ValueError: the timeout is out of bounds, or the connection is in a transaction, which
            would be kept open.
        TypeError: it is neither.
        psycopg.Error: the connection is lost, or the login may not read jobs.
    """
    looks = Looks(job, errors.seconds("timeout", timeout, at_most=TIMEOUT_SECONDS_MAX))
    if isinstance(connection, str):
        url = _OF_SQLALCHEMY.sub(r"\1:", connection)
        own = psycopg.connect(url, autocommit=True, application_name="fairlead wait")
        own.prepare_threshold = None
        with closing(own):
            return _wait(cast("psycopg.Connection[object]", own), looks)
    if isinstance(connection, psycopg.AsyncConnection):
        _refuse_transaction(connection)
        return _wait_async(connection, looks)
    if isinstance(cast("object", connection), psycopg.Connection):
        _refuse_transaction(connection)
        return _wait(connection, looks)
    raise TypeError(
        f"wait takes a URL or a connection of psycopg, and not {connections.name(connection)}: "
        "give it the URL, in asyncio.to_thread where an event loop runs"
    )


class Pace(NamedTuple):
    """How long to rest between looks: a part of the time that has passed, within bounds."""

    part: float
    seconds_lowest: float
    seconds_max: float


_ALONE = Pace(part=0.1, seconds_lowest=0.02, seconds_max=1.0)
TOLD = Pace(part=0.5, seconds_lowest=0.1, seconds_max=5.0)
"""Until a notification; the longest rest is less than that for which an ending is awaited."""


@dataclass(slots=True)
class Looks:
    """When to look next, and whether a notification may say so.

    `hears` is None before it was tried; `listens` stays true until the end.
    """

    job: int
    timeout_seconds: float
    began_at: float = field(default_factory=time.monotonic)
    hears: bool | None = None
    listens: bool = False

    def rest_seconds(self, found: JobStatus | None) -> float:
        """Return how long to rest before the next look.

        Raises:
            TimeoutError: there is no time left.
            LookupError: there is no job.
        """
        if found is None:
            raise LookupError(
                f"there is no job {self.job} that this login may see: commit it before, and "
                "wait while its history is kept"
            )
        passed = time.monotonic() - self.began_at
        left = self.timeout_seconds - passed
        if left <= 0:
            raise TimeoutError(
                f"job {self.job} is {found.state} after {self.timeout_seconds:g} s: "
                f"`fairlead explain {self.job}` says why"
            )
        pace = TOLD if self.hears else _ALONE
        rest = min(max(pace.seconds_lowest, passed * pace.part), pace.seconds_max)
        return min(rest * random.uniform(0.8, 1.2), left)

    def awaited(self) -> tuple[Statement, str]:
        """Return the statement that has the ending notified, and its parameter."""
        return _AWAIT, job_control.ids((self.job,))

    def is_told_by(self, notification: psycopg.Notify) -> bool:
        """Return whether it says that the job has ended.

        From then on the looks go on without: if it was not true, anybody may have sent it.
        """
        is_told = notification.payload == str(self.job)
        self.hears = not is_told
        return is_told


def _wait(connection: "psycopg.Connection[object]", looks: Looks) -> JobStatus:
    try:
        while True:
            with connection.transaction():
                rows = connections.answers(connection, *job_control.status_of(looks.job))
            found = job_control.found(rows)
            if found is not None and found.has_ended:
                return found
            rest = looks.rest_seconds(found)
            if looks.hears is None:
                looks.hears = looks.listens = _listen(connection, looks)
            elif looks.hears:
                pause(connection, looks, rest)
            else:
                time.sleep(rest)
    finally:
        _unlisten(connection, looks)


def _listen(connection: "psycopg.Connection[object]", looks: Looks) -> bool:
    """Have the ending notified and listen to it, if this connection can."""
    with suppress(*_CANNOT), connection.transaction():
        sessions = connections.answers(connection, *looks.awaited())
        if sessions == [connection.info.backend_pid]:
            connection.execute(_LISTEN, prepare=False)
            return True
    return False


def pause(connection: "psycopg.Connection[object]", looks: Looks, seconds: float) -> None:
    """Wait for the notification, for so long; have it sent for a while more."""
    with closing(connection.notifies(timeout=seconds)) as arriving:
        if any(looks.is_told_by(each) for each in arriving):
            return
    with connection.transaction():
        connections.answers(connection, *looks.awaited())


def _unlisten(connection: "psycopg.Connection[object]", looks: Looks) -> None:
    if looks.listens and not connection.closed:
        with suppress(psycopg.Error):
            with connection.transaction():
                connection.execute(_UNLISTEN, prepare=False)
            _ = [*connection.notifies(timeout=0)]  # so that none is kept with the connection


async def _wait_async(connection: "psycopg.AsyncConnection[object]", looks: Looks) -> JobStatus:
    try:
        while True:
            async with connection.transaction():
                asked = connections.answers_async(connection, *job_control.status_of(looks.job))
                rows = await asked
            found = job_control.found(rows)
            if found is not None and found.has_ended:
                return found
            rest = looks.rest_seconds(found)
            if looks.hears is None:
                looks.hears = looks.listens = await _listen_async(connection, looks)
            elif looks.hears:
                await pause_async(connection, looks, rest)
            else:
                await asyncio.sleep(rest)
    finally:
        await _unlisten_async(connection, looks)


async def _listen_async(connection: "psycopg.AsyncConnection[object]", looks: Looks) -> bool:
    with suppress(*_CANNOT):
        async with connection.transaction():
            sessions = await connections.answers_async(connection, *looks.awaited())
            if sessions == [connection.info.backend_pid]:
                await connection.execute(_LISTEN, prepare=False)
                return True
    return False


async def pause_async(
    connection: "psycopg.AsyncConnection[object]", looks: Looks, seconds: float
) -> None:
    """As `pause`, on an asynchronous connection."""
    async with aclosing(connection.notifies(timeout=seconds)) as arriving:
        async for each in arriving:
            if looks.is_told_by(each):
                return
    async with connection.transaction():
        await connections.answers_async(connection, *looks.awaited())


async def _unlisten_async(connection: "psycopg.AsyncConnection[object]", looks: Looks) -> None:
    if looks.listens and not connection.closed:
        with suppress(psycopg.Error):
            async with connection.transaction():
                await connection.execute(_UNLISTEN, prepare=False)
            _ = [each async for each in connection.notifies(timeout=0)]


def _refuse_transaction(
    connection: "psycopg.Connection[object] | psycopg.AsyncConnection[object]",
) -> None:
    if connection.info.transaction_status != TransactionStatus.IDLE:
        raise ValueError(
            "wait needs a connection that is in no transaction: commit or roll back before, or "
            "give a URL"
        )

"""Run handlers in an application's own tests: one by hand, or a whole queue, without processes.

`run` calls one handler and needs no database. `drain` runs what stands in a database, with
the statements that a scheduler and a worker use, in this process, one job after another in
the order they came. Deadlines end nothing here.
"""

import asyncio
import inspect
from collections import Counter
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, cast

import psycopg

from fairlead import jsontext, sql
from fairlead.job import Claimed, Job
from fairlead.jsontext import Json
from fairlead.store import Connection
from fairlead.tasks import Handler, Tasks

if TYPE_CHECKING:
    from fairlead_worker.attempt import Attempt

_POOL = "default"
_BATCH = 100
_TIMEOUT_SECONDS = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Drained:
    """What became of the attempts that `drain` ran.

    `retried` and `snoozed` jobs wait in the database for their time. `errors` are the texts of
    what went wrong, in order: an empty tuple is what most tests want to see.
    """

    succeeded: int
    failed: int
    cancelled: int
    expired: int
    retried: int
    snoozed: int
    errors: tuple[str, ...]


class _Rehearsal:
    """An attempt outside of a worker: reports go nowhere."""

    def __init__(self) -> None:
        self.cancelled = False
        self.deadline = datetime.now(UTC) + timedelta(seconds=_TIMEOUT_SECONDS)

    def extend(self, by_seconds: float) -> None:
        self.deadline = max(self.deadline, datetime.now(UTC) + timedelta(seconds=by_seconds))

    def report(self, fraction: float, note: str) -> None:
        """Let it go."""

    def completes(self) -> bool:
        return False


def run(
    tasks: Tasks,
    kind: str,
    payload: Json = None,
    *,
    queue: str = "default",
    tenant: str = "",
    headers: dict[str, Json] | None = None,
    attempt: int = 1,
) -> Json:
    """Run one handler here and now, and return its result as it would be stored.

    No database is asked: `job.complete` does nothing, and the job's id and token are 1. What
    the handler raises, Retry and its kin included, is raised. A coroutine gets an event loop
    of its own, so do not call this from one.

    Raises:
        LookupError: there is no handler of this kind.
        ValueError: the payload, or what the handler returned, is not JSON.
    """
    handler = tasks.handlers.get(kind)
    if handler is None:
        known = ", ".join(sorted(tasks.handlers)) or "none"
        raise LookupError(f"no handler for kind {kind!r}; this application has: {known}")
    row: Claimed = (
        1,
        1,
        queue,
        tenant,
        kind,
        jsontext.encode("payload", {} if payload is None else payload),
        None if headers is None else jsontext.encode("headers", headers),
        attempt,
        max(5, attempt),
        _TIMEOUT_SECONDS,
        False,
        0.0,
        None,
    )
    result = _call(handler, Job(row, _Rehearsal()))
    return (
        None if result is None else jsontext.parse("result", jsontext.encode("result", result))
    )


def drain(tasks: Tasks, connection_url: str) -> Drained:
    """Run every job that is due in a migrated database, and those that they enqueue in turn.

    It acts as a worker of pool `default` and, for the moment, as its scheduler; let neither run
    beside it. Jobs are committed as they end, so enqueue them in a transaction that was
    committed. An interruption leaves at most one batch claimed by a worker that is marked dead.
    """
    with psycopg.connect(connection_url, autocommit=True) as connection:
        return _Queue(tasks, connection).drain()


class _Queue:
    """One drain."""

    def __init__(self, tasks: Tasks, connection: Connection) -> None:
        from fairlead_worker.intake import Sorter

        self._connection = connection
        self._sorter = Sorter(tasks.handlers, _NoDesk())
        self._counts: Counter[str] = Counter()
        self._errors: list[str] = []

    def drain(self) -> Drained:
        from fairlead_worker import child_store

        worker_id = self._register()
        who = child_store.Claiming(worker_id, _POOL)
        try:
            while True:
                self._dispatch()
                rows = child_store.claim(self._connection, who, limit=_BATCH, below_floor=True)
                if not rows:
                    break
                self._work(rows)
        finally:
            retire = sql.load("fairlead_worker", "deregister")
            self._connection.execute(retire, {"workers": sql.integers([worker_id])})
        return Drained(
            succeeded=self._counts["succeeded"],
            failed=self._counts["failed"],
            cancelled=self._counts["cancelled"],
            expired=self._counts["expired"],
            retried=self._counts["retried"],
            snoozed=self._counts["snoozed"],
            errors=tuple(self._errors),
        )

    def _register(self) -> int:
        values = {
            "lease_seconds": 3600,
            "slots": 1,
            "name": "fairlead.testing",
            "pool": _POOL,
            "host": "",
            "pod_uid": None,
            "pod_name": None,
            "version": "",
        }
        statement = sql.load("fairlead_worker", "register")
        row = self._connection.execute(statement, values).fetchone()
        assert row is not None
        return cast("int", row[0])

    def _dispatch(self) -> None:
        """Queue what is due, in the order it came, without touching the floor."""
        rows = self._connection.execute(
            sql.load("fairlead", "testing_pending"), {"pool": _POOL, "limit": _BATCH}
        ).fetchall()
        found = cast("list[tuple[int, int, int]]", rows)
        if not found:
            return
        ids, (_, epoch, floor) = [job_id for job_id, _, _ in found], found[0]
        values = {
            "epoch": epoch,
            "pool": _POOL,
            "band": 0,
            "floor": floor,
            "timeout_default": f"{_TIMEOUT_SECONDS} s",
            "timeout_max": f"{_TIMEOUT_SECONDS} s",
            "ids": sql.integers(ids),
            "vtags": sql.integers(floor + place for place in range(len(ids))),
            "estimates_us": sql.integers(0 for _ in ids),
            "seen_us": sql.integers(0 for _ in ids),
        }
        self._connection.execute(sql.load("fairlead_scheduler", "dispatch"), values)

    def _work(self, rows: list[Claimed]) -> None:
        """Run a claimed batch, and end each attempt before the next one starts."""
        from fairlead_worker import child_store

        found = self._sorter.sort(rows)
        for attempt in found.ended:
            self._end(attempt)
        for attempt in found.to_run:
            _attempt(attempt)
            self._end(attempt)
        if found.orphans:
            child_store.drop_orphans(self._connection, found.orphans)

    def _end(self, attempt: "Attempt") -> None:
        """Write one ending and count it."""
        from fairlead_worker import child_store
        from fairlead_worker.outcome import Completed, Finished, HandedBack

        ending = attempt.ending
        if isinstance(ending, Completed):
            if child_store.finished(self._connection, [attempt]):
                self._counts["succeeded"] += 1
                return
            attempt.ending = ending = ending.or_else
        if isinstance(ending, HandedBack):
            became = child_store.hand_back(self._connection, [attempt])[attempt.row[1]]
            again = "snoozed" if ending.ended_as == "snoozed" else "retried"
            self._counts[again if became == "scheduled" else became] += 1
        else:
            child_store.finish(self._connection, [attempt])
            self._counts[ending.outcome if isinstance(ending, Finished) else "succeeded"] += 1
        error = ending.error if isinstance(ending, Finished | HandedBack) else None
        if error is not None:
            self._errors.append(error)


class _NoDesk:
    """Takes reports, and lets them go."""

    def extend(self, attempt: "Attempt", by_seconds: float) -> None:
        """Let it go."""

    def report(self, attempt: "Attempt", fraction: float, note: str) -> None:
        """Let it go."""


def _attempt(attempt: "Attempt") -> None:
    """Run an attempt and give it its ending."""
    from fairlead_worker import outcome

    try:
        attempt.ending = outcome.of_value(_call(attempt.handler, Job(attempt.row, attempt)))
    except Exception as error:  # noqa: BLE001 - a handler may raise whatever it likes
        attempt.ending = outcome.of_error(error, None, attempt.timeout_seconds)
    if attempt.completed:
        attempt.ending = outcome.completed(attempt.ending)


def _call(handler: Handler, job: Job) -> object:
    found = handler.run(job)
    if not inspect.iscoroutine(found):
        return found
    coroutine = cast("Coroutine[object, None, object]", found)
    with ThreadPoolExecutor(max_workers=1) as thread:  # the test may have a loop of its own
        return thread.submit(asyncio.run, coroutine).result()

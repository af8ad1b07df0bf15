"""Look after jobs from Python: cancel them, run them again, and see how they are.

Each is one statement in the caller's transaction. A login meets its own jobs; what is not its
own is unknown to it.
"""

from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, NamedTuple, TypeAlias, cast, overload

from fairlead import connections, jsontext
from fairlead.client import refusals
from fairlead.connections import AsyncConnection, Statement, SyncConnection
from fairlead.jsontext import Json

State: TypeAlias = Literal[
    "scheduled",
    "pending",
    "queued",
    "running",
    "succeeded",
    "failed",
    "cancelled",
    "expired",
]
Cancelling: TypeAlias = Literal["cancelled", "requested", "finished", "unknown"]
"""What became of a job that was to be cancelled: it ended, it runs and was asked to stop, it
had ended before, or there is none that is the caller's."""

_ENDED = frozenset(("succeeded", "failed", "cancelled", "expired"))
_JOBS_HIGHEST = 10_000
_CANCEL = Statement("cancel", "cancel")
_CANCEL_JOBS = Statement("cancel", "cancel_jobs")
_RETRY = Statement("retry", "retry")
_STATUS = Statement("status", "status")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    """A job as it is, or as it ended; instants are in UTC.

    `attempt` counts the runs that count, the current one included. `run_at` is set while it is
    scheduled, `claimed_at` is when its latest attempt began, `finished_at` when it ended.
    `progress` is from 0 to 1 and, like its note, that of the attempt that runs now. `result`
    is what its handler returned, `error` the text of its latest failure. `retry_of` is the id
    of the job that it repeats.
    """

    id: int
    state: State
    kind: str
    queue: str
    tenant: str
    payload: Json
    attempt: int
    max_attempts: int
    created_at: datetime
    run_at: datetime | None
    claimed_at: datetime | None
    finished_at: datetime | None
    cancel_requested_at: datetime | None
    progress: float | None
    progress_note: str | None
    result: Json
    error: str | None
    retry_of: int | None

    @property
    def has_ended(self) -> bool:
        """Whether it will not run any more."""
        return self.state in _ENDED


class CancelledJobs(NamedTuple):
    """How many jobs ended or were asked to stop, and how many others were locked and left."""

    cancelled: int
    locked: int


@overload
def cancel(connection: AsyncConnection, jobs: int) -> Coroutine[object, None, Cancelling]: ...
@overload
def cancel(
    connection: AsyncConnection, jobs: Iterable[int]
) -> Coroutine[object, None, dict[int, Cancelling]]: ...
@overload
def cancel(
    connection: AsyncConnection,
    *,
    queue: str | None = ...,
    tenant: str | None = ...,
    kind: str | None = ...,
    jobs_max: int = ...,
) -> Coroutine[object, None, CancelledJobs]: ...
@overload
def cancel(connection: SyncConnection, jobs: int) -> Cancelling: ...
@overload
def cancel(connection: SyncConnection, jobs: Iterable[int]) -> dict[int, Cancelling]: ...
@overload
def cancel(
    connection: SyncConnection,
    *,
    queue: str | None = ...,
    tenant: str | None = ...,
    kind: str | None = ...,
    jobs_max: int = ...,
) -> CancelledJobs: ...
def cancel(
    connection: AsyncConnection | SyncConnection,
    jobs: int | Iterable[int] | None = None,
    *,
    queue: str | None = None,
    tenant: str | None = None,
    kind: str | None = None,
    jobs_max: int = 1000,
) -> object:
    """Cancel one job, several by their ids, or those of a queue, tenant and kind.

    A job that waits ends as cancelled and will not run. One that runs is asked to stop: its
    handler sees `job.cancelled`. A repeat is harmless. It happens once the transaction commits;
    until then the jobs are locked, and workers cannot finish them: commit soon.

    Args:
        connection: as for `enqueue`; with an asynchronous one, await the answer.
        jobs: an id, which is answered by what became of it, or ids, answered by a dict.
        queue: instead of ids: all unfinished jobs of this queue, and so on, in the order of
            their ids. At least one of the three is needed, and all that are given must match.
        tenant: of this tenant; an empty string is jobs without one.
        kind: of this kind.
        jobs_max: at most so many, up to 10,000. Call again, each time in a transaction of its
            own, until the answer counts none. What another transaction has locked is left.

    Raises:
        TypeError: neither ids nor a filter are given, or both; or it is no connection.
        ValueError: `jobs_max` is out of bounds.
        psycopg.errors.InsufficientPrivilege: the login may not cancel. Other drivers raise
            their own error, here and wherever the database refuses.
    """
    wanted = {"queue": queue, "tenant": tenant, "kind": kind}
    has_filter = any(each is not None for each in wanted.values())
    if has_filter == (jobs is not None):
        raise TypeError(
            "cancel takes an id, ids, or at least one of queue, tenant and kind: give one of "
            "these ways to name jobs"
        )
    if not 1 <= jobs_max <= _JOBS_HIGHEST:
        raise ValueError(f"jobs_max must be 1 to {_JOBS_HIGHEST:,}, not {jobs_max}")
    if jobs is None:
        given = jsontext.encode("filter", {**wanted, "jobs_max": jobs_max})
        return _ask(connection, _CANCEL_JOBS, given, _counts)
    if isinstance(jobs, int):
        return _ask(connection, _CANCEL, ids((jobs,)), _only_answer)
    return _ask(connection, _CANCEL, ids(jobs), _answers)


@overload
def retry(connection: AsyncConnection, job: int) -> Coroutine[object, None, int | None]: ...
@overload
def retry(connection: SyncConnection, job: int) -> int | None: ...
def retry(
    connection: AsyncConnection | SyncConnection, job: int
) -> Coroutine[object, None, int | None] | int | None:
    """Run a job again and return the id under which it runs; None: there is no such job.

    One that waits for its time or its next attempt falls due now, under its id. One that has
    ended is inserted anew, with its payload and what else it had; the new job says
    `retry_of`. A repeat returns the same id while that job is unfinished. It happens once the
    transaction commits.

    Args:
        connection: as for `enqueue`; with an asynchronous one, await the answer.
        job: its id.

    Raises:
        OverBacklog: it has ended, and its tenant or queue has too many unfinished jobs.
        psycopg.errors.InsufficientPrivilege: the login may not retry.
        psycopg.Error: with SQLSTATE FL004 when its payload was not kept.
    """
    return cast("int | None", _ask(connection, _RETRY, ids((job,)), _new_id))


@overload
def status(
    connection: AsyncConnection, job: int
) -> Coroutine[object, None, JobStatus | None]: ...
@overload
def status(connection: SyncConnection, job: int) -> JobStatus | None: ...
def status(
    connection: AsyncConnection | SyncConnection, job: int
) -> Coroutine[object, None, JobStatus | None] | JobStatus | None:
    """Return how a job is, or how it ended; None: there is none that is the caller's.

    It reads in the connection's transaction, locks nothing and changes nothing. The history
    of a job is kept for as long as the scheduler's settings say.

    Args:
        connection: as for `enqueue`; with an asynchronous one, await the answer.
        job: its id.

    Raises:
        psycopg.errors.InsufficientPrivilege: the login may not read jobs.
    """
    return cast("JobStatus | None", _ask(connection, _STATUS, ids((job,)), found))


def found(rows: list[object]) -> JobStatus | None:
    """Return the job of the statement `status`, if there is one."""
    if not rows:
        return None
    row = cast("dict[str, object]", jsontext.parse("job", str(rows[0])))
    instants = {name: _instant(value) for name, value in row.items() if name.endswith("_at")}
    make = cast("Callable[..., JobStatus]", JobStatus)  # the statement has its fields
    return make(**{**row, **instants})


def status_of(job: int) -> tuple[Statement, str]:
    """Return the statement that finds a job, and its parameter."""
    return _STATUS, ids((job,))


def _ask(
    connection: AsyncConnection | SyncConnection,
    statement: Statement,
    given: str,
    read: Callable[[list[object]], object],
) -> object:
    if connections.is_async(connection):
        return _ask_later(connection, statement, given, read)
    with refusals():
        return read(connections.answers(cast("SyncConnection", connection), statement, given))


async def _ask_later(
    connection: AsyncConnection,
    statement: Statement,
    given: str,
    read: Callable[[list[object]], object],
) -> object:
    with refusals():
        return read(await connections.answers_async(connection, statement, given))


def ids(jobs: Iterable[int]) -> str:
    """Return ids as the parameter of a statement."""
    return jsontext.encode("ids", [int(each) for each in jobs])


def _answers(rows: list[object]) -> dict[int, Cancelling]:
    pairs = (cast("list[Json]", jsontext.parse("answer", str(row))) for row in rows)
    return {cast("int", job): cast("Cancelling", answer) for job, answer in pairs}


def _only_answer(rows: list[object]) -> Cancelling:
    (answer,) = _answers(rows).values()
    return answer


def _counts(rows: list[object]) -> CancelledJobs:
    return CancelledJobs(*cast("list[int]", jsontext.parse("answer", str(rows[0]))))


def _new_id(rows: list[object]) -> int | None:
    return None if rows[0] is None else int(cast("int", rows[0]))


def _instant(text: object) -> datetime | None:
    return None if text is None else datetime.fromisoformat(str(text)).astimezone(UTC)

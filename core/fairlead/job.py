"""What a handler is given: one attempt of one job.

A job is a claimed row plus an `Attempt`, the object of the process that runs it, for what may
change while it runs. Payload and headers are parsed when they are first read, so a handler
that needs neither does not pay for them.
"""

import inspect
import sys
from collections.abc import Awaitable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Generic, Literal, NamedTuple, Protocol, cast, overload

from fairlead import errors, jsontext
from fairlead.db import statements
from fairlead.jsontext import Json

if sys.version_info >= (3, 13):
    from typing import TypeVar
else:
    from typing_extensions import TypeVar

PayloadT = TypeVar("PayloadT", default=Json)
ResultT = TypeVar("ResultT", default=object)

EXTENSION_SECONDS_MAX = 30 * 86_400.0
_NOTE_CHARACTERS_MAX = 1000


class Claimed(NamedTuple):
    """A row of `claim`: its columns, in their order.

    `payload` and `headers` are JSON text; `doomed` is the reason why the job must not run, if
    any.
    """

    job_id: int
    token: int
    queue: str
    tenant: str
    kind: str
    payload: str
    headers: str | None
    attempt: int
    max_attempts: int
    timeout_seconds: float
    timeout_max_seconds: float | None
    alone: bool
    waited_seconds: float
    doomed: Literal["gone", "cancelled", "expired"] | None
    checkpoint: str | None = None


class Attempt(Protocol):
    """What a job needs from the process that runs it."""

    @property
    def cancelled(self) -> bool:
        """Whether the handler should stop."""
        ...

    @property
    def deadline(self) -> datetime:
        """When the attempt has run too long."""
        ...

    def extend(self, by_seconds: float) -> datetime:
        """Move the deadline to at least so many seconds from now, if it may; return it."""
        ...

    def report(self, fraction: float, note: str) -> None:
        """Note how far the work is."""
        ...

    def completes(self) -> bool:
        """Record that the handler finishes the job itself; return whether to send the SQL."""
        ...


class PsycopgCursor(Protocol):
    """The cursor that a psycopg connection returns for a statement."""

    def fetchone(self) -> object:
        """Return a row."""
        ...


class PsycopgConnection(Protocol):
    """A psycopg connection or cursor."""

    def execute(self, query: bytes, params: Sequence[object], /) -> PsycopgCursor:
        """Run a statement."""
        ...


class AsyncPsycopgConnection(Protocol):
    """An asynchronous psycopg connection or cursor."""

    def execute(self, query: bytes, params: Sequence[object], /) -> Awaitable[object]:
        """Run a statement."""
        ...


class DbApiCursor(Protocol):
    """A cursor of any DB-API driver whose parameters are written `%s`."""

    def execute(self, operation: str, parameters: Sequence[object], /) -> object:
        """Run a statement."""
        ...

    def fetchall(self) -> Iterable[object]:
        """Return the rows."""
        ...


class UnreadablePayload(errors.Discard):
    """The payload or the headers cannot become Python values; the job fails for good."""


class Job(Generic[PayloadT]):
    """One attempt of one job.

    `Job[Email]` tells type checkers that the payload is an `Email`, a TypedDict for example;
    the data is not checked at run time. Every method may be called from any thread.
    """

    __slots__ = ("_attempt", "_headers", "_payload", "_row")
    _payload: PayloadT
    _headers: dict[str, Json]

    def __init__(self, row: Claimed, attempt: Attempt) -> None:
        self._row = row
        self._attempt = attempt

    def __repr__(self) -> str:
        return f"Job(id={self.id}, kind={self.kind!r}, attempt={self.attempt})"

    @property
    def id(self) -> int:
        """The job's id."""
        return self._row.job_id

    @property
    def token(self) -> int:
        """The fencing token of this attempt: it grows from claim to claim."""
        return self._row.token

    @property
    def queue(self) -> str:
        """The queue it came through."""
        return self._row.queue

    @property
    def tenant(self) -> str:
        """The tenant of the job; empty when none was given."""
        return self._row.tenant

    @property
    def kind(self) -> str:
        """The name of its handler."""
        return self._row.kind

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1."""
        return self._row.attempt

    @property
    def max_attempts(self) -> int:
        """How many attempts may fail before the job has failed for good."""
        return self._row.max_attempts

    @property
    def checkpoint(self) -> str:
        """The note of the last `progress` of the run before, if that was cut short; else empty.

        A run is cut short when its worker shuts down or is drained, when it makes room for
        another tenant (`evictable`), or when its worker is lost; the last second before a loss
        may be missing. A run that fails leaves what it began with to the next one.
        """
        return self._row.checkpoint or ""

    @property
    def payload(self) -> PayloadT:
        """What the job is about, parsed once; changes to it stay in this attempt.

        Raises:
            fairlead.Discard: PostgreSQL accepts it and Python does not (too deep, a number of
                too many digits). Do not catch it: the job fails for good with that sentence.
        """
        try:
            return self._payload
        except AttributeError:
            self._payload = cast("PayloadT", _parse("payload", self._row.payload))
            return self._payload

    @property
    def headers(self) -> dict[str, Json]:
        """Trace context and the like; empty when none were given.

        Raises:
            fairlead.Discard: as for `payload`.
        """
        try:
            return self._headers
        except AttributeError:
            text = self._row.headers
            parsed = {} if text is None else _parse("headers", text)
            self._headers = parsed if isinstance(parsed, dict) else {}
            return self._headers

    @property
    def deadline(self) -> datetime:
        """When this attempt has run too long, by this machine's clock, in UTC."""
        return self._attempt.deadline

    @property
    def cancelled(self) -> bool:
        """Whether to stop: cancelled, evicted, past the deadline, or the lease or worker ends.

        Coroutines are cancelled as well; a thread has to read this. A handler that returns
        normally has succeeded all the same, so leave with `raise_if_cancelled` or another
        exception.
        """
        return self._attempt.cancelled

    def raise_if_cancelled(self) -> None:
        """Leave the handler if it should stop.

        Raises:
            fairlead.Cancelled: `cancelled` is true.
        """
        if self._attempt.cancelled:
            raise errors.Cancelled(f"job {self.id} has to stop")

    def extend(self, by: float | timedelta) -> datetime:
        """Move the deadline to at least `by` (seconds, over 0, up to 30 days) from now.

        An attempt may run for the pool's longest timeout in all, counted from its claim
        (`timeoutMax` in the policy, or the scheduler's setting, an hour by default): the
        deadline moves no further than that, and never back. The new deadline holds at once
        here and reaches the database within milliseconds, on the worker's own connection. If
        this attempt turns out to have lost its job, `cancelled` becomes true.

        Returns:
            The deadline, in UTC by this machine's clock: earlier than asked for where the pool
            allows no more.

        Raises:
            ValueError: out of bounds.
        """
        by_seconds = errors.seconds("by", by, at_most=EXTENSION_SECONDS_MAX)
        if by_seconds == 0:
            raise ValueError("by must be over 0 seconds: say how much longer the job may run")
        return self._attempt.extend(by_seconds)

    def progress(self, fraction: float, note: str = "") -> None:
        """Report how far the work is, from 0 to 1, with a note of at most 1,000 characters.

        The latest value is written about once a second, on the worker's own connection, and
        when the run is cut short: the next run finds the note as its `checkpoint`. Otherwise
        it is gone when the attempt ends.

        Raises:
            ValueError: the fraction is not between 0 and 1.
        """
        if not 0 <= fraction <= 1:
            raise ValueError(f"fraction must be between 0 and 1, not {fraction}")
        storable = note.replace("\0", "").encode(errors="replace").decode()
        self._attempt.report(float(fraction), storable[:_NOTE_CHARACTERS_MAX])

    @overload
    def complete(self, on: AsyncPsycopgConnection, result: Json = None) -> Awaitable[None]: ...
    @overload
    def complete(self, on: PsycopgConnection | DbApiCursor, result: Json = None) -> None: ...
    def complete(
        self, on: AsyncPsycopgConnection | PsycopgConnection | DbApiCursor, result: Json = None
    ) -> Awaitable[None] | None:
        """Finish the job in the handler's own transaction, as its last statement.

        The work and the job's end commit together or not at all. Commit before the handler
        returns: a handler that returns with its transaction rolled back has failed.

        Args:
            on: a psycopg connection or cursor, or another driver's cursor (`%s` parameters);
                with an asynchronous one, await the answer.
            result: a JSON value, kept with the job.

        Raises:
            fairlead.StaleToken: this attempt has lost its job, or has completed it before. The
                transaction cannot commit.
        """
        text = None if result is None else jsontext.encode("result", result)
        if not self._attempt.completes():
            return _nothing() if _is_async(on) else None
        parameters = (self.id, self.token, text)
        try:
            answer = cast("DbApiCursor", on).execute(_complete(), parameters)
        except Exception as error:
            self._raise_if_stale(error)
            raise
        if isinstance(answer, Awaitable):
            return self._completing(cast("Awaitable[object]", answer))
        return None

    async def _completing(self, answer: Awaitable[object]) -> None:
        try:
            await answer
        except Exception as error:
            self._raise_if_stale(error)
            raise

    def _raise_if_stale(self, error: BaseException) -> None:
        """Raise `StaleToken` for Fairlead's SQLSTATE, whichever driver raised it."""
        if errors.caused_by(error, errors.STALE_SQLSTATE):
            raise errors.StaleToken(
                f"token {self.token} no longer holds job {self.id}: roll back and stop"
            ) from error


def _complete() -> str:
    """Return the statement as text: some drivers take no bytes."""
    return statements.load("fairlead", "complete").decode()


def _parse(name: str, text: str) -> Json:
    try:
        return jsontext.parse(name, text)
    except ValueError as error:
        raise UnreadablePayload(str(error)) from None


def _is_async(on: object) -> bool:
    return inspect.iscoroutinefunction(getattr(on, "execute", None))


async def _nothing() -> None:
    """Be awaited."""

"""What a handler is given: one attempt of one job.

A job is a claimed row plus an `Attempt`, the object of the process that runs it, for what may
change while it runs. Payload and headers are parsed when they are first read, so a handler
that needs neither does not pay for them.
"""

import sys
from collections.abc import Awaitable, Callable, Coroutine
from datetime import datetime, timedelta
from typing import Generic, Literal, NamedTuple, Protocol, cast, overload

from fairlead import errors, jsontext, own_transaction
from fairlead.db import statements
from fairlead.jsontext import Json, JsonLike
from fairlead.own_transaction import AsyncPsycopgConnection, DbApiCursor, PsycopgConnection

if sys.version_info >= (3, 13):
    from typing import TypeVar
else:
    from typing_extensions import TypeVar

PayloadT = TypeVar("PayloadT", default=Json)
ResultT = TypeVar(
    "ResultT", bound="JsonLike | Awaitable[JsonLike]", default="JsonLike | Awaitable[JsonLike]"
)
"""What a handler returns: its job's result, or a coroutine that does."""

EXTENSION_SECONDS_MAX = 30 * 86_400.0
MAX_ATTEMPTS = 20
"""How many attempts a job has that says nothing; the database decides by its own."""
_NOTE_CHARACTERS_MAX = 1000
CHECKPOINT_BYTES_MAX = 65_536


class Claimed(NamedTuple):
    """A row of `claim`: its columns, in their order.

    `payload` and `headers` are JSON text; `doomed` is the reason why the job must not run, if
    any. `max_attempts` is 0 when the row says nothing.
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

    @property
    def max_attempts(self) -> int:
        """How many attempts a job has whose row says nothing."""
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

    def save_checkpoint(self, text: str) -> None:
        """Keep what the job goes on from, to be stored soon."""
        ...

    def stores_checkpoint(self, text: str, /) -> bool:
        """Record that the handler stores one itself; return whether to send the SQL."""
        ...


class UnreadablePayload(errors.Discard):
    """The payload or the headers cannot become Python values; the job fails for good."""


class Job(Generic[PayloadT]):
    """One attempt of one job.

    `Job[Email]` says that the payload is an `Email`: a pydantic model, a dataclass or a
    TypedDict, which it is held to at `enqueue` and before the handler runs. Every method may
    be called from any thread.
    """

    __slots__ = ("_attempt", "_checkpoints_on", "_headers", "_payload", "_row")
    _checkpoints_on: bool
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
        return self._row.max_attempts or self._attempt.max_attempts

    @property
    def checkpoint_value(self) -> Json:
        """The last `checkpoint` of the attempts before this one; None before the first.

        Raises:
            fairlead.Discard: as for `payload`.
        """
        text = self._row.checkpoint
        return None if text is None else _parse("checkpoint", text)

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
    def payload_text(self) -> str:
        """The payload as it is stored, JSON."""
        return self._row.payload

    def parse_payload(self, parse: Callable[[str], PayloadT]) -> None:
        """Have a function parse the payload, which `payload` then is; Fairlead calls this."""
        self._payload = parse(self._row.payload)

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

        It is for people: the latest value is written about once a second, on the worker's own
        connection, and is gone when the attempt ends. What the next attempt is to know is a
        `checkpoint`.

        Raises:
            ValueError: the fraction is not between 0 and 1.
        """
        if not 0 <= fraction <= 1:
            raise ValueError(f"fraction must be between 0 and 1, not {fraction}")
        storable = note.replace("\0", "").encode(errors="replace").decode()
        self._attempt.report(float(fraction), storable[:_NOTE_CHARACTERS_MAX])

    @overload
    def checkpoint(self, value: JsonLike) -> None: ...
    @overload
    def checkpoint(self, value: JsonLike, on: PsycopgConnection | DbApiCursor) -> None: ...
    @overload
    def checkpoint(
        self, value: JsonLike, on: AsyncPsycopgConnection
    ) -> Coroutine[object, None, None]: ...
    def checkpoint(
        self,
        value: JsonLike,
        on: AsyncPsycopgConnection | PsycopgConnection | DbApiCursor | None = None,
    ) -> Coroutine[object, None, None] | None:
        """Say from where the job goes on when it runs again: the next `checkpoint_value`.

        It stays until the next one or the job's end, whatever ends attempts: a failure, a
        drain, a crash. Without a connection it is stored a moment later, on the worker's own:
        the latest one, some ten times a second at most, and before the attempt is handed back.
        Of a process that is killed the last half second may be missing. With a connection it is
        stored in the handler's own transaction: the work and how far it has come are committed
        together or not at all.

        Args:
            value: any JSON value of at most 64 KiB.
            on: as for `complete`; with an asynchronous one, await the answer.

        Raises:
            ValueError: the value is no JSON, or is longer; or a checkpoint of this attempt had
                a connection and another one has none: which is the last would not be certain.
            fairlead.StaleToken: with a connection, this attempt has lost its job; without one
                `cancelled` becomes true.
        """
        text = jsontext.encode("checkpoint", value, bytes_max=CHECKPOINT_BYTES_MAX)
        has_connection = on is not None
        if getattr(self, "_checkpoints_on", has_connection) is not has_connection:
            raise ValueError(
                f"job {self.id} has checkpoints with a connection and without one: give all of "
                "an attempt's a connection, or none"
            )
        self._checkpoints_on = has_connection
        if on is None:
            self._attempt.save_checkpoint(text)
            return None
        if not self._attempt.stores_checkpoint(text):
            return own_transaction.nothing(on)
        statement = statements.load("fairlead", "checkpoint")
        return own_transaction.call(on, statement, self.id, self.token, text)

    # First what answers at once: the cursors of some drivers say that `execute` returns Any.
    @overload
    def complete(
        self, on: PsycopgConnection | DbApiCursor, result: JsonLike = None
    ) -> None: ...
    @overload
    def complete(
        self, on: AsyncPsycopgConnection, result: JsonLike = None
    ) -> Coroutine[object, None, None]: ...
    def complete(
        self,
        on: AsyncPsycopgConnection | PsycopgConnection | DbApiCursor,
        result: JsonLike = None,
    ) -> Coroutine[object, None, None] | None:
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
            return own_transaction.nothing(on)
        statement = statements.load("fairlead", "complete")
        return own_transaction.call(on, statement, self.id, self.token, text)


def _parse(name: str, text: str) -> Json:
    try:
        return jsontext.parse(name, text)
    except ValueError as error:
        raise UnreadablePayload(str(error)) from None

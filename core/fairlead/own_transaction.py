"""What a handler says of its attempt in its own transaction, over whatever connection it has.

The work and what is said of it are committed together or not at all.
"""

import inspect
from collections.abc import Awaitable, Coroutine, Iterable, Sequence
from typing import Protocol, cast

from fairlead import errors


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


def call(
    on: AsyncPsycopgConnection | PsycopgConnection | DbApiCursor,
    statement: bytes,
    job_id: int,
    token: int,
    text: str | None,
) -> Coroutine[object, None, None] | None:
    """Call a function about an attempt; await the answer over an asynchronous connection.

    Raises:
        fairlead.StaleToken: the attempt has lost its job.
    """
    query = statement.decode()  # some drivers take no bytes
    try:
        answer = cast("DbApiCursor", on).execute(query, (job_id, token, text))
    except Exception as error:
        _raise_if_stale(error, job_id, token)
        raise
    if isinstance(answer, Awaitable):
        return _awaited(cast("Awaitable[object]", answer), job_id, token)
    return None


async def _awaited(answer: Awaitable[object], job_id: int, token: int) -> None:
    try:
        await answer
    except Exception as error:
        _raise_if_stale(error, job_id, token)
        raise


def _raise_if_stale(error: BaseException, job_id: int, token: int) -> None:
    """Raise `StaleToken` for Fairlead's SQLSTATE, whichever driver raised it."""
    if errors.caused_by(error, errors.STALE_SQLSTATE):
        raise errors.StaleToken(
            f"token {token} no longer holds job {job_id}: roll back and stop"
        ) from error


def nothing(on: object) -> Coroutine[object, None, None] | None:
    """Return what `call` returns, where there is nothing to call."""
    return _nothing() if inspect.iscoroutinefunction(getattr(on, "execute", None)) else None


async def _nothing() -> None:
    """Be awaited."""

"""A decorated handler: called like the function, and enqueued with its arguments."""

import dataclasses
import functools
import inspect
import sys
from collections.abc import Callable, Coroutine, Mapping
from datetime import datetime, timedelta
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, cast, overload

from fairlead import client
from fairlead.connections import AsyncConnection, SyncConnection
from fairlead.job import Job, PayloadT, ResultT
from fairlead.jsontext import JsonLike
from fairlead.new_jobs import NewJob
from fairlead.payload_types import PayloadType

CallP = ParamSpec("CallP")
GivenP = ParamSpec("GivenP")
BesideT = TypeVar("BesideT")
"""The payload that a job has beside the parameters for its members."""


class Task(Generic[CallP, GivenP, ResultT]):
    """A handler as `@tasks.handler` returns it: call it, or enqueue jobs of its kind.

    A handler takes its job alone, as `Job[Email]` for a payload that is an `Email`, or with
    members of the payload as parameters behind it; `enqueue` takes the payload or what stands
    behind the job, and type checkers know which. A pydantic model, a dataclass, a TypedDict and
    such parameters are checked at `enqueue` and before each run. A parameter whose default is
    `GIVEN` is given by the application's lifespan, and by no caller. What concerns the job and
    not the handler, such as its tenant, is said before, by `using`.
    """

    __name__: str

    def __init__(
        self, job: NewJob, run: Callable[CallP, ResultT], payload: PayloadType
    ) -> None:
        self._job = job
        self._run = run
        self._payload = payload
        functools.update_wrapper(self, run)
        if sys.version_info >= (3, 12) and inspect.iscoroutinefunction(run):
            inspect.markcoroutinefunction(self)

    def __call__(self, *args: CallP.args, **kwargs: CallP.kwargs) -> ResultT:
        """Call the function, here and now; nothing is enqueued."""
        return self._run(*args, **kwargs)

    def __repr__(self) -> str:
        return f"Task({self.kind!r})"

    @property
    def kind(self) -> str:
        """The name by which jobs name the handler."""
        return self._job.kind

    @property
    def function(self) -> Callable[CallP, ResultT]:
        """The function that was decorated."""
        return self._run

    def using(  # noqa: PLR0913 - each is a column of the table
        self,
        *,
        queue: str | None = None,
        tenant: str | None = None,
        priority: int | None = None,
        run_at: datetime | None = None,
        expires_at: datetime | None = None,
        dedup_key: str | None = None,
        max_attempts: int | None = None,
        timeout: float | timedelta | None = None,
        cost_hint: float | timedelta | None = None,
        headers: Mapping[str, JsonLike] | None = None,
        batch: int | None = None,
        replace: bool | None = None,
        debounce: float | timedelta | None = None,
        debounce_max: float | timedelta | None = None,
        unique_for: float | timedelta | None = None,
    ) -> "Task[CallP, GivenP, ResultT]":
        """Return the task with settings for the jobs that it enqueues; see `NewJob`.

        What is not given stays as it was.

        Raises:
            ValueError: an instant has no time zone.
        """
        given = {
            "queue": queue,
            "tenant": tenant,
            "priority": priority,
            "run_at": run_at,
            "expires_at": expires_at,
            "dedup_key": dedup_key,
            "max_attempts": max_attempts,
            "timeout": timeout,
            "cost_hint": cost_hint,
            "headers": headers,
            "batch": batch,
            "replace": replace,
            "debounce": debounce,
            "debounce_max": debounce_max,
            "unique_for": unique_for,
        }
        said: dict[str, Any] = {name: each for name, each in given.items() if each is not None}
        return type(self)(dataclasses.replace(self._job, **said), self._run, self._payload)

    def new_job(self, *args: GivenP.args, **kwargs: GivenP.kwargs) -> NewJob:
        """Return a job with these arguments, for `enqueue_many`.

        Raises:
            TypeError: the handler takes no such arguments.
        """
        payload = self._payload.arguments(args, kwargs)
        return dataclasses.replace(self._job, payload=cast("JsonLike", payload))

    @overload
    def enqueue(
        self, connection: AsyncConnection, /, *args: GivenP.args, **kwargs: GivenP.kwargs
    ) -> Coroutine[object, None, int | None]: ...
    @overload
    def enqueue(
        self, connection: SyncConnection, /, *args: GivenP.args, **kwargs: GivenP.kwargs
    ) -> int | None: ...
    def enqueue(
        self,
        connection: AsyncConnection | SyncConnection,
        /,
        *args: GivenP.args,
        **kwargs: GivenP.kwargs,
    ) -> Coroutine[object, None, int | None] | int | None:
        """Insert one job that calls the handler with these arguments; see `fairlead.enqueue`.

        Raises:
            TypeError: the handler takes no such arguments, or it is no connection.
            fairlead.errors.InvalidPayload: a value is none of the type that the handler names;
                the sentence says which. It is a ValueError.
            OverBacklog: and others, as for `fairlead.enqueue`.
        """
        return client.enqueue_job(connection, self.new_job(*args, **kwargs))


class PlainTask(Task[[Job], [JsonLike], ResultT]):
    """A handler whose payload may be anything; it is empty unless one is given."""

    def new_job(self, payload: JsonLike = None) -> NewJob:
        """Return a job with this payload, for `enqueue_many`."""
        return dataclasses.replace(self._job, payload=payload)

    @overload
    def enqueue(
        self, connection: AsyncConnection, /, payload: JsonLike = ...
    ) -> Coroutine[object, None, int | None]: ...
    @overload
    def enqueue(self, connection: SyncConnection, /, payload: JsonLike = ...) -> int | None: ...
    def enqueue(
        self, connection: AsyncConnection | SyncConnection, /, payload: JsonLike = None
    ) -> Coroutine[object, None, int | None] | int | None:
        """Insert one job with this payload; see `fairlead.enqueue`."""
        return client.enqueue_job(connection, self.new_job(payload))


_TaskT = TypeVar("_TaskT", bound=Task[..., ..., Any])


class Register(Protocol):
    """What makes a task of a function: of its job alone, and of others beside."""

    @overload
    def __call__(self, run: Callable[[Job], ResultT], /) -> PlainTask[ResultT]: ...
    @overload
    def __call__(
        self, run: Callable[[Job[PayloadT]], ResultT], /
    ) -> Task[[Job[PayloadT]], [PayloadT], ResultT]: ...
    @overload
    def __call__(
        self, run: Callable[Concatenate[Job[BesideT], GivenP], ResultT], /
    ) -> Task[Concatenate[Job[BesideT], GivenP], GivenP, ResultT]: ...


class Declare(Protocol):
    """What gives a task, or a function that becomes one, a schedule."""

    @overload
    def __call__(self, run: _TaskT, /) -> _TaskT: ...
    @overload
    def __call__(self, run: Callable[[Job], ResultT], /) -> PlainTask[ResultT]: ...
    @overload
    def __call__(
        self, run: Callable[[Job[PayloadT]], ResultT], /
    ) -> Task[[Job[PayloadT]], [PayloadT], ResultT]: ...
    @overload
    def __call__(
        self, run: Callable[Concatenate[Job[BesideT], GivenP], ResultT], /
    ) -> Task[Concatenate[Job[BesideT], GivenP], GivenP, ResultT]: ...


def as_task(run: object) -> Task[..., ..., Any] | None:
    """Return a task if it is one."""
    return cast("Task[..., ..., Any]", run) if isinstance(run, Task) else None


def held_to(
    payload: PayloadType, run: Callable[..., object], *, is_async: bool
) -> Callable[[Job[Any]], object]:
    """Return a function that runs a handler with what its payload says."""

    def arguments(job: Job[Any]) -> dict[str, object]:
        if payload.adapter is None:
            return {}
        if payload.has_arguments:
            return cast("dict[str, object]", payload.parse(job.payload_text))
        job.parse_payload(payload.parse)
        return {}

    if is_async:
        coroutine = cast("Callable[..., Coroutine[object, None, object]]", run)

        async def run_later(job: Job[Any]) -> object:
            return await coroutine(job, **arguments(job))

        return functools.wraps(run)(run_later)

    def run_now(job: Job[Any]) -> object:
        return run(job, **arguments(job))

    return functools.wraps(run)(run_now)

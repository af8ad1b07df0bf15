"""The handlers of an application, by the kind of job that each runs.

A handler is found by the name in the job's row and never by an import path: what stands in the
database is data.
"""

import inspect
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from types import MappingProxyType
from typing import Any, Concatenate, Literal, Protocol, TypeAlias, cast, overload

from fairlead import kind_settings
from fairlead.cron import Missed, Schedule
from fairlead.errors import seconds
from fairlead.injection import filled
from fairlead.job import MAX_ATTEMPTS, Job, PayloadT, ResultT
from fairlead.jsontext import JsonLike
from fairlead.kind_defaults import NOTHING, Defaults, KindDefaults
from fairlead.kind_settings import Again, Backoff
from fairlead.lifecycle import Lifecycle
from fairlead.new_jobs import NewJob
from fairlead.payload_types import PayloadType
from fairlead.task import BesideT, Declare, GivenP, PlainTask, Register, Task, as_task, held_to

RunsOn: TypeAlias = Literal["loop", "thread", "process"]
_Function: TypeAlias = Callable[..., Any]

FLEET_CONCURRENCY_MAX = 1_000_000
APPLICATION_BYTES_MAX = 128
EXPIRES_IN_SECONDS_MAX = 365 * 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    """A function, and how it is to be run.

    `timeout_seconds` only shortens what the job's row and its pool allow. `concurrency`
    bounds how many run at once in one child of a worker; None is as many as there are
    slots. `evictable` says that a run may be asked to stop so that another tenant can run.
    `fleet_concurrency` bounds how many are in flight at once in the fleet.
    `max_attempts` is for jobs whose rows say nothing; with `at_most_once` it is 1, and rows are
    not asked. `backoff` returns the seconds to wait, given which attempt has failed; None is
    Fairlead's own. `payload` is what the payload is held to, if it is: by `Tasks.wrapped`.
    """

    kind: str
    run: Callable[[Job], object]
    runs_on: RunsOn
    timeout_seconds: float | None
    concurrency: int | None
    evictable: bool = False
    max_attempts: int = MAX_ATTEMPTS
    at_most_once: bool = False
    backoff: Callable[[int], float] | None = None
    fleet_concurrency: int | None = None
    payload: PayloadType | None = None


class OnError(Protocol):
    """The callback for failures of an application's handlers; any plain function."""

    def __call__(self, job: Job, error: BaseException, *, will_retry: bool) -> object:
        """Take note of one failed attempt; see `Tasks`."""
        ...


class Tasks(Lifecycle):
    """An application's handlers: the object that `--app module:attribute` names.

    Args:
        on_error: called as `on_error(job, error, will_retry=…)` when an attempt has failed:
            with what its handler raised, `Retry` and `Discard` included, or a TimeoutError
            that has it as its cause. Not for a snooze, a cancelled job or a released one. It is
            called where the handler ran, on the event loop for an `async def`, before the
            ending is written: be quick, and expect that an attempt may be reported and then
            lost. `will_retry` says whether there are attempts left. What it raises is logged
            and changes nothing.
        name: the application's, by which the schedules that it declares with `cron` are known
            as its own; 1 to 128 bytes. Who changes it has the former ones removed by hand.

    Raises:
        ValueError: on_error is an `async def`, or the name is out of bounds.
    """

    def __init__(self, *, on_error: OnError | None = None, name: str | None = None) -> None:
        if _is_async(on_error):
            raise ValueError("on_error is async: give a plain def, which is called at once")
        super().__init__()
        if name is not None and not 1 <= len(name.encode()) <= APPLICATION_BYTES_MAX:
            raise ValueError(f"name must be 1 to {APPLICATION_BYTES_MAX} bytes, not {name!r}")
        self._name = name
        self._schedules: dict[tuple[str, str], Schedule] = {}
        self._handlers: dict[str, Handler] = {}
        self._defaults = KindDefaults()
        self._on_error = on_error

    @property
    def on_error(self) -> OnError | None:
        """The callback for failed attempts."""
        return self._on_error

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """The handlers by kind."""
        return MappingProxyType(self._handlers)

    @property
    def name(self) -> str | None:
        """The application's name, if it has one."""
        return self._name

    @property
    def schedules(self) -> tuple[Schedule, ...]:
        """The schedules that it declares."""
        return tuple(self._schedules.values())

    def defaults(self, kind: str) -> Defaults:
        """Return what the handler of a kind says of its jobs."""
        return (self._defaults.get(kind) or (0, NOTHING))[1]

    @overload
    def handler(self, kind: Callable[[Job], ResultT], /) -> PlainTask[ResultT]: ...
    @overload
    def handler(
        self, kind: Callable[[Job[PayloadT]], ResultT], /
    ) -> Task[[Job[PayloadT]], [PayloadT], ResultT]: ...
    @overload
    def handler(
        self, kind: Callable[Concatenate[Job[BesideT], GivenP], ResultT], /
    ) -> Task[Concatenate[Job[BesideT], GivenP], GivenP, ResultT]: ...
    @overload
    def handler(
        self,
        kind: str | None = None,
        *,
        timeout: float | timedelta | None = ...,
        process: bool = ...,
        concurrency: int | None = ...,
        fleet_concurrency: int | None = ...,
        evictable: bool = ...,
        max_attempts: int | None = ...,
        at_most_once: bool = ...,
        backoff: Backoff | None = ...,
        queue: str | None = ...,
        priority: int | None = ...,
    ) -> Register: ...
    def handler(  # noqa: PLR0913 - each is a setting of the kind
        self,
        kind: str | _Function | None = None,
        *,
        timeout: float | timedelta | None = None,
        process: bool = False,
        concurrency: int | None = None,
        fleet_concurrency: int | None = None,
        evictable: bool = False,
        max_attempts: int | None = None,
        at_most_once: bool = False,
        backoff: Backoff | None = None,
        queue: str | None = None,
        priority: int | None = None,
    ) -> object:
        """Register the decorated function for one kind of job, and return it as a `Task`.

        It takes its job, and members of the payload behind it if it wants (`Task`). An `async
        def` runs on the event loop and must not block it; a `def` in a thread, or with
        `process` in a process, where it can be stopped and may use the CPU. What it returns is
        the job's result, a JSON value.

        Args:
            kind: what jobs name, 1 to 128 bytes; without it the function's name.
            timeout: seconds, or a timedelta, for one attempt; None leaves it to the job's row.
            process: run in another process. Only for `def`.
            concurrency: how many may run at once in each child; jobs beyond it take no slot.
            fleet_concurrency: how many may run at once in all workers; others stay pending.
            evictable: a run may be asked to stop, to begin again later without counting as an
                attempt, so that a tenant without a slot can run (`fairness.eviction`).
            max_attempts: how many a job has that does not say; None is 20. A crash is none.
            at_most_once: what may have begun never runs again, not even after a crash.
            backoff: the wait after a failed attempt: seconds, a timedelta, or a function that
                returns it, given which one failed, from 1. None doubles from 2 s to 8 h.
            queue: where `enqueue` in this process puts jobs of this kind; None is `default`.
            priority: what it gives them; None is 0.

        Raises:
            ValueError: an argument is out of bounds, the kind is taken, or it is a generator.
        """

        def register(run: _Function) -> object:
            function = cast("_Function", getattr(as_task(run), "function", run))
            name = kind if isinstance(kind, str) else _kind_of(function)
            said = kind_settings.defaults(name, queue, priority, max_attempts, timeout)
            again = Again(evictable=evictable, at_most_once=at_most_once)
            settings = _handler(name, said, backoff, concurrency, fleet_concurrency, again)
            return self._add(function, settings, said, process=process)

        return register if kind is None or isinstance(kind, str) else register(kind)

    def cron(
        self,
        cron: str,
        *,
        tenant: str = "",
        timezone: str = "UTC",
        name: str | None = None,
        payload: JsonLike = None,
        missed: Missed = "coalesce",
        queue: str | None = None,
        expires_in: float | timedelta | None = None,
    ) -> Declare:
        """Declare when jobs of the decorated handler are inserted, again and again.

        It stands above `handler`, or alone, and may stand there several times. Nothing fires
        before `fairlead.sync_schedules`, or `fairlead schedules sync`, has written it.

        Args:
            cron: five fields, or six with seconds first.
            tenant: of the jobs.
            timezone: an IANA name that PostgreSQL knows; the fields are local to it.
            name: 1 to 128 bytes, unique for the tenant; None is the kind.
            payload: of the jobs, checked when it is written; None is an empty object.
            missed: what becomes of fires while no scheduler ran: skip, coalesce or catch_up.
            queue: of the jobs; None is what the handler says.
            expires_in: seconds or timedelta after which a job that has not begun expires.

        Raises:
            ValueError: an argument is out of bounds, or the tenant has the name already.
        """
        schedule = Schedule(
            name=name or "",
            cron=cron,
            timezone=timezone,
            tenant=tenant,
            payload=payload,
            missed=missed,
            queue=queue,
            expires_in_seconds=_expires_in_seconds(expires_in),
        )

        def declare(run: _Function) -> object:
            task = as_task(run) or cast("Task[..., ..., Any]", self.handler(run))
            self._declare(replace(schedule, kind=task.kind, name=name or task.kind))
            return task

        return cast("Declare", declare)

    def check(self) -> None:
        """Read what is otherwise read at first use, and refuse what no worker could call.

        Raises:
            ValueError: a payload's type cannot be read or checked, or a handler or a middleware
                asks for what is not there; the sentence says which.
        """
        wrapping = self._wraps()
        for each in self._handlers.values():
            wrapping.asked_of(each.kind, each.run, is_async=each.runs_on == "loop")
            if each.payload is not None:
                _ = each.payload.adapter

    def wrapped(self, yielded: object) -> dict[str, Handler]:
        """Return the handlers with all that is around them, given what the lifespan yielded.

        Each is held to its payload's type, and is inside of the middleware of its sort; one
        around which there is nothing is itself.

        Raises:
            ValueError: a handler or a middleware asks for what is not there, or the lifespan
                has yielded something else than it says.
        """
        wrapping, found = self._wraps(), dict[str, Handler]()
        values = wrapping.values(yielded)
        for kind, each in self._handlers.items():
            is_async = each.runs_on == "loop"
            asked = wrapping.asked_of(kind, each.run, is_async=is_async)
            run = filled(each.run, asked, values)
            if each.payload is not None:
                run = held_to(each.payload, run, is_async=is_async)
            run = wrapping.around(run, values, is_async=is_async)
            found[kind] = each if run is each.run else replace(each, run=run)
        return found

    def _declare(self, schedule: Schedule) -> None:
        if schedule.kind not in self._handlers:
            raise ValueError(f"{schedule.kind!r} is a handler of other Tasks: use their cron")
        key = schedule.tenant, schedule.name
        if key in self._schedules:
            raise ValueError(
                f"tenant {schedule.tenant!r} has a schedule {schedule.name!r} already: give "
                "this one another name"
            )
        self._schedules[key] = schedule

    def _add(
        self, run: _Function, settings: Handler, said: Defaults, *, process: bool
    ) -> Task[..., ..., Any]:
        kind = settings.kind
        if kind in self._handlers:
            taken = _name(self._handlers[kind].run)
            raise ValueError(f"{kind!r} has a handler already, {taken}: choose another kind")
        runs_on = _runs_on(kind, run, process=process)
        payload = PayloadType(kind, run)
        held = payload if payload.may_check else None
        if held is not None:
            said = replace(said, check=held.checked)
        self._handlers[kind] = replace(settings, run=run, runs_on=runs_on, payload=held)
        self._defaults.add(kind, said)
        make = PlainTask if held is None else Task
        return make(NewJob(kind=kind), run, payload)


def _handler(
    kind: str,
    said: Defaults,
    backoff: Backoff | None,
    concurrency: int | None,
    fleet_concurrency: int | None,
    again: Again,
) -> Handler:
    """Return a handler with its settings, and still without a function."""
    if concurrency is not None and concurrency < 1:
        raise ValueError(f"concurrency of {kind!r} must be at least 1, not {concurrency}")
    fleet_name = f"fleet_concurrency of {kind!r}"
    return Handler(
        kind=kind,
        run=_nothing,
        runs_on="thread",
        timeout_seconds=said.timeout_seconds,
        concurrency=concurrency,
        evictable=again.evictable,
        max_attempts=kind_settings.attempts(kind, said.max_attempts, again),
        at_most_once=again.at_most_once,
        backoff=kind_settings.backoff_seconds(kind, backoff),
        fleet_concurrency=kind_settings.within(
            fleet_name, fleet_concurrency, 1, FLEET_CONCURRENCY_MAX
        ),
    )


def _expires_in_seconds(expires_in: float | timedelta | None) -> float | None:
    if expires_in is None:
        return None
    return seconds("expires_in", expires_in, at_most=EXPIRES_IN_SECONDS_MAX)


def _nothing(_job: Job) -> None:
    """Do nothing: the function is not known yet."""


def _kind_of(run: Callable[..., object]) -> str:
    name = str(getattr(run, "__name__", ""))
    if not name.isidentifier():
        raise ValueError(
            f'{run!r} has no name that could be its kind: give one, as @tasks.handler("kind")'
        )
    return name


def _runs_on(kind: str, run: Callable[..., object], *, process: bool) -> RunsOn:
    is_async = _is_async(run)
    if _is_function(run, inspect.isgeneratorfunction, inspect.isasyncgenfunction):
        raise ValueError(
            f"{kind!r} is a generator, and nobody reads what it yields: return the result, and "
            "report how far it is with job.progress"
        )
    if _is_method(run):
        raise ValueError(
            f"{kind!r} is a method, and nobody has the object to call it with: make it a "
            "function, outside of the class"
        )
    if is_async and process:
        raise ValueError(f"{kind!r} is async: only a plain def can run with process=True")
    if is_async:
        return "loop"
    return "process" if process else "thread"


def _is_method(run: Callable[..., object]) -> bool:
    """Tell whether a function stands in the body of a class, and takes the object first."""
    outside, _, _ = str(getattr(run, "__qualname__", "")).rpartition(".")
    in_a_class = outside and not outside.endswith("<locals>") and not inspect.ismethod(run)
    names = [*inspect.signature(run, follow_wrapped=False).parameters] if in_a_class else []
    return names[:1] in (["self"], ["cls"])


def _is_async(run: object) -> bool:
    return _is_function(run, inspect.iscoroutinefunction)


def _is_function(run: object, *sorts: Callable[[object], bool]) -> bool:
    call = getattr(type(run), "__call__", None)  # noqa: B004 - an object may be called like one
    return any(is_sort(each) for each in (run, call) for is_sort in sorts)


def _name(run: Callable[..., object]) -> str:
    return f"{run.__module__}.{getattr(run, '__qualname__', repr(run))}"


Coroutines: TypeAlias = Callable[[Job], Coroutine[object, None, object]]
"""What `Handler.run` is when it runs on the loop."""

"""The handlers of an application, by the kind of job that each runs.

A handler is found by the name in the job's row and never by an import path: what stands in the
database is data.
"""

import importlib
import inspect
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import Literal, Protocol, TypeAlias, cast

from fairlead import errors
from fairlead.job import Job, PayloadT, ResultT

RunsOn: TypeAlias = Literal["loop", "thread", "process"]

KIND_BYTES_MAX = 128
TIMEOUT_SECONDS_LOWEST = 0.001
TIMEOUT_SECONDS_MAX = 30 * 86_400.0


class AppError(Exception):
    """The application cannot be loaded; the message is one sentence for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    """A function, and how it is to be run.

    `timeout_seconds` only shortens what the job's row and its pool allow. `concurrency`
    bounds how many run at once in one child of a worker; None is as many as there are
    slots. `evictable` says that a run may be asked to stop so that another tenant can run.
    """

    kind: str
    run: Callable[[Job], object]
    runs_on: RunsOn
    timeout_seconds: float | None
    concurrency: int | None
    evictable: bool = False


class OnError(Protocol):
    """The callback for failures of an application's handlers; any plain function."""

    def __call__(self, job: Job, error: BaseException, *, will_retry: bool) -> object:
        """Take note of one failed attempt; see `Tasks`."""
        ...


class Tasks:
    """An application's handlers: the object that `--app module:attribute` names.

    Args:
        on_error: called as `on_error(job, error, will_retry=…)` when an attempt has failed:
            with what its handler raised, `Retry` and `Discard` included, or a TimeoutError
            that has it as its cause. Not for a snooze, a cancelled job or a released one. It is
            called where the handler ran, on the event loop for an `async def`, before the
            ending is written: be quick, and expect that an attempt may be reported and then
            lost. `will_retry` says whether there are attempts left. What it raises is logged
            and changes nothing.

    Raises:
        ValueError: on_error is an `async def`.
    """

    def __init__(self, *, on_error: OnError | None = None) -> None:
        if _is_async(on_error):
            raise ValueError("on_error is async: give a plain def, which is called at once")
        self._handlers: dict[str, Handler] = {}
        self._on_error = on_error

    @property
    def on_error(self) -> OnError | None:
        """The callback for failed attempts."""
        return self._on_error

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """The handlers by kind."""
        return MappingProxyType(self._handlers)

    def handler(
        self,
        kind: str,
        *,
        timeout: float | timedelta | None = None,
        process: bool = False,
        concurrency: int | None = None,
        evictable: bool = False,
    ) -> Callable[[Callable[[Job[PayloadT]], ResultT]], Callable[[Job[PayloadT]], ResultT]]:
        """Register the decorated function for one kind of job, and return it unchanged.

        An `async def` runs on the event loop and must not block it; a `def` runs in a
        thread, or with `process` in a process of its own, where it can be stopped and may
        use the CPU. What it returns is the job's result, a JSON value.

        Args:
            kind: what jobs name, 1 to 128 bytes.
            timeout: seconds, or a timedelta, for one attempt; None leaves it to the job's row.
            process: run in another process. Only for `def`.
            concurrency: how many may run at once in each child; jobs beyond it take no slot.
            evictable: a run may be asked to stop, to begin again later without counting as an
                attempt, so that a tenant without a slot can run (`fairness.eviction`).

        Raises:
            ValueError: an argument is out of bounds, or the kind is taken.
        """
        _check(kind, concurrency)
        timeout_seconds = _timeout_seconds(kind, timeout)

        def register(
            run: Callable[[Job[PayloadT]], ResultT],
        ) -> Callable[[Job[PayloadT]], ResultT]:
            if kind in self._handlers:
                taken = _name(self._handlers[kind].run)
                raise ValueError(
                    f"{kind!r} has a handler already, {taken}: choose another kind"
                )
            self._handlers[kind] = Handler(
                kind=kind,
                # Only the application knows the payload's type; it is not checked.
                run=cast("Callable[[Job], object]", run),
                runs_on=_runs_on(kind, run, process=process),
                timeout_seconds=timeout_seconds,
                concurrency=concurrency,
                evictable=evictable,
            )
            return run

        return register


def load(app: str) -> Tasks:
    """Import `module:attribute` and return the Tasks that it names.

    Raises:
        AppError: the name is malformed, the import fails, or there are no Tasks there.
    """
    module_name, colon, attribute = app.partition(":")
    if not colon or not module_name or not attribute:
        raise AppError(f"app must be module:attribute, like myapp.jobs:tasks, not {app!r}")
    try:
        found: object = importlib.import_module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
    except Exception as error:
        raise AppError(f"cannot load app {app!r}: {type(error).__name__}: {error}") from error
    if not isinstance(found, Tasks):
        raise AppError(
            f"app {app!r} is a {type(found).__name__}: name an object of fairlead.Tasks"
        )
    return found


def _check(kind: str, concurrency: int | None) -> None:
    if not 1 <= len(kind.encode()) <= KIND_BYTES_MAX:
        raise ValueError(f"kind must be 1 to {KIND_BYTES_MAX} bytes, not {kind!r}")
    if concurrency is not None and concurrency < 1:
        raise ValueError(f"concurrency of {kind!r} must be at least 1, not {concurrency}")


def _timeout_seconds(kind: str, timeout: float | timedelta | None) -> float | None:
    if timeout is None:
        return None
    name = f"timeout of {kind!r}"
    number = errors.seconds(name, timeout, at_most=TIMEOUT_SECONDS_MAX)
    if number < TIMEOUT_SECONDS_LOWEST:
        raise ValueError(f"{name} must be at least {TIMEOUT_SECONDS_LOWEST} s, not {number:g}")
    return number


def _runs_on(kind: str, run: Callable[..., object], *, process: bool) -> RunsOn:
    is_async = _is_async(run)
    if is_async and process:
        raise ValueError(f"{kind!r} is async: only a plain def can run with process=True")
    if is_async:
        return "loop"
    return "process" if process else "thread"


def _is_async(run: object) -> bool:
    return inspect.iscoroutinefunction(run) or inspect.iscoroutinefunction(
        getattr(type(run), "__call__", None)  # noqa: B004 - an object may be called like one
    )


def _name(run: Callable[..., object]) -> str:
    return f"{run.__module__}.{getattr(run, '__qualname__', repr(run))}"


Coroutines: TypeAlias = Callable[[Job], Coroutine[object, None, object]]
"""What `Handler.run` is when it runs on the loop."""

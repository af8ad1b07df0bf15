"""What an application has around its handlers: a lifespan of each process, and middleware.

`Lifecycle` is the part of `Tasks` that registers them. What the lifespan yields is given to the
handlers and the middleware that ask for it by the type of a parameter. Which parameter gets
what is decided once, when the application is loaded, and a handler is wrapped before the first
job: where there is neither, an attempt costs nothing more.
"""

import contextlib
import inspect
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Generator,
    Iterator,
)
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias, TypeVar, cast, overload

from fairlead import errors
from fairlead.injection import Asked, asked_of, filled, place, yielded_types
from fairlead.job import Job

OpenLifespan: TypeAlias = AbstractContextManager[object] | AbstractAsyncContextManager[object]

# A lifespan may yield anything, and ask for nothing.
LifespanT = TypeVar(
    "LifespanT",
    bound=Callable[[], Iterator[object]]
    | Callable[[], AsyncIterator[object]]
    | Callable[[], AbstractContextManager[object]]
    | Callable[[], AbstractAsyncContextManager[object]],
)
MiddlewareT = TypeVar("MiddlewareT", bound=Callable[..., object])

START_SECONDS_DEFAULT = 30.0
START_SECONDS_MAX = 3600.0


@dataclass(frozen=True, slots=True)
class Lifespan:
    """A function that yields once, between the start of a process and its end."""

    function: Callable[[], object]
    open: Callable[[], OpenLifespan]
    is_async: bool
    start_seconds: float

    @property
    def place(self) -> str:
        """File and line of the function."""
        return place(self.function)


@dataclass(frozen=True, slots=True)
class Middleware:
    """A function around attempts whose handlers are of its own sort, async or not."""

    run: Callable[..., object]
    is_async: bool
    same_sort_only: bool

    @property
    def name(self) -> str:
        """How sentences call it."""
        return f"middleware {_name(self.run)}, at {place(self.run)},"


class Lifecycle:
    """The part of `Tasks` that is not about one kind of job."""

    def __init__(self) -> None:
        self._lifespan: Lifespan | None = None
        self._middleware: list[Middleware] = []

    @property
    def opens(self) -> Lifespan | None:
        """The lifespan, if there is one."""
        return self._lifespan

    @overload
    def lifespan(self, function: LifespanT, /) -> LifespanT: ...
    @overload
    def lifespan(
        self, *, timeout: float | timedelta = ...
    ) -> Callable[[LifespanT], LifespanT]: ...
    def lifespan(
        self,
        function: LifespanT | None = None,
        *,
        timeout: float | timedelta = START_SECONDS_DEFAULT,
    ) -> LifespanT | Callable[[LifespanT], LifespanT]:
        """Register what each process does before its first job and after its last one.

        The function takes nothing and yields once: an async generator function, which runs on
        the event loop, or a generator function, or either as a context manager of
        `contextlib`. What stands before `yield` runs in each process of each worker that runs
        handlers, before it claims; what stands behind it, when the process ends by itself,
        within the worker's grace. What it yields goes to parameters of handlers and middleware
        of that type whose default is `fairlead.GIVEN`; of an annotated tuple, each part.

        A start that raises is logged with its place, and tried again in a new process after a
        while; a worker is not ready, and claims nothing, while no process has started.

        Args:
            function: what is decorated; returned unchanged.
            timeout: how long the start may take, as seconds or a timedelta.

        Raises:
            ValueError: there is one already, or the function is none of these.
        """
        seconds = errors.seconds("timeout of the lifespan", timeout, at_most=START_SECONDS_MAX)

        def register(function: LifespanT) -> LifespanT:
            if self._lifespan is not None:
                raise ValueError(
                    f"there is a lifespan already, at {self._lifespan.place}: enter both in one"
                )
            self._lifespan = _lifespan(function, seconds)
            return function

        return register if function is None else register(function)

    @overload
    def middleware(self, function: MiddlewareT, /) -> MiddlewareT: ...
    @overload
    def middleware(
        self, *, same_sort_only: bool = ...
    ) -> Callable[[MiddlewareT], MiddlewareT]: ...
    def middleware(
        self, function: MiddlewareT | None = None, *, same_sort_only: bool = False
    ) -> MiddlewareT | Callable[[MiddlewareT], MiddlewareT]:
        """Register what runs around each attempt.

        It is called as `middleware(job, call_next)`, returns `await call_next(job)` or
        something else, and may raise what a handler may. An `async def` is around the handlers
        that are one; a plain def, which returns `call_next(job)`, is around plain handlers,
        where these run. The first one registered is the outermost. Its time is the attempt's.
        A further parameter `= fairlead.GIVEN` gets what the lifespan yields of its type.

        Args:
            function: what is decorated; returned unchanged.
            same_sort_only: there are handlers of the other sort too, and this is not for them.
                Otherwise an application that has such handlers cannot be loaded.
        """

        def register(function: MiddlewareT) -> MiddlewareT:
            call = getattr(type(function), "__call__", None)  # noqa: B004 - of an object
            is_async = any(map(inspect.iscoroutinefunction, (function, call)))
            self._middleware.append(Middleware(function, is_async, same_sort_only))
            return function

        return register if function is None else register(function)

    def _wraps(self) -> "Wrapping":
        """Return what wraps handlers, once all is registered.

        Raises:
            ValueError: a middleware asks for what the lifespan does not yield.
        """
        types = None if self._lifespan is None else yielded_types(self._lifespan.function)
        return Wrapping(types, tuple(self._middleware))


class Wrapping:
    """Wraps handlers in middleware, and gives both what they ask for.

    Args:
        types: what the lifespan yields; None: it does not say, or there is none.
        middleware: the outermost first.

    Raises:
        ValueError: one asks for what the lifespan does not yield.
    """

    def __init__(
        self, types: tuple[object, ...] | None, middleware: tuple[Middleware, ...]
    ) -> None:
        self._types = types
        self._middleware = tuple(
            (each, asked_of(each.name, each.run, ("job", "call_next"), types))
            for each in middleware
        )

    def asked_of(self, kind: str, run: Callable[..., object], *, is_async: bool) -> Asked:
        """Return which parameters of a handler get what, by name.

        Raises:
            ValueError: it asks for what the lifespan does not yield, or a middleware is not of
                its sort and does not say that this is meant.
        """
        for each, _ in self._middleware:
            if each.is_async != is_async and not each.same_sort_only:
                sorts = ("an async def", "a plain def")
                own, other = sorts if each.is_async else sorts[::-1]
                raise ValueError(
                    f"{each.name} is {own}, and {kind!r} is {other}, which it cannot be "
                    f"around: register {other} too, and say of both that this is meant, "
                    "with @tasks.middleware(same_sort_only=True)"
                )
        what = f"{kind!r}, at {place(run)},"
        return asked_of(what, run, ("job",), self._types, takes_members=True)

    def values(self, yielded: object) -> tuple[object, ...]:
        """Return the parts of what the lifespan has yielded, one for each type.

        Raises:
            ValueError: it yielded something else than it says.
        """
        types = self._types or ()
        if len(types) == 1:
            return (yielded,)
        parts = cast("tuple[object, ...]", yielded) if isinstance(yielded, tuple) else ()
        if types and len(parts) != len(types):
            raise ValueError(
                f"the lifespan says that it yields {len(types)} parts, and yields {yielded!r}"
            )
        return parts

    def around(
        self, run: Callable[..., object], values: tuple[object, ...], *, is_async: bool
    ) -> Callable[[Job], object]:
        """Return a handler inside of the middleware of its sort; itself where there is none."""
        for each, asked in reversed(self._middleware):
            if each.is_async == is_async:
                run = _around(filled(each.run, asked, values), run)
        return run


def _around(
    middleware: Callable[..., object], call_next: Callable[[Job], object]
) -> Callable[[Job], object]:
    return lambda job: middleware(job, call_next)


def _lifespan(function: Callable[[], object], seconds: float) -> Lifespan:
    """Return the lifespan that a function is.

    Raises:
        ValueError: it is none.
    """
    name = f"the lifespan {_name(function)}, at {place(function)},"
    asked_of(name, function, (), None)
    inner: object = inspect.unwrap(function)
    if inspect.isasyncgenfunction(inner):
        made = cast("Callable[[], AsyncGenerator[object]]", function)
        opened: Callable[[], OpenLifespan] = (
            contextlib.asynccontextmanager(made)
            if inner is function
            else cast("Callable[[], OpenLifespan]", function)
        )
        return Lifespan(function, opened, is_async=True, start_seconds=seconds)
    if inspect.isgeneratorfunction(inner):
        plain = cast("Callable[[], Generator[object]]", function)
        opened = (
            contextlib.contextmanager(plain)
            if inner is function
            else cast("Callable[[], OpenLifespan]", function)
        )
        return Lifespan(function, opened, is_async=False, start_seconds=seconds)
    raise ValueError(
        f"{name} has no yield: what comes before it starts, what comes behind ends"
    )


def _name(function: object) -> str:
    return str(getattr(function, "__name__", repr(function)))

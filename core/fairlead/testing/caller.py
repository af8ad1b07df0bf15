"""Call handlers in this process: functions directly, coroutines on one event loop.

The lifespan is entered for as long as a caller runs them.

Everything runs in the caller's thread, because objects that tests share with handlers often
belong to a thread, such as Django's connection. Only if an event loop already runs, in a test
that is a coroutine, do coroutines get a thread with a loop of their own.
"""

import asyncio
from collections.abc import Coroutine, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, contextmanager
from contextvars import copy_context
from typing import Final, Self, cast

from fairlead.job import Job
from fairlead.open_lifespan import LifespanTask
from fairlead.tasks import Coroutines, Handler, Tasks

OF_LIFESPAN: Final = object()
"""The context of handlers is what the application's lifespan yields."""


class Caller:
    """Calls handlers; a context that ends their event loop."""

    def __init__(self) -> None:
        # With a factory it leaves the thread's current event loop, a test's own, as it is.
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self._thread = ThreadPoolExecutor(max_workers=1) if _is_loop_running() else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread is None:
            self._runner.close()
        else:
            self._thread.submit(self._runner.close).result()
            self._thread.shutdown()

    @contextmanager
    def started(self, tasks: Tasks, context: object) -> Generator[Mapping[str, Handler]]:
        """Yield the handlers with all that is around them, while the lifespan is entered.

        A context that is given takes the place of the lifespan, which is not entered then.
        """
        if tasks.opens is None or context is not OF_LIFESPAN:
            yield tasks.wrapped(None if context is OF_LIFESPAN else context)
            return
        opened = tasks.opens.open()
        task = None
        if isinstance(opened, AbstractAsyncContextManager):
            task = LifespanTask(opened)
            yielded = self.wait_for(task.enter())
        else:
            yielded = opened.__enter__()
        try:
            yield tasks.wrapped(yielded)
        finally:  # which does not see what handlers raise, as in a worker
            if task is not None:
                self.wait_for(task.leave())
            elif not isinstance(opened, AbstractAsyncContextManager):
                opened.__exit__(None, None, None)

    def call(self, handler: Handler, job: Job) -> object:
        """Return what the handler returns, or raise what it raises."""
        if handler.runs_on != "loop":
            return handler.run(job)
        return self.wait_for(cast("Coroutines", handler.run)(job))

    def wait_for(self, coroutine: Coroutine[object, None, object]) -> object:
        """Run a coroutine to its end."""
        context = copy_context()
        if self._thread is None:
            return self._runner.run(_awaited(coroutine), context=context)
        waiting = self._thread.submit(self._runner.run, _awaited(coroutine), context=context)
        return waiting.result()


async def _awaited(coroutine: Coroutine[object, None, object]) -> object:
    """Await any awaitable: a runner requires a coroutine."""
    return await coroutine


def _is_loop_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True

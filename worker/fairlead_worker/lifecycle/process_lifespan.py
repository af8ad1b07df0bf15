"""Enter an application's lifespan in this process, in time, and leave it at the end."""

import os
import sys
import threading
from asyncio import AbstractEventLoop
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from functools import partial
from types import FrameType
from typing import cast

from fairlead.lifecycle import Lifespan
from fairlead.open_lifespan import LifespanTask
from fairlead.runtime import log
from fairlead.runtime.code_places import sentence
from fairlead.runtime.forked_copy import end_if_copy
from fairlead.tasks import Handler, Tasks
from fairlead_worker.ipc.child_args import LIFESPAN_FAILED


class LifespanFailed(Exception):
    """The lifespan has not started; the message is one sentence for people."""


class ProcessLifespan:
    """What this process has around its handlers.

    Args:
        app: the application.
        loop: where an asynchronous lifespan runs.
    """

    def __init__(self, app: Tasks, loop: AbstractEventLoop) -> None:
        self._app, self._loop = app, loop
        self._task: LifespanTask | None = None
        self._opened: AbstractContextManager[object] | None = None
        self.ended_early = False
        self._log = log.get("worker.lifespan")

    def start(self) -> Mapping[str, Handler]:
        """Enter the lifespan, in the main thread; return the handlers with all around them.

        One that is not done in its time ends the process, whatever it waits for.

        Raises:
            LifespanFailed: it raised, or yielded something else than it says.
        """
        lifespan, pid = self._app.opens, os.getpid()
        try:
            yielded = None if lifespan is None else self._enter(lifespan)
            end_if_copy(pid)
            return self._app.wrapped(yielded)
        except BaseException as error:  # whatever it is, this process has no context
            end_if_copy(pid, error)
            raise LifespanFailed(_said(error)) from error

    def _enter(self, lifespan: Lifespan) -> object:
        opened = lifespan.open()
        give_up = threading.Timer(lifespan.start_seconds, _give_up, [opened, lifespan])
        give_up.daemon = True
        give_up.start()
        try:
            if isinstance(opened, AbstractAsyncContextManager):
                self._task = LifespanTask(opened)
                return self._loop.run_until_complete(self._task.enter())
            self._opened = opened
            return opened.__enter__()
        finally:
            give_up.cancel()

    def watch(self, over: Callable[[], None]) -> None:
        """Have `over` called, on the loop, if the lifespan ends before it is asked to.

        So it does where what it has begun in a task group fails.
        """
        if self._task is not None:
            self._task.when_over(partial(self._ended_early, over))

    def _ended_early(self, over: Callable[[], None], error: BaseException | None) -> None:
        reason = "it ended by itself" if error is None else _said(error)
        self._log.error("lifespan.ended_early", reason=reason)
        self._task, self.ended_early = None, True
        over()

    def stop(self) -> None:
        """Leave the lifespan, in the main thread while the loop does not run."""
        pid = os.getpid()
        try:
            if self._task is not None:
                self._loop.run_until_complete(self._task.leave())
            elif self._opened is not None:
                self._opened.__exit__(None, None, None)
        except BaseException as error:  # noqa: BLE001 - the process ends all the same
            end_if_copy(pid, error)
            self._log.error("lifespan.not_ended", reason=_said(error))


def _give_up(opened: object, lifespan: Lifespan) -> None:
    """End the process: what blocks its main thread cannot be stopped."""
    report_failure(
        f"it has not started within {lifespan.start_seconds:g} s: "
        f"it is at {_line_of(opened, lifespan)}"
    )
    sys.stderr.flush()
    os._exit(LIFESPAN_FAILED)


def report_failure(reason: str) -> None:
    """Log why the lifespan has not started."""
    log.get("worker.lifespan").error("lifespan.failed", reason=reason)


def _said(error: BaseException) -> str:
    """Return an error, or the first one of a group, in one sentence with its place."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return sentence(error)


def _line_of(opened: object, lifespan: Lifespan) -> str:
    """Return the line at which a lifespan is, whether it runs or waits."""
    generator = getattr(opened, "gen", None)
    frame = getattr(generator, "ag_frame", None) or getattr(generator, "gi_frame", None)
    if isinstance(frame, FrameType):
        return f"{frame.f_code.co_filename}:{frame.f_lineno}"
    return lifespan.place

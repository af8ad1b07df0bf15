"""The event loop of a child: it begins tasks at once, times its turns, and ends its copies.

A handler that ends without having waited then costs no turn of the loop, which is half of what
a task costs. Since Python 3.12 asyncio can do this by itself; before, the first step of a task
is intercepted on its way into the loop, and run.

A coroutine may fork. The copy of the process has this loop, with what else waits in it, and the
same descriptors: it ends as soon as the coroutine waits, and takes no turn.
"""

import asyncio
import os
import selectors
import sys
from asyncio import Handle, Task
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from time import monotonic_ns
from typing import cast

from fairlead.runtime.forked_copy import end_if_copy

_NAME = "job"  # or asyncio makes up a new one for each


class _TurnClock(selectors.DefaultSelector):
    """Waits for what the loop waits for, and notes when the loop goes on."""

    turn_ns = 0

    def __init__(self) -> None:
        self._pid = os.getpid()
        super().__init__()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait, and begin a turn of the loop."""
        end_if_copy(self._pid)
        self.turn_ns = 0
        found = super().select(timeout)
        self.turn_ns = monotonic_ns()
        return found


class EagerLoop(asyncio.SelectorEventLoop):
    """The event loop of a child."""

    stalled_us = 0
    """For how long handlers have kept it from everything else; `loop_watch` counts it."""

    def __init__(self) -> None:
        self._turns = _TurnClock()
        super().__init__(self._turns)
        self._pid = os.getpid()
        os.register_at_fork(after_in_child=self._end_copy_next)

    def _end_copy_next(self) -> None:
        """In a copy: end it before what is to be called next in the turn under way."""
        ready = cast("deque[Handle]", vars(self)["_ready"])  # asyncio's own name for it
        ready.appendleft(Handle(end_if_copy, (self._pid,), self))

    @property
    def turn_ns(self) -> int:
        """When its turn began, by the monotonic clock; 0 while it waits."""
        return self._turns.turn_ns

    if sys.version_info >= (3, 12):

        def begin(self, work: Coroutine[object, None, None]) -> Task[None]:
            """Run a coroutine up to where it waits first, as a task in an empty context."""
            return Task(work, loop=self, name=_NAME, context=Context(), eager_start=True)

    else:
        _catching = False
        _caught: Callable[..., object] | None = None
        _no_handle: Handle | None = None

        def begin(self, work: Coroutine[object, None, None]) -> Task[None]:
            """Run a coroutine up to where it waits first, as a task in an empty context."""
            context = Context()
            self._catching = True
            task = Task(work, loop=self, name=_NAME, context=context)
            step, self._caught = self._caught, None
            assert step is not None
            context.run(step)
            return task

        def call_soon(
            self,
            callback: Callable[..., object],
            *args: object,
            context: Context | None = None,
        ) -> Handle:
            """Call at the next turn; but a task that `begin` makes is not put off."""
            if self._catching:
                self._catching = False
                self._caught = callback
                if self._no_handle is None:
                    # What a task gets for its intercepted step; it does not use it.
                    self._no_handle = Handle(_never, (), self)
                return self._no_handle
            return super().call_soon(callback, *args, context=context)


def _never() -> None:
    """Never called."""

"""Run handlers: coroutines on the event loop, functions in threads or in processes.

The way of a job through here is the hot path. A coroutine gets a task with an empty context
that begins at once; a function gets a thread that waits for work at a queue that makes no
future. Whoever ends a job starts the next one in its slot, so that a full child wakes nobody:
`_run_on` after a coroutine that never waited, `_on_loop` after one that did, `_work` after a
function. Whose a slot is, only `Slots` decides.
"""

import threading
from asyncio import CancelledError
from collections import deque
from collections.abc import Callable
from contextvars import Context
from queue import SimpleQueue
from time import monotonic_ns
from typing import TYPE_CHECKING, TypeAlias, cast

from fairlead import log
from fairlead.job import Job
from fairlead.tasks import Coroutines
from fairlead_worker import outcome
from fairlead_worker.attempt import Attempt
from fairlead_worker.eager import Loop
from fairlead_worker.ledger import ASYNC, PROCESS, THREAD
from fairlead_worker.outcome import Failure
from fairlead_worker.slots import Slots

if TYPE_CHECKING:
    from fairlead_worker.spans import Spans  # which needs an extra

Takes: TypeAlias = Callable[[Attempt], None]
Apart: TypeAlias = Callable[[Attempt, Callable[[], bool]], BaseException | None]

TURN_US = 5000
"""How long handlers that never wait may keep the loop from everything else."""
LATE_US = 1_000_000
"""An attempt that starts later than this after its claim asks for its whole time anew."""


class Executor:
    """Starts what is ready while there are slots.

    Args:
        loop: where coroutines run; `fill` runs in its thread.
        slots: what is ready, and where it may run.
        ended: takes an attempt that has ended, from any thread.
        apart: runs an attempt in a process of its own, where it calls back to note the start;
            blocks until that is over, and returns what its process could not tell any more.
        lend: hands an attempt over to the parent, which runs it alone.
        filled: called when slots were filled.
        tell: tells the application of a failure, in the context of the handler.
        spans: traces attempts; None: nobody does.
    """

    def __init__(
        self,
        loop: Loop,
        slots: Slots,
        *,
        ended: Takes,
        apart: Apart,
        lend: Takes,
        filled: Callable[[], None],
        tell: Callable[[Job, Failure], None],
        spans: "Spans | None",
    ) -> None:
        self._loop = loop
        self._slots = slots
        self._ended = ended
        self._apart = apart
        self._lend = lend
        self._filled = filled
        self._tell = tell
        self._spans = spans
        self._inbox: SimpleQueue[Attempt] = SimpleQueue()
        self._resting: deque[None] = deque()
        self._threads = 0

    def fill(self) -> None:
        """Start ready attempts in free slots; a repeat does nothing more."""
        self._filled()
        slots, until_us = self._slots, monotonic_ns() // 1000 + TURN_US
        while slots.ready and (slot := slots.enter()) is not None:
            self._run_on(slots.next(slot), until_us)
            if monotonic_ns() // 1000 > until_us:
                self._loop.call_soon(self.fill)
                return

    def fill_soon(self) -> None:
        """Have `fill` called; from any thread."""
        self._loop.call_soon_threadsafe(self.fill)

    def withdraw(self, attempt: Attempt, why: outcome.Stop) -> bool:
        """End an attempt that waits for its turn, in the loop's thread; tell whether it did."""
        if not self._slots.withdraw(attempt):
            return False
        attempt.ending = outcome.unstarted(why)
        self._ended(attempt)
        self.fill()
        return True

    def _run_on(self, attempt: Attempt | None, until_us: int) -> None:
        """Run an attempt and others after it in its slot, until one waits or time is up."""
        while attempt is not None:
            self._start(attempt)
            if attempt.where != "loop" or not attempt.ended_us:
                return
            if attempt.ended_us > until_us:
                self._slots.leave(attempt)
                return
            attempt = self._slots.next(attempt.slot)

    def _go_on(self, attempt: Attempt) -> None:
        self._run_on(attempt, monotonic_ns() // 1000 + TURN_US)
        if self._slots.ready and self._slots.free:
            self.fill_soon()

    def _start(self, attempt: Attempt) -> None:
        where = attempt.where
        if where == "loop":
            task = self._loop.begin(self._on_loop(attempt))
            if not attempt.ended_us:
                attempt.task = task
        elif where == "alone":
            self._lend(attempt)
        else:
            self._to_thread(attempt)

    async def _on_loop(self, attempt: Attempt) -> None:
        if self._begin(attempt, ASYNC):
            run = cast("Coroutines", attempt.handler.run)
            self._enter(attempt)
            try:
                value = await run(Job(attempt.row, attempt))
                if value is not None:
                    attempt.ending = outcome.of_value(value)
            except BaseException as error:  # a handler may raise whatever it likes
                if isinstance(error, GeneratorExit) and not self._loop.is_running():
                    raise  # it is closed with the loop
                self._failed(error, attempt)
        self._over(attempt)
        if attempt.task is not None:  # it waited, so nobody goes on in its slot but us
            following = self._slots.next(attempt.slot)
            if following is not None:
                self._loop.call_soon(self._go_on, following)

    # --- threads ----------------------------------------------------------------------------

    def _to_thread(self, attempt: Attempt) -> None:
        try:
            self._resting.pop()
        except IndexError:
            if self._threads < self._slots.concurrency:
                self._threads += 1
                threading.Thread(target=self._work, name="handlers", daemon=True).start()
        self._inbox.put(attempt)

    def _work(self) -> None:
        """Be one of the threads that run functions."""
        attempt: Attempt | None = self._inbox.get()
        while True:
            while attempt is not None:
                self._in_thread(attempt)
                attempt = self._following(attempt.slot)
            self._resting.append(None)
            attempt = self._inbox.get()

    def _in_thread(self, attempt: Attempt) -> None:
        if attempt.where == "process":
            untold = self._apart(attempt, lambda: self._begin(attempt, PROCESS))
            if untold is not None:
                Context().run(self._fail, untold, attempt)
        elif self._begin(attempt, THREAD):
            Context().run(self._call, attempt)
        self._over(attempt)

    def _call(self, attempt: Attempt) -> None:
        """Run a function, in the context that was made for it."""
        self._enter(attempt)
        try:
            value = attempt.handler.run(Job(attempt.row, attempt))
            if value is not None:
                attempt.ending = outcome.of_value(value)
        except BaseException as error:  # noqa: BLE001 - a handler may raise whatever it likes
            self._failed(error, attempt)

    def _fail(self, error: BaseException, attempt: Attempt) -> None:
        """Take this for what a handler raised, in a context that was made for it."""
        self._enter(attempt)
        self._failed(error, attempt)

    def _following(self, slot: int) -> Attempt | None:
        """Return the next attempt if a thread runs it; start any other, or free the slot."""
        attempt = self._slots.next(slot)
        if attempt is None:
            if self._slots.ready:  # it came between the look and the freeing
                self.fill_soon()
            return None
        if attempt.where in {"loop", "alone"}:
            self._loop.call_soon_threadsafe(self._go_on, attempt)
            return None
        return attempt

    # --- before and after -------------------------------------------------------------------

    def _begin(self, attempt: Attempt, flags: int) -> bool:
        """Note the start for the parent; False when the attempt was told to stop before it."""
        if attempt.stop is not None:
            attempt.ending = _of_error(CancelledError(), attempt)
            return False
        seconds = attempt.timeout_seconds
        attempt.started_us = now_us = monotonic_ns() // 1000
        attempt.deadline_us = now_us + int(seconds * 1e6)
        if now_us - attempt.arrived_us > LATE_US:
            attempt.desk.extend(attempt, seconds)
        self._slots.note(attempt, flags)
        if self._spans is not None:
            self._spans.begin(attempt)
        return True

    def _enter(self, attempt: Attempt) -> None:
        """Have the context know what runs in it: logs and spans ask."""
        log.running.set(attempt.row)
        if self._spans is not None:
            self._spans.enter(attempt)

    def _failed(self, error: BaseException, attempt: Attempt) -> None:
        """Give an attempt the ending that this means, and tell of it if it is a failure."""
        attempt.ending = ending = _of_error(error, attempt)
        seconds = attempt.timeout_seconds if attempt.stop == "timeout" else None
        failure = outcome.failure(error, ending, attempt.row, timed_out_seconds=seconds)
        if failure is not None:
            if self._spans is not None:
                self._spans.failed(attempt, failure)
            self._tell(Job(attempt.row, attempt), failure)

    def _over(self, attempt: Attempt) -> None:
        attempt.ended_us = monotonic_ns() // 1000
        if attempt.completed:
            attempt.ending = outcome.completed(attempt.ending)
        if self._spans is not None:
            self._spans.over(attempt)
        self._ended(attempt)
        waiter = self._slots.over(attempt)
        if waiter is not None:
            self._loop.call_soon_threadsafe(self._go_on, waiter)


def _of_error(error: BaseException, attempt: Attempt) -> outcome.Ending:
    return outcome.of_error(error, attempt.stop, attempt.timeout_seconds)

"""The executor: runs coroutines on the event loop, functions in threads or in processes.

This is the hot path of a job. A coroutine gets a task with an empty context that begins at
once; a function gets a thread that waits for work at a queue that makes no future. The end of a
job starts the next one in its slot, so that a full child needs no wakeups: `_run_in_turn` after
a coroutine that never waited, `run_on_loop` after one that did, `_work` after a function. Only
`Slots` decides which attempt has a slot.
"""

import threading
from asyncio import CancelledError
from collections import deque
from collections.abc import Callable
from contextvars import Context
from os import getpid
from queue import SimpleQueue
from time import monotonic_ns
from typing import TYPE_CHECKING, TypeAlias, cast

from fairlead.job import Job
from fairlead.runtime import log
from fairlead.runtime.forked_copy import end_if_copy
from fairlead.tasks import Coroutines
from fairlead_worker.attempts import outcome
from fairlead_worker.attempts.attempt import Attempt
from fairlead_worker.attempts.handlers_backoff import delayed
from fairlead_worker.attempts.outcome import Failure
from fairlead_worker.child.eager_loop import EagerLoop
from fairlead_worker.child.slots import Slots
from fairlead_worker.ipc.attempt_table import ASYNC, PROCESS, THREAD

if TYPE_CHECKING:
    from fairlead_worker.tracing.spans import Spans  # which needs an extra

TakesAttempt: TypeAlias = Callable[[Attempt], None]
RunIsolated: TypeAlias = Callable[[Attempt, Callable[[], bool]], BaseException | None]

TURN_US = 5000
"""How long handlers that never wait may keep the loop from everything else."""
LATE_US = 1_000_000
"""An attempt that starts later than this after its claim has its deadline extended."""


class Executor:
    """Starts ready attempts while there are slots.

    Args:
        loop: where coroutines run; `fill` runs in its thread.
        slots: what is ready, and where it may run.
        ended: takes an attempt that has ended, from any thread.
        run_isolated: runs an attempt in a process of its own, where it calls back to record the
            start; blocks until the end, and returns what its process could not report.
        to_quarantine: sends a suspect job to the parent.
        filled: called when slots were filled.
        report_failure: calls the application's `on_error`, in the context of the handler.
        spans: traces attempts; None: they are not traced.
    """

    def __init__(
        self,
        loop: EagerLoop,
        slots: Slots,
        *,
        ended: TakesAttempt,
        run_isolated: RunIsolated,
        to_quarantine: TakesAttempt,
        filled: Callable[[], None],
        report_failure: Callable[[Job, Failure], None],
        spans: "Spans | None",
    ) -> None:
        self._loop = loop
        self._slots = slots
        self._ended = ended
        self._run_isolated = run_isolated
        self._to_quarantine = to_quarantine
        self._filled = filled
        self._report_failure = report_failure
        self._spans = spans
        self._inbox: SimpleQueue[Attempt] = SimpleQueue()
        self._idle_threads: deque[None] = deque()
        self._threads = 0
        self._pid = getpid()

    def fill(self) -> None:
        """Start ready attempts in free slots; a repeat does nothing more."""
        self._filled()
        slots, until_us = self._slots, monotonic_ns() // 1000 + TURN_US
        while slots.has_ready and (slot := slots.acquire()) is not None:
            self._run_in_turn(slots.next(slot), until_us)
            if monotonic_ns() // 1000 > until_us:
                self._loop.call_soon(self.fill)
                return

    def fill_soon(self) -> None:
        """Have `fill` called; from any thread."""
        self._loop.call_soon_threadsafe(self.fill)

    def withdraw(self, attempt: Attempt, why: outcome.Stop) -> bool:
        """End an attempt that waits at its gate, in the loop's thread; return if it did."""
        if not self._slots.withdraw(attempt):
            return False
        attempt.ending = outcome.unstarted(why)
        self._ended(attempt)
        self.fill()
        return True

    def _run_in_turn(self, attempt: Attempt | None, until_us: int) -> None:
        """Run an attempt and others after it in its slot, until one waits or time is up."""
        while attempt is not None:
            if self._slots.moved:
                attempt = self._slots.recheck(attempt)
                if attempt is None:
                    return
            self._start(attempt)
            if attempt.where != "loop" or not attempt.ended_us:
                return
            if attempt.ended_us > until_us:
                self._slots.free_slot(attempt)
                return
            attempt = self._slots.next(attempt.slot)

    def _continue(self, attempt: Attempt) -> None:
        self._run_in_turn(attempt, monotonic_ns() // 1000 + TURN_US)
        if self._slots.has_ready and self._slots.free:
            self.fill_soon()

    def _start(self, attempt: Attempt) -> None:
        where = attempt.where
        if where == "loop":
            task = self._loop.begin(self.run_on_loop(attempt))
            if not attempt.ended_us:
                end_if_copy(self._pid)  # it forked before it waited for the first time
                attempt.task = task
        elif where == "quarantine":
            self._to_quarantine(attempt)
        else:
            self._to_thread(attempt)

    async def run_on_loop(self, attempt: Attempt) -> None:
        """Run a coroutine; `loop_watch` knows this frame on the stack, and `attempt` in it."""
        if self._begin(attempt, ASYNC):
            run = cast("Coroutines", attempt.handler.run)
            self._enter(attempt)
            attempt.stalled_us = -self._loop.stalled_us
            try:
                value = await run(Job(attempt.row, attempt))
                if value is not None:
                    attempt.ending = outcome.from_value(value)
            except BaseException as error:  # a handler may raise whatever it likes
                if isinstance(error, GeneratorExit) and not self._loop.is_running():
                    raise  # it is closed with the loop
                self._failed(error, attempt)
            attempt.stalled_us += self._loop.stalled_us
            if attempt.stalled_us > 0:
                _count_as_wait(attempt)
        self._end(attempt)
        if attempt.task is not None:  # it waited, so only this task continues in its slot
            following = self._slots.next(attempt.slot)
            if following is not None:
                self._loop.call_soon(self._continue, following)

    # --- threads ----------------------------------------------------------------------------

    def _to_thread(self, attempt: Attempt) -> None:
        attempt.entered_us = monotonic_ns() // 1000
        try:
            self._idle_threads.pop()
        except IndexError:
            if self._threads < len(self._slots.running):
                self._threads += 1
                threading.Thread(target=self._work, name="handlers", daemon=True).start()
        self._inbox.put(attempt)

    def _work(self) -> None:
        """Run functions for ever; each of the threads does this."""
        attempt: Attempt | None = self._inbox.get()
        while True:
            while attempt is not None:
                self._in_thread(attempt)
                attempt = self._next_in_thread(attempt.slot)
            self._idle_threads.append(None)
            attempt = self._inbox.get()

    def _in_thread(self, attempt: Attempt) -> None:
        if attempt.where == "process":
            error = self._run_isolated(attempt, lambda: self._begin(attempt, PROCESS))
            if error is not None:
                Context().run(self._fail, error, attempt)
        elif self._begin(attempt, THREAD):
            Context().run(self._call, attempt)
        self._end(attempt)

    def _call(self, attempt: Attempt) -> None:
        """Run a function, in the context that was made for it."""
        self._enter(attempt)
        try:
            value = attempt.handler.run(Job(attempt.row, attempt))
            if value is not None:
                attempt.ending = outcome.from_value(value)
        except BaseException as error:  # noqa: BLE001 - a handler may raise whatever it likes
            self._failed(error, attempt)

    def _fail(self, error: BaseException, attempt: Attempt) -> None:
        """Treat an error as raised by the handler, in a context that was made for it."""
        self._enter(attempt)
        self._failed(error, attempt)

    def _next_in_thread(self, slot: int) -> Attempt | None:
        """Return the next attempt if a thread runs it; start any other, or free the slot."""
        attempt = self._slots.next(slot)
        if attempt is None:
            if self._slots.has_ready:  # it came after `next` saw none
                self.fill_soon()
            return None
        if attempt.where in {"loop", "quarantine"}:
            self._loop.call_soon_threadsafe(self._continue, attempt)
            return None
        return attempt

    # --- before and after -------------------------------------------------------------------

    def _begin(self, attempt: Attempt, flags: int) -> bool:
        """Record the start for the parent; False when the attempt was stopped before it."""
        now_us = monotonic_ns() // 1000
        attempt.entered_us = attempt.entered_us or now_us
        if attempt.stop is not None:
            attempt.ending = _of_error(CancelledError(), attempt)
            return False
        seconds = attempt.timeout_seconds
        attempt.started_us = now_us
        attempt.deadline_us = now_us + int(seconds * 1e6)
        if now_us - attempt.arrived_us > LATE_US:
            attempt.sink.extend(attempt, seconds)
        self._slots.record_start(attempt, flags)
        if self._spans is not None:
            self._spans.begin(attempt)
        return True

    def _enter(self, attempt: Attempt) -> None:
        """Set the context's current job and span, for logs and spans."""
        log.running.set(attempt.row)
        if self._spans is not None:
            self._spans.enter(attempt)

    def _failed(self, error: BaseException, attempt: Attempt) -> None:
        """Give an attempt the ending that this error means, and report a failure."""
        end_if_copy(self._pid, error)
        attempt.ending = ending = _of_error(error, attempt)
        seconds = attempt.timeout_seconds if attempt.stop == "timeout" else None
        failure = outcome.failure(
            error,
            ending,
            attempts_left=attempt.row.attempt < attempt.max_attempts,
            timed_out_seconds=seconds,
        )
        if failure is not None:
            if self._spans is not None:
                self._spans.failed(attempt, failure)
            self._report_failure(Job(attempt.row, attempt), failure)

    def _end(self, attempt: Attempt) -> None:
        """Record the end; a copy of this process that a handler has forked ends before it."""
        end_if_copy(self._pid)
        # At least a microsecond: what had no slot has 0.
        attempt.ended_us = max(monotonic_ns() // 1000, attempt.entered_us + 1)
        if attempt.ending is not None:
            attempt.ending = delayed(attempt.ending, attempt.handler, attempt.row.attempt)
        if attempt.finished_by_handler:
            attempt.ending = outcome.finished_by_handler(attempt.ending)
        if self._spans is not None:
            self._spans.end(attempt)
        self._slots.record_end(attempt)
        self._ended(attempt)


def _of_error(error: BaseException, attempt: Attempt) -> outcome.Ending:
    return outcome.from_error(error, attempt.stop, attempt.timeout_seconds)


def _count_as_wait(attempt: Attempt) -> None:
    """Count the time in which others blocked the loop as a wait: it is theirs, and not its."""
    now_us = monotonic_ns() // 1000
    attempt.entered_us = min(attempt.entered_us + attempt.stalled_us, now_us)
    attempt.started_us = min(attempt.started_us + attempt.stalled_us, now_us)

"""Stop handlers at their deadlines, and return what was claimed too early.

The parent ends what does not stop, which may take seconds; meanwhile others have its slot.

Deadlines are checked twenty times a second instead of by a timer per job. This runs on the
event loop, so it cannot stop a handler that blocks the loop; the parent, which reads the same
deadlines in the attempt table, ends that one. While the loop is blocked `loop_watch` returns
what was claimed too early.
"""

from asyncio import AbstractEventLoop
from collections.abc import Callable, Iterable, Mapping
from time import monotonic_ns

from fairlead_worker.attempts.attempt import Attempt
from fairlead_worker.attempts.outcome import Stop
from fairlead_worker.child.slots import Slots
from fairlead_worker.ipc.attempt_table import ASKED, CANCELLED, EVICTED

CHECK_SECONDS = 0.05
READY_SECONDS_MAX = 0.5
"""How long a claimed attempt may wait for a slot before it goes back to the queue."""
STOP_SECONDS = 0.5
"""How long past its deadline a handler that was asked to stop keeps its slot."""
EXTEND_SECONDS = 1.0
"""How often the deadlines of attempts that wait at a gate are extended."""
_FLAGS: Mapping[Stop, int] = {"cancelled": CANCELLED, "evicted": EVICTED}


class DeadlineWatch:
    """Checks while something is held, and rests otherwise; on the event loop.

    Args:
        loop: the event loop.
        slots: what runs and what is ready.
        return_unrun: takes attempts that did not start.
        report_slotless: takes how many attempts have no slot, when that has changed.
        fill: starts what is ready in slots that are free.
    """

    def __init__(
        self,
        loop: AbstractEventLoop,
        slots: Slots,
        return_unrun: Callable[[Iterable[Attempt]], None],
        *,
        report_slotless: Callable[[int], None],
        fill: Callable[[], None],
    ) -> None:
        self._loop = loop
        self._slots = slots
        self._return_unrun = return_unrun
        self._report_slotless = report_slotless
        self._reported_slotless = 0
        self._fill = fill
        self._armed = False
        self._extend_at_us = 0

    def arm(self) -> None:
        """Check from now on, until nothing is held. A repeat does nothing."""
        if not self._armed:
            self._armed = True
            self._loop.call_later(CHECK_SECONDS, self._again)

    def _again(self) -> None:
        self._armed = False
        slotless = self._slots.slotless
        if slotless != self._reported_slotless:
            self._reported_slotless = slotless
            self._report_slotless(slotless)
        if self._slots.held:
            self.check(monotonic_ns() // 1000)
            self.arm()

    def check(self, now_us: int) -> None:
        """Stop what is past its deadline, and return what has been ready for too long."""
        for attempt in overdue(self._slots.running, now_us):
            self.stop(attempt, "timeout")
        until_us = now_us - int(STOP_SECONDS * 1e6)
        for attempt in unstopped(self._slots.running, until_us):
            if self._slots.stand_in(attempt):
                self._fill()
        self.return_late(now_us)
        if now_us >= self._extend_at_us:
            self._extend_at_us = now_us + int(EXTEND_SECONDS * 1e6)
            self._extend_waiting()

    def return_late(self, now_us: int) -> None:
        """Return what has been ready for too long. From any thread."""
        waited_too_long = self._take_ready_until(now_us - int(READY_SECONDS_MAX * 1e6))
        if waited_too_long:
            self._return_unrun(waited_too_long)

    def _extend_waiting(self) -> None:
        """Move the deadlines of what waits at a gate: its time has not begun."""
        for attempt in self._slots.waiting():
            attempt.sink.extend(attempt, attempt.timeout_seconds)

    def _take_ready_until(self, arrived_until_us: int) -> list[Attempt]:
        ready = self._slots.ready
        waited_too_long: list[Attempt] = []
        while True:
            try:
                attempt = ready.popleft()
            except IndexError:
                return waited_too_long
            if attempt.arrived_us >= arrived_until_us:
                ready.appendleft(attempt)
                return waited_too_long
            waited_too_long.append(attempt)

    def stop(self, attempt: Attempt, why: Stop) -> None:
        """Stop one handler. A repeat, and another reason later, change nothing.

        A coroutine is cancelled. Threads and processes poll `stop`.
        """
        flag = _FLAGS.get(why)  # with one, the parent ends it if it does not stop
        until_us = None if flag is None else monotonic_ns() // 1000
        if not self._slots.stop(attempt, why, ASKED | (flag or 0), until_us):
            return
        if attempt.task is not None and attempt.started_us:
            attempt.task.cancel()

    def stop_tokens(self, tokens: Iterable[int], why: Stop) -> None:
        """Stop the attempts with these tokens, if they are still here."""
        for token in tokens:
            attempt = self._slots.held.get(token)
            if attempt is not None:
                self.stop(attempt, why)

    def stop_all(self, why: Stop) -> None:
        """Stop everything."""
        self.stop_tokens(tuple(self._slots.held), why)


def unstopped(running: Iterable[Attempt | None], until_us: int) -> tuple[Attempt, ...]:
    """Return the running attempts that were asked to stop and were due by then."""
    return tuple(
        attempt
        for attempt in running
        if attempt is not None and attempt.stop is not None and attempt.deadline_us <= until_us
    )


def overdue(running: Iterable[Attempt | None], now_us: int) -> tuple[Attempt, ...]:
    """Return the running attempts that are past their deadlines and were not stopped."""
    return tuple(
        attempt
        for attempt in running
        if attempt is not None and attempt.stop is None and attempt.deadline_us <= now_us
    )

"""Tell handlers to stop, and take back what was claimed too early.

Deadlines are looked at twenty times a second instead of by a timer per job. This runs on the
event loop, so a handler that blocks the loop is not told anything; the parent, which reads the
same deadlines in the ledger, ends it.
"""

from asyncio import AbstractEventLoop
from collections.abc import Callable, Iterable
from time import monotonic_ns

from fairlead_worker.attempt import Attempt
from fairlead_worker.ledger import CANCELLED
from fairlead_worker.outcome import Stop
from fairlead_worker.slots import Slots

LOOK_SECONDS = 0.05
READY_SECONDS_MAX = 0.5
"""How long a claimed attempt may wait for a slot before somebody else may have it."""
KEEP_SECONDS = 1.0
"""How often attempts that wait at a gate say that they are still wanted."""


class Watch:
    """Looks while something is held, and rests otherwise. All of it runs on the event loop.

    Args:
        loop: the event loop.
        slots: what runs and what is ready.
        give_back: takes attempts that did not start.
    """

    def __init__(
        self,
        loop: AbstractEventLoop,
        slots: Slots,
        give_back: Callable[[Iterable[Attempt]], None],
    ) -> None:
        self._loop = loop
        self._slots = slots
        self._give_back = give_back
        self._looking = False
        self._keep_at_us = 0

    def arm(self) -> None:
        """Look from now on, until nothing is held. A repeat does nothing."""
        if not self._looking:
            self._looking = True
            self._loop.call_later(LOOK_SECONDS, self._again)

    def _again(self) -> None:
        self._looking = False
        if self._slots.held:
            self.look(monotonic_ns() // 1000)
            self.arm()

    def look(self, now_us: int) -> None:
        """Stop what is past its deadline, and return what has been ready for too long."""
        for attempt in overdue(self._slots.running, now_us):
            self.stop(attempt, "timeout")
        stale = self._stale(now_us - int(READY_SECONDS_MAX * 1e6))
        if stale:
            self._give_back(stale)
        if now_us >= self._keep_at_us:
            self._keep_at_us = now_us + int(KEEP_SECONDS * 1e6)
            self._keep()

    def _keep(self) -> None:
        """Move the deadlines of what waits for its turn: its time has not begun."""
        for attempt in self._slots.waiting():
            attempt.desk.extend(attempt, attempt.timeout_seconds)

    def _stale(self, arrived_until_us: int) -> list[Attempt]:
        ready = self._slots.ready
        stale: list[Attempt] = []
        while True:
            try:
                attempt = ready.popleft()
            except IndexError:
                return stale
            if attempt.arrived_us >= arrived_until_us:
                ready.appendleft(attempt)
                return stale
            stale.append(attempt)

    def stop(self, attempt: Attempt, why: Stop) -> None:
        """Tell one handler to stop. A repeat, and another reason later, change nothing.

        A coroutine is cancelled. Threads and processes are told: they look at `stop`.
        """
        if attempt.stop is not None:
            return
        attempt.stop = why
        if why == "cancelled":
            attempt.deadline_us = min(attempt.deadline_us, monotonic_ns() // 1000)
            self._slots.renote(attempt, CANCELLED)
        if attempt.task is not None and attempt.started_us:
            attempt.task.cancel()

    def stop_tokens(self, tokens: Iterable[int], why: Stop) -> None:
        """Tell the attempts with these tokens to stop, if they are still here."""
        for token in tokens:
            attempt = self._slots.held.get(token)
            if attempt is not None:
                self.stop(attempt, why)

    def stop_all(self, why: Stop) -> None:
        """Tell everything to stop."""
        self.stop_tokens(tuple(self._slots.held), why)


def overdue(running: Iterable[Attempt | None], now_us: int) -> tuple[Attempt, ...]:
    """Return the running attempts that are past their deadlines and were not told to stop."""
    return tuple(
        attempt
        for attempt in running
        if attempt is not None and attempt.stop is None and attempt.deadline_us <= now_us
    )

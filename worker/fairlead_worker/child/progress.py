"""What running handlers report: longer deadlines, and how far they are.

Reports travel on the worker's own connection and never in the handler's transaction: a handler
may have none, or one that will be rolled back. The finisher stores them together.
"""

from collections import deque
from collections.abc import Callable
from time import monotonic_ns

from fairlead_worker.attempts.attempt import Attempt
from fairlead_worker.child.slots import Slots


class ProgressReports:
    """Collects reports, from any thread, until the finisher takes them.

    Args:
        slots: where the parent reads the deadlines.
        wake: wakes the finisher.
    """

    def __init__(self, slots: Slots, wake: Callable[[], None]) -> None:
        self._slots = slots
        self._wake = wake
        self._extensions: deque[tuple[Attempt, float]] = deque()
        self._latest: dict[int, tuple[Attempt, float, str]] = {}
        self._reported: set[int] = set()

    def extend(self, attempt: Attempt, by_seconds: float) -> None:
        """Move a deadline: here at once, in the database soon. Too late, it changes nothing."""
        longer_us = monotonic_ns() // 1000 + int(by_seconds * 1e6)
        if self._slots.extend_deadline(attempt, longer_us):
            self._extensions.append((attempt, by_seconds))
            self._wake()

    def report(self, attempt: Attempt, fraction: float, note: str) -> None:
        """Keep the latest progress of an attempt."""
        self._latest[attempt.token] = (attempt, fraction, note)

    def take_extensions(self) -> list[tuple[Attempt, float]]:
        """Take what was extended, the longest per attempt."""
        longest: dict[int, tuple[Attempt, float]] = {}
        while self._extensions:
            attempt, seconds = self._extensions.popleft()
            former = longest.get(attempt.token)
            if former is None or former[1] < seconds:
                longest[attempt.token] = (attempt, seconds)
        return list(longest.values())

    def put_back(self, extensions: list[tuple[Attempt, float]]) -> None:
        """Keep extensions that could not be stored; a little late is better than never."""
        self._extensions.extend(extensions)

    @property
    def has_latest(self) -> bool:
        """Whether there is progress that was not taken."""
        return bool(self._latest)

    def take_latest(self) -> list[tuple[Attempt, float, str]]:
        """Take the progress that is new, of attempts that have not ended."""
        taken = [self._latest.pop(token) for token in tuple(self._latest)]
        current = [each for each in taken if each[0].token in self._slots.held]
        self._reported.update(attempt.token for attempt, _, _ in current)
        return current

    def take_of(self, attempts: list[Attempt]) -> list[tuple[Attempt, float, str]]:
        """Take the new progress of these attempts, which may have ended."""
        found = [
            self._latest.pop(each.token) for each in attempts if each.token in self._latest
        ]
        self._reported.update(attempt.token for attempt, _, _ in found)
        return found

    def take_ended(self, attempts: list[Attempt]) -> list[Attempt]:
        """Take those of the ended attempts whose progress was stored."""
        if not self._reported:
            return []
        ended = [attempt for attempt in attempts if attempt.token in self._reported]
        self._reported.difference_update(attempt.token for attempt in ended)
        return ended

"""What running handlers report: longer deadlines, how far they are, and their checkpoints.

Reports travel on the worker's own connection and never in the handler's transaction: a handler
may have none, or one that will be rolled back. The finisher stores them together.
"""

from collections import deque
from collections.abc import Callable
from time import monotonic, monotonic_ns

from fairlead_worker.attempts.attempt import Attempt
from fairlead_worker.child.slots import Slots

CHECKPOINT_SECONDS = 0.1
"""How often checkpoints are stored at most: each is a version of a job's row."""


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
        self._checkpoints: dict[int, tuple[Attempt, str]] = {}
        self._checkpoints_at = 0.0

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

    def take_latest(self) -> list[tuple[Attempt, float, str]]:
        """Take the progress that is new, of attempts that have not ended."""
        taken = [self._latest.pop(token) for token in tuple(self._latest)]
        current = [each for each in taken if each[0].token in self._slots.held]
        self._reported.update(attempt.token for attempt, _, _ in current)
        return current

    def take_ended(self, attempts: list[Attempt]) -> list[Attempt]:
        """Take those of the ended attempts whose progress was stored."""
        if not self._reported:
            return []
        ended = [attempt for attempt in attempts if attempt.token in self._reported]
        self._reported.difference_update(attempt.token for attempt in ended)
        return ended

    # --- checkpoints --------------------------------------------------------------------------

    def checkpoint(self, attempt: Attempt, text: str) -> None:
        """Keep the latest checkpoint of an attempt, to be stored soon."""
        is_first = not self._checkpoints
        self._checkpoints[attempt.token] = (attempt, text)
        if is_first:
            self._wake()

    def checkpoints_wait_seconds(self, *, or_else: float) -> float:
        """Return how long checkpoints wait until they are due, if there are any."""
        return max(0.0, self._checkpoints_at - monotonic()) if self._checkpoints else or_else

    def take_checkpoints(self) -> list[tuple[Attempt, str]]:
        """Take those that are due."""
        if not self._checkpoints or monotonic() < self._checkpoints_at:
            return []
        self._checkpoints_at = monotonic() + CHECKPOINT_SECONDS
        return [self._checkpoints.pop(token) for token in tuple(self._checkpoints)]

    def take_checkpoints_of(self, attempts: list[Attempt]) -> list[tuple[Attempt, str]]:
        """Take those of attempts that have ended, due or not."""
        if not self._checkpoints:
            return []
        found = [self._checkpoints.pop(each.token, None) for each in attempts]
        return [each for each in found if each is not None]

    def put_back_checkpoints(self, checkpoints: list[tuple[Attempt, str]]) -> None:
        """Keep what could not be stored, unless there is a later one."""
        for attempt, text in checkpoints:
            self._checkpoints.setdefault(attempt.token, (attempt, text))

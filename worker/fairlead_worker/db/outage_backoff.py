"""Backoff while the database does not take a write: how long to rest before the next try.

Pure but for random jitter: the caller passes the time.
"""

import random

_REST_SECONDS_FIRST, _REST_SECONDS_MAX = 0.1, 3.0


class Backoff:
    """Rests that double, with jitter, so that workers do not retry in step."""

    def __init__(self) -> None:
        self._limit_seconds = _REST_SECONDS_FIRST
        self._until = 0.0

    def failed(self, now: float) -> float:
        """Rest from now on; return for how many seconds."""
        rest_seconds = random.uniform(self._limit_seconds / 4, self._limit_seconds)
        self._limit_seconds = min(2 * self._limit_seconds, _REST_SECONDS_MAX)
        self._until = now + rest_seconds
        return rest_seconds

    def succeeded(self) -> None:
        """Reset: the next failure is the first one again."""
        self._limit_seconds = _REST_SECONDS_FIRST
        self._until = 0.0

    @property
    def is_failing(self) -> bool:
        """Whether nothing has succeeded since the last failure."""
        return self._limit_seconds > _REST_SECONDS_FIRST

    def is_waiting(self, now: float) -> bool:
        """Return whether it is too early to try again."""
        return now < self._until

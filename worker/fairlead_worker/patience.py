"""How long to rest while something fails again and again.

Pure but for chance: the caller says what time it is.
"""

import random

_REST_SECONDS_FIRST, _REST_SECONDS_MAX = 0.1, 3.0


class Patience:
    """Rests that double, with jitter, so that workers do not ask in step."""

    def __init__(self) -> None:
        self._limit_seconds = _REST_SECONDS_FIRST
        self._until = 0.0

    def failed(self, now: float) -> float:
        """Rest from now on; return for how many seconds."""
        rest_seconds = random.uniform(self._limit_seconds / 4, self._limit_seconds)
        self._limit_seconds = min(2 * self._limit_seconds, _REST_SECONDS_MAX)
        self._until = now + rest_seconds
        return rest_seconds

    def worked(self) -> None:
        """Begin anew: the next failure is the first one again."""
        self._limit_seconds = _REST_SECONDS_FIRST
        self._until = 0.0

    @property
    def failing(self) -> bool:
        """Whether nothing has worked since the last failure."""
        return self._limit_seconds > _REST_SECONDS_FIRST

    def rests(self, now: float) -> bool:
        """Tell whether it is too early to try again."""
        return now < self._until

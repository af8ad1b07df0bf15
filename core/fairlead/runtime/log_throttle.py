"""When to log again a state that lasts: the caller passes the time, so it is pure."""

REMIND_SECONDS = 30.0


class LogThrottle:
    """Allows a lasting state to be logged once, again when it changes, and at intervals.

    Args:
        again_seconds: Seconds after which an unchanged state is logged again.
    """

    def __init__(self, again_seconds: float = REMIND_SECONDS) -> None:
        self._again_seconds = again_seconds
        self._said: str | None = None
        self._again_at = 0.0

    def due(self, state: str, now: float) -> bool:
        """Return whether the caller should log this state now."""
        if state == self._said and now < self._again_at:
            return False
        self._said, self._again_at = state, now + self._again_seconds
        return True

    def reset(self) -> None:
        """Forget the state, so that it is logged at once when it returns."""
        self._said = None

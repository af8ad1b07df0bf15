"""When to say again what lasts: the caller says what time it is, so it is pure."""

REMIND_SECONDS = 30.0


class Reminder:
    """Says what lasts once, again when it changes, and now and then.

    Args:
        again_seconds: After how long what has not changed is said again.
    """

    def __init__(self, again_seconds: float = REMIND_SECONDS) -> None:
        self._again_seconds = again_seconds
        self._said: str | None = None
        self._again_at = 0.0

    def due(self, state: str, now: float) -> bool:
        """Tell whether to say this now; the caller says it then."""
        if state == self._said and now < self._again_at:
            return False
        self._said, self._again_at = state, now + self._again_seconds
        return True

    def over(self) -> None:
        """Forget it: when it comes back, that is news."""
        self._said = None

"""When to say again what lasts: the caller says what time it is, so it is pure."""

REMIND_SECONDS = 30.0


class Reminder:
    """Says what lasts once, again when it changes, and every 30 s."""

    def __init__(self) -> None:
        self._said: str | None = None
        self._again_at = 0.0

    def due(self, state: str, now: float) -> bool:
        """Tell whether to say this now; the caller says it then."""
        if state == self._said and now < self._again_at:
            return False
        self._said, self._again_at = state, now + REMIND_SECONDS
        return True

    def over(self) -> None:
        """Forget it: when it comes back, that is news."""
        self._said = None

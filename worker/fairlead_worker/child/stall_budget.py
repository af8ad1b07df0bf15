"""Which kinds of handlers keep the event loop from everything else, and for too long.

Pure: how long each stall lasted and when go in; what to log and who has spent its budget come
out.
"""

from collections import deque
from dataclasses import dataclass, field

STALL_SECONDS = 0.1
"""From which length on a stall counts."""
BUDGET_SECONDS = 0.25
"""For how long the stalls of one kind may keep the loop within `WINDOW_SECONDS`."""
WINDOW_SECONDS = 60.0


@dataclass(slots=True)
class _Kind:
    """When the last stalls of one kind ended and their lengths; when it may be logged again."""

    stalls: deque[tuple[float, float]] = field(default_factory=deque[tuple[float, float]])
    log_again_at: float = 0.0


class StallBudget:
    """Adds up stalls by kind; there are no more kinds than the application has handlers."""

    def __init__(self) -> None:
        self._kinds: dict[str, _Kind] = {}

    def is_spent(self, kind: str, seconds: float, now: float) -> bool:
        """Return whether a stall that has lasted so long by now spends the kind's budget."""
        if seconds < STALL_SECONDS:
            return False
        known = self._kinds.get(kind, _Kind())
        while known.stalls and known.stalls[0][0] <= now - WINDOW_SECONDS:
            known.stalls.popleft()
        return seconds + sum(each for _, each in known.stalls) >= BUDGET_SECONDS

    def stalled(self, kind: str, seconds: float, now: float) -> bool:
        """Count a stall that is over; return whether to log it: a kind is, once a minute."""
        known = self._kinds.setdefault(kind, _Kind())
        known.stalls.append((now, seconds))
        log = now >= known.log_again_at
        if log:
            known.log_again_at = now + WINDOW_SECONDS
        return log

"""Which kinds of handlers keep the event loop from everything else, and too often.

Pure: how long each stall lasted and when go in; what to log and whom to isolate come out.
"""

from dataclasses import dataclass, field

STALL_SECONDS = 0.1
"""From which length on a stall counts."""
STALLS_MAX = 3
"""How many stalls of one kind within `WINDOW_SECONDS` are too many."""
WINDOW_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class StallDecision:
    """What follows from a stall."""

    log: bool
    isolate: bool


@dataclass(slots=True)
class _Kind:
    """When the last stalls of one kind were, and when it may be logged again."""

    at: list[float] = field(default_factory=list[float])
    log_again_at: float = 0.0


class StallBudget:
    """Counts stalls by kind; there are no more kinds than the application has handlers."""

    def __init__(self) -> None:
        self._kinds: dict[str, _Kind] = {}

    def stalled(self, kind: str, now: float) -> StallDecision:
        """Count a stall; log a kind once a minute, and isolate it from the third one on."""
        known = self._kinds.setdefault(kind, _Kind())
        known.at = [at for at in known.at if at > now - WINDOW_SECONDS][-STALLS_MAX + 1 :]
        known.at.append(now)
        log = now >= known.log_again_at
        if log:
            known.log_again_at = now + WINDOW_SECONDS
        return StallDecision(log, len(known.at) >= STALLS_MAX)

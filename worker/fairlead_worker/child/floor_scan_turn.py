"""When to claim below the floor: pure decisions of the claimer.

Rows are put above the floor, and one that lies below it all the same must not stay there. So
once a second one worker of the pool scans below it, namely one that has found nothing for a
second. It does not while work flows: then the leader dispatches and lowers the floor to what it
knows to be unclaimed, and under an open snapshot the walk below the floor passes every dead
entry.

A claimer that was woken and found nothing becomes urgent: the row it was woken for may lie
there. It does not rest for long until it or another worker has scanned since the wakeup.
"""

from dataclasses import dataclass, replace

TURN_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FloorScanTurn:
    """What one claimer has found and requested, in seconds of one clock."""

    found_at: float = 0.0
    """When a claim last found something."""
    asked_at: float = 0.0
    """When a turn was last requested."""
    missed_wakeup_at: float | None = None
    """When a wakeup's row was not found; None while not urgent."""

    def found(self, now: float) -> "FloorScanTurn":
        """Return the state after a claim that found something."""
        return replace(self, found_at=now)

    def missed_wakeup(self, now: float) -> "FloorScanTurn":
        """Return the state after a wakeup for which nothing was found."""
        return replace(self, missed_wakeup_at=now)

    def asked(self, now: float, *, ours: bool) -> "FloorScanTurn":
        """Return the state after requesting a turn; if not ours, another worker has had it.

        That was within the last second. The urgency ends when the turn is ours, or when the
        other worker scanned after the wakeup.
        """
        missed_wakeup_at = self.missed_wakeup_at
        after = missed_wakeup_at is not None and now >= missed_wakeup_at + TURN_SECONDS
        return replace(
            self, asked_at=now, missed_wakeup_at=None if ours or after else missed_wakeup_at
        )

    @property
    def next_at(self) -> float:
        """When to request a turn next."""
        return max(self.found_at, self.asked_at) + TURN_SECONDS

    @property
    def is_urgent(self) -> bool:
        """Whether to ask again as soon as it may be our turn."""
        return self.missed_wakeup_at is not None

    def is_quiet_at(self, now: float) -> bool:
        """Return whether nothing was found for so long that a claim is preceded by a read."""
        return now >= self.found_at + TURN_SECONDS

    def is_due_at(self, now: float) -> bool:
        """Return whether to request a turn now."""
        return now >= self.next_at

    def is_urgent_at(self, now: float) -> bool:
        """Return whether to request a turn before any rest."""
        return self.is_urgent and self.is_due_at(now)

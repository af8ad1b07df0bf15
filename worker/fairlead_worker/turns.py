"""When to look below the floor: pure decisions of the claimer.

Rows are put above the floor, and one that lies below it all the same must not stay there. So
once a second somebody of the pool looks who has found nothing for a second. Not while work
flows: then the leader dispatches, and lowers the floor to what it knows to be unclaimed, and
under an open snapshot the walk below it passes every dead entry.

Whoever was called and has found nothing hunts: what it was called for may lie there. It does
not rest for long until itself or another one has looked since the call.
"""

from dataclasses import dataclass, replace

TURN_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """What one claimer has found and asked for, in seconds of one clock."""

    found_at: float = 0.0
    """When a claim found something last."""
    asked_at: float = 0.0
    """When a turn was asked for last."""
    missed_at: float | None = None
    """When what it was called for was not found; None while it does not hunt."""

    def found(self, now: float) -> "Turns":
        """Return the turns after a claim that found something."""
        return replace(self, found_at=now)

    def missed(self, now: float) -> "Turns":
        """Return the turns after a call for which nothing was found."""
        return replace(self, missed_at=now)

    def asked(self, now: float, *, ours: bool) -> "Turns":
        """Return the turns after asking for one; not ours is what another had within a second.

        The hunt is over when it is ours, or when the other one has looked after the call.
        """
        missed_at = self.missed_at
        after = missed_at is not None and now >= missed_at + TURN_SECONDS
        return replace(self, asked_at=now, missed_at=None if ours or after else missed_at)

    @property
    def next_at(self) -> float:
        """When to ask for a turn next."""
        return max(self.found_at, self.asked_at) + TURN_SECONDS

    @property
    def hunts(self) -> bool:
        """Whether to ask again as soon as it may be our turn."""
        return self.missed_at is not None

    def quiet_at(self, now: float) -> bool:
        """Tell whether nothing was found for so long that a claim is preceded by a look."""
        return now >= self.found_at + TURN_SECONDS

    def due_at(self, now: float) -> bool:
        """Tell whether to ask for a turn now."""
        return now >= self.next_at

    def hunts_at(self, now: float) -> bool:
        """Tell whether to ask for a turn before any rest."""
        return self.hunts and self.due_at(now)

"""How many jobs a child may hold unstarted: fewer after a claim that ended its process.

Pure: deaths and the time go in; the bound comes out. Jobs that fit one by one may together be
larger than the memory that a child has, so a death with nothing started halves the bound, down
to one: then a child holds one job at a time, and a death is that job's. The bound doubles again
after `DOUBLES_SECONDS`, and after twice as long whenever it had doubled once too often.
"""

from math import inf

UNBOUNDED = 512
"""More than one claim takes; a child may hold more, and the first death bounds it by half."""
DOUBLES_SECONDS = 10.0
DOUBLES_SECONDS_MAX = 640.0
FORGOTTEN_SECONDS = 600.0
"""So long after the last bound the next one begins anew."""


class ClaimBound:
    """The bound of one worker's children."""

    def __init__(self) -> None:
        self._jobs_max = UNBOUNDED
        self._seconds = DOUBLES_SECONDS
        self._doubles_at = -inf
        self._has_doubled = False

    def at(self, now: float) -> int | None:
        """Return the bound; None: there is none."""
        while self._jobs_max < UNBOUNDED and now >= self._doubles_at:
            self._jobs_max *= 2
            self._has_doubled = True
            self._doubles_at += self._seconds
        return self._jobs_max if self._jobs_max < UNBOUNDED else None

    def died(self, now: float) -> None:
        """Halve the bound: a child died with nothing started."""
        self._lower((self.at(now) or UNBOUNDED) // 2, now)

    def claimed(self, jobs: int, now: float) -> None:
        """Note how many jobs such a child had claimed: the bound is half of them at most.

        One was alone: it is to blame, and the others go on.
        """
        if jobs > 1:
            self._lower(min(self.at(now) or UNBOUNDED, jobs // 2), now)

    def _lower(self, jobs_max: int, now: float) -> None:
        if now > self._doubles_at + FORGOTTEN_SECONDS:
            self._seconds = DOUBLES_SECONDS
        elif self._has_doubled:
            self._seconds = min(2 * self._seconds, DOUBLES_SECONDS_MAX)
        self._has_doubled = False
        self._jobs_max = max(1, min(jobs_max, UNBOUNDED))
        self._doubles_at = now + self._seconds

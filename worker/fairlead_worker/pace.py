"""How much to claim and how long to rest: pure decisions of the claimer.

Short jobs are claimed ahead, so that handlers never wait for a round trip: as many as this
child ends in about 20 ms at its present pace. For long jobs that is less than one, so they
are claimed one by one as slots become free, and no job waits behind a long one that it was
claimed with.
"""

from dataclasses import dataclass, replace

BATCH_MAX = 500
AHEAD_SECONDS = 0.02
AHEAD_MAX = 600
_BRISK = 50.0
"""Endings a second, from which on one in five finds another within four milliseconds."""
REST_SECONDS_LOWEST = 0.005
REST_SECONDS_MAX = 12.0
"""While rows wait, the leader calls everybody at least every two seconds, and who hands rows
back calls too. For what nobody calls for it is, with its jitter, what a lost lease takes."""
REST_SECONDS_MAX_WITHOUT_LISTEN = 0.5
_SAMPLE_SECONDS = 0.01
_WEIGHT = 0.4


@dataclass(frozen=True, slots=True)
class Pace:
    """Jobs ended per second, smoothed over the last few samples."""

    per_second: float = 0.0
    ended: int = 0
    at: float = 0.0

    def after(self, ended: int, now: float) -> "Pace":
        """Return the pace with another look at the count of ended jobs."""
        seconds = now - self.at
        if seconds < _SAMPLE_SECONDS:
            return self
        # A rest says nothing about the pace; it is a sample like any other, and soon forgotten.
        rate = (ended - self.ended) / seconds
        smoothed = self.per_second + _WEIGHT * (rate - self.per_second)
        return replace(self, per_second=smoothed, ended=ended, at=now)

    @property
    def ahead(self) -> int:
        """How many to hold ready beyond the free slots."""
        return min(AHEAD_MAX, int(self.per_second * AHEAD_SECONDS))

    @property
    def is_brisk(self) -> bool:
        """Whether an ending should wait a moment for others, to be written with them."""
        return self.per_second >= _BRISK


def wanted(*, free: int, ready: int, ahead: int) -> int:
    """Return how many to claim now; 0 when it is better to wait for more room."""
    room = free + ahead - ready
    enough = 1 if free > ready else max(1, ahead // 2)
    return min(room, BATCH_MAX) if room >= enough else 0


def rest_seconds(*, quiet_seconds: float, listens: bool) -> float:
    """Return how long to rest after a claim that found less than it wanted.

    As long as it has been quiet already, within bounds: a wake-up that was lost between two
    states costs no more than the silence before it.
    """
    highest = REST_SECONDS_MAX if listens else REST_SECONDS_MAX_WITHOUT_LISTEN
    return min(max(quiet_seconds, REST_SECONDS_LOWEST), highest)

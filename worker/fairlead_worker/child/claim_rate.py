"""How much to claim and how long to rest: pure decisions of the claimer.

Short jobs are prefetched, so that handlers never wait for a round trip: as many as this child
ends in about 20 ms at its present rate. For long jobs that is less than one, so they are
claimed one by one as slots become free, and no job waits behind a long one that it was claimed
with.
"""

from dataclasses import dataclass, replace

BATCH_MAX = 500
PREFETCH_SECONDS = 0.02
PREFETCH_MAX = 600
_BATCHING_PER_SECOND = 50.0
"""Endings per second, from which on one in five finds another within four milliseconds."""
REST_SECONDS_LOWEST = 0.005
REST_SECONDS_MAX = 12.0
"""While rows wait, the leader wakes every worker at least every two seconds, and a hand-back
wakes them too. For rows without a wakeup this is, with its jitter, the longest delay, about as
long as a lost lease takes."""
REST_SECONDS_MAX_WITHOUT_LISTEN = 0.5
_SAMPLE_SECONDS = 0.01
_WEIGHT = 0.4


@dataclass(frozen=True, slots=True)
class JobRate:
    """Jobs ended per second, smoothed over the last few samples."""

    per_second: float = 0.0
    ended: int = 0
    at: float = 0.0

    def after(self, ended: int, now: float) -> "JobRate":
        """Return the rate after another sample of the count of ended jobs."""
        seconds = now - self.at
        if seconds < _SAMPLE_SECONDS:
            return self
        # A rest says nothing about the rate; it is a sample like any other, soon outweighed.
        rate = (ended - self.ended) / seconds
        smoothed = self.per_second + _WEIGHT * (rate - self.per_second)
        return replace(self, per_second=smoothed, ended=ended, at=now)

    @property
    def prefetch(self) -> int:
        """How many to hold ready beyond the free slots."""
        return min(PREFETCH_MAX, int(self.per_second * PREFETCH_SECONDS))

    @property
    def should_batch(self) -> bool:
        """Whether an ending should wait a moment for others, to be stored with them."""
        return self.per_second >= _BATCHING_PER_SECOND


def claim_limit(*, free: int, ready: int, prefetch: int) -> int:
    """Return how many to claim now; 0 when it is better to wait for more space."""
    space = free + prefetch - ready
    enough = 1 if free > ready else max(1, prefetch // 2)
    return min(space, BATCH_MAX) if space >= enough else 0


def rest_seconds(*, quiet_seconds: float, listens: bool) -> float:
    """Return how long to rest after a claim that found less than it wanted.

    As long as it has been quiet already, within bounds: a wakeup that was lost between two
    states delays a job no longer than the silence before it lasted.
    """
    highest = REST_SECONDS_MAX if listens else REST_SECONDS_MAX_WITHOUT_LISTEN
    return min(max(quiet_seconds, REST_SECONDS_LOWEST), highest)

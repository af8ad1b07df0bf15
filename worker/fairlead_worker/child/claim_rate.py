"""How much to claim and how long to rest: pure decisions of the claimer.

Short jobs are prefetched, so that handlers never wait for a round trip: as many as this child
ends in about 20 ms at its present rate. For long jobs that is less than one, so they are
claimed one by one as slots become free, and no job waits behind a long one that it was claimed
with.

A bound, which the parent sets after a claim that a process did not survive, holds for what has
not started. With a bound of one a child holds one attempt at a time, started or not, so that
whatever ends the process is that one.
"""

from dataclasses import dataclass, replace

BATCH_MAX = 500
HELD_MAX = 5000
"""With more, nothing is claimed: they end, and their endings cannot be stored."""
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

    def after(self, ended: int, now: float, *, full: bool = False) -> "JobRate":
        """Return the rate after another sample of the count of ended jobs.

        If all slots are taken, what ended is what they can end: then a long sample outweighs
        the ones before it, as jobs that are much longer than those before them have to.
        """
        seconds = now - self.at
        if seconds < _SAMPLE_SECONDS:
            return self
        # A rest says nothing about the rate; it is a sample like any other, soon outweighed.
        rate = (ended - self.ended) / seconds
        weight = 1 - (1 - _WEIGHT) ** (seconds / _SAMPLE_SECONDS) if full else _WEIGHT
        smoothed = self.per_second + weight * (rate - self.per_second)
        return replace(self, per_second=smoothed, ended=ended, at=now)

    @property
    def prefetch(self) -> int:
        """How many to hold ready beyond the free slots."""
        return min(PREFETCH_MAX, int(self.per_second * PREFETCH_SECONDS))

    @property
    def should_batch(self) -> bool:
        """Whether an ending should wait a moment for others, to be stored with them."""
        return self.per_second >= _BATCHING_PER_SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What a child holds, and what it has room for."""

    free: int
    """Slots."""
    ready: int
    """Attempts that wait for nothing but a slot."""
    held: int
    """Attempts in all, from their claims until their endings are stored."""


def bounded_limit(room: Room, prefetch: int, bound: int | None) -> int:
    """Return how many to claim now under a bound; None: there is none."""
    free, ready = room.free, room.ready
    if bound is None:
        return claim_limit(free=free, ready=ready, prefetch=prefetch)
    if bound == 1 and room.held:
        return 0
    limit = claim_limit(free=free, ready=ready, prefetch=min(prefetch, bound))
    return max(0, min(limit, bound - ready))


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

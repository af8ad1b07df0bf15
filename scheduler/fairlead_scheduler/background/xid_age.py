"""The age of a transaction id in seconds, from samples of the newest id.

PostgreSQL keeps no commit times unless a setting turns them on. So the next id is sampled now
and then; an id was new at the time of the last sample whose id is not a later one.
"""

from bisect import bisect_right
from collections import deque

SAMPLES_MAX = 2160
"""Six hours of samples, ten seconds apart; an older id counts as old as the first sample."""


class XidAge:
    """The samples of one term."""

    def __init__(self, *, samples_max: int = SAMPLES_MAX) -> None:
        self._ids: deque[int] = deque(maxlen=samples_max)
        self._seconds: deque[float] = deque(maxlen=samples_max)

    def sample(self, next_id: int, now_seconds: float) -> None:
        """Add a sample: the id that the next transaction will have, which never decreases."""
        self._ids.append(next_id)
        self._seconds.append(now_seconds)

    def age_seconds(self, transactions: int) -> float:
        """Return how long ago the id was new since which so many ids were assigned.

        Its precision is the time between two samples. An id as new as the last sample is 0
        seconds old; one older than all samples is as old as the first. Needs a sample.
        """
        found = bisect_right(self._ids, self._ids[-1] - transactions)
        if found == len(self._ids):
            return 0.0
        return self._seconds[-1] - self._seconds[max(0, found - 1)]

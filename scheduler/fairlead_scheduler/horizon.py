"""How old a transaction id is in seconds, by when ids were seen to be new.

PostgreSQL keeps no times of transactions that it can be asked for without a setting. So the
newest id is noted now and then; an old one was new when the last note was made whose id is not
a later one.
"""

from bisect import bisect_right
from collections import deque

NOTES_MAX = 2160
"""Six hours of notes ten seconds apart; what is older is said to be as old as the first."""


class Horizon:
    """What was noted in one term."""

    def __init__(self, *, notes_max: int = NOTES_MAX) -> None:
        self._ids: deque[int] = deque(maxlen=notes_max)
        self._seconds: deque[float] = deque(maxlen=notes_max)

    def note(self, next_id: int, now_seconds: float) -> None:
        """Note the id that the next transaction will have; never a lower one than before."""
        self._ids.append(next_id)
        self._seconds.append(now_seconds)

    def age_seconds(self, transactions: int) -> float:
        """Return how long ago an id was new, since which so many were given out.

        It is right to the time between two notes. What is as new as the last one is 0 seconds
        old, and what is older than all of them as old as the first. There must be a note.
        """
        found = bisect_right(self._ids, self._ids[-1] - transactions)
        if found == len(self._ids):
            return 0.0
        return self._seconds[-1] - self._seconds[max(0, found - 1)]

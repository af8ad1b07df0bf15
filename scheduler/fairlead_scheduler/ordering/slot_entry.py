"""Which claimed jobs have a slot: workers claim short jobs ahead of the slots they will need.

A job that is claimed ahead uses nothing yet. Receipts say when a job is claimed and how long it
had its slot, not when it entered it; so jobs are taken to enter slots in the order of their
claims, as workers let them. Of several workers one may have a free slot while a job waits in
another: which of two jobs is running may be wrong for a moment, how many are is not, and an
ending corrects it.
"""

import sys
from collections import deque
from collections.abc import Collection, Iterator

from fairlead_scheduler.ordering.in_flight import AHEAD, InFlightJob

_QUEUED_US = 100_000
"""For how long what is queued or claimed ahead may occupy all slots: four ticks and round
trips, and what workers claim ahead at a steady pace, roughly."""
_QUEUED_LEAST = 8
"""So much is queued or claimed ahead beyond the free slots however long it takes."""


class SlotEntry:
    """The slots of a pool, and the jobs that are claimed ahead of them."""

    __slots__ = (
        "_full_at_us",
        "ahead",
        "ahead_max",
        "free",
        "idle",
        "occupied",
        "passed_over",
        "passed_over_us",
        "slots",
    )

    def __init__(self) -> None:
        self.slots = 1
        """Of the pool's live workers."""
        self.occupied = 0
        """The jobs that have one."""
        self.free = 0
        """The slots for which their own workers hold nothing."""
        self.idle = 0
        """How many of them have been free for a while, and no row waits for."""
        self.ahead_max = sys.maxsize
        """How many jobs live workers hold that wait for a slot."""
        self.ahead: deque[tuple[InFlightJob, int]] = deque()
        """Those that have none, and when they were claimed; some may have left since."""
        self.passed_over: Collection[int] = ()
        """The rows that claims pass over: they keep no others out."""
        self.passed_over_us = 0
        """How long these will take."""
        self._full_at_us = 0
        """When jobs last were left without a slot."""

    def may_queue(self, unclaimed: int, ahead: int, waiting_us: int) -> tuple[int, int]:
        """Return how many more rows may be queued whatever they take, and how much more work.

        What is claimed ahead counts as well: workers may do so as fast as the last jobs were
        short, and whoever comes later waits for it.

        Args:
            unclaimed: How many rows wait for a worker.
            ahead: How many jobs are claimed and have no slot.
            waiting_us: How long all these will take, by evidence.
        """
        passed_over = len(self.passed_over)
        # The rest waits for no slot, but for the turn of its kind or for the end of a lease.
        first = min(ahead, self.ahead_max)
        rest_us = (ahead - first) * waiting_us // max(1, unclaimed + ahead)
        free = max(self.slots - self.occupied, self.free)
        least = free + max(0, _QUEUED_LEAST - first) + passed_over
        work_us = self.slots * _QUEUED_US + self.passed_over_us + rest_us
        return least - unclaimed, work_us - waiting_us

    def entered(self, now_us: int) -> Iterator[tuple[InFlightJob, int]]:
        """Yield jobs for which slots have become free, and since when they have had them."""
        ahead = self.ahead
        while ahead and self.occupied < self.slots:
            job, claimed_us = ahead.popleft()
            if job.claimed_us == AHEAD:
                self.occupied += 1
                yield job, max(claimed_us, self._full_at_us)
        self._full_at_us = now_us

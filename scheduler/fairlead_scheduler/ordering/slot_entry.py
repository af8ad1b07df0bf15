"""Which claimed jobs have a slot: workers claim short jobs ahead of the slots they will need.

A job that is claimed ahead uses nothing yet. Receipts say when a job is claimed and how long it
had its slot, not when it entered it; so jobs are taken to enter slots in the order of their
claims, as workers let them. Of several workers one may have a free slot while a job waits in
another: which of two jobs is running may be wrong for a moment, how many are is not, and an
ending corrects it.
"""

from collections import deque
from collections.abc import Iterator

from fairlead_scheduler.ordering.in_flight import AHEAD, InFlightJob

_QUEUED_US = 100_000
"""For how long queued rows may occupy all slots: four ticks and round trips, roughly."""
_QUEUED_LEAST = 8
"""So many rows are queued beyond the free slots however long they take."""


class SlotEntry:
    """The slots of a pool, and the jobs that are claimed ahead of them."""

    __slots__ = ("_full_at_us", "ahead", "occupied", "passed_over", "slots")

    def __init__(self) -> None:
        self.slots = 1
        """Of the pool's live workers."""
        self.occupied = 0
        """The jobs that have one."""
        self.ahead: deque[tuple[InFlightJob, int]] = deque()
        """Those that have none, and when they were claimed; some may have left since."""
        self.passed_over: tuple[int, int] = (0, 0)
        """How many rows claims pass over, and how long these will take: they keep none out."""
        self._full_at_us = 0
        """When jobs last were left without a slot."""

    def may_queue(self, unclaimed: int, unclaimed_us: int) -> tuple[int, int]:
        """Return how many more rows may be queued whatever they take, and how much more work.

        Args:
            unclaimed: How many rows wait for a worker.
            unclaimed_us: How long they will take, by evidence.
        """
        rows, work_us = self.passed_over
        least = self.slots - self.occupied + _QUEUED_LEAST + rows
        return least - unclaimed, self.slots * _QUEUED_US + work_us - unclaimed_us

    def entered(self, now_us: int) -> Iterator[tuple[InFlightJob, int]]:
        """Yield jobs for which slots have become free, and since when they have had them."""
        ahead = self.ahead
        while ahead and self.occupied < self.slots:
            job, claimed_us = ahead.popleft()
            if job.claimed_us == AHEAD:
                self.occupied += 1
                yield job, max(claimed_us, self._full_at_us)
        self._full_at_us = now_us

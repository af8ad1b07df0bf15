"""The smallest root tag of an unclaimed row."""

from heapq import heappop, heappush

from fairlead_scheduler.ordering.lanes import UNCLAIMED, InFlightJob
from fairlead_scheduler.ordering.level import NEVER


class ClaimFloor:
    """Root tags of each queue's first unclaimed row, and of rows that came back."""

    __slots__ = ("_entries", "_turn")

    def __init__(self) -> None:
        self._entries: list[tuple[int, int, InFlightJob]] = []
        self._turn = 0

    def lowest_tag(self) -> int:
        """Return the smallest root tag of an unclaimed row, or `NEVER`."""
        entries = self._entries
        while entries:
            job = entries[0][2]
            if job.claimed_us == UNCLAIMED:
                return entries[0][0]
            heappop(entries)
            queue = job.lane.queue
            if queue.floor_row is job:
                first = queue.drop_claimed()
                queue.floor_row = None
                if first is not None:
                    self.represent(first)
        return NEVER

    def represent(self, job: InFlightJob) -> None:
        """Let a queue's first unclaimed row represent the queue."""
        job.lane.queue.floor_row = job
        self.add(job)

    def add(self, job: InFlightJob) -> None:
        """Count a row in."""
        self._turn += 1
        heappush(self._entries, (job.root_tag, self._turn, job))

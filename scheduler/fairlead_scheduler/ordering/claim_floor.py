"""The smallest root tag of an unclaimed row."""

from heapq import heappop, heappush

from fairlead_scheduler.ordering.in_flight import UNCLAIMED, InFlightJob
from fairlead_scheduler.ordering.levels.level import NEVER


class ClaimFloor:
    """Root tags of each branch's first unclaimed row, and of rows that came back."""

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
            branch = job.lane.account.branch
            if branch.floor_row is job:
                first = branch.drop_claimed()
                branch.floor_row = None
                if first is not None:
                    self.represent(first)
        return NEVER

    def represent(self, job: InFlightJob) -> None:
        """Let a branch's first unclaimed row represent the branch."""
        job.lane.account.branch.floor_row = job
        self.add(job)

    def add(self, job: InFlightJob) -> None:
        """Count a row in."""
        self._turn += 1
        heappush(self._entries, (job.root_tag, self._turn, job))

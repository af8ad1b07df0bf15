"""The queues of which keys or rules may hold single jobs, and which lanes to look at."""

from collections.abc import Iterable, Mapping
from heapq import heappop, heappush

from fairlead_scheduler.books import Flight, Lane, Queue


class Keyed:
    """What the keys of all queues have to do with the next look and the next plan."""

    __slots__ = (
        "_dues",
        "_judging",
        "_turn",
        "again",
        "awaits_values",
        "queues",
        "starved",
        "unjudged",
        "unread",
    )

    def __init__(self) -> None:
        self.queues: dict[Queue, None] = {}
        """Those that have keys, or rules for single jobs."""
        self.unread: dict[Lane, None] = {}
        """Lanes with heads whose values are to be read."""
        self.starved: dict[Lane, None] = {}
        """Those among them whose turn it was."""
        self.again: dict[Lane, None] = {}
        """Lanes that the next plan looks at again."""
        self.awaits_values = False
        """Whether somebody's turn waits for values to be read."""
        self.unjudged: dict[Lane, None] = {}
        """Lanes whose turn waits until there is time to look at rules for their heads."""
        self._dues: list[tuple[int, int, Lane]] = []
        self._judging: set[Lane] = set()
        self._turn = 0

    def judge_again(self, lane: Lane, at_us: int) -> None:
        """Have rules looked at again at this time for heads of a lane that they hold.

        One that is to be looked at already is so no later.
        """
        if lane not in self._judging:
            self._judging.add(lane)
            self._turn += 1
            heappush(self._dues, (at_us, self._turn, lane))

    def next_judged(self, now_us: int) -> Lane | None:
        """Return a lane whose time has come, and forget it; None without one."""
        if not self._dues or self._dues[0][0] > now_us:
            return None
        lane = heappop(self._dues)[2]
        self._judging.discard(lane)
        return lane

    def leave(self, ids: Iterable[int], flights: Mapping[int, Flight]) -> None:
        """Give the keys back of jobs that are about to leave the flights."""
        for job_id in ids:
            flight = flights.get(job_id)
            if flight is not None and flight.lane.queue.keys is not None:
                flight.lane.queue.keys.leave(job_id)

"""The queues whose single jobs keys or rules may block, and their lanes to check next."""

from collections.abc import Iterable, Mapping
from heapq import heappop, heappush

from fairlead_scheduler.ordering.in_flight import InFlightJob
from fairlead_scheduler.ordering.lanes import Lane, Queue


class KeyState:
    """What the keys and job rules of one ledger leave for the next read and the next plan."""

    __slots__ = (
        "_dues",
        "_scheduled",
        "_turn",
        "awaits_values",
        "queues",
        "starved",
        "to_readmit",
        "unevaluated",
        "unread",
    )

    def __init__(self) -> None:
        self.queues: dict[Queue, None] = {}
        """Those that have keys, or rules for single jobs."""
        self.unread: dict[Lane, None] = {}
        """Lanes with heads whose values are to be read."""
        self.starved: dict[Lane, None] = {}
        """Those among them whose turn it was."""
        self.to_readmit: dict[Lane, None] = {}
        """Lanes that the next plan checks again."""
        self.awaits_values = False
        """Whether a lane's turn waits for values to be read."""
        self.unevaluated: dict[Lane, None] = {}
        """Lanes whose turn waits until there is time to evaluate rules for their heads."""
        self._dues: list[tuple[int, int, Lane]] = []
        self._scheduled: set[Lane] = set()
        self._turn = 0

    def schedule_evaluation(self, lane: Lane, at_us: int) -> None:
        """Schedule when rules are evaluated again for heads of a lane that they block.

        A lane that is scheduled already keeps its time.
        """
        if lane not in self._scheduled:
            self._scheduled.add(lane)
            self._turn += 1
            heappush(self._dues, (at_us, self._turn, lane))

    def next_due(self, now_us: int) -> Lane | None:
        """Return a lane whose time has come and forget it; None without one."""
        if not self._dues or self._dues[0][0] > now_us:
            return None
        lane = heappop(self._dues)[2]
        self._scheduled.discard(lane)
        return lane

    def release(self, ids: Iterable[int], in_flight_jobs: Mapping[int, InFlightJob]) -> None:
        """Release the keys of jobs that are about to be in flight no longer."""
        for job_id in ids:
            job = in_flight_jobs.get(job_id)
            if job is not None and job.lane.queue.keys is not None:
                job.lane.queue.keys.remove_in_flight(job_id)

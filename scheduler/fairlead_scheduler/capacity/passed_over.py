"""Unclaimed rows that workers pass over, because they have no room for more of their kinds.

They wait for that room and not for a slot. So they are no part of the depth, or the slots would
stay idle behind them; and a lane that has as many of them as its pool has slots gets no more.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from fairlead_scheduler.ordering.in_flight import UNCLAIMED, InFlightJob
from fairlead_scheduler.ordering.ledger import Ledger
from fairlead_scheduler.pending.values import Paused


class PassedOver:
    """The rows of one pool that workers have passed over and none has claimed since."""

    __slots__ = ("_rows",)

    def __init__(self) -> None:
        self._rows: dict[int, InFlightJob] = {}

    def add(self, ids: Iterable[int], ledgers: Sequence[Ledger]) -> None:
        """Add rows that a worker reports; unknown ids are ignored.

        Args:
            ids: The jobs.
            ledgers: Those of the pool's bands.
        """
        for job_id in ids:
            for ledger in ledgers:
                job = ledger.in_flight_jobs.get(job_id)
                if job is not None:
                    self._rows[job_id] = job

    @property
    def ids(self) -> Collection[int]:
        """Their jobs, as of the last `count`: a live view."""
        return self._rows.keys()

    def count(self) -> int:
        """Return how many there are, and forget those that are unclaimed no more."""
        if not self._rows:
            return 0
        self._rows = {
            job_id: job for job_id, job in self._rows.items() if job.claimed_us == UNCLAIMED
        }
        return len(self._rows)

    def work_us(self) -> int:
        """Return how long they will take, by evidence, as of the last `count`."""
        return sum([job.queue_charged_us for job in self._rows.values()])

    def full_lanes(self, slots: int) -> Paused:
        """Return the lanes that have as many of them as the pool has slots."""
        if len(self._rows) < slots:
            return frozenset()
        counts = Counter((job.lane.queue.name, job.lane.tenant) for job in self._rows.values())
        return frozenset(lane for lane, rows in counts.items() if rows >= slots)

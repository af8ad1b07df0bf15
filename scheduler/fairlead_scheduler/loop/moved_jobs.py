"""Jobs that wait and were given another priority, by somebody else's transaction.

A receipt tells of them. They are heads no longer, and the database is asked where they stand
now. What is queued already and would go too early is recalled, unless it is claimed first.
"""

from collections.abc import Iterable, Sequence

from fairlead_scheduler.ordering.router import Router
from fairlead_scheduler.pending.heads import Heads
from fairlead_scheduler.pending.tail import Tail
from fairlead_scheduler.pending.values import PendingJob
from fairlead_scheduler.rows import Receipt

_REMEMBERED_US = 30_000_000
"""For how long what another thread has read of a job may be older than its receipt."""


class MovedJobs:
    """Moves jobs between the streams of a leader."""

    def __init__(self, order: Router, heads: Heads, tail: Tail) -> None:
        self._order = order
        self._heads = heads
        self._tail = tail
        self._early: set[int] = set()
        """Rows to recall."""
        self._lately: dict[int, int] = {}
        """When receipts told of jobs, the last of each; the oldest first."""

    def take(self, receipts: Iterable[Receipt], now_us: int) -> None:
        """Take in what receipts tell. A repeat changes nothing."""
        for receipt in receipts:
            for queue, tenant, former, rank, ids in receipt.moved or ():
                self._early.update(self._order.moved(queue, ids, (former, rank)))
                self._heads.moved((queue, tenant, former), frozenset(ids))
                self._tail.doubt(ids, now_us)
                for job_id in ids:
                    self._lately.pop(job_id, None)
                    self._lately[job_id] = now_us
        while self._lately:
            job_id = next(iter(self._lately))
            if now_us - self._lately[job_id] < _REMEMBERED_US:
                break
            del self._lately[job_id]

    def promoted(self, rows: Sequence[PendingJob], now_us: int) -> None:
        """Tell the heads of promoted jobs, but ask about those that have moved meanwhile."""
        moved = [row.id for row in rows if row.id in self._lately]
        if moved:
            self._tail.doubt(moved, now_us)
        self._heads.missed([x for x in rows if x.id not in self._lately] if moved else rows)

    @property
    def may_recall(self) -> bool:
        """Whether there may be rows to recall."""
        return bool(self._early)

    def to_recall(self) -> Sequence[int]:
        """Return the rows to recall, until they are claimed or recalled."""
        if self._early:
            self._early.intersection_update(self._order.still_unclaimed(self._early))
        return tuple(self._early)

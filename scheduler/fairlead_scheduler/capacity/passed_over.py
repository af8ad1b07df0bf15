"""Unclaimed rows that workers pass over, for want of room for their kinds or of their locks.

They wait for that room, or for the end of an application's transaction, which has cancelled
jobs that were queued; and not for a slot. So they are no part of the depth, or the slots would
stay idle behind them. A lane that has as many as its pool has slots that wait for room for
their kinds gets no more.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from fairlead_scheduler.ordering.in_flight import UNCLAIMED, InFlightJob
from fairlead_scheduler.ordering.ledger import Ledger
from fairlead_scheduler.ordering.levels.level import NEVER
from fairlead_scheduler.pending.values import Paused

_LEFT_US = 1_000_000
"""How often rows are looked for that workers leave."""
_LEFT_MAX = 1000
"""How many of these are no part of the depth."""


class PassedOver:
    """The rows of one pool that workers have passed over and none has claimed since."""

    __slots__ = ("_all", "_left", "_marks", "_rows", "_seen", "_seen_us")

    def __init__(self) -> None:
        self._rows: dict[int, InFlightJob] = {}
        """Those of kinds for which there is no room;"""
        self._left: dict[int, InFlightJob] = {}
        """those that were not claimed when later ones were;"""
        self._all: dict[int, InFlightJob] = {}
        """and both."""
        self._seen: dict[int, InFlightJob] = {}
        self._marks: list[int] = []
        """How many tags of claimed rows each band had then."""
        self._seen_us = 0

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

    def observe(self, ledgers: Sequence[Ledger], now_us: int, *, free: int, slots: int) -> None:
        """Find rows that workers leave, once a second.

        Such a row was there when one of its band with a larger tag was claimed. Where nothing
        is claimed although slots are free, workers may have stopped, or leave all that is
        there: so many rows as there are slots are taken to be left, and no more.

        Args:
            ledgers: Those of the pool's bands.
            now_us: The database's time.
            free: The slots that workers have free.
            slots: All of them.
        """
        if now_us - self._seen_us < _LEFT_US:
            return
        seen, self._seen, self._seen_us = self._seen, {}, now_us
        marks, self._marks = self._marks, [len(x.tag_shift.claimed_tags) for x in ledgers]
        for number, ledger in enumerate(ledgers):
            claimed = ledger.tag_shift.claimed_tags[marks[number] :] if marks[number:] else []
            largest = max(claimed, default=NEVER if free else 0)
            most = _LEFT_MAX if claimed else slots
            if not ledger.unclaimed:
                continue
            for job_id, job in ledger.in_flight_jobs.items():
                if job.claimed_us == UNCLAIMED:
                    self._seen[job_id] = job
                    is_left = seen.get(job_id) is job and job.root_tag < largest
                    if is_left and len(self._left) < most:
                        self._left[job_id] = job

    @property
    def ids(self) -> Collection[int]:
        """Their jobs, as of the last `count`: a live view."""
        return self._all.keys()

    def waits_for_kind(self, job_id: int) -> bool:
        """Whether this is a row for whose kind workers have no room."""
        return job_id in self._rows

    def count(self) -> int:
        """Return how many there are, and forget those that are unclaimed no more."""
        self._rows, self._left = _unclaimed(self._rows), _unclaimed(self._left)
        self._all = {**self._left, **self._rows} if self._left else self._rows
        return len(self._all)

    def work_us(self) -> int:
        """Return how long they will take, by evidence, as of the last `count`."""
        return sum([job.queue_charged_us for job in self._all.values()])

    def full_lanes(self, slots: int) -> Paused:
        """Return the lanes that have as many of them as the pool has slots."""
        if len(self._rows) < slots:
            return frozenset()
        counts = Counter((job.lane.queue.name, job.lane.tenant) for job in self._rows.values())
        return frozenset(lane for lane, rows in counts.items() if rows >= slots)


def _unclaimed(rows: dict[int, InFlightJob]) -> dict[int, InFlightJob]:
    if not rows:
        return rows
    return {job_id: job for job_id, job in rows.items() if job.claimed_us == UNCLAIMED}

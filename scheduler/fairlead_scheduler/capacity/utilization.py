"""How much of the slots' time runs fill when no slot is free, and the gap between two runs.

A slot is not on a job all the time: claims, endings and ticks lie between two runs. An estimate
of a start needs that in proportion: of all slots together, by what ran while none was free, and
of a place under a limit, by some jobs from their dispatch to the read that finds their ending.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from fairlead_scheduler.ordering.plan import PlannedRow

_SAMPLES_MAX = 16
_SPAN_US = 500_000
_FOLLOWS = 0.2
"""For how much a new span, or a new sample, counts in its mean."""
_LOWEST = 0.05


class EndedRuns(NamedTuple):
    """The endings of one receipt."""

    ids: Sequence[int]
    run_us: Sequence[int]


class Utilization:
    """Means of what the leader observes from tick to tick.

    Args:
        span_us: The least time over which what runs fill is measured at a time.
    """

    __slots__ = (
        "_begun_us",
        "_gap_us",
        "_last_us",
        "_ran_us",
        "_room_us",
        "_samples",
        "_span_us",
        "used",
    )

    def __init__(self, span_us: int = _SPAN_US) -> None:
        self._span_us = span_us
        self.used: float = 1.0
        """The part of the slots' time that runs filled lately, while no slot was free."""
        self._gap_us: float | None = None
        self._samples: dict[int, int] = {}
        """Some jobs in flight, and when they were dispatched."""
        self._begun_us = 0
        """Since when no slot has been free; 0 while one is."""
        self._last_us = 0
        self._ran_us = self._room_us = 0

    @property
    def gap_us(self) -> int:
        """How much longer a job is in flight than it runs; 0 before it is known."""
        return int(self._gap_us or 0)

    def record_plan(self, jobs: Sequence[PlannedRow], now_us: int) -> None:
        """Take a job of a plan as a sample."""
        if jobs and len(self._samples) < _SAMPLES_MAX:
            self._samples.setdefault(jobs[len(jobs) // 2][0], now_us)

    def take_endings(
        self,
        ended: Iterable[EndedRuns],
        now_us: int,
        *,
        in_flight: Collection[int],
        busy_slots: int,
        mean_us: int,
    ) -> None:
        """Take in the endings of one read.

        Args:
            ended: What has ended since the last read.
            now_us: The database's time.
            in_flight: What is in flight after that.
            busy_slots: How many slots there are, if the last plan left none free; else 0.
            mean_us: How long a job runs.
        """
        receipts = tuple(ended)
        self._fill(receipts, now_us, busy_slots=busy_slots, mean_us=mean_us)
        for job_id in [each for each in self._samples if each not in in_flight]:
            dispatched_us = self._samples.pop(job_id)
            run_us = _run_of(job_id, receipts)
            if run_us:
                gap_us = max(0, now_us - dispatched_us - run_us)
                before = gap_us if self._gap_us is None else self._gap_us
                self._gap_us = before + _FOLLOWS * (gap_us - before)

    def _fill(
        self, receipts: Sequence[EndedRuns], now_us: int, *, busy_slots: int, mean_us: int
    ) -> None:
        """Count what ran of the time in which no slot was free.

        The first runs of such a time began before it, or end after it: so it counts from two
        mean runs on.
        """
        if not busy_slots:
            self._begun_us = self._room_us = self._ran_us = 0
        elif not self._begun_us:
            self._begun_us = now_us
        elif now_us - self._begun_us >= 2 * mean_us:
            self._room_us += busy_slots * (now_us - self._last_us)
            self._ran_us += sum([sum(each.run_us) for each in receipts])
            if self._room_us >= busy_slots * max(self._span_us, mean_us):
                used = min(1.0, max(_LOWEST, self._ran_us / self._room_us))
                self.used += _FOLLOWS * (used - self.used)
                self._room_us = self._ran_us = 0
        self._last_us = now_us


def _run_of(job_id: int, receipts: Iterable[EndedRuns]) -> int:
    """Return how long a job ran that has ended; 0 if it did not end by running."""
    for ids, run_us in receipts:
        if job_id in ids:
            return run_us[ids.index(job_id)]
    return 0

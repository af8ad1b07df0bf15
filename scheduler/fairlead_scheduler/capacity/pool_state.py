"""The leader's state of one pool from tick to tick, next to the ledgers of its orders."""

from collections.abc import Sequence
from dataclasses import replace

from fairlead_scheduler.capacity.idle_slots import IdleSlots
from fairlead_scheduler.capacity.passed_over import PassedOver
from fairlead_scheduler.capacity.prefetch import Depth, DepthSettings
from fairlead_scheduler.capacity.utilization import EndedRuns, Utilization
from fairlead_scheduler.capacity.workers import Capacity
from fairlead_scheduler.explain.answer import (
    LaneSnapshot,
    Position,
    QueuedAnswer,
    queued_answer,
)
from fairlead_scheduler.explain.contention import Contention
from fairlead_scheduler.limits.blocked_reasons import FULL, PAUSED, REASONS
from fairlead_scheduler.ordering.in_flight import UNCLAIMED
from fairlead_scheduler.ordering.plan import PlannedRow
from fairlead_scheduler.ordering.pool_orders import PoolOrders
from fairlead_scheduler.ordering.router import PoolSize
from fairlead_scheduler.ordering.run_time import RunTimeMoments
from fairlead_scheduler.pending.values import Paused

EMPTY_JOBS_PER_SECOND = 30_000
"""How many jobs that do nothing a fleet was seen to finish at most: so much of its leader, its
database and its workers' own threads each job takes at least."""


class PoolState:
    """One pool's depth, what its unblocked jobs wait for, and how busy its slots are.

    Args:
        pool: Its orders.
        ceiling: Of the unclaimed rows.
    """

    def __init__(self, pool: PoolOrders, *, ceiling: int) -> None:
        self.pool = pool
        self.name = pool.name or ""
        self.claims = 0
        """How many rows were claimed between the last two reads."""
        self.moments: RunTimeMoments | None = None
        """Of its run times, if they are asked for."""
        self._depth = Depth(DepthSettings(ceiling=ceiling))
        self.passed_over = PassedOver()
        self._idle = IdleSlots()
        self._contention = Contention()
        self._utilization = Utilization()
        self._free = 0
        """Slots that held nothing when the last plan began."""
        self._busy = False
        """Whether the last plan left no slot free."""

    def take_endings(self, ended: Sequence[EndedRuns], capacity: Capacity, now_us: int) -> None:
        """Take in what has ended since the last read."""
        if self.moments is not None:
            for receipt in ended:
                self.moments.add(receipt.run_us)
        self._utilization.take_endings(
            ended,
            now_us,
            in_flight=self.pool.in_flight,
            busy_slots=capacity.slots(self.name) if self._busy else 0,
            mean_us=self.pool.mean_us,
        )

    def charges_us(self, run_us: Sequence[int], capacity: Capacity) -> Sequence[int]:
        """Return what jobs are charged that had a slot for so long; 0: they had none.

        A job takes its part of what dispatches, claims and finishes jobs too, and all slots
        are idle for as long as that is busy with others: at least that is charged.
        """
        least_us = capacity.slots(self.name) * 1_000_000 // EMPTY_JOBS_PER_SECOND
        if not run_us or min(run_us) >= least_us:
            return run_us
        return [least_us if 0 < run < least_us else run for run in run_us]

    def next_size(
        self, capacity: Capacity, now_us: int, *, pending: bool, round_us: int
    ) -> PoolSize:
        """Return what the next plan has room for; call it once for each plan."""
        pool, free, slots = self.pool, capacity.free(self.name), capacity.slots(self.name)
        self._free = free
        self._depth.observe(
            now_us, claims=self.claims, unclaimed=pool.unclaimed, pending=pending
        )
        depth = self._depth.next_target(
            free_slots=free,
            slots=slots,
            mean_us=pool.mean_us,
            round_us=round_us,
            ceiling=pool.table.depth_ceiling,
        )
        self.passed_over.observe(pool.ledgers, now_us, free=free, slots=slots)
        passed_over = self.passed_over.count()
        pool.note_passed_over(self.passed_over.ids, self.passed_over.work_us())
        self._idle.observe(now_us, free - max(0, pool.unclaimed - passed_over))
        pool.note_workers(free=free, ahead=capacity.ahead(self.name), idle=self._idle.least)
        return PoolSize(slots, depth + passed_over)

    def full_lanes(self, capacity: Capacity) -> Paused:
        """Return the lanes that get no more rows before workers have room for their kinds."""
        return self.passed_over.full_lanes(capacity.slots(self.name))

    def count_full(self, lanes: Paused) -> int:
        """Return how many of these lanes the pool's orders see as paused, in all bands."""
        queues = [ledger.queues for ledger in self.pool.ledgers]
        return sum(
            queue in by_name
            and tenant in by_name[queue].tenants
            and by_name[queue].tenants[tenant].blocked_by == PAUSED
            for queue, tenant in lanes
            for by_name in queues
        )

    def explain_queued(self, job_id: int, capacity: Capacity) -> QueuedAnswer | None:
        """Explain why no worker has claimed a job; None unless it is one of the unclaimed."""
        jobs = [ledger.in_flight_jobs.get(job_id) for ledger in self.pool.ledgers]
        if not any(job is not None and job.claimed_us == UNCLAIMED for job in jobs):
            return None
        return queued_answer(
            self.name,
            slots=capacity.slots(self.name),
            free=capacity.free(self.name),
            passed_over=self.passed_over.waits_for_kind(job_id),
        )

    def may_idle(self, capacity: Capacity) -> bool:
        """Whether endings before the next read may leave slots for which no row waits."""
        return self.pool.unclaimed <= capacity.slots(self.name)

    def record_plan(self, jobs: Sequence[PlannedRow], now_us: int) -> None:
        """Note the pool's state after a plan."""
        pool = self.pool
        self._busy = self._free <= pool.unclaimed - self.passed_over.count()
        self._contention.note(pool.ledgers, now_us, busy=self._busy)
        self._utilization.record_plan(jobs, now_us)

    def complete_snapshot(
        self, snapshot: LaneSnapshot, band: int, now_us: int, *, full: bool
    ) -> LaneSnapshot:
        """Return a snapshot of a lane of this band, completed by what is known of the pool.

        Args:
            snapshot: The lane's.
            band: The lane's.
            now_us: The database's time.
            full: Whether it gets no more rows until workers have room for their kinds.
        """
        lane = snapshot.lane
        return replace(
            snapshot,
            lane=_called_full(lane) if full else lane,
            unclaimed=max(0, snapshot.unclaimed - self.passed_over.count()),
            contention_us=self._contention.since_us(band, snapshot.contention, now_us),
            used=self._utilization.used,
            gap_us=self._utilization.gap_us,
        )


def _called_full(lane: Position) -> Position:
    """Return the position of a full lane, which the order sees as paused.

    A time for which it was really paused in the same wait is called `full` as well.
    """
    seconds = {
        FULL if reason == REASONS[PAUSED] else reason: blocked
        for reason, blocked in lane.blocked_seconds.items()
    }
    return replace(lane, blocked_by=FULL, blocked_seconds=seconds)

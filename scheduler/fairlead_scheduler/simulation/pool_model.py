"""The workers of one pool in simulated time: their slots, and the rows they may claim."""

from collections import deque
from collections.abc import Collection, Sequence
from heapq import heapify, heappop, heappush

from fairlead_scheduler.capacity.prefetch import Depth
from fairlead_scheduler.ordering.run_time import MeanRunTime
from fairlead_scheduler.policy.settings import FairSettings
from fairlead_scheduler.simulation.interface import DispatchedRow, JobEvent
from fairlead_scheduler.simulation.trace import Arrival

NEVER = 1 << 62


class SimulatedPrefetch:
    """How many rows to keep unclaimed: free slots plus a fixed number, or the product's depth.

    Args:
        slots: All slots of the pool.
        fixed: Rows in addition to the free slots; None: the product's depth.
        round_us: A tick and a round trip.
    """

    def __init__(self, *, slots: int, fixed: int | None, round_us: int) -> None:
        self._slots = slots
        self._fixed = fixed
        self._round_us = max(1, round_us)
        self._depth = Depth()
        self._mean = MeanRunTime()
        self._settings = FairSettings()

    def room(
        self,
        now_us: int,
        *,
        claims: int,
        runs_us: list[int],
        unclaimed: int,
        free: int,
        waiting: int,
        ceiling: int | None = None,
    ) -> int:
        """Return how many rows to add at a tick; call it once per tick.

        Args:
            now_us: The time of the tick.
            claims: Rows claimed since the last tick.
            runs_us: Run times of the jobs that ended since the last tick.
            unclaimed: Rows no worker has claimed.
            free: Idle slots.
            waiting: Jobs that could be dispatched.
            ceiling: The most unclaimed rows, from the policy; ignored with a fixed number.
        """
        if self._fixed is not None:
            return free + self._fixed - unclaimed
        self._mean.add(sum(runs_us), len(runs_us), self._settings.window)
        self._depth.observe(now_us, claims=claims, unclaimed=unclaimed, pending=waiting > 0)
        mean_us = self._mean.value_us(self._settings.prior_us)
        depth = self._depth.next_target(
            free_slots=free,
            slots=self._slots,
            mean_us=mean_us,
            round_us=self._round_us,
            ceiling=ceiling,
        )
        return depth - unclaimed


class PoolModel:
    """One pool's workers.

    Args:
        trace: The jobs, by index; it may grow.
        slots: How many jobs run at once.
        claim_us: The delay from a freed slot to its next job, and from a visible row to its
            claim by an idle slot.
        prefetch: How many rows to keep unclaimed.
        running: The end of each running job, and the job.
        queued: Unclaimed rows.
    """

    def __init__(
        self,
        trace: Sequence[Arrival],
        *,
        slots: int,
        claim_us: int,
        prefetch: SimulatedPrefetch,
        running: Sequence[tuple[int, int]],
        queued: Sequence[DispatchedRow],
    ) -> None:
        self.slots = slots
        self._trace = trace
        self._claim_us = claim_us
        self._prefetch = prefetch
        self._running = list(running)
        heapify(self._running)
        self._queued = list(queued)
        heapify(self._queued)
        self._transit: deque[tuple[int, Sequence[DispatchedRow]]] = deque()
        self._claiming: deque[int] = deque()
        """When each slot that is claiming gets its row, ascending."""
        self._idle = max(0, slots - len(self._running))
        """Slots that found no row and wait for one."""
        self._unclaimed = len(self._queued)
        if self._queued:
            self._claiming.extend([claim_us] * self._idle)
            self._idle = 0
        self.claims: list[JobEvent] = []
        self.endings: list[JobEvent] = []
        """Claims and endings since the last tick."""

    @property
    def free(self) -> int:
        """Slots without a running job."""
        return self.slots - len(self._running)

    def next_us(self) -> int:
        """Return the time of the next event."""
        times = [NEVER]
        if self._running:
            times.append(self._running[0][0])
        if self._claiming:
            times.append(self._claiming[0])
        if self._transit:
            times.append(self._transit[0][0])
        return min(times)

    def advance(self, now_us: int) -> None:
        """Process every event that is due."""
        while self._running and self._running[0][0] <= now_us:
            job = heappop(self._running)[1]
            self.endings.append(JobEvent(job, now_us))
            self._claiming.append(now_us + self._claim_us)
        while self._transit and self._transit[0][0] <= now_us:
            rows = self._transit.popleft()[1]
            for row in rows:
                heappush(self._queued, row)
            woken = min(self._idle, len(rows))
            self._idle -= woken
            self._claiming.extend([now_us + self._claim_us] * woken)
        while self._claiming and self._claiming[0] <= now_us:
            self._claiming.popleft()
            self._claim(now_us)

    def _claim(self, now_us: int) -> None:
        """Claim the first row for one slot."""
        if not self._queued:
            self._idle += 1
            return
        job = heappop(self._queued).job
        heappush(self._running, (now_us + self._trace[job].cost_us, job))
        self.claims.append(JobEvent(job, now_us))
        self._unclaimed -= 1

    def room(self, now_us: int, *, waiting: int, ceiling: int | None) -> int:
        """Return how many rows to add at a tick, and reset the claims and endings.

        Args:
            now_us: The time of the tick.
            waiting: Jobs that could be dispatched.
            ceiling: The most unclaimed rows, where the product's depth is used.
        """
        claims, self.claims = self.claims, []
        endings, self.endings = self.endings, []
        return self._prefetch.room(
            now_us,
            claims=len(claims),
            runs_us=[self._trace[job].cost_us for job, _ in endings],
            unclaimed=self._unclaimed,
            free=self.free,
            waiting=waiting,
            ceiling=ceiling,
        )

    def recall(self, jobs: Collection[int]) -> None:
        """Remove the unclaimed rows of these jobs, queued or in transit; ignore other jobs."""
        self._queued = [row for row in self._queued if row.job not in jobs]
        heapify(self._queued)
        kept = [
            (at_us, [row for row in rows if row.job not in jobs])
            for at_us, rows in self._transit
        ]
        self._transit = deque(kept)
        self._unclaimed = len(self._queued) + sum(len(rows) for _, rows in kept)

    def send(self, rows: Sequence[DispatchedRow], at_us: int) -> None:
        """Make these rows visible to workers at that time."""
        if rows:
            self._transit.append((at_us, rows))
            self._unclaimed += len(rows)

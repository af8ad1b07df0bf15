"""The workers of one pool in simulated time: their slots, and the rows that they may take."""

from collections import deque
from collections.abc import Collection, Sequence
from heapq import heapify, heappop, heappush

from fairlead_scheduler.simulation.order import Event, Row
from fairlead_scheduler.simulation.prefetch import Prefetch
from fairlead_scheduler.simulation.trace import Arrival

NEVER = 1 << 62


class Site:
    """One pool's workers.

    Args:
        trace: What they may run; it may grow.
        slots: How many jobs run at once.
        claim_us: From a free slot to its next job, and from a row that workers see to an idle
            slot.
        prefetch: How many rows wait beside the free slots.
        running: When what runs will end, and the job.
        queued: What waits for a worker.
    """

    def __init__(
        self,
        trace: Sequence[Arrival],
        *,
        slots: int,
        claim_us: int,
        prefetch: Prefetch,
        running: Sequence[tuple[int, int]],
        queued: Sequence[Row],
    ) -> None:
        self.slots = slots
        self._trace = trace
        self._claim_us = claim_us
        self._prefetch = prefetch
        self._running = list(running)
        heapify(self._running)
        self._queued = list(queued)
        heapify(self._queued)
        self._transit: deque[tuple[int, Sequence[Row]]] = deque()
        self._claiming: deque[int] = deque()
        """When slots that are on their way to a row get there."""
        self._idle = max(0, slots - len(self._running))
        """Slots that look for no row, for there was none."""
        self._unclaimed = len(self._queued)
        if self._queued:
            self._claiming.extend([claim_us] * self._idle)
            self._idle = 0
        self.claims: list[Event] = []
        self.endings: list[Event] = []
        """What happened since the last look."""

    @property
    def free(self) -> int:
        """Slots that run nothing."""
        return self.slots - len(self._running)

    def next_us(self) -> int:
        """Return when something happens next."""
        times = [NEVER]
        if self._running:
            times.append(self._running[0][0])
        if self._claiming:
            times.append(self._claiming[0])
        if self._transit:
            times.append(self._transit[0][0])
        return min(times)

    def happen(self, now_us: int) -> None:
        """Let everything happen that is due by now."""
        while self._running and self._running[0][0] <= now_us:
            job = heappop(self._running)[1]
            self.endings.append(Event(job, now_us))
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
        """Let a slot take the first row."""
        if not self._queued:
            self._idle += 1
            return
        job = heappop(self._queued).job
        heappush(self._running, (now_us + self._trace[job].cost_us, job))
        self.claims.append(Event(job, now_us))
        self._unclaimed -= 1

    def room(self, now_us: int, *, waiting: int, ceiling: int | None) -> int:
        """Return how many rows to add at a look, and begin to note what happens until the next.

        Args:
            now_us: The time of the look.
            waiting: Jobs that could be handed out.
            ceiling: Of the rows that wait, where the product's own measure counts.
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
        """Take rows of these jobs back, on their way or waiting; others are left alone."""
        self._queued = [row for row in self._queued if row.job not in jobs]
        heapify(self._queued)
        kept = [
            (at_us, [row for row in rows if row.job not in jobs])
            for at_us, rows in self._transit
        ]
        self._transit = deque(kept)
        self._unclaimed = len(self._queued) + sum(len(rows) for _, rows in kept)

    def send(self, rows: Sequence[Row], at_us: int) -> None:
        """Let workers see these rows at that time."""
        if rows:
            self._transit.append((at_us, rows))
            self._unclaimed += len(rows)

"""A fleet in memory: jobs, a work queue and slots around the scheduler's decisions.

Time is simulated. At each tick the leader learns what happened, reads heads, plans and
dispatches; between ticks workers claim in the order of tags and jobs end. Everything is
determined by what is put in. It stands in for no SQL: it shows what the decisions lead to.
"""

from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from fairlead_scheduler.ordering.plan import Plan, QueueRow
from fairlead_scheduler.ordering.pool_orders import PoolOrders
from fairlead_scheduler.ordering.router import PoolSize, Router
from fairlead_scheduler.pending.heads import Heads
from fairlead_scheduler.pending.values import Head, HeadsSettings, Paused, PendingJob, Stream
from fairlead_scheduler.policy.compiled import CompiledPolicy
from fairlead_scheduler.policy.gcra import WindowUsage
from tests.support.fair_bench import POOL, decide
from tests.support.planned import planned
from tests.support.tables import weighing

Key = tuple[str, str]
_RECALL_TICKS = 5
"""How often rows are recalled that have waited too long for their bands."""


@dataclass(slots=True)
class Job:
    """A job with what happened to it."""

    id: int
    seq: int
    queue: str
    tenant: str
    cost_us: int
    arrived_us: int
    rank: int = 0
    hint_us: int | None = None
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    """What keys may find in it, by its path."""
    vtag: int = 0
    estimate_us: int = 0
    band: int = 0
    pool: str = "default"
    claimed_us: int | None = None
    ended_us: int | None = None

    @property
    def lane(self) -> Key:
        """What it is charged to."""
        return (self.queue, self.tenant)

    @property
    def stream(self) -> Stream:
        """Where it is read."""
        return (self.queue, self.tenant, self.rank)

    @property
    def row(self) -> QueueRow:
        """Its row of `work_queue`, if it has one."""
        charged, claimed_us = (self.vtag, self.estimate_us), self.claimed_us
        return QueueRow(self.id, *self.lane, *charged, claimed_us, self.band, self.pool)


class Fleet:
    """Slots, a work queue, and a leader that keeps `depth` rows in it beside the free slots.

    Unless the table says otherwise no slots are kept for short jobs.
    """

    ahead = 0
    """How many jobs workers claim beyond their slots."""

    def __init__(
        self,
        *,
        slots: int,
        depth: int,
        tick_us: int = 20_000,
        table: CompiledPolicy | None = None,
        heads: HeadsSettings | None = None,
    ) -> None:
        self.slots, self.depth, self.tick_us = slots, depth, tick_us
        self.heads_settings = heads
        self.order = Router(POOL, table or weighing({}))
        self.heads = Heads(heads, in_flight=self.order.in_flight)
        self.heads.record_scan()
        self.now_us = 0
        self.jobs: dict[int, Job] = {}
        self.pending: dict[int, Job] = {}
        self.waiting = Counter[Key]()
        """How many jobs of each lane are pending, of those that have any."""
        self.work: dict[int, Job] = {}
        """What is in `work_queue`."""
        self.running: list[tuple[int, int]] = []
        self.ended: list[Job] = []
        self.served_us: dict[Key, int] = {}
        self.plans: list[Plan] = []
        self.dispatched = Counter[int]()
        self.paused: Paused = frozenset()
        self.full = False
        """Whether the last plan left no room even for a job that overtakes."""
        self.used: dict[tuple[str, str | None, int], WindowUsage] = {}
        """What rates have used, as the database keeps it."""
        self.refuse: Callable[[int], bool] = lambda _: False
        self.in_flight = Counter[Key]()
        """How many rows of `work_queue` each lane has."""
        self.in_flight_max: dict[Key, int] = {}
        self.cost_max_us: dict[Key, int] = {}
        """The largest cost of a job of the lane, or charge for one."""
        self.observe: Callable[[], None] = lambda: None
        self._queued: list[tuple[int, int, int]] = []
        """Band, tag and id of each row that waits for a worker."""
        self._lanes: dict[Stream, list[tuple[int, int]]] = {}
        self._arrivals: list[tuple[int, int, Job]] = []
        self._new: list[Job] = []
        self._ready, self._claimed = deque[int](), dict[int, list[int]]()
        """What has no slot yet; what was claimed since the last tick, as receipts have it,"""
        self._ended: list[tuple[int, int]] = []
        self._returned: dict[int, list[int]] = {}
        """and what was handed back."""
        self._ids = self._seqs = 0

    @property
    def pool(self) -> PoolOrders:
        """The only pool."""
        return self.order.served[0]

    def arrive(
        self,
        at_us: int,
        queue: str,
        tenant: str,
        cost_us: int,
        *,
        rank: int = 0,
        hint_us: int | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> None:
        """Let a job be inserted at that time."""
        self._ids += 1
        job = Job(self._ids, 0, queue, tenant, cost_us, at_us, rank, hint_us, fields or {})
        heappush(self._arrivals, (at_us, job.id, job))

    def run(self, until_us: int) -> None:
        """Tick until then."""
        while self.now_us < until_us:
            self.tick()
            self.advance(self.now_us + self.tick_us)

    def tick(self) -> Plan:
        """Let the leader learn what happened, read heads, plan and dispatch."""
        asked = self.order.attribute_requests()
        self._insert()
        self.learn()
        self.heads.discovered([_found(job) for job in self._new])
        self._new = []
        self.refill()
        self.order.learn([self.jobs[x.job_id].fields.get(f"{x.root}.{x.path}") for x in asked])
        if len(self.plans) % _RECALL_TICKS == 0:
            self.recall(self.order.overdue_rows(self.now_us))
        size = self.size()
        plan = decide(self.order, size, self.heads, self.now_us, self.paused)
        self.full = self.pool.unclaimed >= size.slots + size.depth
        self._dispatch(plan)
        self._claim()
        self.observe()
        return plan

    def size(self) -> PoolSize:
        """Return what the next plan has room for."""
        return PoolSize(self.slots, self.slots - len(self.running) + self.depth)

    def learn(self) -> None:
        """Report claims, endings and rows handed back to the leader."""
        for at_us, ids in self._claimed.items():
            self.order.claimed(ids, at_us)
        self.order.ended([i for i, _ in self._ended], [run for _, run in self._ended])
        for at_us, ids in self._returned.items():
            self.order.returned(ids, at_us)
        self._claimed, self._ended, self._returned = {}, [], {}

    def refill(self) -> None:
        """Read what the heads ask for."""
        for want in self.heads.next_requests(1000):
            lane = self._lanes.get(want.stream, [])
            place = bisect_right(lane, (want.after_seq, 1 << 62))
            jobs = [self.jobs[i] for _, i in lane[place : place + want.limit]]
            heads = [Head(job.id, job.seq, job.hint_us, job.arrived_us) for job in jobs]
            self.heads.filled(want.stream, heads, want.limit)

    def advance(self, until_us: int) -> None:
        """Let jobs end and workers claim until then."""
        while self.running and self.running[0][0] <= until_us:
            self.now_us, job_id = heappop(self.running)
            job = self.work.pop(job_id)
            self.in_flight[job.lane] -= 1
            assert job.claimed_us is not None
            job.ended_us = self.now_us
            self._forget(job)
            self.ended.append(job)
            self._serve(job, self.now_us)
            self._ended.append((job_id, self.now_us - job.claimed_us))
            self._claim()
        self.now_us = until_us

    def give_back(self, job_id: int) -> None:
        """Let a worker hand a running job back, as after a crash: it waits again."""
        job = self.work[job_id]
        assert job.claimed_us is not None
        self._serve(job, self.now_us)
        job.claimed_us = None
        job.vtag = max(job.vtag, self.pool.floors[0])
        self.running = [entry for entry in self.running if entry[1] != job_id]
        heapify(self.running)
        heappush(self._queued, (job.band, job.vtag, job_id))
        self._returned.setdefault(self.now_us, []).append(job_id)

    def recall(self, job_ids: tuple[int, ...]) -> None:
        """Take unclaimed rows back from the work queue, as after a pause."""
        for job_id in job_ids:
            job = self.work.pop(job_id)
            assert job.claimed_us is None
            self.pending[job_id] = job
            self.waiting[job.lane] += 1
            self.in_flight[job.lane] -= 1
        self._queued = [entry for entry in self._queued if entry[2] in self.work]
        heapify(self._queued)
        unknown = self.order.recalled(job_ids, self.heads)
        self.heads.missed(_found(self.jobs[job_id]) for job_id in unknown)

    def fail_over(self) -> None:
        """Lose the leader and all that it knew."""
        floors = self.pool.floors
        self.order = Router(POOL, self.order.table)
        self.order.adopt(self.read(), self.now_us, {POOL: floors}, self.used.values())
        self.heads = Heads(self.heads_settings, in_flight=self.order.in_flight)
        self._claimed, self._ended, self._returned, self._new = {}, [], {}, []
        self.sweep()
        self.heads.record_scan()

    def sweep(self) -> None:
        """Show the leader the first job of each stream that is pending."""
        first: dict[Stream, Job] = {}
        for job in sorted(self.pending.values(), key=_seq_of):
            first.setdefault(job.stream, job)
        self.heads.scanned_first([_found(job) for job in first.values()])

    def read(self) -> list[QueueRow]:
        """Read all of `work_queue`."""
        return [job.row for job in self.work.values()]

    def service_us(self, lane: Key) -> int:
        """Return how long a lane has had slots until now."""
        running = (self.work[job_id] for _, job_id in self.running)
        served = sum(self.now_us - (job.claimed_us or 0) for job in running if job.lane == lane)
        return self.served_us.get(lane, 0) + served

    def eligible(self) -> Iterable[Job]:
        """Return the pending jobs that nothing holds back."""
        return (
            job
            for job in self.pending.values()
            if (job.queue, None) not in self.paused and job.lane not in self.paused
        )

    def _insert(self) -> None:
        while self._arrivals and self._arrivals[0][0] <= self.now_us:
            job = heappop(self._arrivals)[2]
            self._seqs += 1
            job.seq = self._seqs
            self.jobs[job.id] = self.pending[job.id] = job
            self._lanes.setdefault(job.stream, []).append((job.seq, job.id))
            self._new.append(job)
            lane = job.lane
            self.waiting[lane] += 1
            self.cost_max_us[lane] = max(self.cost_max_us.get(lane, 0), job.cost_us)

    def _dispatch(self, plan: Plan) -> None:
        self.plans.append(plan)
        rows = planned(plan)
        ids = [row.id for row in rows]
        assert self.work.keys().isdisjoint(ids), "planned what is in flight"
        self.used |= {(each.queue, each.tenant, each.per_us): each for each in plan.used}
        gone = [job_id for job_id in ids if job_id not in self.pending]
        refused = [i for i in ids if i in self.pending and self.refuse(i)]
        left = {*gone, *refused}
        self.order.refused([*gone, *refused], POOL)
        bands = {row[0]: band for band, part, _ in plan.parts for row in part}
        for row in rows:
            if row.id in left:
                continue
            job = self.pending.pop(row.id)
            lane = job.lane
            self.waiting[lane] -= 1
            if not self.waiting[lane]:
                del self.waiting[lane]
            self.dispatched[job.id] += 1
            job.vtag, job.estimate_us = row.vtag, row.estimate_us
            job.band = bands[job.id]
            self.cost_max_us[lane] = max(self.cost_max_us[lane], row.estimate_us)
            self.work[job.id] = job
            self.in_flight[lane] += 1
            self.in_flight_max[lane] = max(
                self.in_flight_max.get(lane, 0), self.in_flight[lane]
            )
            heappush(self._queued, (job.band, job.vtag, job.id))
        found = [_found(self.jobs[job_id]) for job_id in refused]
        self.heads.missed(found)

    def _claim(self) -> None:
        while self._queued and len(self.running) + len(self._ready) < self.slots + self.ahead:
            job_id = heappop(self._queued)[2]
            self.work[job_id].claimed_us = self.now_us
            self._claimed.setdefault(self.now_us, []).append(job_id)
            self._ready.append(job_id)
        while self._ready and len(self.running) < self.slots:
            job = self.work[self._ready.popleft()]
            job.claimed_us = self.now_us  # a slot is what the checker means
            heappush(self.running, (self.now_us + job.cost_us, job.id))

    def _serve(self, job: Job, until_us: int) -> None:
        assert job.claimed_us is not None
        lane = job.lane
        self.served_us[lane] = self.served_us.get(lane, 0) + until_us - job.claimed_us

    def _forget(self, job: Job) -> None:
        self._lanes[job.stream].remove((job.seq, job.id))


def _seq_of(job: Job) -> int:
    return job.seq


def _found(job: Job) -> PendingJob:
    return PendingJob(
        job.id, job.seq, job.queue, job.tenant, job.rank, job.hint_us, job.arrived_us
    )

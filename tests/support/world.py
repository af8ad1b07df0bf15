"""Pools of workers, a database and a leader in memory, to which anything may happen.

As `Fleet`, with several pools, and with what a leader has only from the database when it takes
over: floors, what rates have used, and what waits. Time is simulated, and all is determined by
what is put in.
"""

from bisect import bisect_right, insort
from collections.abc import Callable, Iterable, Mapping
from heapq import heapify, heappop, heappush

from fairlead.policy import parse
from fairlead_scheduler.ordering.plan import Plan
from fairlead_scheduler.ordering.router import PoolSize, Router
from fairlead_scheduler.pending.heads import Heads
from fairlead_scheduler.pending.values import Head, Paused, PendingJob, Stream
from fairlead_scheduler.policy.compiled import compile_policy
from fairlead_scheduler.policy.gcra import WindowUsage
from tests.support.fleet import Job
from tests.support.law import Law

TICK_US = 20_000
_RECALL_TICKS = 5
_PROMOTE_US = 100_000


class World:
    """A leader over pools whose workers claim by tag.

    Args:
        document: The policy.
        slots: Of each pool's workers.
        depth: How many rows wait in each pool beside its free slots.
    """

    def __init__(self, document: str, slots: Mapping[str, int], *, depth: int) -> None:
        self.now_us = 0
        self.slots = dict(slots)
        self.depth = depth
        self.begun_us = 0
        """When the leader took over."""
        self.jobs: dict[int, Job] = {}
        self.waiting: dict[Stream, list[tuple[int, int]]] = {}
        """What is pending, by places."""
        self.work: dict[int, Job] = {}
        """What is in `work_queue`."""
        self.running: dict[str, list[tuple[int, int]]] = {pool: [] for pool in slots}
        self.ended: set[int] = set()
        self.paused: Paused = frozenset()
        self.refuse: Callable[[int], bool] = lambda _: False
        self.plans: list[tuple[Plan, ...]] = []
        self.went: list[Job] = []
        """What the last plans have dispatched,"""
        self.refused: list[Job] = []
        """what of them the database refused,"""
        self.recalled: list[Job] = []
        """what was taken back since the plans before,"""
        self.served: list[tuple[Job, int]] = []
        """and how long jobs ran whose attempts have ended since the plans before."""
        self._queued: dict[str, list[tuple[int, int, int]]] = {pool: [] for pool in slots}
        self._index: dict[Stream, list[tuple[int, int]]] = {}
        """The lane index: what waits or is in `work_queue`."""
        self._arrivals: list[tuple[int, int]] = []
        self._promotions: list[tuple[int, int]] = []
        self._floors: dict[str, dict[int, int]] = {pool: {} for pool in slots}
        self._used: dict[tuple[str, str | None, int], WindowUsage] = {}
        self._served: list[tuple[Job, int]] = []
        self._seqs = 0
        self._table = compile_policy(parse(document), stored=1)
        self._lead()
        self.heads.record_scan()

    def arrive(
        self,
        at_us: int,
        stream: Stream,
        cost_us: int,
        *,
        hint_us: int | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> None:
        """Let a job be inserted at that time."""
        queue, tenant, rank = stream
        job_id = len(self.jobs) + 1
        self.jobs[job_id] = Job(
            job_id, 0, queue, tenant, cost_us, at_us, rank, hint_us, fields or {}
        )
        heappush(self._arrivals, (at_us, job_id))

    def tick(self) -> None:
        """Let the leader look, plan and dispatch, and workers claim."""
        self.served, self._served = self._served, []
        asked = self.order.attribute_requests()
        self._insert()
        self._refill()
        self.order.learn([self.jobs[x.job_id].fields.get(f"{x.root}.{x.path}") for x in asked])
        if len(self.plans) % _RECALL_TICKS == 0:
            paused = self.order.unclaimed_of(self.paused)
            late = self.order.overdue_rows(self.now_us)
            self.recall({*paused, *self.order.surplus_rows(), *late})
        sizes = {
            pool: PoolSize(slots, max(0, slots - len(self.running[pool])) + self.depth)
            for pool, slots in self.slots.items()
        }
        plans = self.order.plan(self.now_us, sizes, self.heads, self.paused)
        self.plans.append(plans)
        self.went, self.refused = [], []
        for plan in plans:
            self._dispatch(plan)
        for pool in self.slots:
            self._claim(pool)

    def advance(self) -> None:
        """Let jobs end and workers claim until the next tick."""
        self.recalled = []
        until_us = self.now_us + TICK_US
        while True:
            ends = [(running[0], pool) for pool, running in self.running.items() if running]
            if not ends or min(ends)[0][0] >= until_us:
                break
            (self.now_us, job_id), pool = min(ends)
            self._leave(job_id)
            self.ended.add(job_id)
            self._index[self.jobs[job_id].stream].remove((self.jobs[job_id].seq, job_id))
            self._claim(pool)
        self.now_us = until_us

    def apply(self, document: str) -> None:
        """Put another policy in force."""
        self._table = compile_policy(parse(document), stored=len(self.plans) + 2)
        self.order.apply(self._table, self.now_us)

    def fail_over(self) -> None:
        """Lose the leader and all that it knew; another one reads the database."""
        self.begun_us = self.now_us
        self._lead()
        self.sweep()
        self.heads.record_scan()

    def sweep(self) -> None:
        """Show the leader the first job of each stream that waits."""
        first = [line[0][1] for line in self.waiting.values() if line]
        self.heads.scanned_first([self._found(job_id) for job_id in sorted(first)])

    def crash(self, most: int) -> None:
        """Let a worker of each pool die that has up to so many jobs: they wait for another."""
        for pool, running in self.running.items():
            ids = [job_id for _, job_id in running[:most]]
            del running[:most]
            heapify(running)
            for job_id in ids:
                job = self.work[job_id]
                self._serve(job)
                job.claimed_us = None
                job.vtag = max(job.vtag, self._floors[pool].get(job.band, 0))
                heappush(self._queued[pool], (job.band, job.vtag, job_id))
            self.order.returned(ids, self.now_us)

    def fail(self, pool: str) -> None:
        """Let an attempt fail that would have ended next: its job is tried again later."""
        if self.running[pool]:
            job_id = self.running[pool][0][1]
            self._leave(job_id)
            job = self.jobs[job_id]
            self._index[job.stream].remove((job.seq, job_id))
            heappush(self._promotions, (self.now_us + _PROMOTE_US, job_id))

    def cancel(self, stream: Stream) -> None:
        """Cancel the first waiting job of a stream without a report to the leader."""
        if self.waiting.get(stream):
            place = self.waiting[stream].pop(0)
            self._index[stream].remove(place)
            self.ended.add(place[1])

    def recall(self, ids: Iterable[int]) -> None:
        """Take those of these rows back from `work_queue` that no worker has."""
        found = sorted(i for i in ids if i in self.work and self.work[i].claimed_us is None)
        for job_id in found:
            job = self.work.pop(job_id)
            self.recalled.append(job)
            insort(self.waiting[job.stream], (job.seq, job_id))
        for pool, queued in self._queued.items():
            self._queued[pool] = [entry for entry in queued if entry[2] in self.work]
            heapify(self._queued[pool])
        unknown = self.order.recalled(found, self.heads)
        self.heads.missed([self._found(job_id) for job_id in unknown])

    def due_us(self, job: Job, law: Law, band: int) -> int:
        """Return from when on a job may go in a band; never in one below its own."""
        own = law.band(job.queue, job.rank)
        if band > own:
            return 1 << 62
        seen_us = max(job.arrived_us, self.begun_us)
        return seen_us + sum(law.waits_us[band + 1 : own + 1]) if band < own else 0

    def _lead(self) -> None:
        self.order = Router("default", self._table)
        rows = [job.row for job in self.work.values()]
        self.order.adopt(rows, self.now_us, self._floors_read(), self._used.values())
        self.heads = Heads(in_flight=self.order.in_flight)

    def _insert(self) -> None:
        new: list[int] = []
        while self._arrivals and self._arrivals[0][0] <= self.now_us:
            new.append(heappop(self._arrivals)[1])
            self._place(new[-1])
        due: list[int] = []
        while self._promotions and self._promotions[0][0] <= self.now_us:
            due.append(heappop(self._promotions)[1])
            self._place(due[-1])
        self.heads.discovered([self._found(job_id) for job_id in sorted(new)])
        self.heads.missed([self._found(job_id) for job_id in due])

    def _place(self, job_id: int) -> None:
        """Let a job wait, behind all that do."""
        self._seqs += 1
        job = self.jobs[job_id]
        job.seq = self._seqs
        for lines in (self._index, self.waiting):
            lines.setdefault(job.stream, []).append((job.seq, job_id))

    def _refill(self) -> None:
        for want in self.heads.next_requests(1000):
            line = self._index.get(want.stream, [])
            place = bisect_right(line, (want.after_seq, 1 << 62))
            found = [self._found(i) for _, i in line[place : place + want.limit]]
            heads = [Head(x.id, x.seq, x.hint_us, x.seen_us) for x in found]
            self.heads.filled(want.stream, heads, want.limit)

    def _dispatch(self, plan: Plan) -> None:
        self._used |= {(each.queue, each.tenant, each.per_us): each for each in plan.used}
        lost: list[int] = []
        for band, rows, floor in plan.parts if plan.rows else ():
            self._floors[plan.pool][band] = floor
            for job_id, vtag, estimate_us, _ in rows:
                job = self.jobs[job_id]
                place, line = (job.seq, job.id), self.waiting[job.stream]
                if place not in line or self.refuse(job.id):
                    lost.append(job.id)
                    continue
                line.remove(place)
                job.vtag, job.estimate_us = vtag, estimate_us
                job.band, job.pool, job.claimed_us = band, plan.pool, None
                self.work[job.id] = job
                self.went.append(job)
                heappush(self._queued[plan.pool], (band, job.vtag, job.id))
        if lost:
            self.order.refused(lost, plan.pool)
            self.refused += [self.jobs[job_id] for job_id in lost]
        asked = [self.jobs[job_id] for job_id in (*lost, *plan.doubtful)]
        found = [x for x in asked if (x.seq, x.id) in self.waiting[x.stream]]
        self.heads.missed([self._found(job.id) for job in found])

    def _claim(self, pool: str) -> None:
        queued, running = self._queued[pool], self.running[pool]
        ids: list[int] = []
        while queued and len(running) < self.slots[pool]:
            job = self.work[heappop(queued)[2]]
            job.claimed_us = self.now_us
            heappush(running, (self.now_us + job.cost_us, job.id))
            ids.append(job.id)
        self.order.claimed(ids, self.now_us)

    def _leave(self, job_id: int) -> None:
        """Let a running job's attempt end."""
        job = self.work.pop(job_id)
        heappop(self.running[job.pool])
        self.order.ended([job_id], [self._serve(job)])

    def _serve(self, job: Job) -> int:
        """Note how long an attempt ran that is over now; returns that."""
        assert job.claimed_us is not None
        run_us = self.now_us - job.claimed_us
        self._served.append((job, run_us))
        return run_us

    def _floors_read(self) -> dict[str, list[int]]:
        return {
            pool: [floors.get(band, 0) for band in range(1 + max(floors, default=-1))]
            for pool, floors in self._floors.items()
        }

    def _found(self, job_id: int) -> PendingJob:
        job = self.jobs[job_id]
        seen_us = None if job.arrived_us < self.begun_us else job.arrived_us
        return PendingJob(
            job.id, job.seq, job.queue, job.tenant, job.rank, job.hint_us, seen_us
        )

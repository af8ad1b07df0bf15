"""The simulated leader: the leader's own fair order, without a database.

`Router` and `Heads` are the classes the leader runs. This module stands in for the database: it
provides new jobs at the tail, refills behind the cursors, recalled jobs, and at the start what
a new leader finds at take-over.
"""

from bisect import bisect_right, insort
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import NamedTuple

from fairlead.policy.cel.variables import Workers
from fairlead_scheduler.limits.concurrency_keys import AttributeRequest
from fairlead_scheduler.ordering.levels.level import NEVER
from fairlead_scheduler.ordering.plan import QueueRow
from fairlead_scheduler.ordering.router import PoolSize as Room
from fairlead_scheduler.ordering.router import Router
from fairlead_scheduler.pending.heads import Heads
from fairlead_scheduler.pending.values import Head, HeadRequest, Paused, PendingJob, Stream
from fairlead_scheduler.policy.compiled import CompiledPolicy
from fairlead_scheduler.policy.gcra import WindowUsage
from fairlead_scheduler.policy.pool_routing import PoolRouting
from fairlead_scheduler.rules.circuit_breaker import DisabledRule
from fairlead_scheduler.rules.evaluator import EvaluationClocks, RuleEvaluator
from fairlead_scheduler.simulation.interface import (
    DispatchedRow,
    JobEvent,
    SimulatedLeader,
    TickResult,
    TickSize,
)
from fairlead_scheduler.simulation.job_samples import JobAttributes, JobSampler
from fairlead_scheduler.simulation.trace import Arrival

_STREAMS_MAX = 1000
"""How many streams the leader refills in one tick."""
_FIRST_ID = 1 << 40
"""The id and seq of the first job of the trace. Jobs that wait at the start have smaller ones,
because the tail has passed them."""
_UNBOUNDED = 1 << 39
_RECALL_US = 500_000
"""How often the leader checks for rows above a limit."""
ONLY = "default"
"""The simulated pool where none is named."""

DrawRunTime = Callable[[Stream, str | None], int]
"""Draws the run time in microseconds of a stream's next job that waits at the start, by its
kind; None: unknown."""


class WaitingJobs(NamedTuple):
    """A stream's jobs that wait at the start."""

    jobs: int
    more: bool
    """Whether more wait than were counted; the stream is then assumed never to run dry."""
    oldest_us: int
    """Since when the first one waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InheritedState:
    """What a new leader finds at take-over."""

    now_us: int = 0
    """The database's time."""
    rows: Sequence[QueueRow] = ()
    """The rows of `work_queue`; their ids are indexes in the trace."""
    floors: Mapping[str, Sequence[int]] = field(default_factory=dict[str, Sequence[int]])
    """Claim floors, by pool and then by band."""
    rate_usage: Sequence[WindowUsage] = ()
    paused: Paused = frozenset()
    waiting: Mapping[Stream, WaitingJobs] = field(default_factory=dict[Stream, WaitingJobs])


def _no_run_time(stream: Stream, _kind: str | None) -> int:
    raise AssertionError(f"no job of {stream} waits at the start")


class _NoRuleMetrics:
    """Discards the metrics of rules."""

    def show_true(self, rule: str, count: int) -> None:
        """Discard it."""

    def count_overrun(self, rule: str) -> None:
        """Discard it; simulated time stands still within a tick."""

    def count_error(self, rule: str) -> None:
        """Discard it."""

    def clear(self) -> None:
        """Do nothing."""


def _ignore_disabled(disabled: DisabledRule) -> None:
    """Accept that a rule without a value is disabled, and report nothing."""
    del disabled


class FairLeader(SimulatedLeader):
    """A leader with the product's fair order.

    Args:
        table: The policy at the start.
        pools: The simulated pools, by index.
        moves: Whether queues are in the pools the policy names; else all are in the first.
        inherited: The state at the start.
        jobs: The trace, to which each job that waits at the start is appended when it is
            read; not needed where none waits.
        draw_run_time: Draws the run times of these.
        sampler: Attributes of single jobs; None: none, so that keys and job rules block none.
    """

    def __init__(
        self,
        table: CompiledPolicy,
        *,
        pools: Sequence[str] = (ONLY,),
        moves: bool = False,
        inherited: InheritedState | None = None,
        jobs: list[Arrival] | None = None,
        draw_run_time: DrawRunTime = _no_run_time,
        sampler: JobSampler | None = None,
    ) -> None:
        inherited = inherited or InheritedState()
        self._inherited = inherited
        self._start_us = inherited.now_us
        self._draw_run_time = draw_run_time
        self._sampler = sampler
        self._attributes: dict[int, JobAttributes | None] = {}
        """Attributes of the jobs that waited at the start and have been read."""
        self._jobs: list[Arrival] = [] if jobs is None else jobs
        self._traced = len(self._jobs) if inherited.waiting else _FIRST_ID
        """Jobs from this index on waited at the start."""
        self._moves = moves
        self._pools = {pool: index for index, pool in enumerate(pools)}
        self._order = Router(pools[0], self._simulated(table))
        rows = [
            row._replace(job_id=self._id(row.job_id), pool=row.pool or pools[0])
            for row in inherited.rows
        ]
        self._order.adopt(rows, inherited.now_us, inherited.floors, inherited.rate_usage)
        self._heads = _heads(self._order, inherited)
        self._read: dict[Stream, list[int]] = {stream: [] for stream in inherited.waiting}
        """Ids of the jobs that waited at the start and have been read; a job's seq is its index
        here plus 1."""
        self._seconds = 0.0
        clocks = EvaluationClocks(lambda: self._seconds, lambda: 0.0)
        self._evaluator = RuleEvaluator(_NoRuleMetrics(), _ignore_disabled, clocks)
        self._streams: dict[Stream, list[int]] = {}
        """Ids, which are also the seqs, of the jobs that have arrived."""
        self._recall_us = 0
        self._returned: dict[Stream, list[int]] = {}
        """Recalled jobs that were in flight at the start, by ascending id: their seqs are below
        all others."""
        self._runnable_us: dict[int, int] = {}
        """Since when each job that arrived or was read waits."""
        self._costs_us: dict[int, int] = {
            row.job_id: self._jobs[index].cost_us
            for row, index in zip(rows, (row.job_id for row in inherited.rows), strict=True)
        }

    def _id(self, index: int) -> int:
        return index + _FIRST_ID if index < self._traced else index

    @staticmethod
    def _index(job_id: int) -> int:
        return job_id - _FIRST_ID if job_id >= _FIRST_ID else job_id

    def arrived(self, jobs: Sequence[tuple[int, Arrival]], now_us: int) -> None:
        """Discover the new jobs at the tail."""
        rows: list[PendingJob] = []
        runnable_us = now_us + self._start_us
        for index, job in jobs:
            job_id = index + _FIRST_ID
            stream = (job.queue, job.tenant, -job.priority)
            self._streams.setdefault(stream, []).append(job_id)
            self._costs_us[job_id] = job.cost_us
            self._runnable_us[job_id] = runnable_us
            rows.append(PendingJob(job_id, job_id, *stream, None, runnable_us))
        self._heads.discovered(rows)

    def claimed(self, claims: Sequence[JobEvent]) -> None:
        """Apply the receipts of claims."""
        for at_us, group in groupby(claims, key=_at_us):
            ids = [self._id(job) for job, _ in group]
            self._order.claimed(ids, at_us + self._start_us)

    def ended(self, endings: Sequence[JobEvent]) -> None:
        """Apply the receipts of endings, with the run times."""
        ids = [self._id(job) for job, _ in endings]
        self._order.ended(ids, [self._costs_us.pop(job_id) for job_id in ids])

    def apply(self, table: CompiledPolicy, now_us: int) -> None:
        """Apply another policy, as a leader does between two ticks."""
        self._order.apply(self._simulated(table), now_us + self._start_us)

    def _simulated(self, table: CompiledPolicy) -> CompiledPolicy:
        """Return the policy, with every queue in the first pool where no queue moves."""
        return table if self._moves else replace(table, routing=PoolRouting())

    @property
    def depth_ceiling(self) -> int | None:
        """The most unclaimed rows of a pool, under the policy in force."""
        return self._order.table.depth_ceiling

    @property
    def needs_another_tick(self) -> bool:
        """Whether jobs wait only for their attributes to be read."""
        return self._order.awaits_values

    def tick(self, now_us: int, sizes: Sequence[TickSize]) -> TickResult:
        """Refill the heads and plan, as one tick of the leader does."""
        heads, order = self._heads, self._order
        now_us += self._start_us
        for want in heads.next_requests(_STREAMS_MAX):
            heads.filled(want.stream, self._refill(want), want.limit)
        order.learn([self._attribute(request) for request in order.attribute_requests()])
        self._seconds = now_us / 1e6
        self._evaluator.evaluate(order, partial(self._workers, sizes), now_us)
        recalled = self._recall(now_us)
        waiting = {each.name: each.unclaimed for each in order.served}
        rooms = {
            pool: Room(sizes[index].slots, waiting[pool] + sizes[index].room)
            for pool, index in self._pools.items()
            if pool in waiting
        }
        plans = order.plan(now_us, rooms, heads, self._inherited.paused)
        rows = [
            DispatchedRow(band * NEVER + vtag, self._index(job_id), self._pools[plan.pool])
            for plan in plans
            if plan.rows
            for band, part, _ in plan.parts
            for job_id, vtag, _, _ in part
        ]
        return TickResult(frozenset(self._index(job_id) for job_id in recalled), rows)

    def _workers(self, sizes: Sequence[TickSize], pool: str | None) -> Workers:
        """Return the slots of a pool's workers, which rules may read; no pool: zero slots."""
        for order in self._order.served:
            if order.name == pool and pool in self._pools:
                slots = sizes[self._pools[pool]].slots
                return Workers(slots, max(0, slots - len(order.in_flight) + order.unclaimed))
        return Workers(0, 0)

    def _attribute(self, request: AttributeRequest) -> str | None:
        """Return an attribute that a key or rule reads of a job; None: unknown."""
        sampler, index = self._sampler, self._index(request.job_id)
        if sampler is None:
            return None
        job = self._jobs[index]
        waited = request.job_id in self._attributes
        attributes = self._attributes[request.job_id] if waited else sampler.at(index, job)
        since_us = self._runnable_us.get(request.job_id, self._start_us)
        if attributes is None:
            return None
        return sampler.text(request, attributes, priority=job.priority, since_us=since_us)

    def _recall(self, now_us: int) -> set[int]:
        """Recall rows that have waited too long in their band or exceed a limit."""
        heads, order = self._heads, self._order
        recalled = {*order.overdue_rows(now_us)}
        if now_us >= self._recall_us:
            self._recall_us = now_us + _RECALL_US
            recalled.update(order.surplus_rows())
        found: list[PendingJob] = []
        for job_id in order.recalled(sorted(recalled), heads):
            # Its priority is unknown: it goes before all jobs that wait with priority 0.
            job = self._jobs[self._index(job_id)]
            stream = (job.queue, job.tenant, -job.priority)
            insort(self._returned.setdefault(stream, []), job_id)
            found.append(PendingJob(job_id, _recalled_seq(job_id), *stream, None, None))
        heads.missed(found)
        return recalled

    def _refill(self, want: HeadRequest) -> list[Head]:
        """Return the next jobs of a stream: recalled ones, then those waiting at the start."""
        stream, after_seq, limit = want
        found = [
            Head(job_id, _recalled_seq(job_id), None, None)
            for job_id in self._returned.get(stream, ())
            if _recalled_seq(job_id) > after_seq
        ][:limit]
        waiting = self._inherited.waiting.get(stream)
        if waiting is not None and after_seq < _UNBOUNDED:
            last = _UNBOUNDED if waiting.more else waiting.jobs
            first = max(0, after_seq) + 1
            seqs = range(first, min(last, first + limit - len(found) - 1) + 1)
            found += [self._waited(stream, waiting, seq) for seq in seqs]
        arrived = self._streams.get(stream)
        if arrived is not None and len(found) < limit:
            first = bisect_right(arrived, after_seq)
            ids = arrived[first : first + limit - len(found)]
            found += [Head(job_id, job_id, None, self._runnable_us[job_id]) for job_id in ids]
        return found

    def _waited(self, stream: Stream, waiting: WaitingJobs, seq: int) -> Head:
        """Return a job that waited at the start; its first read appends it to the trace."""
        read = self._read[stream]
        ages_us = self._start_us - waiting.oldest_us
        while len(read) < seq:
            queue, tenant, rank = stream
            sampler = self._sampler
            attributes = None if sampler is None else sampler.waiting(stream, len(read) + 1)
            cost_us = self._draw_run_time(stream, attributes.kind if attributes else None)
            job_id = len(self._jobs)
            self._jobs.append(Arrival(0, queue, tenant, cost_us, priority=-rank))
            self._costs_us[job_id] = cost_us
            read.append(job_id)
            share = 0.0 if waiting.more else (len(read) - 1) / waiting.jobs
            self._runnable_us[job_id] = waiting.oldest_us + int(ages_us * share)
            self._attributes[job_id] = attributes
        job_id = read[seq - 1]
        return Head(job_id, seq, None, self._runnable_us[job_id])


def _heads(order: Router, inherited: InheritedState) -> Heads:
    """Return heads with the streams that wait at the start."""
    heads = Heads(in_flight=order.in_flight, last_id=_FIRST_ID - 1)
    heads.scanned_first(
        PendingJob(0, 1, *stream, None, each.oldest_us)
        for stream, each in inherited.waiting.items()
    )
    heads.record_scan()
    return heads


def _recalled_seq(job_id: int) -> int:
    """Return the seq of a recalled job that was in flight at the start: negative, by id."""
    return job_id - 2 * _FIRST_ID


def _at_us(event: JobEvent) -> int:
    return event.at_us

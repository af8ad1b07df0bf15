"""The fair order as the simulation plays it: the leader's own code, without a database.

`Pools` and `Heads` are those that the leader runs. What they would read from the database
is answered here: new jobs as the tail finds them, refills behind the cursors, what is recalled,
and at the start what a leader finds that takes over.
"""

from bisect import bisect_right, insort
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import NamedTuple

from fairlead.policy.variables import Workers
from fairlead_scheduler.homes import Homes
from fairlead_scheduler.keys import Trait
from fairlead_scheduler.lanes import Heads
from fairlead_scheduler.order import NEVER
from fairlead_scheduler.pools import Pools
from fairlead_scheduler.pools import Size as Room
from fairlead_scheduler.rates import Used
from fairlead_scheduler.rulings import Clocks, Rulings
from fairlead_scheduler.simulation.order import Event, Leader, Look, Row, Size
from fairlead_scheduler.simulation.told import Known, Told
from fairlead_scheduler.simulation.trace import Arrival
from fairlead_scheduler.terms import Table
from fairlead_scheduler.values import Found, Head, Paused, QueueRow, Stream, Want
from fairlead_scheduler.views import Disabled

_STREAMS_MAX = 1000
"""How many streams the leader refills in one look."""
_FIRST_ID = 1 << 40
"""The id, and the seq, of the first job of the trace. Jobs that wait at the start have smaller
ones, because the tail has passed them."""
_UNBOUNDED = 1 << 39
_RECALL_US = 500_000
"""How often the leader looks for what a policy or a rule leaves no room."""
ONLY = "default"
"""The pool that is played where none is named."""

Draw = Callable[[Stream, str | None], int]
"""Answers how long the next job of a stream that waits at the start takes, in microseconds, by
its kind; None: nobody knows that."""


class Waiting(NamedTuple):
    """Jobs of one stream that wait at the start."""

    jobs: int
    more: bool
    """Whether there are more than were counted: then they are taken never to end."""
    oldest_us: int
    """Since when the first of them waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inheritance:
    """What a leader finds that takes over, and so where a play begins."""

    now_us: int = 0
    """The database's time."""
    rows: Sequence[QueueRow] = ()
    """Those of `work_queue`; their ids are places in the trace."""
    floors: Mapping[str, Sequence[int]] = field(default_factory=dict[str, Sequence[int]])
    """Those in force, by pools and then by bands."""
    used: Sequence[Used] = ()
    paused: Paused = frozenset()
    waiting: Mapping[Stream, Waiting] = field(default_factory=dict[Stream, Waiting])


def _none(stream: Stream, _kind: str | None) -> int:
    raise AssertionError(f"nothing waits at the start, and so nothing of {stream}")


class _Unseen:
    """Counts nothing of rules."""

    def true(self, rule: str, count: int) -> None:
        """Show it to nobody."""

    def overruns(self, rule: str) -> None:
        """Count nothing: simulated time stands still in a look."""

    def errors(self, rule: str) -> None:
        """Count nothing."""

    def clear(self) -> None:
        """Forget nothing."""


def _forget(disabled: Disabled) -> None:
    """Let a rule without a value be disabled, as the leader does, without a word."""
    del disabled


class Fair(Leader):
    """The fair order with its heads.

    Args:
        table: The terms at the start.
        pools: Those that are played, by their places.
        moves: Whether queues are where the table says, and not all in the first pool.
        inherited: What is there already; jobs that arrive come to it.
        jobs: The trace, to which each job that waits at the start is appended when it is
            read; not needed where none does.
        draw: How long these take.
        known: What is known of single jobs; None: nothing, so that keys and rules for them hold
            nobody.
    """

    def __init__(
        self,
        table: Table,
        *,
        pools: Sequence[str] = (ONLY,),
        moves: bool = False,
        inherited: Inheritance | None = None,
        jobs: list[Arrival] | None = None,
        draw: Draw = _none,
        known: Known | None = None,
    ) -> None:
        inherited = inherited or Inheritance()
        self._inherited = inherited
        self._begun_us = inherited.now_us
        self._draw = draw
        self._known = known
        self._told: dict[int, Told | None] = {}
        """What jobs have that waited at the start, as far as they were read."""
        self._jobs: list[Arrival] = [] if jobs is None else jobs
        self._traced = len(self._jobs) if inherited.waiting else _FIRST_ID
        """Jobs from this place on waited at the start."""
        self._moves = moves
        self._pools = {pool: place for place, pool in enumerate(pools)}
        self._order = Pools(pools[0], self._played(table))
        rows = [
            row._replace(job_id=self._id(row.job_id), pool=row.pool or pools[0])
            for row in inherited.rows
        ]
        self._order.adopt(rows, inherited.now_us, inherited.floors, inherited.used)
        self._heads = _heads(self._order, inherited)
        self._read: dict[Stream, list[int]] = {stream: [] for stream in inherited.waiting}
        """The ids of those that waited at the start, as far as they were read; a job's seq is
        its place here plus 1."""
        self._seconds = 0.0
        clocks = Clocks(lambda: self._seconds, lambda: 0.0)
        self._rulings = Rulings(_Unseen(), _forget, clocks)
        self._streams: dict[Stream, list[int]] = {}
        """The ids, which are the seqs, of the jobs that have arrived."""
        self._recall_us = 0
        self._returned: dict[Stream, list[int]] = {}
        """The ids of jobs in flight at the start that were recalled, ascending: their seqs are
        below those of all others."""
        self._seen_us: dict[int, int] = {}
        """Since when jobs wait, of those that have arrived or were read."""
        self._costs_us: dict[int, int] = {
            row.job_id: self._jobs[place].cost_us
            for row, place in zip(rows, (row.job_id for row in inherited.rows), strict=True)
        }

    def _id(self, place: int) -> int:
        return place + _FIRST_ID if place < self._traced else place

    @staticmethod
    def _place(job_id: int) -> int:
        return job_id - _FIRST_ID if job_id >= _FIRST_ID else job_id

    def arrived(self, jobs: Sequence[tuple[int, Arrival]], now_us: int) -> None:
        """Find the new jobs at the tail."""
        rows: list[Found] = []
        seen_us = now_us + self._begun_us
        for place, job in jobs:
            job_id = place + _FIRST_ID
            stream = (job.queue, job.tenant, -job.priority)
            self._streams.setdefault(stream, []).append(job_id)
            self._costs_us[job_id] = job.cost_us
            self._seen_us[job_id] = seen_us
            rows.append(Found(job_id, job_id, *stream, None, seen_us))
        self._heads.discovered(rows)

    def claimed(self, claims: Sequence[Event]) -> None:
        """Read the receipts of claims."""
        for at_us, group in groupby(claims, key=_at_us):
            ids = [self._id(job) for job, _ in group]
            self._order.claimed(ids, at_us + self._begun_us)

    def ended(self, endings: Sequence[Event]) -> None:
        """Read the receipts of endings, with what they ran."""
        ids = [self._id(job) for job, _ in endings]
        self._order.ended(ids, [self._costs_us.pop(job_id) for job_id in ids])

    def amend(self, table: Table, now_us: int) -> None:
        """Apply another policy, as a leader does between two looks."""
        self._order.apply(self._played(table), now_us + self._begun_us)

    def _played(self, table: Table) -> Table:
        """Return a table, without its pools where no queue moves: all are in the first."""
        return table if self._moves else replace(table, homes=Homes())

    @property
    def depth_ceiling(self) -> int | None:
        """The most rows of a pool that wait for a worker, under the policy in force."""
        return self._order.table.depth_ceiling

    @property
    def looks_again(self) -> bool:
        """Whether jobs wait only for what is to be read of them."""
        return self._order.awaits_values

    def look(self, now_us: int, sizes: Sequence[Size]) -> Look:
        """Refill the heads and plan, as one look of the leader does."""
        heads, order = self._heads, self._order
        now_us += self._begun_us
        for want in heads.wants(_STREAMS_MAX):
            heads.filled(want.stream, self._refill(want), want.limit)
        order.learn([self._answer(trait) for trait in order.traits()])
        self._seconds = now_us / 1e6
        self._rulings.look(order, partial(self._workers, sizes), now_us)
        recalled = self._recall(now_us)
        waiting = {each.pool: each.unclaimed for each in order.served}
        rooms = {
            pool: Room(sizes[place].slots, waiting[pool] + sizes[place].room)
            for pool, place in self._pools.items()
            if pool in waiting
        }
        plans = order.plan(now_us, rooms, heads, self._inherited.paused)
        rows = [
            Row(band * NEVER + vtag, self._place(job_id), self._pools[plan.pool])
            for plan in plans
            if plan.rows
            for band, part, _ in plan.parts
            for job_id, vtag, _, _ in part
        ]
        return Look(frozenset(self._place(job_id) for job_id in recalled), rows)

    def _workers(self, sizes: Sequence[Size], pool: str | None) -> Workers:
        """Return the slots of a pool's workers, as rules may ask for them; None: none."""
        for order in self._order.served:
            if order.pool == pool and pool in self._pools:
                slots = sizes[self._pools[pool]].slots
                return Workers(slots, max(0, slots - len(order.in_flight) + order.unclaimed))
        return Workers(0, 0)

    def _answer(self, trait: Trait) -> str | None:
        """Return what a job has of what keys and rules ask; None where nobody knows."""
        known, place = self._known, self._place(trait.job_id)
        if known is None:
            return None
        job = self._jobs[place]
        waited = trait.job_id in self._told
        told = self._told[trait.job_id] if waited else known.at(place, job)
        since_us = self._seen_us.get(trait.job_id, self._begun_us)
        if told is None:
            return None
        return known.text(trait, told, priority=job.priority, since_us=since_us)

    def _recall(self, now_us: int) -> set[int]:
        """Take back what has waited too long for its band, or may not wait where it does."""
        heads, order = self._heads, self._order
        recalled = {*order.overdue(now_us)}
        if now_us >= self._recall_us:
            self._recall_us = now_us + _RECALL_US
            recalled.update(order.surplus())
        found: list[Found] = []
        for job_id in order.recalled(sorted(recalled), heads):
            # Nobody has read its priority: it stands before all that waits with priority 0.
            job = self._jobs[self._place(job_id)]
            stream = (job.queue, job.tenant, -job.priority)
            insort(self._returned.setdefault(stream, []), job_id)
            found.append(Found(job_id, _before(job_id), *stream, None, None))
        heads.missed(found)
        return recalled

    def _refill(self, want: Want) -> list[Head]:
        """Return the next jobs of a stream: those that waited at the start come first."""
        stream, after_seq, limit = want
        found = [
            Head(job_id, _before(job_id), None, None)
            for job_id in self._returned.get(stream, ())
            if _before(job_id) > after_seq
        ][:limit]
        waiting = self._inherited.waiting.get(stream)
        if waiting is not None and after_seq < _UNBOUNDED:
            there = _UNBOUNDED if waiting.more else waiting.jobs
            first = max(0, after_seq) + 1
            seqs = range(first, min(there, first + limit - len(found) - 1) + 1)
            found += [self._waited(stream, waiting, seq) for seq in seqs]
        arrived = self._streams.get(stream)
        if arrived is not None and len(found) < limit:
            first = bisect_right(arrived, after_seq)
            ids = arrived[first : first + limit - len(found)]
            found += [Head(job_id, job_id, None, self._seen_us[job_id]) for job_id in ids]
        return found

    def _waited(self, stream: Stream, waiting: Waiting, seq: int) -> Head:
        """Return a job that waited at the start; the first time it joins the trace."""
        read = self._read[stream]
        ages_us = self._begun_us - waiting.oldest_us
        while len(read) < seq:
            queue, tenant, rank = stream
            known = self._known
            told = None if known is None else known.waiting(stream, len(read) + 1)
            cost_us = self._draw(stream, told.kind if told else None)
            job_id = len(self._jobs)
            self._jobs.append(Arrival(0, queue, tenant, cost_us, priority=-rank))
            self._costs_us[job_id] = cost_us
            read.append(job_id)
            share = 0.0 if waiting.more else (len(read) - 1) / waiting.jobs
            self._seen_us[job_id] = waiting.oldest_us + int(ages_us * share)
            self._told[job_id] = told
        job_id = read[seq - 1]
        return Head(job_id, seq, None, self._seen_us[job_id])


def _heads(order: Pools, inherited: Inheritance) -> Heads:
    """Return heads that know of the streams that wait at the start."""
    heads = Heads(in_flight=order.in_flight, last_id=_FIRST_ID - 1)
    heads.swept(
        Found(0, 1, *stream, None, each.oldest_us) for stream, each in inherited.waiting.items()
    )
    heads.surveyed()
    return heads


def _before(job_id: int) -> int:
    """Return the seq of a job that was in flight at the start: below zero, in their order."""
    return job_id - 2 * _FIRST_ID


def _at_us(event: Event) -> int:
    return event.at_us

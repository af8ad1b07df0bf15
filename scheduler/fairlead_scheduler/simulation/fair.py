"""The fair order as the simulation plays it: the leader's own code, without a database.

`PoolOrder` and `Heads` are those that the leader runs. What they would read from the database
is answered here: new jobs as the tail finds them, refills behind the cursors, and at the start
what a leader finds that takes over.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import NamedTuple

from fairlead.policy.variables import Workers
from fairlead_scheduler.homes import Homes
from fairlead_scheduler.lanes import Heads
from fairlead_scheduler.order import NEVER
from fairlead_scheduler.pool import PoolOrder
from fairlead_scheduler.rates import Used
from fairlead_scheduler.rulings import Clocks, Rulings
from fairlead_scheduler.simulation.order import Event, Row
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

Draw = Callable[[Stream], int]
"""Answers how long the next job of a stream that waits at the start takes, in microseconds."""


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
    floors: Sequence[int] = ()
    """Those in force, by bands."""
    used: Sequence[Used] = ()
    paused: Paused = frozenset()
    waiting: Mapping[Stream, Waiting] = field(default_factory=dict[Stream, Waiting])


def _none(stream: Stream) -> int:
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


class Fair:
    """The fair order with its heads.

    Args:
        table: The terms at the start.
        inherited: What is there already; jobs that arrive come to it.
        jobs: The trace, to which each job that waits at the start is appended when it is
            read; not needed where none does.
        draw: How long these take.
    """

    def __init__(
        self,
        table: Table,
        *,
        inherited: Inheritance | None = None,
        jobs: list[Arrival] | None = None,
        draw: Draw = _none,
    ) -> None:
        inherited = inherited or Inheritance()
        self._inherited = inherited
        self._begun_us = inherited.now_us
        self._draw = draw
        self._jobs: list[Arrival] = [] if jobs is None else jobs
        self._traced = len(self._jobs) if inherited.waiting else _FIRST_ID
        """Jobs from this place on waited at the start."""
        self._order = PoolOrder("default", _at_home(table))
        rows = [row._replace(job_id=self._id(row.job_id)) for row in inherited.rows]
        self._order.adopt(rows, inherited.now_us, inherited.floors, inherited.used)
        self._heads = Heads(in_flight=self._order.in_flight, last_id=_FIRST_ID - 1)
        self._read: dict[Stream, list[int]] = {stream: [] for stream in inherited.waiting}
        """The ids of those that waited at the start, as far as they were read; a job's seq is
        its place here plus 1."""
        self._heads.swept(
            Found(0, 1, *stream, None, each.oldest_us)
            for stream, each in inherited.waiting.items()
        )
        self._heads.surveyed()
        self._running = sum(row.claimed_us is not None for row in rows)
        self._seconds = 0.0
        clocks = Clocks(lambda: self._seconds, lambda: 0.0)
        self._rulings = Rulings(_Unseen(), _forget, clocks)
        self._streams: dict[Stream, list[int]] = {}
        """The ids, which are the seqs, of the jobs that have arrived."""
        self._gone: set[int] = set()
        """Jobs that were recalled, and claimed all the same before they went out anew."""
        self._seen_us: dict[int, int] = {}
        """When those that have arrived did so."""
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
        self._running += len(claims)
        for at_us, group in groupby(claims, key=_at_us):
            ids = [self._id(job) for job, _ in group]
            self._order.claimed(ids, at_us + self._begun_us)
            if self._order.bands > 1:
                self._gone.update(i for i in ids if i not in self._order.in_flight)

    def ended(self, endings: Sequence[Event]) -> None:
        """Read the receipts of endings, with what they ran."""
        self._running -= len(endings)
        ids = [self._id(job) for job, _ in endings]
        self._order.ended(ids, [self._costs_us.pop(job_id) for job_id in ids])

    def amend(self, table: Table, now_us: int) -> None:
        """Apply another policy, as a leader does between two looks."""
        self._order.apply(_at_home(table), now_us + self._begun_us)

    def plan(self, now_us: int, *, room: int, slots: int) -> Sequence[Row]:
        """Refill the heads and plan, as one look of the leader does."""
        heads, order = self._heads, self._order
        now_us += self._begun_us
        for want in heads.wants(_STREAMS_MAX):
            heads.filled(want.stream, self._refill(want), want.limit)
        # Neither traces nor counts tell what is in jobs: keys and rules for them hold nobody.
        order.learn([None] * len(order.traits()))
        self._seconds = now_us / 1e6
        self._rulings.look(order, Workers(slots, max(0, slots - self._running)), now_us)
        order.recalled(order.overdue(now_us), heads)
        plan = order.plan(now_us, slots, order.unclaimed + room, heads, self._inherited.paused)
        gone = self._gone.intersection(job.id for job in plan.jobs)
        order.refused(gone)
        return [
            Row(band * NEVER + job.vtag, self._place(job.id))
            for band, jobs, _ in plan.parts
            for job in jobs
            if job.id not in gone
        ]

    def _refill(self, want: Want) -> list[Head]:
        """Return the next jobs of a stream: those that waited at the start come first."""
        stream, after_seq, limit = want
        found: list[Head] = []
        waiting = self._inherited.waiting.get(stream)
        if waiting is not None and after_seq < _UNBOUNDED:
            there = _UNBOUNDED if waiting.more else waiting.jobs
            seqs = range(after_seq + 1, min(there, after_seq + limit) + 1)
            found = [self._waited(stream, waiting, seq) for seq in seqs]
        arrived = self._streams.get(stream)
        if arrived is not None and len(found) < limit:
            first = bisect_right(arrived, after_seq)
            ids = arrived[first : first + limit - len(found)]
            found += [Head(job_id, job_id, None, self._seen_us[job_id]) for job_id in ids]
        return found

    def _waited(self, stream: Stream, waiting: Waiting, seq: int) -> Head:
        """Return a job that waited at the start; the first time it joins the trace."""
        read = self._read[stream]
        while len(read) < seq:
            queue, tenant, rank = stream
            cost_us = self._draw(stream)
            job_id = len(self._jobs)
            self._jobs.append(Arrival(0, queue, tenant, cost_us, priority=-rank))
            self._costs_us[job_id] = cost_us
            read.append(job_id)
        ages_us = self._begun_us - waiting.oldest_us
        share = 0.0 if waiting.more else (seq - 1) / waiting.jobs
        return Head(read[seq - 1], seq, None, waiting.oldest_us + int(ages_us * share))


def _at_home(table: Table) -> Table:
    """Return a table without its pools: one pool is simulated, with the queues that it has."""
    return replace(table, homes=Homes())


def _at_us(event: Event) -> int:
    return event.at_us

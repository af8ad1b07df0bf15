"""A fleet in simulated time: a trace goes in, and when each job was claimed and ended comes.

A leader looks, hears everything that happened until then, and hands out rows that the workers
see a round trip later. Workers take the row with the smallest tag, a round trip after they are
free. Without any of these latencies the leader decides at every event, which is how a policy
is at its best. Everything is determined by what is put in.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from fairlead_scheduler.calm import tick_share
from fairlead_scheduler.simulation.order import Event, Order, Row
from fairlead_scheduler.simulation.prefetch import Prefetch
from fairlead_scheduler.simulation.trace import Arrival

_NEVER = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """The conditions under which a trace is played."""

    slots: int
    tick_us: int = 0
    """Rest between two looks of the leader; with 0 it looks whenever something happened."""
    dispatch_us: int = 0
    """From a decision until workers see it."""
    claim_us: int = 0
    """From a free slot to its next job, and from a row that workers see to an idle slot."""
    depth: int | None = 0
    """Rows beside the free slots; None for the product's own measure."""


class Amendment(NamedTuple):
    """A change of the order's terms while a trace is played."""

    at_us: int
    amend: Callable[[int], None]
    """Called with the time at the leader's next look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """What is under way at the start: the first jobs of the trace are in `work_queue`.

    The order knows of these already.
    """

    running: Sequence[tuple[int, int]] = ()
    """When it will end, and the job. They come first in the trace."""
    queued: Sequence[Row] = ()
    """What waits for a worker. These come next."""
    waiting: int = 0
    """How many other jobs wait: the order adds those that it hands out to the trace."""


_NOTHING = Begun()


class Played(NamedTuple):
    """What became of one job of the trace; None for what did not happen before the end."""

    arrival: Arrival
    claimed_us: int | None
    ended_us: int | None


def play(
    trace: Sequence[Arrival],
    order: Order,
    fleet: Fleet,
    until_us: int,
    amendments: Sequence[Amendment] = (),
    *,
    begun: Begun = _NOTHING,
    claims_max: int | None = None,
) -> "Run":
    """Play a trace until then, and return what became of its jobs, in the trace's order.

    Args:
        trace: In the order of arrivals. An order that knows of jobs that wait at the start
            appends those that it hands out.
        order: Whose turn it is.
        fleet: The conditions.
        until_us: When to stop.
        amendments: In the order of their times.
        begun: What is under way at the start.
        claims_max: Stop earlier, after so many claims.
    """
    return _Play(trace, order, fleet, until_us, amendments, begun, claims_max).run()


class Run(NamedTuple):
    """What became of the jobs of a trace until it was stopped."""

    jobs: tuple[Played, ...]
    until_us: int


class _Play:
    def __init__(
        self,
        trace: Sequence[Arrival],
        order: Order,
        fleet: Fleet,
        until_us: int,
        amendments: Sequence[Amendment],
        begun: Begun,
        claims_max: int | None,
    ) -> None:
        self._trace = trace
        self._order = order
        self._fleet = fleet
        self._until_us = until_us
        self._claims_max = _NEVER if claims_max is None else claims_max
        self._amendments = deque(amendments)
        self._amended: list[Amendment] = []
        """Those that the order is to hear of at the next look."""
        self._prefetch = Prefetch(
            slots=fleet.slots, fixed=fleet.depth, round_us=fleet.tick_us + fleet.dispatch_us
        )
        self._arriving = len(trace)
        """How many jobs of the trace arrive: what the order adds was there before,"""
        self._arrived = len(begun.running) + len(begun.queued)
        """how many of them have arrived,"""
        self._told = self._arrived
        """how many of them the order knows,"""
        self._handed_out = self._arrived
        """and how many it has handed out."""
        self._waiting_at_start = begun.waiting
        self._claimed_us: dict[int, int] = {job: 0 for _, job in begun.running}
        self._ended_us: dict[int, int] = {}
        self._transit: deque[tuple[int, Sequence[Row]]] = deque()
        self._queued = list(begun.queued)
        heapify(self._queued)
        self._running = list(begun.running)
        heapify(self._running)
        self._claiming: deque[int] = deque()
        """When slots that are on their way to a row get there."""
        self._idle = max(0, fleet.slots - len(self._running))
        """Slots that look for no row, for there was none."""
        if self._queued:
            self._claiming.extend([fleet.claim_us] * self._idle)
            self._idle = 0
        self._claims: list[Event] = []
        self._endings: list[Event] = []
        self._claims_in_all = len(self._running)
        self._look_us = 0
        self._stirred = True

    def run(self) -> Run:
        now_us = 0
        while now_us < self._until_us:
            self._happen(now_us)
            if self._claims_in_all >= self._claims_max:
                self._until_us = now_us
                break
            if now_us >= self._look_us and (self._stirred or self._fleet.tick_us):
                self._look(now_us)
                self._happen(now_us)
            now_us = self._next_us()
        claimed_us, ended_us = self._claimed_us.get, self._ended_us.get
        jobs = (
            Played(arrival, claimed_us(job), ended_us(job))
            for job, arrival in enumerate(self._trace)
        )
        return Run(tuple(jobs), self._until_us)

    def _next_us(self) -> int:
        times = [_NEVER]
        if self._arrived < self._arriving:
            times.append(self._trace[self._arrived].at_us)
        if self._running:
            times.append(self._running[0][0])
        if self._claiming:
            times.append(self._claiming[0])
        if self._transit:
            times.append(self._transit[0][0])
        if self._amendments:
            times.append(self._amendments[0].at_us)
        if self._fleet.tick_us or self._stirred:
            times.append(self._look_us)
        return min(times)

    def _happen(self, now_us: int) -> None:
        """Let everything happen that is due by now."""
        trace, claim_us = self._trace, self._fleet.claim_us
        arriving = self._arriving
        while self._arrived < arriving and trace[self._arrived].at_us <= now_us:
            self._arrived += 1
            self._stirred = True
        while self._amendments and self._amendments[0].at_us <= now_us:
            self._amended.append(self._amendments.popleft())
            self._stirred = True
        while self._running and self._running[0][0] <= now_us:
            job = heappop(self._running)[1]
            self._ended_us[job] = now_us
            self._endings.append(Event(job, now_us))
            self._claiming.append(now_us + claim_us)
            self._stirred = True
        while self._transit and self._transit[0][0] <= now_us:
            rows = self._transit.popleft()[1]
            for row in rows:
                heappush(self._queued, row)
            woken = min(self._idle, len(rows))
            self._idle -= woken
            self._claiming.extend([now_us + claim_us] * woken)
        while self._claiming and self._claiming[0] <= now_us:
            self._claiming.popleft()
            self._claim(now_us)

    def _claim(self, now_us: int) -> None:
        """Let a slot take the first row; of a job handed out again, one of its rows."""
        while self._queued and self._queued[0].job in self._claimed_us:
            heappop(self._queued)
            self._handed_out -= 1
        if not self._queued:
            self._idle += 1
            return
        job = heappop(self._queued).job
        self._claimed_us[job] = now_us
        heappush(self._running, (now_us + self._trace[job].cost_us, job))
        self._claims.append(Event(job, now_us))
        self._claims_in_all += 1

    def _look(self, now_us: int) -> None:
        """Tell the order what happened, and send out what it hands out."""
        order, trace = self._order, self._trace
        for each in self._amended:
            each.amend(now_us)
        self._amended.clear()
        claims, self._claims = self._claims, []
        endings, self._endings = self._endings, []
        order.claimed(claims)
        order.ended(endings)
        order.arrived(list(enumerate(trace[self._told : self._arrived], self._told)), now_us)
        self._told = self._arrived
        free = self._fleet.slots - len(self._running)
        room = self._prefetch.room(
            now_us,
            claims=len(claims),
            runs_us=[trace[job].cost_us for job, _ in endings],
            unclaimed=self._handed_out - self._claims_in_all,
            free=free,
            waiting=self._arrived + self._waiting_at_start - self._handed_out,
        )
        rows = order.plan(now_us, room=room, slots=self._fleet.slots)
        if rows:
            self._handed_out += len(rows)
            self._transit.append((now_us + self._fleet.dispatch_us, rows))
        tick_us = int(self._fleet.tick_us * tick_share(jobs=len(rows), free=free))
        self._look_us = now_us + tick_us + self._fleet.dispatch_us
        self._stirred = False

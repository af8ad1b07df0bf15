"""A fleet in simulated time: a trace goes in, and when each job was claimed and ended comes.

A leader looks, hears everything that happened until then, and hands out rows that the workers
see a round trip later. Workers take the row with the smallest tag, a round trip after they are
free. Without any of these latencies the leader decides at every event, which is how a policy
is at its best. Everything is determined by what is put in.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from fairlead_scheduler.calm import tick_share
from fairlead_scheduler.simulation.order import Event, Leader, OnePool, Order, Row, Size
from fairlead_scheduler.simulation.prefetch import Prefetch
from fairlead_scheduler.simulation.site import NEVER, Site
from fairlead_scheduler.simulation.trace import Arrival


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
    beside: tuple[int, ...] = ()
    """The slots of the pools beside the first, under the same conditions."""

    @property
    def by_pool(self) -> tuple[int, ...]:
        """The slots of each pool."""
        return (self.slots, *self.beside)

    @property
    def all_slots(self) -> int:
        """The slots of all pools."""
        return sum(self.by_pool)


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
    pools: Mapping[int, int] = field(default_factory=dict[int, int])
    """The places of the pools in which jobs run that are not in the first."""
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
    order: Order | Leader,
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
        order: Whose turn it is; of several pools a leader tells.
        fleet: The conditions.
        until_us: When to stop.
        amendments: In the order of their times.
        begun: What is under way at the start.
        claims_max: Stop earlier, after so many claims.
    """
    leader = order if isinstance(order, Leader) else OnePool(order)
    return _Play(trace, leader, fleet, until_us, amendments, begun, claims_max).run()


class Run(NamedTuple):
    """What became of the jobs of a trace until it was stopped."""

    jobs: tuple[Played, ...]
    until_us: int


class _Play:
    def __init__(
        self,
        trace: Sequence[Arrival],
        leader: Leader,
        fleet: Fleet,
        until_us: int,
        amendments: Sequence[Amendment],
        begun: Begun,
        claims_max: int | None,
    ) -> None:
        self._trace = trace
        self._leader = leader
        self._fleet = fleet
        self._until_us = until_us
        self._claims_max = NEVER if claims_max is None else claims_max
        self._amendments = deque(amendments)
        self._amended: list[Amendment] = []
        """Those that the order is to hear of at the next look."""
        self._sites = [_site(trace, fleet, begun, place) for place in range(len(fleet.by_pool))]
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
        self._look_us = 0
        self._stirred = True

    def run(self) -> Run:
        now_us = 0
        while now_us < self._until_us:
            self._happen(now_us)
            if len(self._claimed_us) >= self._claims_max:
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
        times = [site.next_us() for site in self._sites]
        if self._arrived < self._arriving:
            times.append(self._trace[self._arrived].at_us)
        if self._amendments:
            times.append(self._amendments[0].at_us)
        if self._fleet.tick_us or self._stirred:
            times.append(self._look_us)
        return min(times)

    def _happen(self, now_us: int) -> None:
        """Let everything happen that is due by now."""
        trace = self._trace
        arriving = self._arriving
        while self._arrived < arriving and trace[self._arrived].at_us <= now_us:
            self._arrived += 1
            self._stirred = True
        while self._amendments and self._amendments[0].at_us <= now_us:
            self._amended.append(self._amendments.popleft())
            self._stirred = True
        for site in self._sites:
            claims, endings = len(site.claims), len(site.endings)
            site.happen(now_us)
            self._claimed_us.update(site.claims[claims:])
            if len(site.endings) > endings:
                self._ended_us.update(site.endings[endings:])
                self._stirred = True

    def _look(self, now_us: int) -> None:
        """Tell the order what happened, and send out what it hands out."""
        leader, trace, sites = self._leader, self._trace, self._sites
        for each in self._amended:
            each.amend(now_us)
        self._amended.clear()
        leader.claimed(_in_time([site.claims for site in sites]))
        leader.ended(_in_time([site.endings for site in sites]))
        leader.arrived(list(enumerate(trace[self._told : self._arrived], self._told)), now_us)
        self._told = self._arrived
        waiting = self._arrived + self._waiting_at_start - self._handed_out
        ceiling = leader.depth_ceiling
        sizes = [
            Size(site.slots, site.room(now_us, waiting=waiting, ceiling=ceiling))
            for site in sites
        ]
        free = sum(site.free for site in sites)
        recalled, rows = leader.look(now_us, sizes)
        self._handed_out += len(rows) - len(recalled)
        for place, site in enumerate(sites):
            if recalled:
                site.recall(recalled)
            mine = rows if len(sites) == 1 else [row for row in rows if row.pool == place]
            site.send(mine, now_us + self._fleet.dispatch_us)
        tick_us = int(self._fleet.tick_us * tick_share(jobs=len(rows), free=free))
        self._look_us = now_us + tick_us + self._fleet.dispatch_us
        self._stirred = leader.looks_again


def _site(trace: Sequence[Arrival], fleet: Fleet, begun: Begun, place: int) -> Site:
    """Return the pool of this place as it is at the start."""
    slots = fleet.by_pool[place]
    return Site(
        trace,
        slots=slots,
        claim_us=fleet.claim_us,
        prefetch=Prefetch(
            slots=slots, fixed=fleet.depth, round_us=fleet.tick_us + fleet.dispatch_us
        ),
        running=[each for each in begun.running if begun.pools.get(each[1], 0) == place],
        queued=[row for row in begun.queued if row.pool == place],
    )


def _in_time(parts: Sequence[Sequence[Event]]) -> Sequence[Event]:
    """Return the events of all pools in the order of their times."""
    if len(parts) == 1:
        return parts[0]
    return sorted((event for part in parts for event in part), key=_at_us)


def _at_us(event: Event) -> int:
    return event.at_us

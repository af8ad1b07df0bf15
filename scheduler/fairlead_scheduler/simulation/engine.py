"""A fleet in simulated time: takes a trace, returns when each job was claimed and ended.

At each tick the leader receives every event so far and dispatches rows, which workers see a
round trip later. A free slot claims the row with the smallest tag, another round trip later.
With all latencies zero the leader decides at every event, which is a policy's best case.
The result depends on the input alone.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from fairlead_scheduler.capacity.tick import tick_share
from fairlead_scheduler.settings import SchedulerSettings
from fairlead_scheduler.simulation.interface import (
    DispatchedRow,
    JobEvent,
    OnePoolLeader,
    SimulatedLeader,
    SimulatedOrder,
    TickSize,
)
from fairlead_scheduler.simulation.pool_model import NEVER, PoolModel, SimulatedPrefetch
from fairlead_scheduler.simulation.trace import Arrival

ROUND_TRIP_US = 1000
"""A statement's round trip to the database, as the scheduler assumes it."""
TICK_US = round(SchedulerSettings.model_fields["tick_seconds"].default * 1e6)
"""The scheduler's default tick."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedFleet:
    """The slots and latencies of the simulated fleet."""

    slots: int
    tick_us: int = 0
    """Rest between two ticks of the leader; with 0 it ticks after every event."""
    dispatch_us: int = 0
    """From a dispatch until workers see the rows."""
    claim_us: int = 0
    """From a freed slot to its next job, and from a visible row to an idle slot's claim."""
    depth: int | None = 0
    """Unclaimed rows in addition to the free slots; None: the product's depth."""
    other_slots: tuple[int, ...] = ()
    """The slots of the pools after the first; latencies are the same for all."""

    @property
    def by_pool(self) -> tuple[int, ...]:
        """The slots of each pool."""
        return (self.slots, *self.other_slots)

    @property
    def all_slots(self) -> int:
        """The slots of all pools."""
        return sum(self.by_pool)


def default_fleet(slots: int, other_slots: Sequence[int] = ()) -> SimulatedFleet:
    """Return a fleet with the product's default tick, round trips and depth."""
    return SimulatedFleet(
        slots=slots,
        other_slots=tuple(other_slots),
        tick_us=TICK_US,
        dispatch_us=ROUND_TRIP_US,
        claim_us=ROUND_TRIP_US,
        depth=None,
    )


class PolicyChange(NamedTuple):
    """A change of policy during a simulation."""

    at_us: int
    apply: Callable[[int], None]
    """Called at the leader's next tick, with its time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartingJobs:
    """The content of `work_queue` at the start: the first jobs of the trace.

    The leader already knows these jobs.
    """

    running: Sequence[tuple[int, int]] = ()
    """The end of each running job, and the job. These come first in the trace."""
    queued: Sequence[DispatchedRow] = ()
    """Unclaimed rows. These come next."""
    pools: Mapping[int, int] = field(default_factory=dict[int, int])
    """Job to pool index, for running jobs outside the first pool."""
    waiting: int = 0
    """How many other jobs wait; the leader appends them to the trace as it reads them."""


_NOTHING = StartingJobs()


class JobOutcome(NamedTuple):
    """When a job was claimed and ended; None: not before the simulation stopped."""

    arrival: Arrival
    claimed_us: int | None
    ended_us: int | None


def simulate(
    trace: Sequence[Arrival],
    order: SimulatedOrder | SimulatedLeader,
    fleet: SimulatedFleet,
    until_us: int,
    changes: Sequence[PolicyChange] = (),
    *,
    starting: StartingJobs = _NOTHING,
    claims_max: int | None = None,
) -> "SimulationRun":
    """Simulate a trace and return the outcome of each job, in the trace's order.

    Args:
        trace: Sorted by arrival. A leader with jobs that wait at the start appends them as it
            reads them.
        order: The order of one pool, or the leader of several.
        fleet: Slots and latencies.
        until_us: When to stop.
        changes: Policy changes, sorted by time.
        starting: The content of `work_queue` at the start.
        claims_max: Stop earlier, after this many claims.
    """
    leader = order if isinstance(order, SimulatedLeader) else OnePoolLeader(order)
    return _Simulation(trace, leader, fleet, until_us, changes, starting, claims_max).run()


class SimulationRun(NamedTuple):
    """The outcome of each job, and when the simulation stopped."""

    jobs: tuple[JobOutcome, ...]
    until_us: int


class _Simulation:
    def __init__(
        self,
        trace: Sequence[Arrival],
        leader: SimulatedLeader,
        fleet: SimulatedFleet,
        until_us: int,
        changes: Sequence[PolicyChange],
        starting: StartingJobs,
        claims_max: int | None,
    ) -> None:
        self._trace = trace
        self._leader = leader
        self._fleet = fleet
        self._until_us = until_us
        self._claims_max = NEVER if claims_max is None else claims_max
        self._changes = deque(changes)
        self._due_changes: list[PolicyChange] = []
        """Changes to apply at the next tick."""
        self._pools = [
            _pool(trace, fleet, starting, index) for index in range(len(fleet.by_pool))
        ]
        self._arriving = len(trace)
        """How many jobs of the trace arrive; what the leader appends was there before."""
        self._arrived = len(starting.running) + len(starting.queued)
        """How many of them have arrived,"""
        self._delivered = self._arrived
        """how many of these the leader knows,"""
        self._dispatched = self._arrived
        """and how many it has dispatched."""
        self._waiting_at_start = starting.waiting
        self._claimed_us: dict[int, int] = {job: 0 for _, job in starting.running}
        self._ended_us: dict[int, int] = {}
        self._tick_at_us = 0
        self._changed = True
        """Whether anything happened since the last tick."""

    def run(self) -> SimulationRun:
        now_us = 0
        while now_us < self._until_us:
            self._advance(now_us)
            if len(self._claimed_us) >= self._claims_max:
                self._until_us = now_us
                break
            if now_us >= self._tick_at_us and (self._changed or self._fleet.tick_us):
                self._tick(now_us)
                self._advance(now_us)
            now_us = self._next_us()
        claimed_us, ended_us = self._claimed_us.get, self._ended_us.get
        jobs = (
            JobOutcome(arrival, claimed_us(job), ended_us(job))
            for job, arrival in enumerate(self._trace)
        )
        return SimulationRun(tuple(jobs), self._until_us)

    def _next_us(self) -> int:
        times = [pool.next_us() for pool in self._pools]
        if self._arrived < self._arriving:
            times.append(self._trace[self._arrived].at_us)
        if self._changes:
            times.append(self._changes[0].at_us)
        if self._fleet.tick_us or self._changed:
            times.append(self._tick_at_us)
        return min(times)

    def _advance(self, now_us: int) -> None:
        """Process every event that is due."""
        trace = self._trace
        arriving = self._arriving
        while self._arrived < arriving and trace[self._arrived].at_us <= now_us:
            self._arrived += 1
            self._changed = True
        while self._changes and self._changes[0].at_us <= now_us:
            self._due_changes.append(self._changes.popleft())
            self._changed = True
        for pool in self._pools:
            claims, endings = len(pool.claims), len(pool.endings)
            pool.advance(now_us)
            self._claimed_us.update(pool.claims[claims:])
            if len(pool.endings) > endings:
                self._ended_us.update(pool.endings[endings:])
                self._changed = True

    def _tick(self, now_us: int) -> None:
        """Run one tick: deliver the events to the leader, then send out what it dispatches."""
        leader, trace, pools = self._leader, self._trace, self._pools
        for each in self._due_changes:
            each.apply(now_us)
        self._due_changes.clear()
        leader.claimed(_by_time([pool.claims for pool in pools]))
        leader.ended(_by_time([pool.endings for pool in pools]))
        leader.arrived(
            list(enumerate(trace[self._delivered : self._arrived], self._delivered)), now_us
        )
        self._delivered = self._arrived
        waiting = self._arrived + self._waiting_at_start - self._dispatched
        ceiling = leader.depth_ceiling
        sizes = [
            TickSize(pool.slots, pool.room(now_us, waiting=waiting, ceiling=ceiling))
            for pool in pools
        ]
        free = sum(pool.free for pool in pools)
        recalled, rows = leader.tick(now_us, sizes)
        self._dispatched += len(rows) - len(recalled)
        for index, pool in enumerate(pools):
            if recalled:
                pool.recall(recalled)
            mine = rows if len(pools) == 1 else [row for row in rows if row.pool == index]
            pool.send(mine, now_us + self._fleet.dispatch_us)
        rest_us = int(self._fleet.tick_us * tick_share(jobs=len(rows), free=free))
        self._tick_at_us = now_us + rest_us + self._fleet.dispatch_us
        self._changed = leader.needs_another_tick


def _pool(
    trace: Sequence[Arrival], fleet: SimulatedFleet, starting: StartingJobs, index: int
) -> PoolModel:
    """Return the pool with this index as it is at the start."""
    slots = fleet.by_pool[index]
    return PoolModel(
        trace,
        slots=slots,
        claim_us=fleet.claim_us,
        prefetch=SimulatedPrefetch(
            slots=slots, fixed=fleet.depth, round_us=fleet.tick_us + fleet.dispatch_us
        ),
        running=[each for each in starting.running if starting.pools.get(each[1], 0) == index],
        queued=[row for row in starting.queued if row.pool == index],
    )


def _by_time(parts: Sequence[Sequence[JobEvent]]) -> Sequence[JobEvent]:
    """Return the events of all pools, sorted by time."""
    if len(parts) == 1:
        return parts[0]
    return sorted((event for part in parts for event in part), key=_at_us)


def _at_us(event: JobEvent) -> int:
    return event.at_us

"""Simulate two policies with the same traffic and compare waits and shares.

A simulation stops before all jobs have started. Of a job that has not started only a lower
bound of its wait is known, so a percentile that falls among these is a lower bound, too.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import NamedTuple

from fairlead_scheduler.policy.compiled import CompiledPolicy
from fairlead_scheduler.simulation.engine import (
    SimulatedFleet,
    SimulationRun,
    StartingJobs,
    simulate,
)
from fairlead_scheduler.simulation.fair_leader import (
    ONLY,
    DrawRunTime,
    FairLeader,
    InheritedState,
)
from fairlead_scheduler.simulation.job_samples import JobSampler
from fairlead_scheduler.simulation.trace import Arrival, Lane

CLAIMS_MAX = 25_000
"""The simulation stops after this many claims, so that it takes seconds."""
_COUNTED = 0.9
"""Jobs that arrive after this part of the time count in no wait: they may have had no turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationInput:
    """What a policy is simulated with; the same for both policies."""

    fleet: SimulatedFleet
    pools: tuple[str, ...] = (ONLY,)
    """Names of the fleet's pools, by index."""
    moves: bool = False
    """Whether a queue is in different pools under the two policies."""
    jobs: Sequence[Arrival]
    """The content of `work_queue` at the start, then the arrivals."""
    until_us: int
    inherited: InheritedState
    starting: StartingJobs
    sampler: JobSampler | None = None
    """Attributes of single jobs; None: none are known or needed."""
    notes: tuple[str, ...] = ()
    """Sentences about what the input leaves out."""
    new_draw: Callable[[], DrawRunTime]
    """Returns a fresh source of run times for jobs that wait at the start."""


class Wait(NamedTuple):
    """A wait in microseconds; with `more` it is a lower bound."""

    us: int
    more: bool = False


@dataclass(slots=True)
class Waits:
    """The waits of some jobs."""

    started_us: list[int] = field(default_factory=list[int])
    unstarted_us: list[int] = field(default_factory=list[int])
    """Waits of unstarted jobs until the end of the simulation."""
    unread: int = 0
    """Jobs that waited from start to end and were never read."""
    until_us: int = 0

    @property
    def jobs(self) -> int:
        """How many jobs there are."""
        return len(self.started_us) + len(self.unstarted_us) + self.unread

    def percentile(self, share: float) -> Wait | None:
        """Return the smallest wait that this share of the jobs does not exceed."""
        if not self.jobs:
            return None
        place = max(0, ceil(share * self.jobs) - 1)
        if place < len(self.started_us):
            return Wait(sorted(self.started_us)[place])
        known = sorted([*self.started_us, *self.unstarted_us])
        return Wait(known[place] if place < len(known) else self.until_us, more=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What a policy does for some lanes."""

    share: float
    """Share of the slot-time in use, between 0 and 1."""
    p50: Wait | None
    """Waits from the start or from the job's arrival; None: no job counts."""
    p99: Wait | None
    started: int
    jobs: int
    """How many jobs count in the waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantChange:
    """Both predictions for one tenant of a queue, or for several together."""

    lanes: tuple[Lane, ...]
    old: Prediction
    new: Prediction


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The comparison of two policies."""

    until_us: int
    """How long both were simulated."""
    lanes: tuple[TenantChange, ...]
    """The tenants that the new policy changes most."""
    other: TenantChange | None
    """The other tenants together, if there are any."""
    total: TenantChange
    """All tenants together; their share is of all slot-time, used or not."""


@dataclass(frozen=True, slots=True)
class _Lane:
    served_us: int
    started: int
    waits: Waits


def compare(
    given: SimulationInput, old: CompiledPolicy, new: CompiledPolicy, *, lanes_max: int = 20
) -> Comparison:
    """Simulate both policies for the same time and compare them tenant by tenant."""
    runs = [_run(given, table) for table in (old, new)]
    until_us = min(run.until_us for run in runs)
    of_old, of_new = (_lanes(run, given, until_us) for run in runs)
    slot_us = given.fleet.all_slots * until_us
    used_us = [sum(each.served_us for each in found.values()) for found in (of_old, of_new)]

    def change(lanes: Iterable[Lane], parts_us: Sequence[int]) -> TenantChange:
        lanes = tuple(lanes)
        before, after = (
            _predicted([found[lane] for lane in lanes if lane in found], part_us)
            for found, part_us in zip((of_old, of_new), parts_us, strict=True)
        )
        return TenantChange(lanes=lanes, old=before, new=after)

    lanes_seen = sorted(of_old.keys() | of_new.keys())
    changes = sorted(
        (change((lane,), used_us) for lane in lanes_seen),
        key=lambda each: (-_size(each, until_us), -each.new.share, each.lanes),
    )
    rest = [lane for each in changes[lanes_max:] for lane in each.lanes]
    return Comparison(
        until_us=until_us,
        lanes=tuple(changes[:lanes_max]),
        other=change(rest, used_us) if rest else None,
        total=change(lanes_seen, (slot_us, slot_us)),
    )


def _run(given: SimulationInput, table: CompiledPolicy) -> SimulationRun:
    jobs = list(given.jobs)
    leader = FairLeader(
        table,
        pools=given.pools,
        moves=given.moves,
        inherited=given.inherited,
        jobs=jobs,
        draw_run_time=given.new_draw(),
        sampler=given.sampler,
    )
    return simulate(
        jobs,
        leader,
        given.fleet,
        given.until_us,
        starting=given.starting,
        claims_max=CLAIMS_MAX,
    )


def _lanes(run: SimulationRun, given: SimulationInput, until_us: int) -> Mapping[Lane, _Lane]:
    """Return each lane's slot-time, starts and waits until then."""
    running = len(given.starting.running)
    counted_us = round(_COUNTED * until_us)
    served: dict[Lane, int] = defaultdict(int)
    started: dict[Lane, int] = defaultdict(int)
    waits: dict[Lane, Waits] = defaultdict(lambda: Waits(until_us=until_us))
    for index, (arrival, claimed_us, ended_us) in enumerate(run.jobs):
        lane, at_us = arrival.lane, arrival.at_us
        if at_us >= until_us:
            continue
        begins = claimed_us is not None and claimed_us < until_us
        if claimed_us is not None and begins:
            end_us = until_us if ended_us is None else min(ended_us, until_us)
            served[lane] += end_us - claimed_us
            started[lane] += index >= running
        if index < running or at_us > counted_us:
            continue
        if claimed_us is not None and begins:
            waits[lane].started_us.append(claimed_us - at_us)
        else:
            waits[lane].unstarted_us.append(until_us - at_us)
    _add_unread(waits, run, given)
    lanes = served.keys() | waits.keys()
    return {lane: _Lane(served[lane], started[lane], waits[lane]) for lane in lanes}


def _add_unread(
    waits: Mapping[Lane, Waits], run: SimulationRun, given: SimulationInput
) -> None:
    """Count the jobs that waited at the start and were never read."""
    read: dict[Lane, int] = defaultdict(int)
    for arrival, _, _ in run.jobs[len(given.jobs) :]:
        read[arrival.lane] += 1
    waiting: dict[Lane, int] = defaultdict(int)
    for (queue, tenant, _), each in given.inherited.waiting.items():
        waiting[queue, tenant] += each.jobs
    for lane, jobs in waiting.items():
        waits[lane].unread = max(0, jobs - read[lane])


def _predicted(lanes: Sequence[_Lane], whole_us: int) -> Prediction:
    waits = _merged(each.waits for each in lanes)
    return Prediction(
        share=sum(each.served_us for each in lanes) / whole_us if whole_us else 0.0,
        p50=waits.percentile(0.5),
        p99=waits.percentile(0.99),
        started=sum(each.started for each in lanes),
        jobs=waits.jobs,
    )


def _size(change: TenantChange, until_us: int) -> float:
    """Return how much a tenant's share and waits change, as parts of slot-time and of time."""

    def moved(wait: Callable[[Prediction], Wait | None]) -> float:
        old, new = wait(change.old), wait(change.new)
        return abs((new.us if new else 0) - (old.us if old else 0)) / until_us

    by_wait = max(moved(lambda each: each.p50), moved(lambda each: each.p99))
    return round(abs(change.new.share - change.old.share) + by_wait, 6)


def _merged(parts: Iterable[Waits]) -> Waits:
    """Return the waits of all parts together."""
    total = Waits()
    for each in parts:
        total.started_us += each.started_us
        total.unstarted_us += each.unstarted_us
        total.unread += each.unread
        total.until_us = max(total.until_us, each.until_us)
    return total

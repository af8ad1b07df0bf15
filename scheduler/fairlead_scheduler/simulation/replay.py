"""Recorded traffic as the input of a simulation: from history or from a trace file."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fairlead_scheduler.simulation.caveats import file_notes, history_notes
from fairlead_scheduler.simulation.compare import SimulationInput
from fairlead_scheduler.simulation.engine import SimulatedFleet, StartingJobs
from fairlead_scheduler.simulation.fair_leader import InheritedState
from fairlead_scheduler.simulation.fleet_state import ONE_POOL, FinishedJob, FleetState
from fairlead_scheduler.simulation.job_samples import (
    AttributesWanted,
    JobSampler,
    sampler_of_trace,
)
from fairlead_scheduler.simulation.trace import Arrival
from fairlead_scheduler.simulation.workload import ARRIVALS_MAX, RunTimes

_LATE_US = 100_000
"""What ticks and round trips add to the time in which traffic is served."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTraffic:
    """Recorded arrivals, with their attributes."""

    jobs: Sequence[Arrival]
    """Sorted by arrival."""
    sampler: JobSampler | None = None
    """Attributes of single jobs; None: neither policy reads any."""
    notes: tuple[str, ...] = ()
    """Sentences about what the recording leaves out."""


def traffic_of_history(state: FleetState, seed: int) -> RecordedTraffic:
    """Return the finished jobs that became runnable lately, timed from the first."""
    start_us = state.now_us - state.known_us
    past = sorted((each for each in state.finished if each.runnable_us >= start_us), key=_order)
    jobs = [
        Arrival(
            each.runnable_us - past[0].runnable_us,
            *each.lane,
            each.cost_us,
            priority=each.priority,
        )
        for each in past
    ]
    wanted = _wanted(state)
    if state.read is None or wanted is None:
        return RecordedTraffic(jobs=jobs)
    by_index = {
        index: each.attributes for index, each in enumerate(past) if each.attributes is not None
    }
    sampler = JobSampler(replace(state.read, first={}), by_index=by_index, seed=seed)
    return RecordedTraffic(jobs=jobs, sampler=sampler, notes=history_notes(wanted, sampler))


def traffic_of_trace(state: FleetState, trace: Sequence[Arrival]) -> RecordedTraffic:
    """Return the jobs of a trace whose queues are simulated, with their attributes."""
    jobs = [job for job in trace if job.queue in state.affected.queues]
    wanted = _wanted(state)
    if wanted is None:
        return RecordedTraffic(jobs=jobs)
    return RecordedTraffic(
        jobs=jobs,
        sampler=sampler_of_trace(jobs, wanted),
        notes=file_notes(wanted, jobs),
    )


def recorded_input(
    recorded: RecordedTraffic,
    fleet: SimulatedFleet,
    *,
    until_us: int,
    state: FleetState | None = None,
) -> SimulationInput:
    """Return recorded traffic, for at most `until_us`, on a fleet that is idle at the start.

    The simulation stops when all of it has been served: at the latest when a work-conserving
    order that starts at the last arrival would have served it. With several pools the one with
    the fewest slots may have to serve all of it.

    Args:
        recorded: The traffic.
        fleet: The fleet that serves it.
        until_us: When to stop.
        state: Names the simulated pools; None: one pool.
    """
    affected = ONE_POOL if state is None else state.affected
    jobs = recorded.jobs[:ARRIVALS_MAX]
    costs_us = [job.cost_us for job in jobs] or [0]
    last_us = jobs[-1].at_us if jobs else 0
    slots = max(1, min(fleet.by_pool))
    served_us = last_us + -(-sum(costs_us) // slots) + max(costs_us) + _LATE_US
    return SimulationInput(
        fleet=fleet,
        pools=affected.pools,
        moves=bool(affected.moves),
        jobs=jobs,
        until_us=min(until_us, served_us),
        inherited=InheritedState(),
        starting=StartingJobs(),
        new_draw=RunTimes((), 0).new_draw,
        sampler=recorded.sampler,
        notes=recorded.notes,
    )


def _wanted(state: FleetState) -> AttributesWanted | None:
    """Return the attributes that policies read; None: none."""
    read = state.read
    return None if read is None or not read.wanted.queues else read.wanted


def _order(past: FinishedJob) -> tuple[object, ...]:
    return past.runnable_us, past[:6]

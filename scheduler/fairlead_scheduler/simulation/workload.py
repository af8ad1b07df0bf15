"""The input of a simulation: a fleet's backlog, jobs in flight, and recent arrivals repeated.

Run times are drawn from measured ones with a seed. Each stream has a source of its own, so both
policies simulate the same jobs.
"""

from collections.abc import Callable, Iterable, Sequence
from random import Random

from fairlead_scheduler.ordering.levels.level import NEVER
from fairlead_scheduler.ordering.plan import QueueRow
from fairlead_scheduler.pending.values import Stream
from fairlead_scheduler.simulation.caveats import live_notes
from fairlead_scheduler.simulation.compare import SimulationInput
from fairlead_scheduler.simulation.engine import SimulatedFleet, StartingJobs
from fairlead_scheduler.simulation.fair_leader import DrawRunTime, InheritedState
from fairlead_scheduler.simulation.fleet_state import FinishedJob, FleetState, PastJob
from fairlead_scheduler.simulation.interface import DispatchedRow
from fairlead_scheduler.simulation.job_samples import JobSampler, JobSamples
from fairlead_scheduler.simulation.trace import Arrival, Lane

ARRIVALS_MAX = 100_000
"""With more arrivals the simulation stops earlier."""
_ENDLESS = 1 << 40
UNKNOWN_US = 100_000
"""A job's run time where no job finished lately: the estimator's own prior."""


class RunTimes:
    """Measured run times, by kind and lane.

    For a job: those of its kind in its lane, else of its kind in its queue, else of its lane,
    else of its queue, else of all jobs.
    """

    def __init__(self, finished: Sequence[FinishedJob], seed: int) -> None:
        self._seed = seed
        self._samples = JobSamples[int]()
        self._of_all = [each.cost_us for each in finished] or [UNKNOWN_US]
        for each in finished:
            self._samples.add(each.lane, each.kind, each.cost_us)

    def known(self, lane: Lane, kind: str | None = None) -> Sequence[int]:
        """Return the measured run times that are closest to a lane's jobs of this kind."""
        of_kind = () if kind is None else self._samples.of(lane, kind)
        return of_kind or self._samples.of(lane) or self._of_all

    def source(self, use: str, lane: Lane, rank: int = 0) -> Callable[[str | None], int]:
        """Return a source of run times for one use; it depends on the seed alone."""
        random = Random(f"{self._seed}/{use}/{lane[0]}/{lane[1]}/{rank}").random

        def draw(kind: str | None) -> int:
            known = self.known(lane, kind)
            return known[int(random() * len(known))]

        return draw

    def new_draw(self) -> DrawRunTime:
        """Return fresh sources of run times for jobs that wait at the start."""
        sources: dict[Stream, Callable[[str | None], int]] = {}

        def draw(stream: Stream, kind: str | None) -> int:
            source = sources.get(stream)
            if source is None:
                queue, tenant, rank = stream
                source = sources[stream] = self.source("waiting", (queue, tenant), rank)
            return source(kind)

        return draw


def live_input(
    state: FleetState, fleet: SimulatedFleet, *, until_us: int, seed: int
) -> SimulationInput:
    """Return what a fleet has to serve from now on, for at most `until_us`."""
    times = RunTimes(state.finished, seed)
    pools = state.affected.pools
    rows = _in_order(state, fleet.by_pool)
    running = sum(row.claimed_us is not None for row in rows)
    jobs = [_in_flight(row, state, times) for row in rows]
    repeated, until_us = _repeated(state, until_us)
    arrivals = _with_run_times(repeated, times)
    sampler = _sampler(state, rows, repeated, seed)
    inherited = InheritedState(
        now_us=state.now_us,
        rows=[row._replace(job_id=index) for index, row in enumerate(rows)],
        floors=state.floors,
        rate_usage=state.rate_usage,
        paused=state.paused,
        waiting=state.waiting,
    )
    return SimulationInput(
        fleet=fleet,
        pools=pools,
        moves=bool(state.affected.moves),
        jobs=(*jobs, *arrivals),
        until_us=until_us,
        inherited=inherited,
        starting=StartingJobs(
            running=[
                (job.cost_us - (state.now_us - (row.claimed_us or 0)), index)
                for index, (row, job) in enumerate(zip(rows[:running], jobs, strict=False))
            ],
            queued=[
                DispatchedRow(row.band * NEVER + row.vtag, running + index, _pool(row, pools))
                for index, row in enumerate(rows[running:])
            ],
            pools={index: _pool(row, pools) for index, row in enumerate(rows[:running])},
            waiting=_waiting(state),
        ),
        new_draw=times.new_draw,
        sampler=sampler,
        notes=live_notes(state, sampler, (job.queue for job in arrivals)),
    )


def _sampler(
    state: FleetState, rows: Sequence[QueueRow], repeated: Sequence[PastJob], seed: int
) -> JobSampler | None:
    """Return the attributes of the jobs; None: none are needed."""
    if state.read is None:
        return None
    in_flight = state.read.in_flight
    read = [
        *(in_flight.get(row.job_id) for row in rows),
        *(each.attributes for each in repeated),
    ]
    return JobSampler(
        state.read,
        by_index={index: each for index, each in enumerate(read) if each is not None},
        kinds={
            index: each.kind
            for index, each in enumerate(repeated, len(rows))
            if each.kind is not None
        },
        seed=seed,
    )


def _pool(row: QueueRow, pools: Sequence[str]) -> int:
    """Return the index of a row's pool; a row without a pool is in the first."""
    return pools.index(row.pool) if row.pool else 0


def _waiting(state: FleetState) -> int:
    return _ENDLESS if state.backlog_is_more else state.backlog


def _in_order(state: FleetState, slots: Sequence[int]) -> list[QueueRow]:
    """Return the running rows, at most one per slot, then the rows that wait.

    A worker claims a few short jobs before it has slots for them; these wait, too.
    """
    claimed = sorted(
        (row for row in state.rows if row.claimed_us is not None),
        key=lambda row: (row.claimed_us or 0, row.job_id),
    )
    left = list(slots)
    running: list[QueueRow] = []
    prefetched: list[QueueRow] = []
    for row in claimed:
        pool = _pool(row, state.affected.pools)
        if left[pool]:
            left[pool] -= 1
            running.append(row)
        else:
            prefetched.append(row._replace(claimed_us=None))
    unclaimed = [row for row in state.rows if row.claimed_us is None]
    return [*running, *prefetched, *unclaimed]


def _in_flight(row: QueueRow, state: FleetState, times: RunTimes) -> Arrival:
    """Return a job of `work_queue`; a running one takes longer than it has run so far."""
    read = state.read.in_flight.get(row.job_id) if state.read else None
    lane, kind = (row.queue, row.tenant), read.kind if read else None
    cost_us = times.source(f"in flight {row.job_id}", lane)(kind)
    if row.claimed_us is not None:
        ran_us = max(0, state.now_us - row.claimed_us)
        longer = [each for each in times.known(lane, kind) if each > ran_us]
        if cost_us <= ran_us:
            cost_us = longer[row.job_id % len(longer)] if longer else ran_us + 1
    return Arrival(0, row.queue, row.tenant, cost_us)


def _repeated(state: FleetState, until_us: int) -> tuple[list[PastJob], int]:
    """Return the arrivals and until when: recent ones, repeated as often as needed."""
    period_us = max(1, min(state.known_us, until_us))
    recent = sorted(state.arrivals(period_us), key=_without_attributes)
    found: list[PastJob] = []
    for start_us in range(0, until_us, period_us) if recent else ():
        for each in recent:
            at_us = start_us + each.at_us
            if at_us >= until_us:
                break
            if len(found) >= ARRIVALS_MAX:
                return found, at_us
            found.append(each._replace(at_us=at_us))
    return found, until_us


def _without_attributes(past: PastJob) -> tuple[int, Lane, int, int, str]:
    return (*past[:4], past.kind or "")


def _with_run_times(repeated: Iterable[PastJob], times: RunTimes) -> list[Arrival]:
    """Return the arrivals, with a drawn run time where the job is unfinished."""
    sources: dict[Lane, Callable[[str | None], int]] = {}
    found: list[Arrival] = []
    for at_us, lane, priority, known_us, kind, _ in repeated:
        if lane not in sources:
            sources[lane] = times.source("coming", lane)
        cost_us = known_us or sources[lane](kind)
        found.append(Arrival(at_us, *lane, cost_us, priority=priority))
    return found

"""Where a simulation begins, for tests: a tenant's backlog whose first jobs were read."""

from collections.abc import Mapping, Sequence

from fairlead_scheduler.ordering.plan import QueueRow
from fairlead_scheduler.pending.values import Stream
from fairlead_scheduler.simulation.fair_leader import ONLY, WaitingJobs
from fairlead_scheduler.simulation.fleet_state import ArrivedJob, FinishedJob, FleetState
from fairlead_scheduler.simulation.job_samples import (
    AttributesRead,
    AttributesWanted,
    JobAttributes,
)
from fairlead_scheduler.simulation.moved_queues import AffectedPools

MS, SECOND = 1000, 1_000_000
NOW_US = 1_700_000_000 * SECOND
SLOTS = 8
STREAM: Stream = ("q", "a", 0)


def backlog_state(
    first: Sequence[JobAttributes] = (),
    *,
    wanted: AttributesWanted,
    finished: Sequence[FinishedJob],
    jobs: int | None = None,
    rows: Sequence[QueueRow] = (),
    in_flight: Mapping[int, JobAttributes] | None = None,
    arrived: Sequence[ArrivedJob] = (),
) -> FleetState:
    """Return a backlog of tenant a in queue q: of so many jobs, or of those that were read."""
    many = len(first) if jobs is None else jobs
    return FleetState(
        now_us=NOW_US,
        slots=SLOTS,
        affected=AffectedPools(pools=(ONLY,), queues=frozenset({"q"})),
        rows=rows,
        waiting={STREAM: WaitingJobs(many, more=False, oldest_us=NOW_US)} if many else {},
        finished=finished,
        arrived=arrived,
        known_us=SECOND,
        read=AttributesRead(
            wanted=wanted,
            in_flight=in_flight or {},
            first={STREAM: tuple(first)},
            finished=[
                (each.lane, each.attributes) for each in finished if each.attributes is not None
            ],
        ),
    )

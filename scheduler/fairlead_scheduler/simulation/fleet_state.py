"""The state of a fleet at one moment, and its recent traffic: the start of a simulation."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from fairlead_scheduler.ordering.plan import QueueRow
from fairlead_scheduler.pending.values import Paused, Stream
from fairlead_scheduler.policy.gcra import WindowUsage
from fairlead_scheduler.simulation.fair_leader import ONLY, WaitingJobs
from fairlead_scheduler.simulation.job_samples import AttributesRead, JobAttributes
from fairlead_scheduler.simulation.moved_queues import AffectedPools
from fairlead_scheduler.simulation.trace import Lane

ONE_POOL = AffectedPools(pools=(ONLY,), queues=frozenset())
"""One pool that serves every queue."""


class FinishedJob(NamedTuple):
    """A job that finished lately."""

    queue: str
    tenant: str
    priority: int
    runnable_us: int
    claimed_us: int
    finished_us: int
    kind: str = ""
    values: list[str | None] | None = None
    """What concurrency keys read; None: not read."""

    @property
    def lane(self) -> Lane:
        """The lane it was charged to."""
        return (self.queue, self.tenant)

    @property
    def cost_us(self) -> int:
        """How long its last attempt occupied a slot."""
        return max(1, self.finished_us - self.claimed_us)

    @property
    def attributes(self) -> JobAttributes | None:
        """Its attributes; None: not read."""
        return None if self.values is None else JobAttributes(self.kind, tuple(self.values))


class ArrivedJob(NamedTuple):
    """A job that arrived lately and is unfinished."""

    queue: str
    tenant: str
    rank: int
    since_us: int
    kind: str | None = None
    """None: not read."""


class PastJob(NamedTuple):
    """A recent arrival, which the simulation repeats."""

    at_us: int
    lane: Lane
    priority: int
    cost_us: int
    """How long it occupied a slot; 0: unknown."""
    kind: str | None
    attributes: JobAttributes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetState:
    """One pool at one moment, with the pools from or to which queues move."""

    now_us: int
    """The database's clock, as for every other time here."""
    slots: int
    """Slots of the first pool's live workers."""
    other_pools: Mapping[str, int] = field(default_factory=dict[str, int])
    """Slots of the other pools, by name."""
    affected: AffectedPools = ONE_POOL
    """Which pools and queues are simulated."""
    rows: Sequence[QueueRow] = ()
    """The content of `work_queue`."""
    floors: Mapping[str, Sequence[int]] = field(default_factory=dict[str, Sequence[int]])
    """Claim floors, by pool and then by band."""
    rate_usage: Sequence[WindowUsage] = ()
    paused: Paused = frozenset()
    waiting: Mapping[Stream, WaitingJobs] = field(default_factory=dict[Stream, WaitingJobs])
    finished: Sequence[FinishedJob] = ()
    """Every job that finished in the last `known_us` microseconds."""
    arrived: Sequence[ArrivedJob] = ()
    """Every unfinished job that arrived in that time."""
    known_us: int = 1
    read: AttributesRead | None = None
    """Attributes of single jobs; None: neither policy reads any, and each queue has jobs of one
    kind."""

    @property
    def all_slots(self) -> int:
        """Slots of all pools."""
        return self.slots + sum(self.other_pools.values())

    @property
    def notes(self) -> list[str]:
        """Sentences for the reader about moved queues and pools without workers."""
        return self.affected.notes({self.affected.pools[0]: self.slots, **self.other_pools})

    @property
    def backlog(self) -> int:
        """How many waiting jobs were counted."""
        return sum(each.jobs for each in self.waiting.values())

    @property
    def backlog_is_more(self) -> bool:
        """Whether more jobs wait than were counted."""
        return any(each.more for each in self.waiting.values())

    def arrivals(self, last_us: int) -> Iterator[PastJob]:
        """Yield the last `last_us` microseconds' arrivals, unsorted, timed from their start."""
        start_us = self.now_us - last_us
        for each in self.finished:
            if each.runnable_us >= start_us:
                at_us = each.runnable_us - start_us
                cost_us, attributes = each.cost_us, each.attributes
                yield PastJob(at_us, each.lane, each.priority, cost_us, each.kind, attributes)
        for queue, tenant, rank, since_us, kind in self.arrived:
            if since_us >= start_us:
                yield PastJob(since_us - start_us, (queue, tenant), -rank, 0, kind, None)

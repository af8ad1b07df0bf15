"""Kinds, key values and run times of simulated jobs, sampled from jobs that were read.

A job that was not read gets the attributes of one that was: of the same kind and tenant, else
of the same kind in the queue, because a kind runs the same program for every tenant. A digest
of the seed and the job's index picks it, so both policies simulate the same jobs.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar
from zlib import crc32

from fairlead_scheduler.limits.concurrency_keys import AttributeRequest
from fairlead_scheduler.limits.job_facts import FACTS
from fairlead_scheduler.pending.values import Stream
from fairlead_scheduler.policy.compiled import CompiledPolicy
from fairlead_scheduler.simulation.trace import Arrival, Lane

Fact = TypeVar("Fact")
Path = tuple[str, str]
"""`payload` or `headers`, and the path that a key reads in it."""


class JobSamples(Generic[Fact]):
    """Facts about jobs by queue, tenant and kind."""

    def __init__(self) -> None:
        self._facts: dict[tuple[str, str | None, str | None], list[Fact]] = defaultdict(list)

    def add(self, lane: Lane, kind: str, fact: Fact) -> None:
        """Add a fact about a job."""
        queue, tenant = lane
        for owner in (tenant, None):
            self._facts[queue, owner, kind].append(fact)
            self._facts[queue, owner, None].append(fact)

    def of(self, lane: Lane, kind: str | None = None) -> Sequence[Fact]:
        """Return the facts about a lane's jobs, else its queue's: of one kind, or of all."""
        queue, tenant = lane
        own = self._facts.get((queue, tenant, kind))
        return own or self._facts.get((queue, None, kind)) or ()


class JobAttributes(NamedTuple):
    """What concurrency keys and rules may read of a job."""

    kind: str
    values: tuple[str | None, ...]
    """One per path, in the order of the paths."""
    attempts: int = 0
    """Failed attempts."""
    expires_in_us: int | None = None
    """From when it became runnable until it expires."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributesWanted:
    """Which attributes to read, of the jobs of which queues."""

    paths: tuple[Path, ...]
    """Paths that concurrency keys read."""
    queues: frozenset[str]
    """Queues whose jobs have keys or job rules."""
    mixed: frozenset[str] = frozenset()
    """Queues with jobs of several kinds, whose run times may differ."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The paths as a policy writes them: `payload.account_id`."""
        return tuple(f"{root}.{path}" for root, path in self.paths)

    @property
    def all_queues(self) -> frozenset[str]:
        """Every queue with jobs to read."""
        return self.queues | self.mixed


def attributes_wanted(
    queues: Collection[str], tables: Sequence[CompiledPolicy], mixed: Iterable[str] = ()
) -> AttributesWanted | None:
    """Return what to read of the jobs of these queues; None: nothing.

    Args:
        queues: The simulated queues.
        tables: The policies that are compared.
        mixed: Queues with jobs of several kinds.
    """
    paths: dict[Path, None] = {}
    asking: set[str] = set()
    for queue in sorted(queues):
        for table in tables:
            keys = table.queue(queue).keys
            for key in keys:
                root, _, path = key.path.partition(".")
                paths[root, path] = None
            if keys or table.rules.of(queue).jobs:
                asking.add(queue)
    several = frozenset(mixed) & frozenset(queues)
    if not asking and not several:
        return None
    return AttributesWanted(paths=tuple(paths), queues=frozenset(asking), mixed=several)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributesRead:
    """The attributes that were read."""

    wanted: AttributesWanted
    in_flight: Mapping[int, JobAttributes] = field(default_factory=dict[int, JobAttributes])
    """By job id in the database."""
    first: Mapping[Stream, tuple[JobAttributes, ...]] = field(
        default_factory=dict[Stream, tuple[JobAttributes, ...]]
    )
    """Of the first waiting jobs of each stream, in their order."""
    finished: Sequence[tuple[Lane, JobAttributes]] = ()
    """Of jobs that finished lately."""


class JobSampler:
    """Attributes of the jobs of one simulation, read or drawn.

    Args:
        read: What was read.
        by_index: Attributes that were read, by index in the trace.
        kinds: Kinds that were read without the other attributes, by index in the trace.
        seed: Draws the attributes of the other jobs.
    """

    def __init__(
        self,
        read: AttributesRead,
        *,
        by_index: Mapping[int, JobAttributes],
        kinds: Mapping[int, str] | None = None,
        seed: int,
    ) -> None:
        self._paths = {path: n for n, path in enumerate(read.wanted.paths)}
        self._first = read.first
        self._by_index = by_index
        self._kinds = kinds or {}
        self._seed = seed
        self._samples = JobSamples[JobAttributes]()
        waiting = (((q, t), x) for (q, t, _), some in read.first.items() for x in some)
        for lane, attributes in (*waiting, *read.finished):
            self._samples.add(lane, attributes.kind, attributes)

    def waiting(self, stream: Stream, seq: int) -> JobAttributes | None:
        """Return the attributes of a stream's waiting job number `seq`, from 1.

        Jobs behind those that were read resemble these rather than those finished lately.
        """
        first = self._first.get(stream, ())
        if seq <= len(first):
            return first[seq - 1]
        queue, tenant, _ = stream
        return self._drawn(first or self._samples.of((queue, tenant)), f"{stream}/{seq}")

    def at(self, index: int, job: Arrival) -> JobAttributes | None:
        """Return the attributes of the job with this index in the trace."""
        attributes = self._by_index.get(index)
        if attributes is not None:
            return attributes
        kind = self._kinds.get(index)
        drawn = self._drawn(self._samples.of(job.lane, kind), f"{job.lane}/{index}")
        if drawn is None and kind is not None and self.has_samples_of(job.queue):
            return JobAttributes(kind, (None,) * len(self._paths))
        return drawn

    def _drawn(self, known: Sequence[JobAttributes], name: str) -> JobAttributes | None:
        return known[crc32(f"{self._seed}/{name}".encode()) % len(known)] if known else None

    def text(
        self,
        request: AttributeRequest,
        attributes: JobAttributes,
        *,
        priority: int,
        since_us: int,
    ) -> str | None:
        """Return a requested attribute in the form in which the leader reads it."""
        if [request.root, request.path] != FACTS:
            place = self._paths.get((request.root, request.path))
            return None if place is None else attributes.values[place]
        expires = (
            "-"
            if attributes.expires_in_us is None
            else str(since_us + attributes.expires_in_us)
        )
        return f"{priority} {attributes.attempts} {since_us} {expires} {attributes.kind}"

    def has_samples_of(self, queue: str) -> bool:
        """Whether any job of this queue was read."""
        return bool(self._samples.of((queue, "")))


def sampler_of_trace(trace: Sequence[Arrival], wanted: AttributesWanted) -> JobSampler:
    """Return a sampler with the attributes in a trace; a missing value stays missing."""
    by_index = {
        index: JobAttributes(job.kind, tuple(map(dict(job.keys).get, wanted.keys)))
        for index, job in enumerate(trace)
        if job.queue in wanted.queues
    }
    return JobSampler(AttributesRead(wanted=wanted), by_index=by_index, seed=0)

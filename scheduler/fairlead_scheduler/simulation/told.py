"""What a simulation knows of single jobs: their kinds, and the values that keys look at.

Some jobs were read. What others have is drawn from what was read of their tenant, else of
their queue: by a digest of the seed and the job's place, so that both policies meet the same.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from zlib import crc32

from fairlead_scheduler.judged import FACTS
from fairlead_scheduler.keys import Trait
from fairlead_scheduler.simulation.alike import Alike
from fairlead_scheduler.simulation.trace import Arrival, Lane
from fairlead_scheduler.terms import Table
from fairlead_scheduler.values import Stream

Path = tuple[str, str]
"""`payload` or `headers`, and where in it a key looks."""


class Told(NamedTuple):
    """What keys and rules may ask of a job."""

    kind: str
    values: tuple[str | None, ...]
    """Of the paths, in their order."""
    attempts: int = 0
    """Those that have failed."""
    left_us: int | None = None
    """How long after it could run it expires."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be read of single jobs."""

    paths: tuple[Path, ...]
    """Where keys of policies look,"""
    queues: frozenset[str]
    """and of which queues' jobs policies ask something."""
    mixed: frozenset[str] = frozenset()
    """Queues whose jobs are of several kinds, which may take different times."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The paths as a policy writes them: `payload.account_id`."""
        return tuple(f"{root}.{path}" for root, path in self.paths)

    @property
    def all_queues(self) -> frozenset[str]:
        """The queues of whose jobs something is to be read."""
        return self.queues | self.mixed


def wanted(
    queues: Collection[str], tables: Sequence[Table], mixed: Iterable[str] = ()
) -> Wanted | None:
    """Return what is to be read of jobs of these queues; None: nothing.

    Args:
        queues: Those that are simulated.
        tables: Policies, and what they ask of jobs.
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
    return Wanted(paths=tuple(paths), queues=frozenset(asking), mixed=several)


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What was read of single jobs."""

    wanted: Wanted
    in_flight: Mapping[int, Told] = field(default_factory=dict[int, Told])
    """By their ids in the database."""
    first: Mapping[Stream, tuple[Told, ...]] = field(
        default_factory=dict[Stream, tuple[Told, ...]]
    )
    """Of the jobs that wait, the first of each stream, in their order."""
    ended: Sequence[tuple[Lane, Told]] = ()


class Known:
    """What is known of the jobs of one scene.

    Args:
        read: What was read.
        places: Jobs of the trace of which it is known, by their places,
        kinds: and those of which the kind is.
        seed: Decides what the others have.
    """

    def __init__(
        self,
        read: Read,
        *,
        places: Mapping[int, Told],
        kinds: Mapping[int, str] | None = None,
        seed: int,
    ) -> None:
        self._paths = {path: n for n, path in enumerate(read.wanted.paths)}
        self._first = read.first
        self._places = places
        self._kinds = kinds or {}
        self._seed = seed
        self._alike = Alike[Told]()
        waiting = (((q, t), x) for (q, t, _), some in read.first.items() for x in some)
        for lane, told in (*waiting, *read.ended):
            self._alike.add(lane, told.kind, told)

    def waiting(self, stream: Stream, seq: int) -> Told | None:
        """Return what the job with this number of those has that wait at the start, from 1.

        Behind those that were read more of the same wait, whatever has ended lately.
        """
        first = self._first.get(stream, ())
        if seq <= len(first):
            return first[seq - 1]
        queue, tenant, _ = stream
        return self._drawn(first or self._alike.of((queue, tenant)), f"{stream}/{seq}")

    def at(self, place: int, job: Arrival) -> Told | None:
        """Return what the job at a place of the trace has."""
        told = self._places.get(place)
        if told is not None:
            return told
        kind = self._kinds.get(place)
        drawn = self._drawn(self._alike.of(job.lane, kind), f"{job.lane}/{place}")
        if drawn is None and kind is not None and self.of_queue(job.queue):
            return Told(kind, (None,) * len(self._paths))
        return drawn

    def _drawn(self, known: Sequence[Told], name: str) -> Told | None:
        return known[crc32(f"{self._seed}/{name}".encode()) % len(known)] if known else None

    def text(self, trait: Trait, told: Told, *, priority: int, since_us: int) -> str | None:
        """Return the answer to what is asked of a job, as the leader reads it."""
        if [trait.root, trait.path] != FACTS:
            place = self._paths.get((trait.root, trait.path))
            return None if place is None else told.values[place]
        expires = "-" if told.left_us is None else str(since_us + told.left_us)
        return f"{priority} {told.attempts} {since_us} {expires} {told.kind}"

    def of_queue(self, queue: str) -> bool:
        """Whether anything is known of jobs of a queue."""
        return bool(self._alike.of((queue, "")))


def known_of_trace(trace: Sequence[Arrival], wanted: Wanted) -> Known:
    """Return what a trace says of its jobs; one that does not say a value has none."""
    places = {
        place: Told(job.kind, tuple(map(dict(job.keys).get, wanted.keys)))
        for place, job in enumerate(trace)
        if job.queue in wanted.queues
    }
    return Known(Read(wanted=wanted), places=places, seed=0)

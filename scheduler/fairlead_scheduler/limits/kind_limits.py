"""Limits of kinds: how many jobs of a kind may be in flight in the fleet, as workers say.

Most jobs are of kinds without a limit, and the lane index does not contain kinds: so nothing is
read of a job before it is dispatched. The dispatch refuses a job of a limited kind that was not
counted. What refused it is found when the leader asks about it again, and from then on the
kinds of its lane's heads are read by id, as the values of concurrency keys are.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Generic, NamedTuple

from fairlead_scheduler.limits.waiting_lanes import OF_KIND, KeyValue, L, WaitingLanes

_UNLIMITED = 1 << 62


class KindLimit(NamedTuple):
    """How many jobs of a kind may be in flight, as the workers of a pool say."""

    pool: str
    kind: str
    limit: int
    asked: bool = False
    """Whether a worker waits until the leader holds to it."""
    fleet: str = ""
    """With whose jobs its own count together: those of all pools that say the same here."""


class LimitedJob(NamedTuple):
    """A row of `work_queue` whose kind is limited in its pool."""

    job_id: int
    kind: str
    pool: str


class CountedKinds(NamedTuple):
    """What a dispatch has to know of limits of kinds."""

    kinds: Collection[str] = ()
    """The kinds that are limited in the pool."""
    ids: Collection[int] = ()
    """Those of the jobs that are counted for one of them."""


class KindLimits(Generic[L]):
    """The limits of kinds in all pools, what is in flight of each, and the waiting lanes.

    A limit counts what is in flight in all pools of its fleet that limit the kind, and holds
    for what is dispatched in its own.
    """

    __slots__ = (
        "_counts",
        "_fleets",
        "_in_flight",
        "_lanes",
        "_limits",
        "_values",
        "_waiting",
        "is_asked",
        "is_counted",
        "kinds_by_pool",
        "limits",
        "pool_of",
    )

    def __init__(self) -> None:
        self.pool_of: Callable[[str], str | None] = _no_pool
        """Returns the pool that serves a queue."""
        self.is_counted = True
        """Whether what is in flight is known; until then no job of a limited kind goes."""
        self.is_asked = False
        """Whether a worker waits until the leader holds to a limit."""
        self.limits: tuple[KindLimit, ...] = ()
        """Those in force."""
        self.kinds_by_pool: dict[str, list[str]] = {}
        self._limits: dict[KeyValue, int] = {}
        self._fleets: dict[KeyValue, str] = {}
        """With whom each counts."""
        self._values: dict[tuple[str, str], list[KeyValue]] = {}
        """By fleet and kind, as what it counts in the pools that limit it."""
        self._in_flight: dict[int, KeyValue] = {}
        self._counts: dict[tuple[str, str], int] = {}
        self._lanes: dict[str, set[str]] = {}
        self._waiting: WaitingLanes[L] = WaitingLanes()

    def __bool__(self) -> bool:
        """Whether any kind is limited."""
        return bool(self._limits)

    @property
    def kinds(self) -> Collection[str]:
        """The kinds that are limited in some pool."""
        return {value.text for value in self._limits}

    def set(self, limits: Iterable[KindLimit]) -> bool:
        """Apply these limits and no others; whether any is new, changed or gone."""
        limits = tuple(limits)
        self.is_asked = any(each.asked for each in limits)
        given = {KeyValue(OF_KIND, each.pool, each.kind): each.limit for each in limits}
        fleets = {KeyValue(OF_KIND, each.pool, each.kind): each.fleet for each in limits}
        if (given, fleets) == (self._limits, self._fleets):
            return False
        if given.keys() - self._limits.keys():
            self.is_counted = False
        self.limits, self._limits, self._fleets = limits, given, fleets
        self._values, self.kinds_by_pool = {}, {}
        for value, fleet in fleets.items():
            self._values.setdefault((fleet, value.text), []).append(value)
            self.kinds_by_pool.setdefault(value.tenant or "", []).append(value.text)
        if not given:
            self._lanes.clear()
        counted, self._in_flight, self._counts = self._in_flight, {}, {}
        for job_id, value in counted.items():
            self.add(job_id, value)
        self._waiting.free_all()
        return True

    def count(self, jobs: Mapping[int, KeyValue]) -> None:
        """Take what is in flight of limited kinds, beside what is counted already."""
        for job_id, value in jobs.items():
            self.add(job_id, value)
        self.is_counted = True
        self._waiting.free_all()

    def watch(self, queue: str, tenant: str) -> bool:
        """Note that a lane has a job of a limited kind; whether that is news."""
        tenants = self._lanes.setdefault(queue, set())
        if tenant in tenants:
            return False
        tenants.add(tenant)
        return True

    def watches(self, queue: str, tenant: str | None = None) -> bool:
        """Whether a lane, or any of a queue, has had jobs of limited kinds."""
        tenants = self._lanes.get(queue)
        return tenants is not None and (tenant is None or tenant in tenants)

    def value_of(self, queue: str, kind: str) -> KeyValue | None:
        """Return as what a job counts; None: its kind is not limited in its pool."""
        value = KeyValue(OF_KIND, self.pool_of(queue), kind)
        return value if value in self._limits else None

    def limit(self, value: KeyValue) -> int:
        """Return how many jobs may be in flight."""
        return self._limits.get(value, _UNLIMITED)

    def in_flight(self, value: KeyValue) -> int:
        """Return how many jobs are in flight that count for a limit."""
        return self._counts.get(self._group(value), 0)

    def room(self, value: KeyValue) -> int:
        """Return how many jobs may go; below zero, too many are in flight."""
        room = self.limit(value) - self.in_flight(value)
        return room if self.is_counted else min(room, 0)

    def add(self, job_id: int, value: KeyValue) -> None:
        """Count a job as in flight, if its kind is limited in its pool.

        A repeat changes nothing.
        """
        if job_id not in self._in_flight and value in self._limits:
            group = self._group(value)
            self._in_flight[job_id] = value
            self._counts[group] = self._counts.get(group, 0) + 1

    def remove(self, job_id: int) -> None:
        """Count a job as no longer in flight. A repeat changes nothing."""
        counted = self._in_flight.pop(job_id, None)
        if counted is None:
            return
        group = self._group(counted)
        left = self._counts[group] - 1
        if left:
            self._counts[group] = left
        else:
            del self._counts[group]
        for value in self._values.get(group, ()):
            self._waiting.free(value)

    def counted(self, pool: str, ids: Iterable[int]) -> CountedKinds:
        """Return the kinds that are limited in a pool, and which of the jobs count for them."""
        kinds = self.kinds_by_pool.get(pool, ())
        return CountedKinds(
            kinds, [each for each in ids if self.kind_of(each)] if kinds else ()
        )

    def kind_of(self, job_id: int) -> str | None:
        """Return the kind of a job in flight, if it is limited."""
        counted = self._in_flight.get(job_id)
        return None if counted is None else counted.text

    def holders(self, value: KeyValue) -> list[int]:
        """Return the jobs in flight that count for a limit."""
        group = self._group(value)
        return [i for i, each in self._in_flight.items() if self._group(each) == group]

    def excess(self) -> dict[KeyValue, int]:
        """Return the values of which too many jobs are in flight, and by how many."""
        if not self.is_counted:
            return {}
        return {value: -self.room(value) for value in self._limits if self.room(value) < 0}

    def block(self, lane: L, value: KeyValue) -> None:
        """Make a lane wait until a kind has room."""
        self._waiting.join(lane, value)

    def take_unblocked(self) -> list[L]:
        """Return lanes that may go on, by their tags; further calls wake the others."""
        return self._waiting.take(self.room)

    def _group(self, value: KeyValue) -> tuple[str, str]:
        return self._fleets.get(value, ""), value.text


def _no_pool(_queue: str) -> str | None:
    """Return no pool: none is known yet."""
    return None

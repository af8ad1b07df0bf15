"""Concurrency keys: the values that a queue's jobs have, and how many of each are in flight.

The lane index does not contain the attributes that keys use, so the values of heads are read by
id before a head of such a queue may go. So are those of jobs found in `work_queue` after a
take-over or when a policy adds a key; until they are known, no job of the queue goes.
"""

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import Generic, NamedTuple, Protocol, TypeVar

from fairlead_scheduler.limits.blocked_reasons import KEY
from fairlead_scheduler.limits.job_facts import FACTS, RuleResults, parse_facts
from fairlead_scheduler.policy.settings import KeyLimit

_WOKEN_BESIDE = 16
"""Lanes woken in addition to those for which a key has room: some may not need it."""


class KeyValue(NamedTuple):
    """One value of one key: jobs that share it count together."""

    place: int
    """The key's position among its queue's keys."""
    tenant: str | None
    """None: all tenants count together."""
    text: str


class AttributeRequest(NamedTuple):
    """A request for one attribute of one job."""

    job_id: int
    root: str
    """`payload` or `headers`."""
    path: str


class BlockedLane(Protocol):
    """A lane that keys block."""

    blocked_by: int

    @property
    def start(self) -> int:
        """The start tag by which it is served."""
        ...

    @property
    def band(self) -> int:
        """The lane's band."""
        ...


L = TypeVar("L", bound=BlockedLane)


class _Line(Generic[L]):
    """The lanes that wait for one value, each once, by the tags they had when they joined."""

    __slots__ = ("_there", "_turn", "heap")

    def __init__(self) -> None:
        self.heap: list[tuple[int, int, int, L]] = []
        self._there: set[L] = set()
        self._turn = 0

    def join(self, lane: L) -> None:
        """Add a lane; a repeat changes nothing."""
        if lane not in self._there:
            self._there.add(lane)
            self._turn += 1
            heappush(self.heap, (lane.band, lane.start, self._turn, lane))

    def first(self, most: int) -> list[L]:
        """Take out up to so many lanes that are still blocked."""
        found: list[L] = []
        while self.heap and len(found) < most:
            lane = heappop(self.heap)[3]
            self._there.discard(lane)
            if lane.blocked_by == KEY:
                found.append(lane)
        return found


class ConcurrencyKeys(Generic[L]):
    """The keys of one queue: the values of its heads and jobs in flight, and the waiting lanes.

    Args:
        limits: The keys' limits, all of which must allow a job.
        has_job_rules: Whether there are rules for single jobs, which need facts of each job.
    """

    __slots__ = (
        "_freed",
        "_in_flight",
        "_waiting",
        "has_job_rules",
        "heads",
        "in_flight_values",
        "limits",
        "paths",
        "rule_results",
        "unknown",
    )

    def __init__(self, limits: tuple[KeyLimit, ...], *, has_job_rules: bool = False) -> None:
        self.limits = limits
        self.has_job_rules = has_job_rules
        self.rule_results = RuleResults()
        self.paths = [limit.path.split(".", 1) for limit in limits]
        """For each key, where its value is: `payload` or `headers`, then the path in it. The
        facts that rules read come last."""
        if has_job_rules:
            self.paths.append(FACTS)
        self.heads: dict[int, tuple[KeyValue, ...]] = {}
        """The values of heads, from when they are read until the heads go."""
        self.in_flight_values: dict[int, tuple[KeyValue, ...]] = {}
        """Jobs in `work_queue` that have a value."""
        self.unknown: dict[int, str] = {}
        """Jobs in `work_queue` whose values have to be read, with their tenants."""
        self._in_flight: dict[KeyValue, int] = {}
        self._waiting: dict[KeyValue, _Line[L]] = {}
        self._freed: dict[KeyValue, None] = {}

    def first_full(self, values: Iterable[KeyValue]) -> KeyValue | None:
        """Return the first of these values that has no room; None if all have."""
        for value in values:
            if self.room(value) <= 0:
                return value
        return None

    def in_flight(self, value: KeyValue) -> int:
        """Return how many jobs of a value are in flight."""
        return self._in_flight.get(value, 0)

    def room(self, value: KeyValue) -> int:
        """Return how many jobs of a value may go; below zero, too many are in flight."""
        return self.limits[value.place].limit - self._in_flight.get(value, 0)

    def add_in_flight(self, job_id: int) -> None:
        """Count a head as in flight."""
        self._count(job_id, self.heads.pop(job_id))

    def remove_in_flight(self, job_id: int) -> None:
        """Count a job as no longer in flight, and forget what was read of it.

        It may still have the values of a head, if it was dispatched while its lane needed no
        keys. If it comes back they are read again. A repeat changes nothing.
        """
        self.unknown.pop(job_id, None)
        self.heads.pop(job_id, None)
        self.rule_results.forget(job_id)
        for value in self.in_flight_values.pop(job_id, ()):
            left = self._in_flight[value] - 1
            if left:
                self._in_flight[value] = left
            else:
                del self._in_flight[value]
            self._freed[value] = None

    def block(self, lane: L, values: Iterable[KeyValue]) -> None:
        """Make a lane wait until one of these values has room."""
        for value in values:
            line = self._waiting.get(value)
            if line is None:
                line = self._waiting[value] = _Line()
            line.join(lane)

    def take_unblocked(self) -> list[L]:
        """Return lanes that may go on, by their tags; further calls wake the others."""
        woken: dict[L, None] = {}
        for value in tuple(self._freed):
            line, room = self._waiting.get(value), self.room(value)
            if line is not None and room > 0:
                woken.update(dict.fromkeys(line.first(room + _WOKEN_BESIDE)))
                if not line.heap:
                    del self._waiting[value]
            if room <= 0 or value not in self._waiting:
                del self._freed[value]
        return list(woken)

    def set_limits(self, limits: tuple[KeyLimit, ...]) -> None:
        """Apply other limits for the same keys, and have rules evaluated anew."""
        self.limits = limits
        self.rule_results.by_job.clear()
        self._freed.update(dict.fromkeys(self._waiting))

    def excess(self) -> dict[KeyValue, int]:
        """Return the values of which too many jobs are in flight, and by how many."""
        return {value: -self.room(value) for value in self._in_flight if self.room(value) < 0}

    def learn(self, job_id: int, texts: Sequence[str | None]) -> None:
        """Take what was read of a job in flight; ignored if it has left since the request."""
        tenant = self.unknown.pop(job_id, None)
        if tenant is not None:
            self._count(job_id, self._read(job_id, tenant, texts))

    def learn_head(self, job_id: int, tenant: str, texts: Sequence[str | None]) -> None:
        """Take what was read of a head."""
        self.heads[job_id] = self._read(job_id, tenant, texts)

    def _read(
        self, job_id: int, tenant: str, texts: Sequence[str | None]
    ) -> tuple[KeyValue, ...]:
        """Return the key values of a job of this tenant, and keep its facts for rules."""
        if self.has_job_rules:
            self.rule_results.facts[job_id] = parse_facts(texts[-1])
            texts = texts[:-1]
        return tuple(
            [
                KeyValue(place, tenant if self.limits[place].per_tenant else None, text)
                for place, text in enumerate(texts)
                if text is not None
            ]
        )

    def _count(self, job_id: int, values: tuple[KeyValue, ...]) -> None:
        if values:
            self.in_flight_values[job_id] = values
        for value in values:
            self._in_flight[value] = self._in_flight.get(value, 0) + 1


def has_same_keys(one: ConcurrencyKeys[L], other: ConcurrencyKeys[L]) -> bool:
    """Whether two differ in their limits at most, so that they need the same attributes."""
    scopes = [[(each.path, each.per_tenant) for each in x.limits] for x in (one, other)]
    return scopes[0] == scopes[1] and one.has_job_rules == other.has_job_rules


def start_of(lane: BlockedLane) -> int:
    """Return a lane's start tag."""
    return lane.start

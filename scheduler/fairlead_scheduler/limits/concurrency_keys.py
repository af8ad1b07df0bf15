"""Concurrency keys: the values that a queue's jobs have, and how many of each are in flight.

The lane index does not contain the attributes that keys use, so the values of heads are read by
id before a head of such a queue may go. So are those of jobs found in `work_queue` after a
take-over or when a policy adds a key; until they are known, no job of the queue goes.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Generic, NamedTuple

from fairlead_scheduler.limits.job_facts import FACTS, JobFacts, RuleResults, parse_facts
from fairlead_scheduler.limits.kind_limits import KindLimits
from fairlead_scheduler.limits.waiting_lanes import (
    OF_KIND,
    BlockedLane,
    KeyValue,
    L,
    WaitingLanes,
)
from fairlead_scheduler.policy.settings import KeyLimit


class AttributeRequest(NamedTuple):
    """A request for one attribute of one job."""

    job_id: int
    root: str
    """`payload` or `headers`."""
    path: str


class ConcurrencyKeys(Generic[L]):
    """The keys of one queue: the values of its heads and jobs in flight, and the waiting lanes.

    Args:
        limits: The keys' limits, all of which must allow a job.
        has_job_rules: Whether there are rules for single jobs, which need facts of each job.
        kinds: The limits of kinds, where some of the queue's lanes have jobs of limited ones.
        queue: The queue's name.
    """

    __slots__ = (
        "_in_flight",
        "_waiting",
        "has_job_rules",
        "heads",
        "in_flight_values",
        "kinds",
        "limits",
        "paths",
        "queue",
        "rule_results",
        "unknown",
    )

    def __init__(
        self,
        limits: tuple[KeyLimit, ...],
        *,
        has_job_rules: bool = False,
        kinds: KindLimits[L] | None = None,
        queue: str = "",
    ) -> None:
        self.limits = limits
        self.has_job_rules = has_job_rules
        self.kinds = kinds
        self.queue = queue
        self.rule_results = RuleResults()
        self.paths = [limit.path.split(".", 1) for limit in limits]
        """For each key, where its value is: `payload` or `headers`, then the path in it. The
        facts that rules read come last, and so do kinds."""
        if has_job_rules or kinds is not None:
            self.paths.append(FACTS)
        self.heads: dict[int, tuple[KeyValue, ...]] = {}
        """The values of heads, from when they are read until the heads go."""
        self.in_flight_values: dict[int, tuple[KeyValue, ...]] = {}
        """Jobs in `work_queue` that have a value."""
        self.unknown: dict[int, str] = {}
        """Jobs in `work_queue` whose values have to be read, with their tenants."""
        self._in_flight: dict[KeyValue, int] = {}
        self._waiting: WaitingLanes[L] = WaitingLanes()

    def first_full(self, values: Iterable[KeyValue]) -> KeyValue | None:
        """Return the first of these values that has no room; None if all have."""
        for value in values:
            if self.room(value) <= 0:
                return value
        return None

    def in_flight(self, value: KeyValue) -> int:
        """Return how many jobs of a value are in flight."""
        if value.place == OF_KIND and self.kinds is not None:
            return self.kinds.in_flight(value)
        return self._in_flight.get(value, 0)

    def limit(self, value: KeyValue) -> int:
        """Return how many jobs of a value may be in flight."""
        if value.place == OF_KIND and self.kinds is not None:
            return self.kinds.limit(value)
        return self.limits[value.place].limit

    def holders(self, value: KeyValue, most: int) -> list[int]:
        """Return jobs in flight that have a value, of so many that are looked at."""
        if value.place == OF_KIND and self.kinds is not None:
            return self.kinds.holders(value)
        scanned = islice(self.in_flight_values.items(), most)
        return [job_id for job_id, values in scanned if value in values]

    def room(self, value: KeyValue) -> int:
        """Return how many jobs of a value may go; below zero, too many are in flight."""
        if value.place == OF_KIND and self.kinds is not None:
            return self.kinds.room(value)
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
            self._waiting.free(value)
        if self.kinds is not None:
            self.kinds.remove(job_id)

    def block(self, lane: L, values: Iterable[KeyValue]) -> None:
        """Make a lane wait until one of these values has room."""
        for value in values:
            if value.place == OF_KIND and self.kinds is not None:
                self.kinds.block(lane, value)
            else:
                self._waiting.join(lane, value)

    def take_unblocked(self) -> list[L]:
        """Return lanes that may go on, by their tags; further calls wake the others.

        Not those for which a kind has room: all queues wait for that together.
        """
        return self._waiting.take(self.room)

    def read_kinds(self, kinds: KindLimits[L]) -> None:
        """Read the kinds of heads from now on, and those that were read without them anew."""
        if self.kinds is None:
            self.kinds = kinds
            self.heads.clear()
            if not self.has_job_rules:
                self.paths.append(FACTS)

    def set_limits(self, limits: tuple[KeyLimit, ...]) -> None:
        """Apply other limits for the same keys, and have rules evaluated anew."""
        self.limits = limits
        self.rule_results.by_job.clear()
        self._waiting.free_all()

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
        facts: JobFacts | None = None
        if self.has_job_rules or self.kinds is not None:
            facts = parse_facts(texts[-1])
            texts = texts[:-1]
        if self.has_job_rules:
            self.rule_results.facts[job_id] = facts
        found = [
            KeyValue(place, tenant if self.limits[place].per_tenant else None, text)
            for place, text in enumerate(texts)
            if text is not None
        ]
        if self.kinds is not None and facts is not None:
            value = self.kinds.value_of(self.queue, facts.kind)
            found += () if value is None else (value,)
        return tuple(found)

    def _count(self, job_id: int, values: tuple[KeyValue, ...]) -> None:
        own = values
        if values and values[-1].place == OF_KIND and self.kinds is not None:
            self.kinds.add(job_id, values[-1])
            own = values[:-1]
        if own:
            self.in_flight_values[job_id] = own
        for value in own:
            self._in_flight[value] = self._in_flight.get(value, 0) + 1


def has_same_keys(one: ConcurrencyKeys[L], other: ConcurrencyKeys[L]) -> bool:
    """Whether two differ in their limits at most, so that they need the same attributes."""
    scopes = [[(each.path, each.per_tenant) for each in x.limits] for x in (one, other)]
    same = one.has_job_rules == other.has_job_rules and one.kinds is other.kinds
    return scopes[0] == scopes[1] and same


def start_of(lane: BlockedLane) -> int:
    """Return a lane's start tag."""
    return lane.start

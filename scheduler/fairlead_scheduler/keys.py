"""Concurrency keys: which values the jobs of a queue have, and how many of each are in flight.

The lane index does not carry what a key looks at, so the values of heads are read by id before
a head of such a queue may go, and so are those of jobs that are found in `work_queue`: after a
take-over, and when a policy brings a key. Until these are known nothing of the queue goes.
"""

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import Generic, NamedTuple, Protocol, TypeVar

from fairlead_scheduler.bounds import KEY
from fairlead_scheduler.judged import FACTS, Judged, facts_in

_WOKEN_BESIDE = 16
"""Lanes that are woken beside those for which a key has room: some may not need it."""


class Demand(NamedTuple):
    """One key of a queue: at most `limit` jobs of one value in flight."""

    path: str
    """`payload` or `headers`, then names of fields, with dots between them."""
    limit: int
    per_tenant: bool = False
    """Whether each tenant's jobs count by themselves."""


class Value(NamedTuple):
    """What jobs that count together have in common."""

    place: int
    """Of the key among those of its queue."""
    tenant: str | None
    """None: of all tenants."""
    text: str


class Trait(NamedTuple):
    """Ask for one value of one job."""

    job_id: int
    root: str
    """`payload` or `headers`."""
    path: str


class Waiting(Protocol):
    """A lane that keys hold back."""

    start: int
    held: int

    @property
    def band(self) -> int:
        """The band that it is in."""
        ...


L = TypeVar("L", bound=Waiting)


class _Line(Generic[L]):
    """Lanes that wait for one value, each of them once, by the tags with which they came."""

    __slots__ = ("_there", "_turn", "heap")

    def __init__(self) -> None:
        self.heap: list[tuple[int, int, int, L]] = []
        self._there: set[L] = set()
        self._turn = 0

    def join(self, lane: L) -> None:
        """Let a lane wait; a repeat changes nothing."""
        if lane not in self._there:
            self._there.add(lane)
            self._turn += 1
            heappush(self.heap, (lane.band, lane.start, self._turn, lane))

    def first(self, most: int) -> list[L]:
        """Take out up to so many lanes that are held still."""
        found: list[L] = []
        while self.heap and len(found) < most:
            lane = heappop(self.heap)[3]
            self._there.discard(lane)
            if lane.held == KEY:
                found.append(lane)
        return found


class Keys(Generic[L]):
    """The keys of one queue: what heads and flights have of them, and which lanes wait.

    Args:
        demands: All of them must allow a job.
        ruled: Whether there are rules for single jobs, for which more is read of each.
    """

    __slots__ = (
        "_freed",
        "_in_flight",
        "_waiting",
        "demands",
        "flights",
        "heads",
        "judged",
        "paths",
        "ruled",
        "unknown",
    )

    def __init__(self, demands: tuple[Demand, ...], *, ruled: bool = False) -> None:
        self.demands = demands
        self.ruled = ruled
        self.judged = Judged()
        self.paths = [demand.path.split(".", 1) for demand in demands]
        """Of each, where in a job the value is: `payload` or `headers`, and behind that. What
        rules ask for comes last."""
        if ruled:
            self.paths.append(FACTS)
        self.heads: dict[int, tuple[Value, ...]] = {}
        """Heads whose values have been read, until they go."""
        self.flights: dict[int, tuple[Value, ...]] = {}
        """Jobs in `work_queue` that have a value."""
        self.unknown: dict[int, str] = {}
        """Jobs in `work_queue` whose values have to be read, with their tenants."""
        self._in_flight: dict[Value, int] = {}
        self._waiting: dict[Value, _Line[L]] = {}
        self._freed: dict[Value, None] = {}

    def full(self, values: Iterable[Value]) -> Value | None:
        """Return the first of these values of which no more jobs may go; None without one."""
        for value in values:
            if self.room(value) <= 0:
                return value
        return None

    def in_flight(self, value: Value) -> int:
        """Return how many jobs of a value are in flight."""
        return self._in_flight.get(value, 0)

    def room(self, value: Value) -> int:
        """Return how many jobs of a value may go; below zero are too many in flight."""
        return self.demands[value.place].limit - self._in_flight.get(value, 0)

    def go(self, job_id: int) -> None:
        """Count a head as in flight."""
        self._count(job_id, self.heads.pop(job_id))

    def leave(self, job_id: int) -> None:
        """Count a job as in flight no more, and forget what was read of it.

        It may have gone while nothing here was asked for its lane, with the values of a head.
        If it comes back they are read again. A repeat changes nothing.
        """
        self.unknown.pop(job_id, None)
        self.heads.pop(job_id, None)
        self.judged.leave(job_id)
        for value in self.flights.pop(job_id, ()):
            left = self._in_flight[value] - 1
            if left:
                self._in_flight[value] = left
            else:
                del self._in_flight[value]
            self._freed[value] = None

    def hold(self, lane: L, values: Iterable[Value]) -> None:
        """Let a lane wait until one of these values has room."""
        for value in values:
            line = self._waiting.get(value)
            if line is None:
                line = self._waiting[value] = _Line()
            line.join(lane)

    def wake(self) -> list[L]:
        """Return lanes that may go on, by their tags; the next calls wake the others."""
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

    def revise(self, demands: tuple[Demand, ...]) -> None:
        """Take other limits for the same keys, and look at rules anew."""
        self.demands = demands
        self.judged.verdicts.clear()
        self._freed.update(dict.fromkeys(self._waiting))

    def excess(self) -> dict[Value, int]:
        """Return of which values too many are in flight, and how many."""
        return {value: -self.room(value) for value in self._in_flight if self.room(value) < 0}

    def learn(self, job_id: int, texts: Sequence[str | None]) -> None:
        """Take what was read of a job in flight; nothing if it has left since it was asked."""
        tenant = self.unknown.pop(job_id, None)
        if tenant is not None:
            self._count(job_id, self._read(job_id, tenant, texts))

    def learn_head(self, job_id: int, tenant: str, texts: Sequence[str | None]) -> None:
        """Take what was read of a head."""
        self.heads[job_id] = self._read(job_id, tenant, texts)

    def _read(self, job_id: int, tenant: str, texts: Sequence[str | None]) -> tuple[Value, ...]:
        """Return the values of a job of this tenant, and keep what rules ask for."""
        if self.ruled:
            self.judged.facts[job_id] = facts_in(texts[-1])
            texts = texts[:-1]
        return tuple(
            [
                Value(place, tenant if self.demands[place].per_tenant else None, text)
                for place, text in enumerate(texts)
                if text is not None
            ]
        )

    def _count(self, job_id: int, values: tuple[Value, ...]) -> None:
        if values:
            self.flights[job_id] = values
        for value in values:
            self._in_flight[value] = self._in_flight.get(value, 0) + 1


def same_keys(one: Keys[L], other: Keys[L]) -> bool:
    """Tell whether two differ in their limits at most, so that the same is read for them."""
    scopes = [[(each.path, each.per_tenant) for each in x.demands] for x in (one, other)]
    return scopes[0] == scopes[1] and one.ruled == other.ruled


def start_of(lane: Waiting) -> int:
    """Return a lane's start tag."""
    return lane.start

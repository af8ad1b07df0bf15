"""A policy in plain values: the referee's view of it, and its document for the fair order.

The referee reads these values, the order reads the document: they share no code.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tests.support.fleet import Job

MS = 1000
Owner = tuple[str, str | None]
"""A tenant of a queue, or with None the queue itself."""
Line = tuple[str, str, int]
"""Queue, tenant and band: what waits in one order."""
Held = tuple[str, str | None, str, str]
"""Queue, tenant where each counts by itself, path and value."""


@dataclass(frozen=True, slots=True)
class Window:
    """At most `burst + t * limit / per_us` dispatches in any interval of t microseconds."""

    limit: int
    per_us: int
    burst: int

    def is_exceeded(self, gone_us: Sequence[int]) -> bool:
        """Return whether an interval that ends with the last dispatch has too many."""
        last_us, count = gone_us[-1], len(gone_us)
        return any(
            (count - place - self.burst) * self.per_us > (last_us - at_us) * self.limit
            for place, at_us in enumerate(gone_us)
        )


@dataclass(frozen=True, slots=True)
class Key:
    """At most `limit` jobs of one value in flight, of a tenant or of all of them."""

    path: str
    limit: int
    per_tenant: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The policy of one owner."""

    weight: float = 1.0
    limit: int | None = None
    percent: int | None = None
    """The limit as a percentage of the pool's slots."""
    reserve: int | None = None
    windows: tuple[Window, ...] = ()

    def limit_of(self, slots: int) -> int | None:
        """Return how many jobs may be in flight with this many slots; None: any number."""
        if self.percent is not None:
            return max(1, -(-slots * self.percent // 100))
        return self.limit

    @property
    def free(self) -> bool:
        """Whether it has nothing but a weight."""
        return self == Given(weight=self.weight)

    def document(self) -> dict[str, object]:
        """Return it as a policy document has it."""
        limit = self.limit if self.percent is None else f"{self.percent}%"
        slots = {"limit": limit, "reserve": self.reserve}
        said = {name: value for name, value in slots.items() if value is not None}
        rates = [
            {"limit": each.limit, "per": f"{each.per_us // MS}ms", "burst": each.burst}
            for each in self.windows
        ]
        return {"weight": self.weight, "slots": said or None, "rate": rates or None}


_NOTHING = Given()


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """A whole policy."""

    given: Mapping[Owner, Given] = field(default_factory=dict[Owner, Given])
    keys: Mapping[str, tuple[Key, ...]] = field(default_factory=dict[str, tuple[Key, ...]])
    waits_us: tuple[int, ...] = ()
    """How long a job may wait in each band, of which there are none or several. A job's rank is
    its band."""
    bands: Mapping[str, int] = field(default_factory=dict[str, int])
    """Queues all of whose jobs are in one band."""
    pool_by_queue: Mapping[str, str] | None = None
    """The pool of each queue; a queue that is not named has none. None: `default` has all."""
    kept: int | None = None
    """How many slots long jobs leave free, but one; None: no reserve."""
    longer_us: int = 0

    def of(self, owner: Owner) -> Given:
        """Return the policy of an owner."""
        return self.given.get(owner, _NOTHING)

    def home(self, queue: str) -> str | None:
        """Return the pool that serves a queue."""
        return "default" if self.pool_by_queue is None else self.pool_by_queue.get(queue)

    def band(self, queue: str, rank: int) -> int:
        """Return the band of a queue's jobs of this rank."""
        return self.bands.get(queue, rank) if self.waits_us else 0

    def holds(self, job: Job) -> Iterator[tuple[Held, int]]:
        """Yield the keys that a job occupies while in flight, and their limits."""
        for key in self.keys.get(job.queue, ()):
            value = job.fields.get(key.path)
            if value is not None:
                tenant = job.tenant if key.per_tenant else None
                yield (job.queue, tenant, key.path, value), key.limit

    @property
    def named(self) -> frozenset[str]:
        """The queues that have an entry."""
        return frozenset([*(queue for queue, _ in self.given), *self.keys, *self.bands])

    def document(self) -> str:
        """Return it as users write it."""
        names = sorted(self.named)
        found: dict[str, object] = {"queues": [self._queue(queue) for queue in names]}
        if self.waits_us:
            found["bands"] = [_band(*each) for each in enumerate(self.waits_us)]
        if self.pool_by_queue is not None:
            pools = dict.fromkeys(self.pool_by_queue.values())
            served = {
                pool: [q for q, at in self.pool_by_queue.items() if at == pool]
                for pool in pools
            }
            found["pools"] = [{"name": n, "queues": q} for n, q in served.items()]
        kept: dict[str, object] | None = None
        if self.kept is not None:
            kept = {"percent": 0, "min": self.kept, "shorterThan": f"{self.longer_us // MS}ms"}
        found["fairness"] = {"reserve": kept}
        return json.dumps(found)

    def _queue(self, queue: str) -> dict[str, object]:
        tenants = [
            {"match": {"tenant": tenant}, **each.document()}
            for (name, tenant), each in self.given.items()
            if name == queue and tenant is not None
        ]
        keys = [
            {"key": x.path, "limit": x.limit, "scope": "tenant" if x.per_tenant else "queue"}
            for x in self.keys.get(queue, ())
        ]
        own = self.of((queue, None)).document()
        band = f"b{self.bands[queue]}" if self.waits_us and queue in self.bands else None
        rest = {"concurrency": keys or None, "band": band, "tenants": {"overrides": tenants}}
        return {"match": {"queue": queue}, **own, **rest}


def owners_of(job: Job) -> tuple[Owner, Owner]:
    """Return whose limits and rates count a job."""
    return job.lane, (job.queue, None)


def _band(place: int, wait_us: int) -> dict[str, object]:
    wait = f"{wait_us // MS}ms" if place else None
    of_rank = {"from": -place, "to": -place}
    return {"name": f"b{place}", "maxWait": wait, "priorities": of_rank}

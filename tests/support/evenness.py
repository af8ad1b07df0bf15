"""Holds a fair order to its bound: how far the service of two may swing that both wait.

For two tenants of a queue and a band, and for two queues, which had work and were held back by
nothing, |W_f/w_f - W_g/w_g| <= (1 + L_f) c_f/w_f + (1 + L_g) c_g/w_g on any interval, and what
the cap sets a lane back for one refresh. What a crash held is a part of its job's cost. Jobs
that have aged share in the band above with those that are of it.
What a tenant has in another band counts against it here once it has ended: W_f is its service
in this band, as far as it is ahead, W_g what the other has had anywhere; L counts all its jobs.
Where several queues have no entry in the policy, their tenants share across them, and these
queues are not compared.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Protocol

from fairlead_scheduler.pending.values import Paused
from tests.support.fleet import Job
from tests.support.law import Law, Line

_REFRESH_US = 25_000
_CAP = 2
Node = tuple[str, str, str | None, int]
"""Pool, queue, tenant and the band in which its jobs go: what is charged together. Without a
tenant it is a queue in one band."""


class World(Protocol):
    """What it has to see, in simulated time."""

    @property
    def now_us(self) -> int:
        """The time."""
        ...

    @property
    def jobs(self) -> Mapping[int, Job]:
        """All jobs there were, by their ids."""
        ...

    @property
    def work(self) -> Mapping[int, Job]:
        """What is in `work_queue`."""
        ...

    @property
    def slots(self) -> Mapping[str, int]:
        """Of each pool."""
        ...

    @property
    def paused(self) -> Paused:
        """What must not go."""
        ...

    @property
    def served(self) -> Iterable[tuple[Job, int]]:
        """How long attempts ran that have ended since the last look."""
        ...

    @property
    def went(self) -> Iterable[Job]:
        """What was dispatched since the last look."""
        ...

    def due_us(self, job: Job, law: Law, band: int) -> int:
        """Return from when on a job may go in a band."""
        ...


@dataclass(slots=True)
class _Swing:
    """How far a node is ahead of another while both wait, over their weights."""

    lowest: float
    most: tuple[int, int]
    """The most jobs that each has had in flight."""


class Evenness:
    """Follows the service of every node in a world; `checked` counts the compared pairs."""

    def __init__(self, world: World) -> None:
        self.checked = 0
        self._world = world
        self._nodes: dict[int, Node] = {}
        """The node of each dispatched job."""
        self._ended_us: Counter[Node] = Counter()
        self._held_us: Counter[int] = Counter()
        self._cost_us: dict[tuple[str, str | None], int] = {}
        """The largest cost, or charge for one, of a job of a tenant or a queue."""
        self._swings: dict[tuple[Node, Node], _Swing] = {}
        self._most = Counter[Node]()
        """The most jobs that each has ever had in flight."""
        self._before = Counter[Node]()
        """Those for which a node may be ahead already."""

    def begin(self) -> None:
        """Start afresh: under another law, or with another leader."""
        self._swings.clear()

    def begin_late(self) -> None:
        """Start afresh, long after a leader has last planned.

        What a node had in flight then may have ended since, and the node is ahead for it.
        """
        self.begin()
        self._before = self._most.copy()

    def look(self, law: Law, lines: Mapping[Line, Sequence[Job]]) -> list[str]:
        """Return the nodes that exceed the bound, in words."""
        for job in self._world.went:
            self._nodes[job.id] = (job.pool, job.queue, job.tenant, job.band)
        for job, run_us in self._world.served:
            self._held_us[job.id] += run_us
            self._cost(job, self._held_us[job.id])
            for node in _nodes(self._nodes[job.id]):
                self._ended_us[node] += run_us
        for job in self._world.went:
            self._cost(job, self._held_us[job.id] + max(job.cost_us, job.estimate_us))
        groups: dict[tuple[object, ...], dict[Node, float]] = {}
        for node in self._waiting(law, lines):
            pool, queue, tenant, band = node
            group = (pool, band) if tenant is None else (pool, queue, band)
            groups.setdefault(group, {})[node] = law.of((queue, tenant)).weight
        return self._swung(groups)

    def _swung(self, groups: Mapping[tuple[object, ...], Mapping[Node, float]]) -> list[str]:
        """Update the gaps of all pairs that wait, and forget the others'."""
        served_us, in_flight = self._served()
        self._most |= in_flight
        had, jobs = _ByTenant(served_us), _ByTenant(in_flight)
        former, self._swings = self._swings, {}
        wrong: list[str] = []
        for weights in groups.values():
            for one, other in permutations(weights, 2):
                had_us = served_us[other] + had.elsewhere(other)
                ahead = served_us[one] / weights[one] - had_us / weights[other]
                most = jobs.total(one), jobs.total(other)
                swing = former.get((one, other)) or _Swing(ahead, most)
                self._swings[one, other] = swing
                swing.lowest = min(swing.lowest, ahead)
                swing.most = max(swing.most[0], most[0]), max(swing.most[1], most[1])
                self.checked += 1
                bound = self._bound(one, other, weights, swing)
                if ahead - swing.lowest > bound:
                    wrong.append(f"{one} before {other}: {swing}, {ahead} is beyond {bound}")
        return wrong

    def _bound(
        self, one: Node, other: Node, weights: Mapping[Node, float], swing: _Swing
    ) -> float:
        """Return how far two nodes may be apart, in slot-microseconds per weight."""
        share = self._world.slots[one[0]] / (weights[one] + weights[other])
        return max(1.0, _CAP * share) * _REFRESH_US + sum(
            (1 + max(most, self._before[node]))
            * self._cost_us.get(node[1:3], 0)
            / weights[node]
            for node, most in zip((one, other), swing.most, strict=True)
        )

    def _served(self) -> tuple[Counter[Node], Counter[Node]]:
        """Return each node's service until now, and its number of jobs in flight."""
        served_us, in_flight = self._ended_us.copy(), Counter[Node]()
        for job in self._world.work.values():
            for node in _nodes(self._nodes[job.id]):
                in_flight[node] += 1
                if job.claimed_us is not None:
                    served_us[node] += self._world.now_us - job.claimed_us
            if job.claimed_us is not None:
                # Its slot is taken, and charged for, until its ending is committed.
                self._cost(job, self._held_us[job.id] + self._world.now_us - job.claimed_us)
        return served_us, in_flight

    def _waiting(self, law: Law, lines: Mapping[Line, Sequence[Job]]) -> list[Node]:
        """Return the nodes that wait and that no law blocks."""
        found: dict[Node, None] = {}
        unnamed = {job.queue for job in self._world.jobs.values()} - law.named
        for (queue, tenant, band), jobs in lines.items():
            pool = law.home(queue)
            if pool is None or not self._is_free(law, queue, tenant):
                continue
            if queue in unnamed and len(unnamed) > 1:
                continue
            for above in range(band + 1):
                if self._world.due_us(jobs[0], law, above) <= self._world.now_us:
                    found[pool, queue, tenant, above] = None
                    found[pool, queue, None, above] = None
        return list(found)

    def _is_free(self, law: Law, queue: str, tenant: str) -> bool:
        owners = ((queue, tenant), (queue, None))
        ahead = any(given.reserve for (name, _), given in law.given.items() if name == queue)
        held = law.kept is not None or queue in law.keys or ahead
        paused = self._world.paused.intersection(owners)
        return not held and not paused and all(law.of(owner).free for owner in owners)

    def _cost(self, job: Job, cost_us: int) -> None:
        for owner in (job.lane, (job.queue, None)):
            self._cost_us[owner] = max(cost_us, self._cost_us.get(owner, 0))


def _nodes(node: Node) -> tuple[Node, Node]:
    """Return the nodes that a tenant's job is charged to: the tenant and its queue."""
    pool, queue, _, band = node
    return node, (pool, queue, None, band)


class _ByTenant:
    """What tenants have in all their lanes of a pool: slot-time, or jobs."""

    def __init__(self, counts: Counter[Node]) -> None:
        self._counts = counts
        self._by_band: dict[tuple[str, str, str | None], Counter[int]] = {}
        for (pool, queue, tenant, band), count in counts.items():
            bands = self._by_band.setdefault((pool, queue, tenant), Counter())
            bands[band] += count

    def elsewhere(self, node: Node) -> int:
        """Return what a node's tenant has in other bands; 0 for a queue."""
        pool, queue, tenant, band = node
        bands = self._by_band.get((pool, queue, tenant))
        return 0 if tenant is None or bands is None else bands.total() - bands[band]

    def total(self, node: Node) -> int:
        """Return what a node's tenant has in all; what it has itself for a queue."""
        pool, queue, tenant, _ = node
        if tenant is None:
            return self._counts[node]
        return self._by_band.get((pool, queue, tenant), Counter[int]()).total()

"""Holds a fair order to its bound: how far the service of two may swing that both wait.

For two tenants of a queue and a band, and for two queues, which had work and were held back by
nothing, |W_f/w_f - W_g/w_g| <= (1 + L_f) c_f/w_f + (1 + L_g) c_g/w_g on any interval, and what
the cap sets a lane back for one refresh. What a crash held is a part of its job's cost. Jobs
that have aged are a lane of their own in the band above: that one starves is beyond the bound.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from tests.support.fleet import Job
from tests.support.law import Law, Line
from tests.support.world import World

_REFRESH_US = 25_000
_CAP = 2
Node = tuple[str, str, str | None, int, int]
"""Pool, queue, tenant, the band of its jobs and the one in which they go: what is charged
together. Without a tenant it is a queue in one band."""


@dataclass(slots=True)
class _Swing:
    """The gap between two nodes that both wait, over their weights."""

    lowest: float
    highest: float
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

    def begin(self) -> None:
        """Start afresh: under another law, or with another leader."""
        self._swings.clear()
        for job in self._world.work.values():
            pool, queue, tenant, _, band = self._nodes[job.id]
            self._nodes[job.id] = (pool, queue, tenant, band, band)

    def look(self, law: Law, lines: Mapping[Line, Sequence[Job]]) -> list[str]:
        """Return the nodes that exceed the bound, in words."""
        for job, run_us in self._world.served:
            self._held_us[job.id] += run_us
            self._cost(job, self._held_us[job.id])
            for node in _nodes(self._nodes[job.id]):
                self._ended_us[node] += run_us
        for job in self._world.went:
            band = law.band(job.queue, job.rank)
            self._nodes[job.id] = (job.pool, job.queue, job.tenant, band, job.band)
            self._cost(job, self._held_us[job.id] + max(job.cost_us, job.estimate_us))
        groups: dict[tuple[object, ...], dict[Node, float]] = {}
        for node in self._waiting(law, lines):
            pool, queue, tenant, _, band = node
            group = (pool, band) if tenant is None else (pool, queue, band)
            groups.setdefault(group, {})[node] = law.of((queue, tenant)).weight
        return self._swung(groups)

    def _swung(self, groups: Mapping[tuple[object, ...], Mapping[Node, float]]) -> list[str]:
        """Update the gaps of all pairs that wait, and forget the others'."""
        served_us, in_flight = self._served()
        former, self._swings = self._swings, {}
        wrong: list[str] = []
        for weights in groups.values():
            for one, other in combinations(weights, 2):
                gap = served_us[one] / weights[one] - served_us[other] / weights[other]
                most = in_flight[one], in_flight[other]
                swing = former.get((one, other)) or _Swing(gap, gap, most)
                self._swings[one, other] = swing
                swing.lowest, swing.highest = min(swing.lowest, gap), max(swing.highest, gap)
                swing.most = max(swing.most[0], most[0]), max(swing.most[1], most[1])
                self.checked += 1
                bound = self._bound(one, other, weights, swing)
                if swing.highest - swing.lowest > bound:
                    wrong.append(f"{one} and {other}: {swing} is beyond {bound}")
        return wrong

    def _bound(
        self, one: Node, other: Node, weights: Mapping[Node, float], swing: _Swing
    ) -> float:
        """Return how far two nodes may be apart, in slot-microseconds per weight."""
        share = self._world.slots[one[0]] / (weights[one] + weights[other])
        return max(1.0, _CAP * share) * _REFRESH_US + sum(
            (1 + most) * self._cost_us.get(node[1:3], 0) / weights[node]
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
        return served_us, in_flight

    def _waiting(self, law: Law, lines: Mapping[Line, Sequence[Job]]) -> list[Node]:
        """Return the nodes that wait and that no law blocks."""
        found: dict[Node, None] = {}
        for (queue, tenant, band), jobs in lines.items():
            pool = law.home(queue)
            if pool is None or not self._is_free(law, queue, tenant):
                continue
            for above in range(band + 1):
                if self._world.due_us(jobs[0], law, above) <= self._world.now_us:
                    found[pool, queue, tenant, band, above] = None
                    found[pool, queue, None, above, above] = None
        return list(found)

    def _is_free(self, law: Law, queue: str, tenant: str) -> bool:
        owners = ((queue, tenant), (queue, None))
        held = law.kept is not None or queue in law.keys
        paused = self._world.paused.intersection(owners)
        return not held and not paused and all(law.of(owner).free for owner in owners)

    def _cost(self, job: Job, cost_us: int) -> None:
        for owner in (job.lane, (job.queue, None)):
            self._cost_us[owner] = max(cost_us, self._cost_us.get(owner, 0))


def _nodes(node: Node) -> tuple[Node, Node]:
    """Return the nodes that a tenant's job is charged to: the tenant and its queue."""
    pool, queue, _, _, band = node
    return node, (pool, queue, None, band, band)

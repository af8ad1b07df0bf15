"""A fair order with its heads, for tests that follow it decision by decision."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from fairlead_scheduler.ordering.plan import Plan, QueueRow
from fairlead_scheduler.ordering.pool_orders import PoolOrders
from fairlead_scheduler.ordering.router import PoolSize, Router
from fairlead_scheduler.pending.heads import Heads
from fairlead_scheduler.pending.values import NOTHING_PAUSED, Paused, PendingJob
from fairlead_scheduler.policy.compiled import CompiledPolicy
from fairlead_scheduler.policy.gcra import WindowUsage
from fairlead_scheduler.policy.settings import FairSettings
from tests.support.planned import Planned, planned
from tests.support.tables import Weights, weighing

MS = 1000
EVERYTHING = 1_000_000
POOL = "default"
"""The only pool."""


class Bench:
    """A fair order with its heads; jobs have hints, so that every charge is known.

    A hint below `prior_us`, or below what jobs of the lane have taken, is not a charge. Unless
    said otherwise even the shortest jobs make turns of their own.
    """

    def __init__(
        self,
        table: CompiledPolicy | None = None,
        *,
        weights: Weights | None = None,
        turn_us: int = 0,
        prior_us: int = 100 * MS,
    ) -> None:
        table = table or weighing(weights or {})
        settings = FairSettings(turn_us=turn_us, short=None, prior_us=prior_us)
        self.order = Router(POOL, replace(table, settings=settings))
        self.heads = Heads(in_flight=self.order.in_flight)
        self.heads.record_scan()
        self.names: dict[int, str] = {}
        self.fields: dict[int, Mapping[str, str]] = {}
        """What keys may find in a job, by its path."""
        self.bands: dict[int, int] = {}
        self.now_us = 0

    def add(
        self,
        lane: str,
        *costs_ms: int | None,
        rank: int = 0,
        fields: Mapping[str, str] | None = None,
    ) -> None:
        """Add jobs to the lane `queue/tenant`; they are `tenant1`, `tenant2`, and so on."""
        queue, tenant = lane.split("/")
        found: list[PendingJob] = []
        for cost_ms in costs_ms:
            job_id = len(self.names) + 1
            number = 1 + sum(
                name.rstrip("0123456789") == tenant for name in self.names.values()
            )
            self.names[job_id] = f"{tenant}{number}"
            self.fields[job_id] = fields or {}
            hint_us = None if cost_ms is None else cost_ms * MS
            found.append(PendingJob(job_id, job_id, queue, tenant, rank, hint_us, self.now_us))
        self.heads.discovered(found)

    def plan(
        self, room: int = EVERYTHING, *, slots: int = EVERYTHING, paused: str = ""
    ) -> tuple[Planned, ...]:
        """Plan up to so many jobs more than wait already."""
        self.now_us += MS
        asked = self.order.attribute_requests()
        self.order.learn([self.fields[x.job_id].get(f"{x.root}.{x.path}") for x in asked])
        queue, _, tenant = paused.partition("/")
        names: Paused = frozenset({(queue, tenant or None)} if paused else ())
        depth = self.pool.unclaimed + room
        plan = self.decide(self.now_us, slots, depth, names)
        self.bands |= {row[0]: band for band, rows, _ in plan.parts for row in rows}
        return planned(plan)

    def decide(
        self, now_us: int, slots: int, depth: int, paused: Paused = NOTHING_PAUSED
    ) -> Plan:
        """Return one plan, counted as dispatched."""
        return decide(self.order, PoolSize(slots, depth), self.heads, now_us, paused)

    @property
    def pool(self) -> PoolOrders:
        """The only pool."""
        return self.order.served[0]

    @property
    def floor(self) -> int:
        """The smallest unclaimed tag of the first band."""
        return self.pool.floors[0]

    def adopt(
        self,
        rows: Iterable[QueueRow],
        now_us: int,
        floors: Sequence[int] = (),
        used: Iterable[WindowUsage] = (),
    ) -> None:
        """Start from these rows, all of the only pool."""
        self.order.adopt(of_pool(rows), now_us, {POOL: floors}, used)

    def reconcile(self, rows: Iterable[QueueRow], now_us: int) -> int:
        """Correct the ledgers by these rows, all of the only pool."""
        return self.order.reconcile(of_pool(rows), now_us, self.heads)

    def claim_order(self, jobs: Sequence[Planned]) -> str:
        """Return the names in the order in which workers will claim them."""
        ordered = sorted(jobs, key=lambda job: (self.bands[job.id], job.vtag, job.id))
        return " ".join(self.names[job.id] for job in ordered)

    def picked(self, count: int, *, slots: int = EVERYTHING) -> str:
        """Return the names in the order in which they are dispatched, one plan for each."""
        plans = [self.plan(1, slots=slots) for _ in range(count)]
        return " ".join(self.names[job.id] for plan in plans for job in plan)

    def run(self, jobs: Sequence[Planned], run_ms: int) -> None:
        """Let the jobs be claimed, and end after so long."""
        ids = [job.id for job in jobs]
        self.order.claimed(ids, self.now_us)
        self.now_us += run_ms * MS
        self.order.ended(ids, [run_ms * MS] * len(ids))


def decide(
    order: Router, size: PoolSize, heads: Heads, now_us: int, paused: Paused = NOTHING_PAUSED
) -> Plan:
    """Return the plan of the only pool, counted as dispatched."""
    (plan,) = order.plan(now_us, {POOL: size}, heads, paused)
    return plan


def of_pool(rows: Iterable[QueueRow]) -> list[QueueRow]:
    """Return rows as those of the only pool."""
    return [row._replace(pool=POOL) for row in rows]

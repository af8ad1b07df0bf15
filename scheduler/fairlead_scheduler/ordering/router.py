"""The router over (pool, band): which jobs go to which workers, and in which order.

Every pair of pool and band has a fair order of its own. The slots of a pool's workers are
shared among its queues only. What belongs to a queue moves with it when a policy gives it to
another pool: its limits count what is still in flight in the old pool, its rates what was
dispatched there, and its unclaimed rows there are recalled.

A pool stays until the end of the term, since what it has in flight may outlast the policy.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from fairlead_scheduler.limits.blocked_reasons import counts_by_name
from fairlead_scheduler.limits.concurrency_keys import AttributeRequest
from fairlead_scheduler.limits.kind_limits import KindLimit, KindLimits, LimitedJob
from fairlead_scheduler.limits.waiting_lanes import OF_KIND, KeyValue
from fairlead_scheduler.ordering import apply_policy
from fairlead_scheduler.ordering.blocked import Member
from fairlead_scheduler.ordering.fair_order import FairOrder
from fairlead_scheduler.ordering.in_flight import UNCLAIMED
from fairlead_scheduler.ordering.job_checks import job_attributes
from fairlead_scheduler.ordering.lanes import Lane
from fairlead_scheduler.ordering.ledger import Ledger
from fairlead_scheduler.ordering.levels.order_tags import are_large
from fairlead_scheduler.ordering.plan import Plan, QueueRow
from fairlead_scheduler.ordering.pool_context import InFlightIds, JobRuleCheck, PoolContext
from fairlead_scheduler.ordering.pool_orders import PlanRoom, PoolOrders
from fairlead_scheduler.pending.cursors import PLACES, LaneHeads
from fairlead_scheduler.pending.heads import Heads
from fairlead_scheduler.pending.values import NOTHING_PAUSED, Paused
from fairlead_scheduler.policy.compiled import CompiledPolicy
from fairlead_scheduler.policy.gcra import WindowUsage


class PoolSize(NamedTuple):
    """What a pool has room for."""

    slots: int
    """All slots of its live workers."""
    depth: int
    """How many unclaimed rows it should have. Only rows that overtake queued ones, and those of
    reserves, go past it, up to `slots + depth`. Rows of lower bands do not count."""


_NO_ROOM = PoolSize(0, 0)


class Router:
    """The fair orders of all bands of all pools.

    Every method is an event and carries its time. Unknown ids are ignored, so a repeated event
    changes nothing.

    Args:
        default_pool: The pool that serves all queues where the policy names none.
        table: The policy in force.
    """

    def __init__(self, default_pool: str, table: CompiledPolicy | None = None) -> None:
        self._default_pool = default_pool
        self._table = table or CompiledPolicy()
        self._pools: list[PoolOrders] = []
        self.served: list[PoolOrders] = []
        """The pools, without that of the queues that no pool serves."""
        self._contexts: list[PoolContext] = []
        self._orders: list[FairOrder] = []
        """Of every band of every pool, pool by pool."""
        self._places: dict[str | None, int] = {}
        self._pool_names: dict[str, str | None] = {}
        """Which pool serves each queue that was asked for."""
        self.in_flight: Collection[int] = InFlightIds(self._orders)
        self._begun_us = 0
        self._reads = False
        """Whether a full read is under way."""
        self._sorted = False
        """Whether the heads are where the policy says."""
        self._request_counts: list[int] = []
        """How many attributes each order asked for."""
        self._add_pools()

    @property
    def table(self) -> CompiledPolicy:
        """The policy in force."""
        return self._table

    @property
    def pool_names(self) -> tuple[str, ...]:
        """The pools that serve queues by the policy, or the one that serves all."""
        return self._table.routing.names or (self._default_pool,)

    @property
    def ledgers(self) -> list[Ledger]:
        """The ledgers of all bands of all pools, until the next `adopt`."""
        return [order.ledger for order in self._orders]

    @property
    def orders(self) -> list[FairOrder]:
        """The fair orders of all bands of all pools, until the next policy."""
        return self._orders

    @property
    def bands(self) -> int:
        """How many bands a pool has, or had in this term."""
        return max(len(pool.orders) for pool in self._pools)

    @property
    def mean_us(self) -> int:
        """The recent mean run time of a job, in the pool where it is least."""
        return min(pool.mean_us for pool in self._pools)

    @property
    def release_us(self) -> int | None:
        """From when on a rate unblocks a lane or a queue; None when none blocks any."""
        return self._contexts[0].blocked.next_us

    @property
    def is_limited(self) -> bool:
        """Whether a limit, a key or a reserve blocks any lane."""
        return self._contexts[0].blocked.is_limited

    @property
    def may_exceed_limits(self) -> bool:
        """Whether more rows may wait than limits, bands, rules or pools allow."""
        return any(pool.may_exceed_limits for pool in self._pools)

    @property
    def has_large_tags(self) -> bool:
        """Whether the order tags of a (pool, band) are to be numbered anew."""
        return any(are_large(x.root.virtual, x.floor, x.tag_shift.by) for x in self.ledgers)

    @property
    def is_behind(self) -> bool:
        """Whether lanes are left that the last plan had no time to admit."""
        return any(order.is_behind for order in self._orders)

    @property
    def awaits_values(self) -> bool:
        """Whether the last plan left something to dispatch once attributes are read."""
        return any(order.awaits_values for order in self._orders)

    @property
    def awaits_rule_results(self) -> bool:
        """Whether the last plan had no time to evaluate rules for a job."""
        return any(order.ledger.key_state.unevaluated for order in self._orders)

    def pool_name_of(self, queue: str) -> str | None:
        """Return the pool that serves a queue; None: none does."""
        if queue not in self._pool_names:
            self._pool_names[queue] = self._table.routing.pool_of(queue, self._default_pool)
        return self._pool_names[queue]

    def pool_of(self, queue: str) -> PoolOrders:
        """Return the pool that serves a queue, or that of queues that none serves."""
        return self._pools[self._places[self.pool_name_of(queue)]]

    def surplus_rows(self) -> tuple[int, ...]:
        """Return the unclaimed rows for which a new policy leaves no room: recall them."""
        return apply_policy.surplus_rows(self.ledgers) if self.may_exceed_limits else ()

    def overdue_rows(self, now_us: int) -> tuple[int, ...]:
        """Return the unclaimed rows that have waited too long for their bands: recall them."""
        return tuple(sorted(i for pool in self._pools for i in pool.overdue_rows(now_us)))

    def unclaimed_of(self, paused: Paused) -> tuple[int, ...]:
        """Return the unclaimed rows that these pauses name, ascending: recall them."""
        return tuple(sorted(i for order in self._orders for i in order.unclaimed_of(paused)))

    def blocked_lanes(self) -> dict[str, int]:
        """Return how many lanes that have work are blocked, by reason."""
        counts = self._contexts[0].blocked.lanes_by_reason
        for pool in self._pools:
            for reason, count in pool.lanes_of_blocked_queues().items():
                counts[reason] += count
        return counts_by_name(counts)

    @property
    def kinds(self) -> KindLimits[Lane]:
        """The limits of kinds, until the next `adopt`."""
        return self._contexts[0].kinds

    def limit_kinds(self, limits: Iterable[KindLimit]) -> None:
        """Apply these limits of kinds and no others. A repeat changes nothing."""
        if self.kinds.set(limits):
            for ledger in self.ledgers:
                job_attributes.kind_limits_changed(ledger)

    @property
    def holds_to_kind_limits(self) -> bool:
        """Whether no more jobs of limited kinds wait to be claimed than may run."""
        kinds = self.kinds
        held = {job_id for value in kinds.excess() for job_id in kinds.holders(value)}
        claimed = (
            job.claimed_us != UNCLAIMED
            for ledger in self.ledgers
            for job_id in held
            if (job := ledger.in_flight_jobs.get(job_id)) is not None
        )
        return kinds.is_counted and all(claimed)

    def watch_kinds(self, lanes: Iterable[tuple[str, str]]) -> None:
        """Read the kinds of heads of these lanes, by queue and tenant, from now on."""
        for queue, tenant in lanes:
            if self.kinds.watch(queue, tenant):
                for ledger in self.ledgers:
                    if queue in ledger.queues:
                        job_attributes.read_kinds(ledger, ledger.queues[queue], tenant)

    def count_kinds(self, jobs: Iterable[LimitedJob]) -> None:
        """Take what is in flight of limited kinds, as a read of all of it found."""
        found: dict[int, KeyValue] = {}
        for job_id, kind, pool in jobs:
            for ledger in self.ledgers:
                job = ledger.in_flight_jobs.get(job_id)
                if job is not None:
                    found[job_id] = KeyValue(OF_KIND, pool, kind)
                    self.watch_kinds([(job.lane.queue.name, job.lane.tenant)])
        self.kinds.count(found)
        for ledger in self.ledgers:
            ledger.may_exceed_limits = True

    def evaluate_job_rules_with(self, check: JobRuleCheck) -> None:
        """Set what evaluates the rules for single jobs."""
        for context in self._contexts:
            context.check_rules = check

    def attribute_requests(self) -> tuple[AttributeRequest, ...]:
        """Return what to read of jobs for keys and rules; call it once before each `learn`."""
        asked = [order.attribute_requests() for order in self._orders]
        self._request_counts = [len(each) for each in asked]
        return tuple([request for each in asked for request in each])

    def learn(self, texts: Sequence[str | None]) -> None:
        """Take the attributes in the order of the requests; the last may be missing.

        A job that is gone has none: it will not be dispatched.
        """
        begin = 0
        for order, count in zip(self._orders, self._request_counts, strict=False):
            order.learn(texts[begin : begin + count])
            begin += count
        self._request_counts = []

    def plan(
        self,
        now_us: int,
        sizes: Mapping[str, PoolSize],
        heads: Heads,
        paused: Paused = NOTHING_PAUSED,
    ) -> tuple[Plan, ...]:
        """Decide what to dispatch now, pool by pool, and count it as dispatched.

        Args:
            now_us: The database's time.
            sizes: What each pool has room for.
            heads: What is pending; the picked are taken out of it.
            paused: What must not be dispatched.

        Report to `refused` each id that the dispatch did not insert, all of them if it failed.
        """
        if not self._sorted:
            self._sorted = True
            heads.sort(self._place if self._several else None)
        rooms: list[PlanRoom] = []
        for pool in self._pools:
            slots, depth = sizes.get(pool.name or "", _NO_ROOM)
            pool.begin_plan(now_us, slots)
            rooms.append(PlanRoom(now_us, slots, depth))
        freed = self._contexts[0].blocked.take_rechecks(now_us)
        changed = heads.take_changed()
        if len(self._pools) == 1:
            return (self._pools[0].plan(rooms[0], heads, changed, freed, paused),)
        lanes, members = self._by_place(changed, freed)
        return tuple(
            pool.plan(room, heads, lanes[place], members[place], paused)
            for place, (pool, room) in enumerate(zip(self._pools, rooms, strict=True))
        )

    def refused(self, ids: Iterable[int], pool: str) -> None:
        """Undo what a pool's plan dispatched and the database did not take.

        Call it before the next plan: rates get back what these took. Ask the database about
        these ids again: they may be in flight in a pool where their queue was.
        """
        ids = tuple(ids)
        for order in self._pools[self._places[pool]].orders:
            order.refused(ids)

    def claimed(self, ids: Iterable[int], at_us: int) -> None:
        """Note that workers claimed these rows."""
        ids = tuple(ids)
        for order in self._orders:
            order.claimed(ids, at_us)

    def ended(self, ids: Sequence[int], run_us: Sequence[int]) -> None:
        """Note that these left `work_queue` after so long a run; 0: they had not started."""
        for order in self._orders:
            order.ended(ids, run_us)

    def split_by_pool(
        self, ids: Sequence[int], run_us: Sequence[int]
    ) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
        """Yield which of these are in flight in each pool, with what they ran.

        Call it before they have `ended`. Where there is one pool, all of them are in it.
        """
        if len(self.served) == 1:
            yield ids, run_us
            return
        for pool in self.served:
            pairs = zip(ids, run_us, strict=True)
            mine = [pair for pair in pairs if pair[0] in pool.in_flight]
            yield [job_id for job_id, _ in mine], [run for _, run in mine]

    def returned(self, ids: Iterable[int], at_us: int) -> None:
        """Note that these wait again; what they ran stays charged."""
        ids = tuple(ids)
        for order in self._orders:
            order.returned(ids, at_us)

    def recalled(self, ids: Iterable[int], heads: Heads) -> tuple[int, ...]:
        """Note that these left `work_queue` unclaimed: they are refunded, and heads again.

        Returns the ids whose place is not known (adopted at the take-over): read them from
        `jobs` and hand them to `heads.missed`.
        """
        unknown = tuple(ids)
        for order in self._orders:
            unknown = order.recalled(unknown, heads)
        return unknown

    def moved(self, queue: str, ids: Sequence[int], ranks: tuple[int, int]) -> list[int]:
        """Note that these have another rank, the second; returns the rows to recall."""
        return [i for order in self._orders for i in order.moved(queue, ids, ranks)]

    def still_unclaimed(self, ids: Collection[int]) -> list[int]:
        """Return which of these wait in `work_queue` for a worker."""
        return [i for order in self._orders for i in order.still_unclaimed(ids)]

    def apply(self, table: CompiledPolicy, now_us: int) -> None:
        """Switch to another policy, from the next plan on."""
        before, self._table = self._table, table
        bands = max(before.bands.count, table.bands.count)
        self._sorted = self._sorted and bands == 1 and before.routing == table.routing
        self._pool_names.clear()
        for pool in self._pools:
            pool.apply(table, now_us, reading=self._reads)
        self._add_pools()
        if self.kinds:
            for ledger in self.ledgers:
                job_attributes.kind_limits_changed(ledger)

    def adopt(
        self,
        rows: Iterable[QueueRow],
        now_us: int,
        floors: Mapping[str, Sequence[int]],
        used: Iterable[WindowUsage] = (),
    ) -> None:
        """Start from a full read of `work_queue`, the floors in force, and what rates used.

        All else but the policy is forgotten. A new `Heads` goes with it.
        """
        rows = tuple(rows)
        self._begun_us = now_us
        for row in rows:
            self._place_of(row.pool)
        by_pool = self._by_pool(rows)
        self._contexts.clear()
        for pool, mine in zip(self._pools, by_pool, strict=True):
            context = self._new_context(pool.name, used)
            of_pool = floors.get(pool.name or "", ())
            pool.adopt(mine, now_us, of_pool, context, reading=self._reads)
        self._sorted = False
        self._flatten()

    def begin_reconcile(self) -> None:
        """Note that a full read of `work_queue` for `reconcile` is about to be sent."""
        self._reads = True
        for order in self._orders:
            order.begin_reconcile()

    def reconcile(self, rows: Iterable[QueueRow], now_us: int, heads: Heads) -> int:
        """Correct the ledgers by a full read; returns how many ids were wrong.

        Ids that any event has touched since `begin_reconcile` are left alone. Report the
        endings that were committed before the read first: an ending that is reported later
        finds its job gone, and its run time is not learnt.
        """
        self._reads = False
        return sum(
            order.reconcile(mine, now_us, heads)
            for pool, of_pool in zip(self._pools, self._by_pool(rows), strict=True)
            for order, mine in zip(pool.orders, pool.by_band(of_pool), strict=True)
        )

    @property
    def _several(self) -> bool:
        """Whether there is more than one pair of pool and band."""
        return len(self._pools) > 1 or self._table.bands.count > 1

    def _by_place(
        self, changed: Iterable[LaneHeads], freed: Iterable[Member]
    ) -> tuple[list[list[LaneHeads]], list[list[Member]]]:
        """Return by pools the lanes that have changed and the members to check again."""
        lanes: list[list[LaneHeads]] = [[] for _ in self._pools]
        for lane in changed:
            lanes[lane.pool].append(lane)
        members: list[list[Member]] = [[] for _ in self._pools]
        for member in freed:
            queue = member.queue if isinstance(member, Lane) else member
            members[queue.pool].append(member)
        return lanes, members

    def _by_pool(self, rows: Iterable[QueueRow]) -> list[list[QueueRow]]:
        found: list[list[QueueRow]] = [[] for _ in self._pools]
        for row in rows:
            place = self._places.get(row.pool)
            if place is not None:
                found[place].append(row)
        return found

    def _add_pools(self) -> None:
        """Add the pools of the policy, and one for queues that no pool serves."""
        for name in self.pool_names:
            self._place_of(name)
        if self._table.routing.names:
            self._place_of(None)
        self._flatten()

    def _flatten(self) -> None:
        self._orders[:] = [order for pool in self._pools for order in pool.orders]

    def _place(self, queue: str, rank: int) -> int:
        """Return where jobs of a queue with this rank belong."""
        return self._places[self.pool_name_of(queue)] * PLACES + self._table.band_of(
            queue, rank
        )

    def _place_of(self, name: str | None) -> int:
        """Return the place of a pool, which is added when it is not known."""
        place = self._places.get(name)
        if place is None:
            place = self._places[name] = len(self._pools)
            context, begun_us = self._new_context(name), self._begun_us
            pool = PoolOrders(
                name, self._table, context, begun_us=begun_us, reading=self._reads
            )
            self._pools.append(pool)
            if name is not None:
                self.served.append(pool)
            self._sorted = False
        return place

    def _new_context(self, name: str | None, used: Iterable[WindowUsage] = ()) -> PoolContext:
        """Return the context of the next pool, which it shares with those before it."""
        beside = self._contexts[0] if self._contexts else None
        context = PoolContext(used, name=name, default_pool=self._default_pool, beside=beside)
        context.kinds.pool_of = self.pool_name_of
        self._contexts.append(context)
        return context

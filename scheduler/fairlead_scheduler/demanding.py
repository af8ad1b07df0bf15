"""Saying what each pool needs that has `autoscale` in the policy, as long as somebody leads.

A count begins once a second, at the latest a moment after something has begun to wait where
nothing did, and goes on for some lanes in each tick. Other pools cost a look at the policy.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from fairlead.policy import Pool
from fairlead_scheduler.calls import Requests, drain
from fairlead_scheduler.demand import Count, Most, Needed, saturating, wanted_lengths
from fairlead_scheduler.demanded import NOTHING_SEEN, PoolDemand, due_slot_seconds
from fairlead_scheduler.knowledge import Knowledge
from fairlead_scheduler.pool import PoolOrder
from fairlead_scheduler.views import News, Promoted

_SECOND_US = 1_000_000
_BEGINS_US = 200_000
"""How soon after a count the next one may begin where somebody begins to wait."""
_AGAIN_US = 4 * _SECOND_US
"""How old what is published may grow while nothing changes."""
_TICK_US = 500
"""What a tick has time for."""
_DUTY = 100
"""A count takes at most one part in so many of the time."""
_PERIOD_US_MAX = 8 * _SECOND_US
"""But is made so often, since an old one takes no pod away."""
_ALL_US = 1 << 30
_COUNTED_MAX = 100_000


class Needs:
    """What is known of one pool's needs."""

    def __init__(self) -> None:
        self.pods_max = 0
        self.slots = 0
        """Of a pod, until one has said so."""
        self.horizon_us = 0
        self.runnable_total = 0
        self.count: Count | None = None
        self.most = Most(0, 0)
        self.counted_us = 0
        self.period_us = _SECOND_US
        self.waits = False
        """Whether anybody seemed to wait when the last count began."""
        self.said: PoolDemand | None = None
        self.waited = False
        """Whether anything waited when that was said."""

    def obey(self, pool: Pool) -> None:
        """Go by what the policy says of its pods."""
        if pool.autoscale is not None:
            self.pods_max, self.slots = pool.autoscale.max, pool.autoscale.slots
            self.horizon_us = int(pool.autoscale.objective.total_seconds() * 1e6)

    def due(self, now_us: int, *, waits: bool) -> bool:
        """Whether to count anew: at once where somebody begins to wait."""
        rest_us = _BEGINS_US if waits and not self.waits else self.period_us
        return not 0 <= now_us - self.counted_us < rest_us

    def news(self, demand: PoolDemand, *, waits: bool) -> bool:
        """Whether to publish this, and take it for published."""
        said = self.said
        if said is not None and self.waited == waits:
            fresh = 0 <= demand.at_us - said.at_us < _AGAIN_US
            if fresh and demand._replace(at_us=said.at_us, begins=said.begins) == said:
                return False
        self.said, self.waited = demand, waits
        return True


class Demanding:
    """Has it published what the pools of one leader need.

    Args:
        requests: Has it published, and reads what lanes have.
    """

    def __init__(self, requests: Requests) -> None:
        self._requests = requests
        self._needs: dict[str, Needs] = {}
        self._obeyed: Sequence[Pool] | None = None
        self._seen = NOTHING_SEEN
        self._unread: dict[str, tuple[tuple[str, str, int], ...]] = {}

    def step(self, knowledge: Knowledge, now_us: int, news: Iterable[News]) -> None:
        """Go on for a moment, and have published what is finished."""
        pools = knowledge.order.table.homes.pools
        if pools is not self._obeyed:
            self._obey(pools)
        if not self._needs:
            return
        for seen in drain(self._requests.seen):
            self._seen = seen
        self._note_runnable(knowledge, news)
        orders = {order.pool: order for order in knowledge.order.served}
        found = [
            self._step(knowledge, orders[pool], needs, now_us)
            for pool, needs in self._needs.items()
            if pool in orders
        ]
        demands = tuple(each for each in found if each is not None)
        if demands:
            self._requests.demand(demands)

    def _obey(self, pools: Sequence[Pool]) -> None:
        """Go by another policy: keep what is known of pools that it has, too."""
        # A leader before may have published for pools that do not scale any more.
        begins, before, self._obeyed = self._obeyed is None, self._needs, pools
        scaled = [pool for pool in pools if pool.autoscale is not None]
        self._needs = {pool.name: before.get(pool.name, Needs()) for pool in scaled}
        for pool in scaled:
            self._needs[pool.name].obey(pool)
            self._needs[pool.name].count = None
        if begins or before or self._needs:
            self._unread = {}
            self._requests.demand_of(frozenset(self._needs))

    def _note_runnable(self, knowledge: Knowledge, news: Iterable[News]) -> None:
        """Count jobs that became runnable: inserted, or fallen due."""
        counts: Counter[str] = Counter(knowledge.runnable)
        for item in news:
            if isinstance(item, Promoted):
                counts.update(row.queue for row in item.rows)
        for queue, jobs in counts.items():
            needs = self._needs.get(knowledge.order.of(queue) or "")
            if needs is not None:
                needs.runnable_total += jobs

    def _step(
        self, knowledge: Knowledge, order: PoolOrder, needs: Needs, now_us: int
    ) -> PoolDemand | None:
        """Go on with a pool's count; return what to publish."""
        if needs.count is None:
            if not needs.due(now_us, waits=order.waits):
                return None
            needs.counted_us, needs.waits = now_us, order.waits
            slots = self._seen.slots.get(order.pool or "", needs.slots)
            needs.most = Most(needs.pods_max * slots, needs.horizon_us)
            needs.count = Count(
                order.ledgers,
                needs.most,
                now_us=now_us,
                begun_us=order.begun_us,
                paused=knowledge.paused,
                lengths=self._seen.lengths,
            )
        busy = knowledge.pending or order.in_flight
        needed = needs.count.go_on(_TICK_US if busy else _ALL_US)
        if needed is None:
            return None
        needs.period_us = min(_PERIOD_US_MAX, max(_SECOND_US, needs.count.cost_us * _DUTY))
        needs.count = None
        self._want_lengths(order.pool or "", needs.most, needed)
        demand = self._demand(knowledge, order, needs, needed)
        return demand if needs.news(demand, waits=needed.anything) else None

    def _want_lengths(self, pool: str, most: Most, needed: Needed) -> None:
        """Have lanes counted of which it could make a difference."""
        jobs = saturating(needed, most, _COUNTED_MAX) if needed.unread else 0
        self._unread[pool] = wanted_lengths(needed.unread, jobs) if jobs else ()
        self._requests.unread = tuple(x for each in self._unread.values() for x in each)

    def _demand(
        self, knowledge: Knowledge, order: PoolOrder, needs: Needs, needed: Needed
    ) -> PoolDemand:
        moments = knowledge.moments(order.pool or "")
        mean = order.mean_us / 1e6
        known = moments is not None and moments.samples > 0
        return PoolDemand(
            pool=order.pool or "",
            at_us=needed.at_us,
            became_runnable_total=needs.runnable_total,
            work_slot_seconds=needed.work_us / 1e6,
            slots_useful=needed.slots_useful,
            slots_allowed=needed.slots_allowed,
            oldest_us=needed.oldest_us,
            scheduled_slot_seconds=due_slot_seconds(
                self._seen.due, self._means_us(knowledge, order), needed.at_us
            ),
            service_mean=moments.mean if moments is not None and known else mean,
            # Until a few have ended they are taken to be as spread as exponential times.
            service_variance=moments.variance if moments is not None and known else mean**2,
            begins=needed.anything and not needs.waited,
        )

    def _means_us(self, knowledge: Knowledge, order: PoolOrder) -> Mapping[str, int]:
        """Return what jobs take of the pool's queues that have any falling due."""
        ledger, paused = order.ledgers[0], knowledge.paused
        found: dict[str, int] = {}
        for queue in self._seen.due:
            if knowledge.order.of(queue) == order.pool and (queue, None) not in paused:
                node = ledger.queues.get(queue)
                usual_us = ledger.mean.value_us(ledger.settings.prior_us)
                found[queue] = usual_us if node is None else node.mean.value_us(usual_us)
        return found

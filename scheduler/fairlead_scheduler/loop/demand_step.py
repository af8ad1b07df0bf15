"""Compute the demand of each pool with `autoscale` in the policy, a few lanes in each tick.

A count begins once a second, or 0.2 s after the last one when jobs begin to wait in a pool
where none did. Other pools cost one check of the policy.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from fairlead.policy import Pool
from fairlead_scheduler.demand.count import (
    CountResult,
    DemandCount,
    PoolMaximum,
    jobs_to_saturate,
    lengths_to_count,
)
from fairlead_scheduler.demand.values import (
    NO_INPUTS,
    PoolDemand,
    due_slot_seconds,
    fires_ahead,
)
from fairlead_scheduler.loop.requests import Requests, take_all
from fairlead_scheduler.loop.state import LeaderState
from fairlead_scheduler.ordering.pool_orders import PoolOrders
from fairlead_scheduler.rows import Event, Promoted

_SECOND_US = 1_000_000
_BEGINS_US = 200_000
"""How soon after a count the next one may begin when jobs begin to wait."""
_AGAIN_US = 4 * _SECOND_US
"""How old published demand may become while nothing changes."""
_TICK_US = 500
"""How long a busy tick may count."""
_DUTY = 100
"""Counting takes at most one part in so many of the time."""
_PERIOD_US_MAX = 8 * _SECOND_US
"""But a count is made at least so often: on an old one the autoscaler removes no pod."""
_ALL_US = 1 << 30
_COUNTED_MAX = 100_000
_SLOTS_MAX = 1_000_000_000
"""What the columns of all pools' demand have room for; a worker's login says any number."""


class PoolDemandState:
    """The state of one pool's demand."""

    def __init__(self) -> None:
        self.pods_max = 0
        self.slots = 0
        """Slots of a pod by the policy, until a worker has reported them."""
        self.horizon_us = 0
        self.runnable_total = 0
        self.count: DemandCount | None = None
        self.most = PoolMaximum(0, 0)
        self.counted_us = 0
        self.period_us = _SECOND_US
        self.waits = False
        """Whether jobs seemed to wait when the last count began."""
        self.published: PoolDemand | None = None
        self.waited = False
        """Whether jobs waited when that was published."""

    def set_pool(self, pool: Pool) -> None:
        """Take the policy's values for its pods."""
        if pool.autoscale is not None:
            self.pods_max, self.slots = pool.autoscale.max, pool.autoscale.slots
            self.horizon_us = int(pool.autoscale.objective.total_seconds() * 1e6)

    def is_due(self, now_us: int, *, waits: bool) -> bool:
        """Whether to count anew: sooner when jobs begin to wait."""
        rest_us = _BEGINS_US if waits and not self.waits else self.period_us
        return not 0 <= now_us - self.counted_us < rest_us

    def record_if_changed(self, demand: PoolDemand, *, waits: bool) -> bool:
        """Take this demand for published if it differs enough; return whether to publish it."""
        published = self.published
        if published is not None and self.waited == waits:
            fresh = 0 <= demand.at_us - published.at_us < _AGAIN_US
            if (
                fresh
                and demand._replace(at_us=published.at_us, begins=published.begins) == published
            ):
                return False
        self.published, self.waited = demand, waits
        return True


class DemandStep:
    """Counts and publishes the demand of one leader's pools.

    Args:
        requests: Publishes demand, and returns the inputs that a background thread reads.
    """

    def __init__(self, requests: Requests) -> None:
        self._requests = requests
        self._states: dict[str, PoolDemandState] = {}
        self._applied_pools: Sequence[Pool] | None = None
        self._inputs = NO_INPUTS
        self._unread: dict[str, tuple[tuple[str, str, int], ...]] = {}

    def step(self, state: LeaderState, now_us: int, events: Iterable[Event]) -> None:
        """Go on counting for a moment, and publish what is finished."""
        pools = state.order.table.routing.pools
        if pools is not self._applied_pools:
            self._apply_pools(pools)
        if not self._states:
            return
        for inputs in take_all(self._requests.demand_inputs):
            self._inputs = inputs
        self._note_runnable(state, events)
        orders = {order.name: order for order in state.order.served}
        found = [
            self._step(state, orders[pool], demand_state, now_us)
            for pool, demand_state in self._states.items()
            if pool in orders
        ]
        demands = tuple(each for each in found if each is not None)
        if demands:
            self._requests.publish_demand(demands)

    def _apply_pools(self, pools: Sequence[Pool]) -> None:
        """Apply another policy; pools that it still has keep their state."""
        # A former leader may have published for pools that do not scale any more.
        begins, before, self._applied_pools = self._applied_pools is None, self._states, pools
        scaled = [pool for pool in pools if pool.autoscale is not None]
        self._states = {pool.name: before.get(pool.name, PoolDemandState()) for pool in scaled}
        for pool in scaled:
            self._states[pool.name].set_pool(pool)
            self._states[pool.name].count = None
        if begins or before or self._states:
            self._unread = {}
            self._requests.set_demand_pools(frozenset(self._states))

    def _note_runnable(self, state: LeaderState, events: Iterable[Event]) -> None:
        """Count jobs that became runnable: inserted or promoted."""
        counts: Counter[str] = Counter(state.runnable)
        for item in events:
            if isinstance(item, Promoted):
                counts.update(row.queue for row in item.rows)
        for queue, jobs in counts.items():
            demand_state = self._states.get(state.order.pool_name_of(queue) or "")
            if demand_state is not None:
                demand_state.runnable_total += jobs

    def _step(
        self, state: LeaderState, order: PoolOrders, demand_state: PoolDemandState, now_us: int
    ) -> PoolDemand | None:
        """Go on with a pool's count; return what to publish."""
        if demand_state.count is None:
            if not demand_state.is_due(now_us, waits=order.has_waiting):
                return None
            demand_state.counted_us, demand_state.waits = now_us, order.has_waiting
            slots = self._inputs.slots.get(order.name or "", demand_state.slots)
            demand_state.most = PoolMaximum(
                min(demand_state.pods_max * slots, _SLOTS_MAX), demand_state.horizon_us
            )
            demand_state.count = DemandCount(
                order.ledgers,
                demand_state.most,
                now_us=now_us,
                begun_us=order.begun_us,
                paused=state.paused,
                lengths=self._inputs.lengths,
            )
        busy = state.has_pending or order.in_flight
        counted = demand_state.count.step(_TICK_US if busy else _ALL_US)
        if counted is None:
            return None
        demand_state.period_us = min(
            _PERIOD_US_MAX, max(_SECOND_US, demand_state.count.cost_us * _DUTY)
        )
        demand_state.count = None
        self._request_lengths(order.name or "", demand_state.most, counted)
        demand = self._demand(state, order, demand_state, counted)
        return (
            demand if demand_state.record_if_changed(demand, waits=counted.has_work) else None
        )

    def _request_lengths(self, pool: str, most: PoolMaximum, counted: CountResult) -> None:
        """Request the lengths of lanes that could make a difference to the demand."""
        jobs = jobs_to_saturate(counted, most, _COUNTED_MAX) if counted.unread else 0
        self._unread[pool] = lengths_to_count(counted.unread, jobs) if jobs else ()
        self._requests.unread = tuple(x for each in self._unread.values() for x in each)

    def _demand(
        self,
        state: LeaderState,
        order: PoolOrders,
        demand_state: PoolDemandState,
        counted: CountResult,
    ) -> PoolDemand:
        moments = state.run_time_moments(order.name or "")
        mean = order.mean_us / 1e6
        known = moments is not None and moments.samples > 0
        fires = self._requests.fires_ahead
        means_us = self._means_us(state, order, self._inputs.due.keys() | fires.keys())
        return PoolDemand(
            pool=order.name or "",
            at_us=counted.at_us,
            became_runnable_total=demand_state.runnable_total,
            work_slot_seconds=counted.work_us / 1e6,
            slots_useful=counted.slots_useful,
            slots_kept=counted.slots_kept,
            slots_allowed=counted.slots_allowed,
            oldest_us=counted.oldest_us,
            scheduled_slot_seconds=due_slot_seconds(self._inputs.due, means_us, counted.at_us),
            service_mean=moments.mean if moments is not None and known else mean,
            # Until some have ended, run times are taken to be exponentially distributed.
            service_variance=moments.variance if moments is not None and known else mean**2,
            begins=counted.has_work and not demand_state.waited,
            fires=fires_ahead(fires, means_us, counted.at_us),
        )

    def _means_us(
        self, state: LeaderState, order: PoolOrders, queues: Iterable[str]
    ) -> Mapping[str, int]:
        """Return the mean run times of those of the queues that the pool serves."""
        ledger, paused = order.ledgers[0], state.paused
        found: dict[str, int] = {}
        for queue in queues:
            if state.order.pool_name_of(queue) == order.name and (queue, None) not in paused:
                node = ledger.queues.get(queue)
                usual_us = ledger.mean.value_us(ledger.settings.prior_us)
                found[queue] = usual_us if node is None else node.mean.value_us(usual_us)
        return found

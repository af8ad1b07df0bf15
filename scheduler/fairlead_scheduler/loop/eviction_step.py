"""Find out, a few times a second, whether running jobs are to be asked to make room.

Without `fairness.eviction` in the policy it costs one check.
"""

from collections.abc import Iterable, Sequence

from fairlead_scheduler.loop.requests import Requests
from fairlead_scheduler.loop.state import LeaderState
from fairlead_scheduler.ordering.eviction import EvictionWatch
from fairlead_scheduler.ordering.ledger import Ledger
from fairlead_scheduler.ordering.pool_orders import PoolOrders
from fairlead_scheduler.rows import Event, EvictionsRequested

_PERIOD_US = 200_000
_PERIOD_US_EACH = 50
"""How long the next look is put off at least for each job in flight and each lane, so that with
tens of thousands the looks still take a small part of the time."""
_AGAIN_US, _AGAIN_US_EACH = 1_000_000, 100
"""How soon after a request a pool may make the next one; no jobs may have been evictable."""


class EvictionStep:
    """Watches the pools of one leader.

    Args:
        requests: Asks jobs to stop, on a background thread.
    """

    def __init__(self, requests: Requests) -> None:
        self._requests = requests
        self._watches: dict[str, EvictionWatch] = {}
        self._again_us: dict[str, int] = {}
        self._due_us = 0

    def step(self, state: LeaderState, now_us: int, events: Iterable[Event]) -> None:
        """Note who was asked to stop; if it is time, look who waits and request what helps."""
        after_us = state.order.table.settings.evict_after_us
        if after_us is None:
            self._watches.clear()
            return
        for pool in state.order.served:
            watch = self._watches.setdefault(pool.name or "", EvictionWatch())
            for item in events:
                if isinstance(item, EvictionsRequested) and item.pool == pool.name:
                    watch.asked(item.ids, pool.ledgers, now_us)
        if now_us < self._due_us:
            return
        size = len(state.order.in_flight) + _lanes(state.order.ledgers)
        self._due_us = now_us + max(_PERIOD_US, _PERIOD_US_EACH * size)
        for pool in state.order.served:
            self._look(state, pool, now_us, after_us)

    def _look(self, state: LeaderState, pool: PoolOrders, now_us: int, after_us: int) -> None:
        name = pool.name or ""
        watch, slots = self._watches[name], state.capacity.slots(name)
        watch.observe(pool.ledgers, now_us)
        if now_us < self._again_us.get(name, 0):
            return
        need = watch.need(
            name,
            pool.ledgers,
            now_us,
            after_us=after_us,
            slots=slots,
            free=state.capacity.free(name),
            passed_over=state.passed_over(name),
            paused=state.paused,
        )
        if need is not None:
            rest_us = max(
                _AGAIN_US, _AGAIN_US_EACH * (len(pool.in_flight) + _lanes(pool.ledgers))
            )
            self._again_us[name] = now_us + rest_us
            if need.recalled:
                self._requests.recall(tuple(sorted(need.recalled)))
            self._requests.evict(need)


def _lanes(ledgers: Sequence[Ledger]) -> int:
    return sum(len(queue.tenants) for ledger in ledgers for queue in ledger.queues.values())

"""The loop's requests to the background threads.

The loop's decisions live on one thread; what other threads read or change reaches it as a value
in a queue.
"""

from collections.abc import Callable, Mapping
from queue import Empty, SimpleQueue
from typing import TypeVar

from fairlead_scheduler.demand.values import DemandInputs, PoolDemand
from fairlead_scheduler.ordering.eviction import EvictionNeed
from fairlead_scheduler.report.values import FairnessReport
from fairlead_scheduler.rules.circuit_breaker import DisabledRule

T = TypeVar("T")


class Requests:
    """The loop's requests to the background threads, and the values that go with them.

    Args:
        call: Runs a task now, by its name.
    """

    def __init__(self, call: Callable[[str], None]) -> None:
        self.recalls: SimpleQueue[tuple[int, ...]] = SimpleQueue()
        self.evictions: SimpleQueue[EvictionNeed] = SimpleQueue()
        self.reports: SimpleQueue[tuple[str, FairnessReport]] = SimpleQueue()
        self.report_pools: SimpleQueue[frozenset[str]] = SimpleQueue()
        self.due_us: SimpleQueue[int] = SimpleQueue()
        self.promoted_us = 0
        """All jobs due before this instant are promoted, except those committed late."""
        self.disabled: SimpleQueue[DisabledRule] = SimpleQueue()
        self.demands: SimpleQueue[tuple[PoolDemand, ...]] = SimpleQueue()
        self.demand_pools: frozenset[str] = frozenset()
        """The pools whose demand is published."""
        self.unread: tuple[tuple[str, str, int], ...] = ()
        """Lanes to be counted for the demand, each up to a number of jobs."""
        self.demand_inputs: SimpleQueue[DemandInputs] = SimpleQueue()
        """What was read for the demand."""
        self.fires_ahead: Mapping[str, Mapping[int, int]] = {}
        """How many jobs schedules will insert into each queue, by spans as in its `due`."""
        self.uncounted: SimpleQueue[list[tuple[int, int]]] = SimpleQueue()
        """Jobs of which an attempt has ended that nobody has counted, and their workers."""
        self.idle = False
        """Whether nothing has happened for a while."""
        self._call = call

    def recall(self, ids: tuple[int, ...]) -> None:
        """Take these unclaimed rows out of `work_queue`."""
        self.recalls.put(ids)
        self._call("recall")

    def evict(self, need: EvictionNeed) -> None:
        """Ask running jobs to make room."""
        self.evictions.put(need)
        self._call("evict")

    def promote_from(self, due_us: int) -> None:
        """Promote from this instant on at the next sweep: a due job was seen there."""
        self.due_us.put(due_us)
        if self.idle:
            self._call("promote")

    def set_idle(self, *, idle: bool) -> None:
        """Sweep less often while idle, and often again as soon as something happens."""
        was, self.idle = self.idle, idle
        if was and not idle:
            # They choose their next rest by what is set above.
            self._call("promote")
            self._call("settle_batches")

    def steal(self) -> None:
        """Steal the attempts of dead workers: one has just been marked dead."""
        self._call("steal")

    def count_endings(self, uncounted: list[tuple[int, int]]) -> None:
        """Count how attempts of these jobs and workers have ended."""
        self.uncounted.put(uncounted)
        self._call("count_endings")

    def audit(self) -> None:
        """Read all of `work_queue`."""
        self._call("audit")

    def publish_report(self, pool: str, report: FairnessReport) -> None:
        """Publish how the slots of a pool were shared."""
        self.reports.put((pool, report))
        self._call("report")

    def set_report_pools(self, pools: frozenset[str]) -> None:
        """From now on publish reports on these pools only, and delete those on others."""
        self.report_pools.put(pools)
        self._call("report")

    def publish_demand(self, demands: tuple[PoolDemand, ...]) -> None:
        """Publish the demand of pools."""
        self.demands.put(demands)
        self._call("demand")

    def set_demand_pools(self, pools: frozenset[str]) -> None:
        """From now on publish the demand of these pools only, and read the inputs for it."""
        self.demand_pools = pools
        self._call("demand")
        self._call("demand_inputs")

    @property
    def is_demand_published(self) -> bool:
        """Whether any pool's demand is."""
        return bool(self.demand_pools)

    def set_fires_ahead(self, fires: Mapping[str, Mapping[int, int]]) -> None:
        """Take what schedules will fire, for the next counts of the demand."""
        self.fires_ahead = fires

    def check_policy(self) -> None:
        """Check whether another policy is stored."""
        self._call("policy")

    def record_disabled(self, rule: DisabledRule) -> None:
        """Record that a rule of the policy was disabled."""
        self.disabled.put(rule)
        self._call("policy")

    def scan_lanes(self) -> None:
        """Scan all lanes."""
        self._call("scan_lanes")


def take_all(queue: SimpleQueue[T]) -> list[T]:
    """Take everything that is in the queue now."""
    taken: list[T] = []
    while True:
        try:
            taken.append(queue.get_nowait())
        except Empty:
            return taken

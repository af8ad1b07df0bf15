"""Showing how the slots of each pool were shared, as long as there is anything to say of it."""

from functools import partial

from fairlead_scheduler.calls import Requests
from fairlead_scheduler.knowledge import Knowledge
from fairlead_scheduler.metrics import Metrics
from fairlead_scheduler.reporter import Reporter


class Reporting:
    """Has the reports of one leader made, shown and published.

    A pool that the policy names no more is reported on until nothing has run there for a
    window; then its last report goes as well, and so do those of a former leader on pools that
    this one does not know or has nothing to say of.

    Args:
        metrics: What shows them on the page.
        requests: Has them published.
        look_us: How long it is from one look to the next.
    """

    def __init__(self, metrics: Metrics, requests: Requests, look_us: int) -> None:
        self._metrics = metrics
        self._requests = requests
        self._look_us = look_us
        self._reporters: dict[str, Reporter] = {}
        self._said: dict[str, bool] = {}
        """Whether a pool's last report had anything to say."""
        self._spoken: set[str] = set()
        """Pools of which this leader has said anything."""
        self._pools: frozenset[str] = frozenset()
        self._published: frozenset[str] | None = None
        """Pools whose reports stand: a former leader's on the others are forgotten."""

    def step(self, knowledge: Knowledge, now_us: int) -> None:
        """Go on for a moment, and have published what is finished.

        The first report of nothing is published as well: nobody shall take the one before it
        for the present.
        """
        for order in knowledge.order.served:
            pool = order.pool or ""
            reporter = self._reporters.get(pool)
            if reporter is None:
                reporter = self._reporters[pool] = Reporter(self._look_us)
            report = reporter.step(now_us, partial(knowledge.look, order, now_us))
            if report is None:
                continue
            said, self._said[pool] = self._said.get(pool, False), bool(report.tenants)
            if report.tenants:
                self._spoken.add(pool)
            self._begin(knowledge)
            if pool in self._pools:
                self._metrics.fairness.show(pool, report)
                self._metrics.queues.means(pool, report.means_seconds())
                if report.tenants or said:
                    self._requests.report(pool, report)

    def _begin(self, knowledge: Knowledge) -> None:
        """Go on with the pools of the policy and those of which there is something to say."""
        pools = frozenset(
            (*knowledge.order.named, *(pool for pool, said in self._said.items() if said))
        )
        if pools != self._pools:
            for ended in self._pools - pools:
                self._metrics.end_pool(ended)
            self._pools = pools
        # Of a pool that was not looked at yet, nobody knows better than the former leader.
        published = frozenset(
            pool for pool in pools if pool in self._spoken or pool not in self._said
        )
        if published != self._published:
            self._published = published
            self._requests.report_on(published)

"""Make, show and publish each pool's fairness report while the pool has anything to report."""

from functools import partial

from fairlead_scheduler.loop.requests import Requests
from fairlead_scheduler.loop.state import LeaderState
from fairlead_scheduler.metrics.registry import Metrics
from fairlead_scheduler.report.builder import ReportBuilder


class ReportStep:
    """Makes, shows and publishes the reports of one leader.

    A pool that the policy no longer names is reported on until nothing has run there for a
    window; then its last report is deleted, and so are those of a former leader on pools that
    this one does not know or has nothing to report on.

    Args:
        metrics: The series that show them.
        requests: Publishes them.
        interval_us: The time from one sample to the next.
    """

    def __init__(self, metrics: Metrics, requests: Requests, interval_us: int) -> None:
        self._metrics = metrics
        self._requests = requests
        self._interval_us = interval_us
        self._reporters: dict[str, ReportBuilder] = {}
        self._had_tenants: dict[str, bool] = {}
        """Whether a pool's last report had any tenants."""
        self._reported: set[str] = set()
        """Pools on which this leader has published a report with tenants."""
        self._pools: frozenset[str] = frozenset()
        self._published: frozenset[str] | None = None
        """Pools whose reports stay; a former leader's reports on others are deleted."""

    def step(self, state: LeaderState, now_us: int) -> None:
        """Go on for a moment, and publish what is finished.

        The first empty report is published as well, so that the one before it is not mistaken
        for the present.
        """
        for order in state.order.served:
            pool = order.name or ""
            reporter = self._reporters.get(pool)
            if reporter is None:
                reporter = self._reporters[pool] = ReportBuilder(self._interval_us)
            report = reporter.step(now_us, partial(state.pool_snapshot, order, now_us))
            if report is None:
                continue
            had_tenants, self._had_tenants[pool] = (
                self._had_tenants.get(pool, False),
                bool(report.tenants),
            )
            if report.tenants:
                self._reported.add(pool)
            self._begin(state)
            if pool in self._pools:
                self._metrics.fairness.show(pool, report)
                self._metrics.queues.show_means(pool, report.means_seconds())
                if report.tenants or had_tenants:
                    self._requests.publish_report(pool, report)

    def _begin(self, state: LeaderState) -> None:
        """Report on the pools of the policy and on those that still have tenants."""
        pools = frozenset(
            (*state.order.pool_names, *(pool for pool, had in self._had_tenants.items() if had))
        )
        if pools != self._pools:
            for ended in self._pools - pools:
                self._metrics.end_pool(ended)
            self._pools = pools
        # The former leader's report stays until this one has a report of its own.
        published = frozenset(
            pool for pool in pools if pool in self._reported or pool not in self._had_tenants
        )
        if published != self._published:
            self._published = published
            self._requests.set_report_pools(published)

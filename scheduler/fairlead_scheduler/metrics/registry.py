"""The scheduler's metrics over a registry of their own; `series` names them all."""

import collections
from collections.abc import Iterable, Mapping
from time import time
from typing import NamedTuple

from prometheus_client import CollectorRegistry

from fairlead.metrics.registry import (
    Leadership,
    OptionalGauges,
    Rows,
    counter,
    gauge,
    histogram,
    kinds_of,
    new_registry,
)
from fairlead.metrics.series import GENERATION, RELOAD_SUCCESSFUL, RELOADED_AT
from fairlead.policy import Pool
from fairlead_scheduler.metrics import series
from fairlead_scheduler.metrics.database import DatabaseMetrics
from fairlead_scheduler.metrics.fairness import FairnessMetrics
from fairlead_scheduler.metrics.rules import RuleMetrics
from fairlead_scheduler.metrics.shadow import ShadowMetrics
from fairlead_scheduler.rows import EndedElsewhere, Receipt

STATES = ("pending", "queued", "running", "scheduled")
"""The states of an unfinished job."""
WITHIN = ("1m", "10m", "1h")
"""The time spans within which due jobs are counted."""
QUEUES_MAX, KINDS_MAX, POOLS_MAX = 50, 200, 50
OTHER = "other"
"""The label of everything beyond those numbers, as in the workers' series."""
_FOR_GOOD = frozenset({"failed", "cancelled"})


class QueueMeasurement(NamedTuple):
    """The measurement of one queue."""

    queue: str
    jobs: dict[str, int]
    """How many jobs are in each state."""
    oldest_seconds: float
    """The wait of the oldest ready job; 0 without one."""
    due: tuple[int, ...] = (0, 0, 0)
    """How many scheduled jobs fall due within each of `WITHIN`."""


class Metrics:
    """The series of one scheduler, over a registry of its own.

    Args:
        kind_allowlist: Kinds with a label of their own, separated by commas; empty: all.
    """

    def __init__(self, *, kind_allowlist: str = "") -> None:
        registry = new_registry("scheduler")
        self.registry: CollectorRegistry = registry
        names = LabelNames(registry, kinds_of(kind_allowlist))
        self.queues = QueueMetrics(registry, names)
        self.endings = EndingMetrics(registry, names)
        self.policy = PolicyMetrics(registry)
        self.backlog = BacklogMetrics(registry)
        self.fairness = FairnessMetrics(registry, names.queue)
        self.shadow = ShadowMetrics(registry)
        self.database = DatabaseMetrics(registry, names.pool)
        self.leadership = Leadership("scheduler", registry)
        self.ticks = counter(series.TICKS, registry)
        self.lag = histogram(series.LAG, registry)
        self.dispatched = counter(series.DISPATCHED, registry)
        self.overflow = counter(series.OVERFLOW, registry)
        self.task_failures = counter(series.TASK_FAILURES, registry)
        self.over_lanes = gauge(series.TENANTS_OVER_LANES, registry)
        self.unwatched_lanes = gauge(series.LANES_UNWATCHED, registry)
        self.unchecked = counter(series.UNCHECKED, registry)
        self.wakes_left_out = counter(series.WAKES_LEFT_OUT, registry)
        self.promote_batch = histogram(series.PROMOTE_BATCH, registry)
        self.cron_missed = counter(series.CRON_MISSED, registry)
        self.cron_refused = counter(series.CRON_REFUSED, registry)
        self.cron_delayed = counter(series.CRON_DELAYED, registry)
        self.cron_passed_over = counter(series.CRON_PASSED_OVER, registry)
        self.cron_set_aside = counter(series.CRON_SET_ASIDE, registry)
        self.rescued = counter(series.JOBS_RESCUED, registry)

    def begin(self) -> None:
        """Show that this process leads."""
        self.leadership.begin()

    def end(self) -> None:
        """Remove the series that only a leader shows; a repeat changes nothing."""
        self.leadership.end()
        self.over_lanes.set(0)
        self.unwatched_lanes.set(0)
        self.queues.hide()
        self.policy.hide()
        self.shadow.hide()
        self.backlog.hide()
        self.fairness.hide()
        self.database.hide()

    def end_pool(self, pool: str) -> None:
        """Remove the series of a pool that the policy does not name and that has no work."""
        self.fairness.end(pool)
        self.queues.end(pool)
        self.overflow.labels(pool)  # some versions of the package raise for a missing label
        self.overflow.remove(pool)


class LabelNames:
    """Which queues, kinds and pools get labels: the first ones seen, to bound the series."""

    def __init__(self, registry: CollectorRegistry, allowed: frozenset[str]) -> None:
        self._allowed = allowed
        self._queues: set[str] = set()
        self._kinds: set[str] = set()
        self._pools: set[str] = set()
        self._dropped = counter(series.SERIES_DROPPED, registry)

    def queue(self, queue: str) -> str:
        """Return a queue's label."""
        return self._admitted(queue, self._queues, QUEUES_MAX)

    def kind(self, kind: str) -> str:
        """Return a kind's label."""
        if self._allowed and kind not in self._allowed:
            return OTHER
        return self._admitted(kind, self._kinds, KINDS_MAX)

    def pool(self, pool: str) -> str:
        """Return a pool's label."""
        return self._admitted(pool, self._pools, POOLS_MAX)

    def _admitted(self, name: str, known: set[str], most: int) -> str:
        if name not in known:
            if len(known) >= most:
                self._dropped.inc()
                return OTHER
            known.add(name)
        return name


class EndingMetrics:
    """Counts endings that no worker counts: in SQL, or after a worker was lost.

    The series have the workers' names, so that the sum over all processes is complete.
    """

    def __init__(self, registry: CollectorRegistry, names: LabelNames) -> None:
        self._names = names
        self._finished = counter(series.JOBS_FINISHED, registry)
        self._attempts = counter(series.ATTEMPTS_ENDED, registry)
        self._expirations = counter(series.LEASE_EXPIRATIONS, registry)

    def count_unstarted(self, receipts: Iterable[Receipt]) -> None:
        """Count jobs that ended without having started."""
        for receipt in receipts:
            if receipt.queues:
                columns = receipt.queues, receipt.kinds or (), receipt.outcomes or ()
                for queue, kind, outcome in zip(*columns, strict=True):
                    self._finished.labels(*self._labels(queue, kind), outcome).inc()

    def count_elsewhere(self, ended: Iterable[EndedElsewhere]) -> None:
        """Count attempts of workers that speak only SQL, and the jobs that ended with them."""
        for queue, kind, ended_as, is_finished in ended:
            labels = self._labels(queue, kind)
            self._attempts.labels(*labels, ended_as).inc()
            if is_finished:
                self._finished.labels(*labels, ended_as).inc()

    def count_stolen(
        self, queues: Iterable[str], kinds: Iterable[str], became: Iterable[str]
    ) -> None:
        """Count stolen attempts, and the jobs that finished with them."""
        for queue, kind, state in zip(queues, kinds, became, strict=True):
            labels = self._labels(queue, kind)
            self._attempts.labels(*labels, "lost").inc()
            self._expirations.labels(labels[0]).inc()
            if state in _FOR_GOOD:
                self._finished.labels(*labels, state).inc()

    def _labels(self, queue: str, kind: str) -> tuple[str, str]:
        return self._names.queue(queue), self._names.kind(kind)


class PolicyMetrics:
    """The series of the policy; only the leader shows one in force."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.rules = RuleMetrics(registry)
        self.refused = counter(series.POLICY_REFUSED, registry)
        self._info = Rows(gauge(series.POLICY_INFO, registry))
        self._objective = Rows(gauge(series.POOL_OBJECTIVE, registry))
        self._blocked = gauge(series.LANES_BLOCKED, registry)
        self._read = OptionalGauges(registry, RELOAD_SUCCESSFUL, RELOADED_AT, GENERATION)

    def show_policy(self, digest: str, version: str, pools: Iterable[Pool]) -> None:
        """Show which policy is in force, and the objectives of its pools.

        Args:
            digest: The policy's digest; empty without a policy.
            version: Its version.
            pools: The pools that it names; a document has few, so each has a label.
        """
        self._info.show({(digest, version): (1.0,)} if digest else {})
        seconds: dict[tuple[str, ...], tuple[float]] = {
            (pool.name,): (pool.autoscale.objective.total_seconds(),)
            for pool in pools
            if pool.autoscale is not None
        }
        self._objective.show(seconds)

    def record_read(self, *, good: bool, taken: int | None) -> None:
        """Show the result of reading the newest documents.

        Args:
            good: Whether the newest stored document is readable.
            taken: The version that came into force; None if none of the new ones did.
        """
        self._read.show(RELOAD_SUCCESSFUL, float(good))
        if taken is not None:
            self._read.show(GENERATION, float(taken))
            self._read.show(RELOADED_AT, time())

    def show_blocked(self, lanes: Mapping[str, int]) -> None:
        """Show how many lanes are blocked, by reason."""
        for reason, count in lanes.items():
            self._blocked.labels(reason).set(count)

    def hide(self) -> None:
        """Show nothing any more: another scheduler leads."""
        self._info.show({})
        self._objective.show({})
        self._blocked.clear()
        self._read.hide()
        self.rules.clear()


class BacklogMetrics:
    """The series of back-pressure, which only the leader shows.

    Only the applications know how many INSERTs are refused.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._over = gauge(series.LANES_OVER_BACKLOG, registry)
        self._age = gauge(series.BACKLOG_AGE, registry)

    def show(self, over: int) -> None:
        """Show how many lanes accept no jobs."""
        self._over.set(over)

    def record_count_age(self, *, oldest_seconds: float) -> None:
        """Show the age of the oldest count that has just been replaced."""
        self._age.set(oldest_seconds)

    def hide(self) -> None:
        """Show nothing any more: another scheduler leads."""
        self._over.set(0)
        self._age.set(0)


class QueueMetrics:
    """The series of the queues, which only the leader shows."""

    def __init__(self, registry: CollectorRegistry, names: LabelNames) -> None:
        self._names = names
        self._shown: set[tuple[str, str]] = set()
        self._work_shown: set[str] = set()
        self._dead_shown: set[str] = set()
        self._means: dict[str, Mapping[str, float]] = {}
        self._runnable = counter(series.JOBS_RUNNABLE, registry)
        self._evictions = counter(series.EVICTIONS, registry)
        self._depth = gauge(series.QUEUE_DEPTH, registry)
        self._oldest = gauge(series.OLDEST_READY, registry)
        self._work = gauge(series.BACKLOG_WORK, registry)
        self._next = Rows(gauge(series.SCHEDULED_NEXT, registry))
        self._dead = gauge(series.DEAD_JOBS, registry)
        self._measured_at = gauge(series.SNAPSHOT_AT, registry)
        self._measured_for = histogram(series.SNAPSHOT_DURATION, registry)

    def count_runnable(self, queues: Iterable[str]) -> None:
        """Count jobs that became runnable, each by its queue's name."""
        for queue, count in collections.Counter(queues).items():
            self._runnable.labels(self._names.queue(queue)).inc(count)

    def count_eviction(self, queue: str) -> None:
        """Count a running job that was asked to stop so that another tenant can run."""
        self._evictions.labels(self._names.queue(queue)).inc()

    def show_means(self, pool: str, means_seconds: Mapping[str, float]) -> None:
        """Replace the mean run times of a pool's jobs, by queue."""
        self._means[pool] = means_seconds

    def end(self, pool: str) -> None:
        """Forget the mean run times of a pool."""
        self._means.pop(pool, None)

    def show_dead(self, dead: Mapping[str, int]) -> None:
        """Show how many jobs failed for good by queue; queues not in `dead` have none."""
        counts: collections.Counter[str] = collections.Counter(
            dict.fromkeys(self._dead_shown, 0)
        )
        for queue, count in dead.items():
            counts[self._names.queue(queue)] += count
        for label, count in counts.items():
            self._dead.labels(label).set(count)
        self._dead_shown = set(counts)

    def show(self, measured: Iterable[QueueMeasurement], *, took_seconds: float = 0.0) -> None:
        """Show the measurements; a queue that has gone since the last ones shows zeros."""
        self._measured_at.set_to_current_time()
        self._measured_for.observe(took_seconds)
        jobs: collections.Counter[tuple[str, str]] = collections.Counter(
            dict.fromkeys(self._shown, 0)
        )
        oldest = dict.fromkeys((label for label, _ in self._shown), 0.0)
        work = dict.fromkeys(self._work_shown, 0.0)
        due: collections.Counter[tuple[str, ...]] = collections.Counter()
        for queue in measured:
            label = self._names.queue(queue.queue)
            for within, count in zip(WITHIN, queue.due, strict=True):
                due[label, within] += count
            oldest[label] = max(oldest.get(label, 0.0), queue.oldest_seconds)
            for state in STATES:
                jobs[label, state] += queue.jobs[state]
            known = (each.get(queue.queue) for each in self._means.values())
            means = [each for each in known if each is not None]
            if means:
                # Several pools report a queue that has moved from one to the other.
                waiting = queue.jobs["pending"] + queue.jobs["queued"]
                work[label] = work.get(label, 0.0) + waiting * sum(means) / len(means)
        for (label, state), count in jobs.items():
            self._depth.labels(label, state).set(count)
        for label, seconds in oldest.items():
            self._oldest.labels(label).set(seconds)
        for label, seconds in work.items():
            self._work.labels(label).set(seconds)
        self._next.show({labels: (float(count),) for labels, count in due.items()})
        self._shown, self._work_shown = set(jobs), set(work)

    def hide(self) -> None:
        """Remove all series of queues: another scheduler leads."""
        self._depth.clear()
        self._oldest.clear()
        self._work.clear()
        self._next.show({})
        self._dead.clear()
        self._means = {}
        self._measured_at.set(0)
        self._shown = set()
        self._work_shown, self._dead_shown = set(), set()

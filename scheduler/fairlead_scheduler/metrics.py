"""Every series of the scheduler, named once, but for those of the fairness report."""

import collections
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from fairlead.metrics import kinds_of, new_registry
from fairlead_scheduler.fairness_metrics import FairnessMetrics
from fairlead_scheduler.rule_metrics import RuleMetrics
from fairlead_scheduler.shadow_metrics import ShadowMetrics
from fairlead_scheduler.views import Receipt

STATES = ("pending", "queued", "running", "scheduled")
"""The states of an unfinished job."""
QUEUES_MAX, KINDS_MAX = 50, 200
OTHER = "other"
"""Stands for the queues and kinds beyond those numbers, as in the workers' series."""
_FOR_GOOD = frozenset({"failed", "cancelled"})

_LAG_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
_BATCHES = (1, 10, 100, 1000, 10_000)
_READ_SECONDS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60)


class Measured(NamedTuple):
    """What is known of one queue."""

    queue: str
    jobs: dict[str, int]
    """How many jobs are in each state."""
    oldest_seconds: float
    """0 without a job that is ready."""


class Metrics:
    """The series of one scheduler, over a registry of its own.

    Args:
        kind_allowlist: the kinds that are told apart, separated by commas; empty: all.
    """

    def __init__(self, *, kind_allowlist: str = "") -> None:
        registry = new_registry("scheduler")
        self.registry: CollectorRegistry = registry
        names = Names(registry, kinds_of(kind_allowlist))
        self.queues = QueueMetrics(registry, names)
        self.endings = EndingMetrics(registry, names)
        self.policy = PolicyMetrics(registry)
        self.backlog = BacklogMetrics(registry)
        self.fairness = FairnessMetrics(registry, names.queue)
        self.shadow = ShadowMetrics(registry)
        self.leader = Gauge("fairlead_leader", "1 while this process leads.", registry=registry)
        self.leader_transitions = Counter(
            "fairlead_leader_transitions", "Take-overs by this process.", registry=registry
        )
        self.ticks = Counter(
            "fairlead_scheduler_ticks", "Looks at the database.", registry=registry
        )
        self.lag = Histogram(
            "fairlead_scheduler_lag_seconds",
            "From the moment that a look was due to the end of its dispatch.",
            registry=registry,
            buckets=_LAG_SECONDS,
        )
        self.dispatched = Counter(
            "fairlead_scheduler_dispatched", "Jobs put into work_queue.", registry=registry
        )
        self.overflow = Counter(
            "fairlead_scheduler_overflow",
            "Jobs put into work_queue beyond its depth: they go before queued ones.",
            ("pool",),
            registry=registry,
        )
        self.promote_batch = Histogram(
            "fairlead_promote_batch",
            "Jobs that fell due together.",
            registry=registry,
            buckets=_BATCHES,
        )
        self.cron_missed = Counter(
            "fairlead_cron_missed", "Fires of schedules that came too late.", registry=registry
        )
        self.cron_refused = Counter(
            "fairlead_cron_refused",
            "Fires of schedules whose lane was over its backlog limit; `missed` says what "
            "becomes of them.",
            registry=registry,
        )
        self.rescued = Counter(
            "fairlead_jobs_rescued", "Jobs taken back from lost workers.", registry=registry
        )

    def end_pool(self, pool: str) -> None:
        """Show nothing of a pool any more, which the policy does not name and has no work."""
        self.fairness.end(pool)
        self.queues.end(pool)
        self.overflow.labels(pool)  # a version of the package raises for what is not there
        self.overflow.remove(pool)


class Names:
    """Which queues and kinds are labels: the first that are seen, so that series are few."""

    def __init__(self, registry: CollectorRegistry, allowed: frozenset[str]) -> None:
        self._allowed = allowed
        self._queues: set[str] = set()
        self._kinds: set[str] = set()
        self._dropped = Counter(
            "fairlead_series_dropped",
            "Observations counted under `other`, because there are too many queues or kinds.",
            registry=registry,
        )

    def queue(self, queue: str) -> str:
        """Return a queue's label."""
        return self._admitted(queue, self._queues, QUEUES_MAX)

    def kind(self, kind: str) -> str:
        """Return a kind's label."""
        if self._allowed and kind not in self._allowed:
            return OTHER
        return self._admitted(kind, self._kinds, KINDS_MAX)

    def _admitted(self, name: str, known: set[str], most: int) -> str:
        if name not in known:
            if len(known) >= most:
                self._dropped.inc()
                return OTHER
            known.add(name)
        return name


class EndingMetrics:
    """Counts what ends where no worker can: in SQL, or after its worker was lost.

    The names are those of the workers' series, so that the sum over all processes is the truth.
    """

    def __init__(self, registry: CollectorRegistry, names: Names) -> None:
        self._names = names
        self._finished = Counter(
            "fairlead_jobs_finished",
            "Jobs that ended for good, by outcome; here those that no worker ended: they were "
            "cancelled or expired before they started, or failed with their worker.",
            ("queue", "kind", "outcome"),
            registry=registry,
        )
        self._attempts = Counter(
            "fairlead_attempts_ended",
            "Attempts that ended, by how; here those that the leader took back: lost.",
            ("queue", "kind", "ended_as"),
            registry=registry,
        )
        self._expirations = Counter(
            "fairlead_lease_expirations",
            "Attempts that were taken back from lost workers, or long past their deadline.",
            ("queue",),
            registry=registry,
        )

    def unstarted(self, receipts: Iterable[Receipt]) -> None:
        """Count jobs that ended without having started."""
        for receipt in receipts:
            if receipt.queues:
                columns = receipt.queues, receipt.kinds or (), receipt.outcomes or ()
                for queue, kind, outcome in zip(*columns, strict=True):
                    self._finished.labels(*self._labels(queue, kind), outcome).inc()

    def stolen(
        self, queues: Iterable[str], kinds: Iterable[str], became: Iterable[str]
    ) -> None:
        """Count attempts that were taken back, and the jobs that ended with them."""
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
        self._info = Gauge(
            "fairlead_policy_info",
            "1 for the policy in force; shown by the leader only.",
            ("digest", "version"),
            registry=registry,
        )
        self.refused = Counter(
            "fairlead_policy_refused",
            "Policies that were refused, or stored and could not be read: the last good one "
            "stayed in force. Counted by the leader only.",
            registry=registry,
        )
        self._held = Gauge(
            "fairlead_lanes_blocked",
            "Tenants of queues that have work and are held back, by what; shown by the leader "
            "only.",
            ("reason",),
            registry=registry,
        )

    def in_force(self, digest: str, version: str) -> None:
        """Show which policy is in force; an empty digest is none."""
        self._info.clear()
        if digest:
            self._info.labels(digest, version).set(1)

    def held(self, lanes: Mapping[str, int]) -> None:
        """Show how many lanes are held back, by reason."""
        for reason, count in lanes.items():
            self._held.labels(reason).set(count)

    def hide(self) -> None:
        """Show nothing any more: another scheduler leads."""
        self._info.clear()
        self._held.clear()
        self.rules.clear()


class BacklogMetrics:
    """The series of back-pressure, which the leader alone shows.

    What is refused is known to the applications alone.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._over = Gauge(
            "fairlead_lanes_over_backlog",
            "Tenants of queues, and queues, that accept no more jobs because of their backlog "
            "limit; shown by the leader only.",
            registry=registry,
        )
        self._age = Gauge(
            "fairlead_backlog_count_age_seconds",
            "How long before the last count of lanes with a backlog limit one of them had been "
            "counted, at most; shown by the leader only.",
            registry=registry,
        )

    def show(self, over: int) -> None:
        """Show how many lanes accept no jobs."""
        self._over.set(over)

    def counted(self, *, oldest_seconds: float) -> None:
        """Show how old the oldest count was that has just been replaced."""
        self._age.set(oldest_seconds)

    def hide(self) -> None:
        """Show nothing any more: another scheduler leads."""
        self._over.set(0)
        self._age.set(0)


class QueueMetrics:
    """The series of the queues, which the leader alone shows."""

    def __init__(self, registry: CollectorRegistry, names: Names) -> None:
        self._names = names
        self._shown: set[tuple[str, str]] = set()
        self._work_shown: set[str] = set()
        self._dead_shown: set[str] = set()
        self._runnable = Counter(
            "fairlead_jobs_runnable",
            "Jobs that became runnable: inserted, or fallen due.",
            ("queue",),
            registry=registry,
        )
        self._depth = Gauge(
            "fairlead_queue_depth",
            "Jobs of a queue by state, counted up to 10,000; shown by the leader only.",
            ("queue", "state"),
            registry=registry,
        )
        self._oldest = Gauge(
            "fairlead_queue_oldest_ready_age_seconds",
            "For how long the oldest ready job has waited; shown by the leader only.",
            ("queue",),
            registry=registry,
        )
        self._work = Gauge(
            "fairlead_queue_backlog_work_seconds",
            "Slot-seconds of work that waits: pending and queued jobs, as counted, times the "
            "recent mean run; no series before a run has ended. Shown by the leader only.",
            ("queue",),
            registry=registry,
        )
        self._means: dict[str, Mapping[str, float]] = {}
        self._dead = Gauge(
            "fairlead_dead_jobs",
            "Jobs that failed for good and were not repeated, as far as the history goes, "
            "counted up to 10,000; shown by the leader only.",
            ("queue",),
            registry=registry,
        )
        self._measured_at = Gauge(
            "fairlead_db_snapshot_timestamp_seconds",
            "When the queues were measured last; shown by the leader only.",
            registry=registry,
        )
        self._measured_for = Histogram(
            "fairlead_db_snapshot_duration_seconds",
            "How long measuring the queues took.",
            registry=registry,
            buckets=_READ_SECONDS,
        )

    def runnable(self, queues: Iterable[str]) -> None:
        """Count jobs that became runnable, each by its queue's name."""
        for queue, count in collections.Counter(queues).items():
            self._runnable.labels(self._names.queue(queue)).inc(count)

    def means(self, pool: str, means_seconds: Mapping[str, float]) -> None:
        """Take how long a pool's jobs run at present, by queues, in place of those before."""
        self._means[pool] = means_seconds

    def end(self, pool: str) -> None:
        """Forget how long a pool's jobs ran."""
        self._means.pop(pool, None)

    def dead(self, dead: Mapping[str, int]) -> None:
        """Show how many jobs of queues failed for good; a queue that is not named has none."""
        counts: collections.Counter[str] = collections.Counter(
            dict.fromkeys(self._dead_shown, 0)
        )
        for queue, count in dead.items():
            counts[self._names.queue(queue)] += count
        for label, count in counts.items():
            self._dead.labels(label).set(count)
        self._dead_shown = set(counts)

    def show(self, measured: Iterable[Measured], *, took_seconds: float = 0.0) -> None:
        """Show the queues as measured now; one that is gone since the last time has nothing."""
        self._measured_at.set_to_current_time()
        self._measured_for.observe(took_seconds)
        jobs: collections.Counter[tuple[str, str]] = collections.Counter(
            dict.fromkeys(self._shown, 0)
        )
        oldest = dict.fromkeys((label for label, _ in self._shown), 0.0)
        work = dict.fromkeys(self._work_shown, 0.0)
        for queue in measured:
            label = self._names.queue(queue.queue)
            oldest[label] = max(oldest.get(label, 0.0), queue.oldest_seconds)
            for state in STATES:
                jobs[label, state] += queue.jobs[state]
            means = (known.get(queue.queue) for known in self._means.values())
            mean_seconds = next((each for each in means if each is not None), None)
            if mean_seconds is not None:
                waiting = queue.jobs["pending"] + queue.jobs["queued"]
                work[label] = work.get(label, 0.0) + waiting * mean_seconds
        for (label, state), count in jobs.items():
            self._depth.labels(label, state).set(count)
        for label, seconds in oldest.items():
            self._oldest.labels(label).set(seconds)
        for label, seconds in work.items():
            self._work.labels(label).set(seconds)
        self._shown, self._work_shown = set(jobs), set(work)

    def hide(self) -> None:
        """Show no queue any more: another scheduler leads."""
        self._depth.clear()
        self._oldest.clear()
        self._work.clear()
        self._dead.clear()
        self._means = {}
        self._measured_at.set(0)
        self._shown = set()
        self._work_shown, self._dead_shown = set(), set()

"""Every series of the scheduler, named once. No tenant is ever a label."""

from collections import Counter as Tally
from collections.abc import Iterable
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from fairlead.metrics import new_registry

STATES = ("pending", "queued", "running", "scheduled")
"""The states of an unfinished job."""

_QUEUES_MAX = 50
_OTHERS = "(others)"
"""Stands for the queues beyond the fiftieth; parentheses keep it apart from most names."""
_LAG_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
_BATCHES = (1, 10, 100, 1000, 10_000)


class Measured(NamedTuple):
    """What is known of one queue."""

    queue: str
    jobs: dict[str, int]
    """How many jobs are in each state."""
    oldest_seconds: float
    """0 without a job that is ready."""


class Metrics:
    """The series of one scheduler, over a registry of its own."""

    def __init__(self) -> None:
        registry = new_registry("scheduler")
        self.registry: CollectorRegistry = registry
        self.queues = QueueMetrics(registry)
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
        self.promote_batch = Histogram(
            "fairlead_promote_batch",
            "Jobs that fell due together.",
            registry=registry,
            buckets=_BATCHES,
        )
        self.cron_missed = Counter(
            "fairlead_cron_missed", "Fires of schedules that came too late.", registry=registry
        )
        self.rescued = Counter(
            "fairlead_jobs_rescued", "Jobs taken back from lost workers.", registry=registry
        )


class QueueMetrics:
    """The series of the queues, which the leader alone shows."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._queues: set[str] = set()
        self._shown: set[tuple[str, str]] = set()
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

    def runnable(self, queues: Iterable[str]) -> None:
        """Count jobs that became runnable, each by its queue's name."""
        for queue, count in Tally(queues).items():
            self._runnable.labels(self._label(queue)).inc(count)

    def show(self, measured: Iterable[Measured]) -> None:
        """Show the queues as measured now; one that is gone since the last time has nothing."""
        jobs: Tally[tuple[str, str]] = Tally(dict.fromkeys(self._shown, 0))
        oldest = dict.fromkeys((label for label, _ in self._shown), 0.0)
        for queue in measured:
            label = self._label(queue.queue)
            oldest[label] = max(oldest.get(label, 0.0), queue.oldest_seconds)
            for state in STATES:
                jobs[label, state] += queue.jobs[state]
        for (label, state), count in jobs.items():
            self._depth.labels(label, state).set(count)
        for label, seconds in oldest.items():
            self._oldest.labels(label).set(seconds)
        self._shown = set(jobs)

    def hide(self) -> None:
        """Show no queue any more: another scheduler leads."""
        self._depth.clear()
        self._oldest.clear()
        self._shown = set()

    def _label(self, queue: str) -> str:
        if queue not in self._queues and len(self._queues) >= _QUEUES_MAX:
            return _OTHERS
        self._queues.add(queue)
        return queue

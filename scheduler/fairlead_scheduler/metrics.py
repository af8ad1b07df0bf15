"""Every series of the scheduler, named once. No tenant is ever a label."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from fairlead.metrics import PREFIX, new_registry

QUEUES_MAX = 50
"""Queues that are labels; further ones are counted as one."""

_LAG_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)


class Metrics:
    """The series of one scheduler, over a registry of its own."""

    def __init__(self) -> None:
        registry = new_registry("scheduler")
        self.registry: CollectorRegistry = registry
        self.leader = Gauge(
            "leader", "1 while this process leads.", namespace=PREFIX, registry=registry
        )
        self.leader_transitions = Counter(
            "leader_transitions",
            "Take-overs by this process.",
            namespace=PREFIX,
            registry=registry,
        )
        self.ticks = Counter(
            "scheduler_ticks", "Looks at the database.", namespace=PREFIX, registry=registry
        )
        self.lag = Histogram(
            "scheduler_lag_seconds",
            "From the moment that a look was due to the end of its dispatch.",
            namespace=PREFIX,
            registry=registry,
            buckets=_LAG_SECONDS,
        )
        self.dispatched = Counter(
            "scheduler_dispatched",
            "Jobs put into work_queue.",
            namespace=PREFIX,
            registry=registry,
        )

"""The controller's series, over a registry of its own; `series` defines them all."""

from time import time

from prometheus_client import CollectorRegistry

from fairlead.metrics.registry import (
    Leadership,
    OptionalGauges,
    counter,
    gauge,
    histogram,
    new_registry,
)
from fairlead.metrics.series import GENERATION, RELOAD_SUCCESSFUL, RELOADED_AT
from fairlead.policy.autoscale import Autoscale
from fairlead_autoscaler import status
from fairlead_autoscaler.decision.inputs import Inputs
from fairlead_autoscaler.decision.result import Decision
from fairlead_autoscaler.metrics import series

_ESTIMATES = {
    "arrivalsPerSecond": "arrival_rate",
    "serviceSeconds": "service_seconds",
    "startSeconds": "start_seconds",
    "aheadSeconds": "ahead_seconds",
}
"""The values of the label `param`, by their names in the status."""


class Metrics:
    """The series of one controller, over a registry of its own."""

    def __init__(self) -> None:
        registry = new_registry("autoscaler")
        self.registry: CollectorRegistry = registry
        self.actions = ActionMetrics(registry)
        self.pools = PoolMetrics(registry, self.actions)
        self.policy = PolicyMetrics(registry)
        self.leadership = Leadership("autoscaler", registry)
        self.errors = counter(series.ERRORS, registry)
        self.reconcile = histogram(series.RECONCILE, registry)
        self._obstacles = gauge(series.CANNOT_LEAD, registry)

    def show_obstacle(self, obstacle: str | None) -> None:
        """Show what keeps this process from leading; None: nothing."""
        self._obstacles.clear()
        if obstacle is not None:
            self._obstacles.labels(obstacle).set(1)

    def end(self) -> None:
        """Clear what only a leader shows; a repeat changes nothing."""
        self.leadership.end()
        self.pools.hide()
        self.policy.hide()


class ActionMetrics:
    """Writes, and how long pods took to start."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.scaled = counter(series.ACTIONS, registry)
        self.replicas = counter(series.ACTION_REPLICAS, registry)
        self.victims = counter(series.VICTIMS, registry)
        self.conflicts = counter(series.CONFLICTS, registry)
        self.pod_start = histogram(series.POD_START, registry)

    def begin(self, pool: str) -> None:
        """Export a pool's counters from 0 on: otherwise the first increment is no rise.

        A repeat changes nothing.
        """
        for direction in ("up", "down"):
            self.replicas.labels(pool, direction)
        for state in ("idle", "busy"):
            self.victims.labels(pool, state)
        self.conflicts.labels(pool)
        self.pod_start.labels(pool)


class PolicyMetrics:
    """The outcome of the policy's documents."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._read = OptionalGauges(
            registry, RELOAD_SUCCESSFUL, RELOADED_AT, GENERATION, series.POLICY_PLACES
        )

    def show_synced(self, *, good: bool) -> None:
        """Show whether the newest document could be stored, or read, just now."""
        self._read.show(RELOAD_SUCCESSFUL, float(good))
        if good:
            self._read.show(RELOADED_AT, time())

    def show_places(self, count: int) -> None:
        """Show in how many places the policy is written."""
        self._read.show(series.POLICY_PLACES, count)

    def show_version(self, version: int) -> None:
        """Show the version that pools are scaled by."""
        self._read.show(GENERATION, version)

    def hide(self) -> None:
        """Show nothing: another controller decides."""
        self._read.hide()


class PoolMetrics:
    """The state of pools, while this process leads."""

    def __init__(self, registry: CollectorRegistry, actions: ActionMetrics) -> None:
        self._actions = actions
        self._gauges = {each.name: gauge(each, registry) for each in series.OF_POOLS}
        self._replicas = self._gauges[series.REPLICAS.name]
        self._limit = self._gauges[series.LIMIT.name]
        self._slots = self._gauges[series.SLOTS.name]
        self._limited = self._gauges[series.LIMITED.name]
        self._estimate = self._gauges[series.ESTIMATE.name]
        self._age = self._gauges[series.INPUT_AGE.name]
        self._stale = self._gauges[series.STALE.name]
        self._paused = self._gauges[series.PAUSED.name]
        self._wrong_victims = counter(series.WRONG_VICTIMS, registry)
        self._wrong_so_far: dict[str, int] = {}
        self._reasons: dict[str, frozenset[str]] = {}

    def show(self, pool: str, decision: Decision, inputs: Inputs, config: Autoscale) -> None:
        """Show what was decided for a pool."""
        counts = status.counts(decision, inputs)
        del counts["requested"]
        for kind, count in counts.items():
            self._replicas.labels(pool, kind).set(count)
        self._limit.labels(pool, "min").set(config.min)
        self._limit.labels(pool, "max").set(config.max)
        for term, slots in status.slots(decision).items():
            self._slots.labels(pool, term).set(slots)
        self._show_limits(pool, decision)
        for name, value in status.estimates(decision, inputs).items():
            self._estimate.labels(pool, _ESTIMATES[name]).set(value)
        age = status.demand_age_seconds(inputs)
        self._age.labels(pool).set(float("inf") if age is None else age)
        conditions = {each["type"]: each["status"] for each in status.conditions(decision)}
        self._stale.labels(pool).set(conditions["MetricsStale"] == "True")
        self._paused.labels(pool).set(conditions["Paused"] == "True")
        wrong = decision.state.drains.wrong_victims
        self._actions.begin(pool)
        self._wrong_victims.labels(pool).inc(max(0, wrong - self._wrong_so_far.get(pool, 0)))
        self._wrong_so_far[pool] = wrong

    def forget(self, pool: str) -> None:
        """Show nothing more of a pool that is no longer decided on."""
        for each in self._gauges.values():
            shown = [sample.labels for metric in each.collect() for sample in metric.samples]
            for labels in shown:
                if labels["pool"] == pool:
                    each.remove(*labels.values())
        self._reasons.pop(pool, None)
        self._wrong_so_far.pop(pool, None)

    def hide(self) -> None:
        """Show nothing of any pool: another controller decides."""
        for each in self._gauges.values():
            each.clear()
        self._reasons.clear()
        self._wrong_so_far.clear()

    def _show_limits(self, pool: str, decision: Decision) -> None:
        reasons = {each.value for each in (*decision.limited, *decision.forbidden)}
        for reason in self._reasons.get(pool, frozenset()) - reasons:
            self._limited.remove(pool, reason)
        for reason in reasons:
            self._limited.labels(pool, reason).set(1)
        self._reasons[pool] = frozenset(reasons)

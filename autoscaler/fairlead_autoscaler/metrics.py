"""Every series of the controller, named once. What it says of pools is shown while it leads."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from fairlead.metrics import new_registry
from fairlead.policy.autoscale import Autoscale
from fairlead_autoscaler import told
from fairlead_autoscaler.decision import Decision
from fairlead_autoscaler.inputs import Inputs

_STEP_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_START_SECONDS = (1, 2, 5, 10, 20, 30, 60, 120, 180, 300, 600)


class Metrics:
    """The series of one controller, over a registry of its own."""

    def __init__(self) -> None:
        registry = new_registry("autoscaler")
        self.registry: CollectorRegistry = registry
        self.pools = PoolMetrics(registry)
        self.actions = ActionMetrics(registry)
        self.policy = PolicyMetrics(registry)
        self.leader = Gauge("fairlead_leader", "1 while this process leads.", registry=registry)
        self.leader_transitions = Counter(
            "fairlead_leader_transitions", "Take-overs by this process.", registry=registry
        )
        self.errors = Counter(
            "fairlead_autoscaler_errors",
            "Steps that failed: observe, mark, scale, tell, policy.",
            ("stage",),
            registry=registry,
        )
        self.reconcile = Histogram(
            "fairlead_autoscaler_reconcile_seconds",
            "How long one step takes, for all pools.",
            registry=registry,
            buckets=_STEP_SECONDS,
        )


class ActionMetrics:
    """What was done, and how long pods took to start."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.scaled = Counter(
            "fairlead_autoscaler_actions",
            "Writes of replicas.",
            ("pool", "direction", "reason"),
            registry=registry,
        )
        self.replicas = Counter(
            "fairlead_autoscaler_action_replicas",
            "Pods that were added or taken away by them.",
            ("pool", "direction"),
            registry=registry,
        )
        self.victims = Counter(
            "fairlead_autoscaler_victims",
            "Pods that were chosen to go: idle ones, and busy ones that finish first.",
            ("pool", "state"),
            registry=registry,
        )
        self.conflicts = Counter(
            "fairlead_autoscaler_conflicts",
            "Writes that were refused because somebody else had changed the Deployment.",
            ("pool",),
            registry=registry,
        )
        self.pod_start = Histogram(
            "fairlead_pod_start_seconds",
            "From asking for a pod until its worker is there.",
            ("pool",),
            registry=registry,
            buckets=_START_SECONDS,
        )


class PolicyMetrics:
    """What became of the policy's documents."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.successful = Gauge(
            "fairlead_config_last_reload_successful",
            "1 while the newest policy document was a good one.",
            registry=registry,
        )
        self.stored_at = Gauge(
            "fairlead_config_last_reload_timestamp_seconds",
            "When a policy document was stored last, in seconds since 1970.",
            registry=registry,
        )
        self.generation = Gauge(
            "fairlead_config_generation",
            "The version of the policy that pools are scaled by.",
            registry=registry,
        )


class PoolMetrics:
    """What is said of pools, while this process leads."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._gauges: list[Gauge] = []
        self._reasons: dict[str, frozenset[str]] = {}
        self._replicas = self._gauge(
            "replicas",
            "Pods: those asked for (current), those that there are to be when all that leave "
            "are gone (desired), by the terms alone (recommended), and those that are ready, "
            "starting, draining, terminating, or without a node (unschedulable).",
            "pool",
            "type",
        )
        self._limit = self._gauge("limit", "Bounds of the pool's pods.", "pool", "limit")
        self._slots = self._gauge(
            "recommendation_slots", "Slots that each term asks for.", "pool", "term"
        )
        self._limited = self._gauge(
            "limited_info", "1 for each reason that holds the pods back.", "pool", "reason"
        )
        self._estimate = self._gauge(
            "estimate",
            "What was learned: arrival_rate in jobs a second, service_seconds, start_seconds.",
            "pool",
            "param",
        )
        self._age = self._gauge(
            "input_age_seconds", "How old the scheduler's word on the pool is.", "pool"
        )
        self._stale = self._gauge(
            "stale", "1 while what is known of the pool is too old to take pods away.", "pool"
        )
        self._paused = self._gauge(
            "paused", "1 while somebody switched off all or a part of it.", "pool"
        )
        self._wrong_victims = self._gauge(
            "wrong_victims",
            "Pods at work that were deleted in the place of others, in this process's term.",
            "pool",
        )

    def show(self, pool: str, decision: Decision, inputs: Inputs, config: Autoscale) -> None:
        """Show what was decided for a pool."""
        counts = told.counts(decision, inputs)
        counts["current"] = counts.pop("asked")
        counts.pop("next")
        for kind, count in counts.items():
            self._replicas.labels(pool, kind).set(count)
        self._limit.labels(pool, "min").set(config.min)
        self._limit.labels(pool, "max").set(config.max)
        for term, slots in told.slots(decision).items():
            self._slots.labels(pool, term).set(slots)
        self._show_limits(pool, decision)
        named = {"arrivalsPerSecond": "arrival_rate", "serviceSeconds": "service_seconds"}
        for name, value in told.estimates(decision, inputs).items():
            self._estimate.labels(pool, named.get(name, "start_seconds")).set(value)
        age = told.demand_age_seconds(inputs)
        self._age.labels(pool).set(float("inf") if age is None else age)
        conditions = {each["type"]: each["status"] for each in told.conditions(decision)}
        self._stale.labels(pool).set(conditions["MetricsStale"] == "True")
        self._paused.labels(pool).set(conditions["Paused"] == "True")
        self._wrong_victims.labels(pool).set(decision.state.drains.wrong_victims)

    def forget(self, pool: str) -> None:
        """Show nothing more of a pool that is not decided on any more."""
        for each in self._gauges:
            shown = [sample.labels for metric in each.collect() for sample in metric.samples]
            for labels in shown:
                if labels["pool"] == pool:
                    each.remove(*labels.values())
        self._reasons.pop(pool, None)

    def hide(self) -> None:
        """Show nothing of any pool: another controller decides."""
        for each in self._gauges:
            each.clear()
        self._reasons.clear()

    def _show_limits(self, pool: str, decision: Decision) -> None:
        reasons = {each.value for each in (*decision.limited, *decision.forbidden)}
        for reason in self._reasons.get(pool, frozenset()) - reasons:
            self._limited.remove(pool, reason)
        for reason in reasons:
            self._limited.labels(pool, reason).set(1)
        self._reasons[pool] = frozenset(reasons)

    def _gauge(self, name: str, said: str, *labels: str) -> Gauge:
        made = Gauge(f"fairlead_autoscaler_{name}", said, labels, registry=self._registry)
        self._gauges.append(made)
        return made

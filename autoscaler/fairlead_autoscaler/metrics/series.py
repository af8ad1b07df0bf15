"""Every series of the controller, defined once. Those of pools are shown while it leads."""

from fairlead.metrics.series import (
    BUILD_INFO,
    GENERATION,
    LEADER,
    LEADER_TRANSITIONS,
    RELOAD_SUCCESSFUL,
    RELOADED_AT,
    Series,
    counter,
    gauge,
    histogram,
    leaders,
)

_STEP_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_START_SECONDS = (1, 2, 5, 10, 20, 30, 60, 120, 180, 300, 600)

REPLICAS = leaders(
    "autoscaler_replicas",
    "Pods: `current` (asked for), `desired` (once draining pods are gone), `recommended` (by "
    "the terms alone, before pacing and stabilization), `ready`, `starting`, `draining`, "
    "`terminating`, `unschedulable`.",
    "pool",
    "type",
)
LIMIT = leaders("autoscaler_limit", "`min` and `max` of the pool's pods.", "pool", "limit")
SLOTS = leaders(
    "autoscaler_recommendation_slots",
    "Slots that each term asks for: `steady`, `drain`, `scheduled`, `running`.",
    "pool",
    "term",
)
LIMITED = leaders(
    "autoscaler_limited_info",
    "1 for each reason that limits the pool's pods or forbids changing them.",
    "pool",
    "reason",
)
ESTIMATE = leaders(
    "autoscaler_estimate",
    "Estimates: `arrival_rate` in jobs a second, `service_seconds`, `start_seconds`, and "
    "`ahead_seconds`: a start where pods wait for nodes, so far ahead scheduled work is seen.",
    "pool",
    "param",
)
INPUT_AGE = leaders(
    "autoscaler_input_age_seconds",
    "Age of the scheduler's demand of the pool; `+Inf` before the first.",
    "pool",
)
STALE = leaders(
    "autoscaler_stale",
    "1 while what is known of the pool is too old to remove pods.",
    "pool",
)
PAUSED = leaders(
    "autoscaler_paused", "1 while autoscaling is switched off, wholly or in part.", "pool"
)
WRONG_VICTIMS = counter(
    "autoscaler_wrong_victims_total",
    "Working pods that were deleted in place of drained ones.",
    "pool",
)
ACTIONS = counter(
    "autoscaler_actions_total",
    "Writes of `replicas`, `up` or `down`.",
    *("pool", "direction", "reason"),
)
ACTION_REPLICAS = counter(
    "autoscaler_action_replicas_total",
    "Pods that were added or removed by them.",
    *("pool", "direction"),
)
VICTIMS = counter(
    "autoscaler_victims_total",
    "Pods that were chosen to be drained: `idle`, or `busy` and to finish first.",
    *("pool", "state"),
)
CONFLICTS = counter(
    "autoscaler_conflicts_total",
    "Writes that were refused because the Deployment had changed.",
    "pool",
)
ERRORS = counter(
    "autoscaler_errors_total",
    "Steps that failed: `observe` (or left out a row that it cannot read), `mark`, `scale`, "
    "`publish`, `policy`.",
    "stage",
)
CANNOT_LEAD = gauge(
    "autoscaler_cannot_lead",
    "1 while nobody has been known to lead for 30 s and something keeps this process from it; "
    "`reason` says what.",
    "reason",
)
POLICY_PLACES = gauge(
    "autoscaler_policy_places",
    "In how many places the policy is written; beyond 1 the status ConfigMap says where.",
)
RECONCILE = histogram(
    "autoscaler_reconcile_seconds", "Duration of one step, for all pools.", _STEP_SECONDS
)
POD_START = histogram(
    "pod_start_seconds",
    "From requesting a pod until its worker registers.",
    _START_SECONDS,
    "pool",
)

OF_POOLS: tuple[Series, ...] = (
    *(REPLICAS, LIMIT, SLOTS, LIMITED, ESTIMATE, INPUT_AGE, STALE, PAUSED),
)
"""Gauges that vanish with a pool, or when another controller leads."""
SERIES: tuple[Series, ...] = (
    *OF_POOLS,
    *(WRONG_VICTIMS, ACTIONS, ACTION_REPLICAS, VICTIMS, CONFLICTS, ERRORS, RECONCILE),
    *(CANNOT_LEAD, POLICY_PLACES),
    *(POD_START, RELOAD_SUCCESSFUL, RELOADED_AT, GENERATION, LEADER, LEADER_TRANSITIONS),
    BUILD_INFO,
)

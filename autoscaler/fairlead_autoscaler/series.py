"""Every series of the controller, named once. What it says of pools is shown while it leads."""

from fairlead.series import (
    BUILD_INFO,
    GENERATION,
    LEADER,
    LEADER_TRANSITIONS,
    RELOAD_SUCCESSFUL,
    RELOADED_AT,
    Series,
    counter,
    histogram,
    leaders,
)

_STEP_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_START_SECONDS = (1, 2, 5, 10, 20, 30, 60, 120, 180, 300, 600)

REPLICAS = leaders(
    "autoscaler_replicas",
    "Pods: `current` (asked for), `desired` (when all that leave are gone), `recommended` (by "
    "the terms alone, before paces and the past), `ready`, `starting`, `draining`, "
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
    "1 for each reason that holds the pool's pods back or forbids to change them.",
    "pool",
    "reason",
)
ESTIMATE = leaders(
    "autoscaler_estimate",
    "What was learned: `arrival_rate` in jobs a second, `service_seconds`, `start_seconds`.",
    "pool",
    "param",
)
INPUT_AGE = leaders(
    "autoscaler_input_age_seconds",
    "How old the scheduler's word on the pool is; `+Inf` before the first.",
    "pool",
)
STALE = leaders(
    "autoscaler_stale",
    "1 while what is known of the pool is too old to take pods away.",
    "pool",
)
PAUSED = leaders(
    "autoscaler_paused", "1 while somebody switched off all or a part of it.", "pool"
)
WRONG_VICTIMS = counter(
    "autoscaler_wrong_victims_total",
    "Pods at work that were deleted in the place of drained ones.",
    "pool",
)
ACTIONS = counter(
    "autoscaler_actions_total",
    "Writes of `replicas`, `up` or `down`.",
    *("pool", "direction", "reason"),
)
ACTION_REPLICAS = counter(
    "autoscaler_action_replicas_total",
    "Pods that were added or taken away by them.",
    *("pool", "direction"),
)
VICTIMS = counter(
    "autoscaler_victims_total",
    "Pods that were chosen to go: `idle`, or `busy` and to finish first.",
    *("pool", "state"),
)
CONFLICTS = counter(
    "autoscaler_conflicts_total",
    "Writes that were refused because the Deployment had changed.",
    "pool",
)
ERRORS = counter(
    "autoscaler_errors_total",
    "Steps that failed: `observe`, `mark`, `scale`, `tell`, `policy`.",
    "stage",
)
RECONCILE = histogram(
    "autoscaler_reconcile_seconds", "How long one step takes, for all pools.", _STEP_SECONDS
)
POD_START = histogram(
    "pod_start_seconds",
    "From asking for a pod until its worker is there.",
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
    *(POD_START, RELOAD_SUCCESSFUL, RELOADED_AT, GENERATION, LEADER, LEADER_TRANSITIONS),
    BUILD_INFO,
)

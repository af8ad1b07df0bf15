"""What bounds the requested pods: floors raise them; caps and pacing limit them.

| limit | pods | removes pods |
|---|---|---|
| `min`, a schedule's `min`, the fallback's | at least | no |
| `max` | at most | yes |
| a schedule's `max` | at most | yes |
| `cost` | as many as fit into the hour's budget | yes |
| connections | as many as fit into the budget, terminating pods included | no |
| quota | as many as the namespace allows, terminating pods included | if not created |
| starting | none more while that many have not started | no |
| step | the larger of 8 more and twice as many in 15 s | no |
| failing Jobs | one at a time while three failed within a minute and no worker is there | no |
| unschedulable | none more once one has waited for a node 30 s beyond a start delay | no |

Caps win over floors. From zero only the first six apply: the first step may be of any size.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import floor

from fairlead.policy.autoscale import Autoscale
from fairlead_autoscaler.decision.fleet import Fleet
from fairlead_autoscaler.decision.inputs import Inputs
from fairlead_autoscaler.decision.reasons import Reason
from fairlead_autoscaler.decision.schedules import ScheduledBounds

STEP_PODS = 8
STEP_FACTOR = 2
STEP_WITHIN = timedelta(seconds=15)
NODE_WITHIN = timedelta(seconds=30)
"""A node that is being provisioned for a pod arrives this long after a start delay."""

FAILED_JOBS = 3
FAILED_WITHIN_SECONDS = 60.0
"""So many Jobs that failed within so long, while no worker is there: one at a time is tried."""


@dataclass(frozen=True, slots=True)
class ScaleUp:
    """A time at which we requested more pods, and how many there were before."""

    at: datetime
    before: int


@dataclass(frozen=True, slots=True)
class Bounded:
    """A number of pods within its limits, and the limits that applied, the tightest first."""

    pods: int
    limited: tuple[Reason, ...] = ()


def capped(
    pods: int, config: Autoscale, scheduled: ScheduledBounds, *, quota: int | None = None
) -> Bounded:
    """Apply the caps, which also remove pods.

    Args:
        pods: The target.
        config: The pool's section of the policy.
        scheduled: The bounds of its schedules.
        quota: As `quota_cap` returns it.
    """
    caps = [(config.max, Reason.AT_MAX)]
    if scheduled.max is not None:
        caps.append((scheduled.max, Reason.AT_SCHEDULE_MAX))
    if config.cost is not None:
        affordable = floor(round(config.cost.hour_max / config.cost.pod_hour, 9))
        caps.append((affordable, Reason.AT_COST_MAX))
    if quota is not None:
        caps.append((quota, Reason.AT_QUOTA))
    return _least(pods, caps)


def quota_cap(inputs: Inputs, fleet: Fleet) -> int | None:
    """Return the most pods to ask for, which are never fewer than there are; None: no quota.

    Pods that were asked for and that a quota keeps from being created are given up. Otherwise
    the ReplicaSet tries ever less often, and once the quota has room it takes a quarter of an
    hour to see it; a higher number of replicas has it try at once.
    """
    if inputs.quota_pods_max is None:
        return None
    here = len(fleet.members) + fleet.unseen
    return max(here, inputs.quota_pods_max - fleet.terminating)


def floor_of(
    config: Autoscale, scheduled: ScheduledBounds, *, silent_seconds: float | None
) -> int:
    """Return the least number of pods.

    Args:
        config: The pool's section of the policy.
        scheduled: The bounds of its schedules.
        silent_seconds: How long the scheduler has been silent, if too long; else None.
    """
    floors = [config.min, scheduled.min or 0]
    if is_fallback_active(config, silent_seconds):
        assert config.fallback is not None
        floors.append(config.fallback.replicas)
    return max(floors)


def is_fallback_active(config: Autoscale, silent_seconds: float | None) -> bool:
    """Return whether the scheduler has been silent for so long that the fallback applies."""
    if config.fallback is None or silent_seconds is None:
        return False
    return silent_seconds >= config.fallback.after.total_seconds()


def limited_scale_up(
    pods: int,
    *,
    here: int,
    inputs: Inputs,
    fleet: Fleet,
    scale_ups: tuple[ScaleUp, ...],
    start_seconds: float,
    config: Autoscale,
) -> Bounded:
    """Apply the limits that remove no pods to a scale-up.

    Args:
        pods: The target; if not above `here` nothing is limited.
        here: Replicas requested already.
        inputs: The pool's inputs.
        fleet: Its pods.
        scale_ups: Recent scale-ups.
        start_seconds: How long a pod takes to start.
        config: The pool's section of the policy.
    """
    if pods <= here:
        return Bounded(pods)
    caps: list[tuple[int, Reason]] = []
    if inputs.connections is not None:
        fit = inputs.connections // config.connections_per_pod - fleet.terminating
        caps.append((max(here, fit), Reason.AT_CONNECTIONS))
    if inputs.quota_pods_max is not None:
        fit = inputs.quota_pods_max - fleet.terminating
        caps.append((max(here, fit), Reason.AT_QUOTA))
    if _jobs_fail(inputs):
        caps.append((max(here, 1), Reason.JOBS_FAIL))
    if here > 0:
        not_created = max(0, here - len(fleet.members))
        if len(fleet.starting) + not_created >= config.starting_max:
            caps.append((here, Reason.AT_STARTING_MAX))
        late = [each.before for each in scale_ups if inputs.now - each.at < STEP_WITHIN]
        base = min([here, *(before for before in late if before > 0)])
        caps.append((max(here, base + STEP_PODS, STEP_FACTOR * base), Reason.AT_STEP))
        if _finds_no_node(inputs, start_seconds):
            caps.append((here, Reason.PODS_UNSCHEDULABLE))
    return _least(pods, caps)


def _jobs_fail(inputs: Inputs) -> bool:
    """Return whether Jobs failed of late and no worker is there: maybe none can start."""
    since = inputs.now.timestamp() - FAILED_WITHIN_SECONDS
    late = sum(each >= since for each in inputs.workload.failed_at)
    return late >= FAILED_JOBS and not inputs.workers


def _finds_no_node(inputs: Inputs, start_seconds: float) -> bool:
    """Return whether the oldest unscheduled pod has waited longer than a new node takes."""
    since = [
        each.seen_at or each.created_at
        for each in inputs.pods
        if each.unschedulable and not each.terminating
    ]
    within = timedelta(seconds=start_seconds) + NODE_WITHIN
    return bool(since) and inputs.now - min(since) >= within


def _least(pods: int, caps: list[tuple[int, Reason]]) -> Bounded:
    tight = sorted((cap, place) for place, (cap, _) in enumerate(caps) if cap < pods)
    return Bounded(
        min([pods, *(cap for cap, _ in tight)]), tuple(caps[at][1] for _, at in tight)
    )

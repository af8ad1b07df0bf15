"""What bounds the pods that are asked for: floors lift them, caps and paces hold them back.

| limit | pods | takes pods away |
|---|---|---|
| `min`, a schedule's `min`, the fallback's | at least | no |
| `max` | at most | yes |
| a schedule's `max` | at most | yes |
| `cost` | as many as fit into the hour's budget | yes |
| connections | as many as fit into the budget, those that still terminate counted | no |
| quota | as many more as the namespace allows | no |
| starting | none more while so many have not started | no |
| step | the larger of 8 more and twice as many in 15 s | no |
| unschedulable | none more while one has waited for a node for 30 s above a start delay | no |

Caps go before floors. From zero only the first six hold: the first step is as large as it must
be.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import floor

from fairlead.policy.autoscale import Autoscale
from fairlead_autoscaler.fleet import Fleet
from fairlead_autoscaler.inputs import Inputs
from fairlead_autoscaler.reasons import Reason
from fairlead_autoscaler.schedules import Bounds

STEP_PODS = 8
STEP_FACTOR = 2
STEP_WITHIN = timedelta(seconds=15)
NODE_WITHIN = timedelta(seconds=30)
"""A node that is being made for a pod is there so long after a start delay."""


@dataclass(frozen=True, slots=True)
class Raise:
    """A time at which we asked for more pods, and how many there were before."""

    at: datetime
    before: int


@dataclass(frozen=True, slots=True)
class Bounded:
    """A number of pods within its limits, and those that held it back, the tightest first."""

    pods: int
    limited: tuple[Reason, ...] = ()


def capped(pods: int, config: Autoscale, scheduled: Bounds) -> Bounded:
    """Return what is left of pods under the caps, which also take pods away."""
    caps = [(config.max, Reason.AT_MAX)]
    if scheduled.max is not None:
        caps.append((scheduled.max, Reason.AT_SCHEDULE_MAX))
    if config.cost is not None:
        affordable = floor(round(config.cost.hour_max / config.cost.pod_hour, 9))
        caps.append((affordable, Reason.AT_COST_MAX))
    return _least(pods, caps)


def floor_of(config: Autoscale, scheduled: Bounds, *, silent_seconds: float | None) -> int:
    """Return the pods that there are at least.

    Args:
        config: The pool's.
        scheduled: What schedules say.
        silent_seconds: For how long the scheduler has been silent, where that is too long; else
            None.
    """
    floors = [config.min, scheduled.min or 0]
    if falls_back(config, silent_seconds):
        assert config.fallback is not None
        floors.append(config.fallback.replicas)
    return max(floors)


def falls_back(config: Autoscale, silent_seconds: float | None) -> bool:
    """Tell whether the scheduler has been silent for so long that the fallback counts."""
    if config.fallback is None or silent_seconds is None:
        return False
    return silent_seconds >= config.fallback.after.total_seconds()


def raised(
    pods: int,
    *,
    here: int,
    inputs: Inputs,
    fleet: Fleet,
    raises: tuple[Raise, ...],
    start_seconds: float,
    config: Autoscale,
) -> Bounded:
    """Return what is left of a raise under the limits that take no pods away.

    Args:
        pods: What is asked for; not above what is there: nothing is to be limited.
        here: What is asked of the Deployment already.
        inputs: The look at the pool.
        fleet: Its pods.
        raises: What was raised of late.
        start_seconds: How long a pod takes to start.
        config: The pool's.
    """
    if pods <= here:
        return Bounded(pods)
    caps: list[tuple[int, Reason]] = []
    if inputs.connections is not None:
        fit = inputs.connections // config.connections_per_pod - fleet.terminating
        caps.append((max(here, fit), Reason.AT_CONNECTIONS))
    if inputs.quota_pods is not None:
        # Of our own write that is not to be seen yet, the quota's part does not know either.
        fit = inputs.deployment.replicas + max(0, inputs.quota_pods)
        caps.append((max(here, fit), Reason.AT_QUOTA))
    if here > 0:
        unborn = max(0, here - len(fleet.members))
        if len(fleet.starting) + unborn >= config.starting_max:
            caps.append((here, Reason.AT_STARTING_MAX))
        late = [each.before for each in raises if inputs.now - each.at < STEP_WITHIN]
        base = min([here, *(before for before in late if before > 0)])
        caps.append((max(here, base + STEP_PODS, STEP_FACTOR * base), Reason.AT_STEP))
        if _finds_no_node(inputs, start_seconds):
            caps.append((here, Reason.PODS_UNSCHEDULABLE))
    return _least(pods, caps)


def _finds_no_node(inputs: Inputs, start_seconds: float) -> bool:
    """Tell whether the oldest pod without a node has waited for longer than one takes."""
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

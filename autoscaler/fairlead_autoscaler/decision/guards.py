"""What forbids adding pods, removing them, or doing anything at all.

| reason | adding | removing | draining pods |
|---|---|---|---|
| DatabaseUnreachable | no | no | unchanged; their marks lapse |
| ForeignAutoscaler, ForeignWriter | no | no | the same |
| Paused | no | no | the same |
| DemandAwaited, DemandStale | what floors ask for | no | return to work |
| ClusterStale | yes | no | go on draining |
| RolloutStuck, RolloutInProgress | yes | no | return to work |
| HeldIn | yes | no | return to work |
| PodsNotReady | yes | no | go on draining |
| HeldOut | no | yes | return to work when more pods are needed |
| DryRun | reported only | reported only | unchanged; their marks lapse |
"""

from dataclasses import dataclass
from datetime import datetime

from fairlead.policy.autoscale import Autoscale
from fairlead_autoscaler.decision.foreign_writers import WriterState
from fairlead_autoscaler.decision.inputs import Demand, Inputs, Workload
from fairlead_autoscaler.decision.reasons import Reason

STALE_AFTER_SECONDS = 15.0
"""Older knowledge of the demand or of the cluster removes no pod."""
SILENT = frozenset({Reason.DEMAND_AWAITED, Reason.DEMAND_STALE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Guards:
    """Why something is forbidden; None: it is not."""

    anything: Reason | None
    adding: Reason | None
    removing: Reason | None

    @property
    def return_to_work(self) -> bool:
        """Whether draining pods return to work."""
        return self.removing not in {None, Reason.CLUSTER_STALE, Reason.PODS_NOT_READY}

    @property
    def all(self) -> tuple[Reason, ...]:
        """Every reason, the most important first."""
        return tuple(
            each for each in (self.anything, self.removing, self.adding) if each is not None
        )


def guards(
    inputs: Inputs,
    writers: WriterState,
    config: Autoscale,
    *,
    stale: float | None,
    pod_may_return: bool,
) -> Guards:
    """Return what is forbidden now.

    Args:
        inputs: The pool's inputs.
        writers: What is known of other writers.
        config: The pool's section of the policy.
        stale: As `stale_seconds` returns it.
        pod_may_return: As `readiness.may_return` returns it.
    """
    return Guards(
        anything=_anything(inputs, writers, config),
        adding=Reason.HELD_OUT if config.hold_out else None,
        removing=_removing(inputs, config, stale=stale, pod_may_return=pod_may_return),
    )


def stale_seconds(demand: Demand | None, now: datetime) -> float | None:
    """Return the age of a demand row that is too old to be used; None: it is fresh.

    A missing row is infinitely old. A row from the future dates from before the database's
    clock was set back; its age is unknown, and taken to be as much as it is early.
    """
    if demand is None:
        return float("inf")
    age = abs((now - demand.at).total_seconds())
    return age if age > STALE_AFTER_SECONDS else None


def silence(demand: Demand | None) -> Reason:
    """Return the reason for a demand row that is too old or missing."""
    return Reason.DEMAND_AWAITED if demand is None else Reason.DEMAND_STALE


def _anything(inputs: Inputs, writers: WriterState, config: Autoscale) -> Reason | None:
    if not inputs.answered:
        return Reason.DATABASE_UNREACHABLE
    return writers.reason_to_wait(inputs) or (Reason.PAUSED if config.pause else None)


def _removing(
    inputs: Inputs, config: Autoscale, *, stale: float | None, pod_may_return: bool
) -> Reason | None:
    if stale is not None:
        return silence(inputs.demand)
    if (inputs.now - inputs.cluster_at).total_seconds() > STALE_AFTER_SECONDS:
        return Reason.CLUSTER_STALE
    if _is_rolling_out(inputs.workload):
        stuck = inputs.workload.past_deadline
        return Reason.ROLLOUT_STUCK if stuck else Reason.ROLLOUT_IN_PROGRESS
    if config.hold_in:
        return Reason.HELD_IN
    return Reason.PODS_NOT_READY if pod_may_return else None


def _is_rolling_out(workload: Workload) -> bool:
    """Return whether a rollout runs; `updated < replicas` would miss its end."""
    observed = workload.observed_generation == workload.generation
    updated = workload.updated_replicas == workload.status_replicas
    return not observed or not updated or workload.is_replacing

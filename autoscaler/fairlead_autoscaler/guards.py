"""What forbids to add pods, to take them away, or to do anything at all.

| reason | adding | taking away | pods on their way out |
|---|---|---|---|
| DatabaseUnreachable | no | no | as they are; their marks lapse |
| ForeignAutoscaler, ForeignWriter | no | no | the same |
| Paused | no | no | the same |
| DemandAwaited, DemandStale | what floors ask for | no | back to work |
| ClusterStale | yes | no | go on emptying themselves |
| RolloutStuck, RolloutInProgress | yes | no | back to work |
| HeldIn | yes | no | back to work |
| PodsNotReady | yes | no | go on emptying themselves |
| HeldOut | no | yes | back to work when more pods are needed |
| DryRun | said, not done | said, not done | as they are; their marks lapse |
"""

from dataclasses import dataclass
from datetime import datetime

from fairlead.policy.autoscale import Autoscale
from fairlead_autoscaler.conflicts import Standing
from fairlead_autoscaler.fleet import Fleet
from fairlead_autoscaler.inputs import Demand, Deployment, Inputs
from fairlead_autoscaler.reasons import Reason

STALE_AFTER_SECONDS = 15.0
"""What is known of the demand or of the cluster takes no pod away when it is older."""
SILENT = frozenset({Reason.DEMAND_AWAITED, Reason.DEMAND_STALE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Guards:
    """Why something is forbidden; None: it is not."""

    anything: Reason | None
    adding: Reason | None
    taking: Reason | None

    @property
    def returns(self) -> bool:
        """Whether pods on their way out are put back to work."""
        return self.taking not in {None, Reason.CLUSTER_STALE, Reason.PODS_NOT_READY}

    @property
    def all(self) -> tuple[Reason, ...]:
        """Every reason, the weightiest first."""
        return tuple(
            each for each in (self.anything, self.taking, self.adding) if each is not None
        )


def guards(
    inputs: Inputs, fleet: Fleet, standing: Standing, stale: float | None, config: Autoscale
) -> Guards:
    """Return what is forbidden now.

    Args:
        inputs: The look at the pool.
        fleet: Its pods.
        standing: What is known of others who write.
        stale: As `stale_seconds` says.
        config: The pool's.
    """
    return Guards(
        anything=_anything(inputs, standing, config),
        adding=Reason.HELD_OUT if config.hold_out else None,
        taking=_taking(inputs, fleet, stale, config),
    )


def stale_seconds(demand: Demand | None, now: datetime) -> float | None:
    """Return how old a demand is that is too old to be used; None: it is fresh.

    None at all is older than any. One of a time to come is from before the database's clock was
    set back, and nobody knows how old that makes it: as old as it is early.
    """
    if demand is None:
        return float("inf")
    age = abs((now - demand.at).total_seconds())
    return age if age > STALE_AFTER_SECONDS else None


def silence(demand: Demand | None) -> Reason:
    """Return what is said of a demand that is too old, or that never was."""
    return Reason.DEMAND_AWAITED if demand is None else Reason.DEMAND_STALE


def _anything(inputs: Inputs, standing: Standing, config: Autoscale) -> Reason | None:
    if not inputs.answered:
        return Reason.DATABASE_UNREACHABLE
    return standing.forbids(inputs) or (Reason.PAUSED if config.pause else None)


def _taking(
    inputs: Inputs, fleet: Fleet, stale: float | None, config: Autoscale
) -> Reason | None:
    if stale is not None:
        return silence(inputs.demand)
    if (inputs.now - inputs.cluster_at).total_seconds() > STALE_AFTER_SECONDS:
        return Reason.CLUSTER_STALE
    if _rolls(inputs.deployment):
        stuck = inputs.deployment.past_deadline
        return Reason.ROLLOUT_STUCK if stuck else Reason.ROLLOUT_IN_PROGRESS
    if config.hold_in:
        return Reason.HELD_IN
    return Reason.PODS_NOT_READY if _fell(inputs, fleet) else None


def _rolls(deployment: Deployment) -> bool:
    """Tell whether a rollout runs; `updated < replicas` instead would miss its end."""
    observed = deployment.observed_generation == deployment.generation
    return not observed or deployment.updated_replicas != deployment.status_replicas


def _fell(inputs: Inputs, fleet: Fleet) -> bool:
    """Tell whether a pod that was ready is not, without being empty under a mark.

    Not ready, it would be deleted before the ones that were chosen.
    """
    return any(
        each.pod.was_ready
        and not each.pod.ready
        and not (each.is_marked(inputs.now) and each.worker and each.worker.drained_at)
        for each in fleet.members
    )

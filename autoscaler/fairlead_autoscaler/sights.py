"""One look at the database and one at the cluster, put together for each pool.

The two have clocks of their own. The database's counts; the process's own carries it on while
the database does not answer, and tells how long ago a watch showed something.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from fairlead.policy import Pool, glob
from fairlead_autoscaler import inputs
from fairlead_autoscaler.kube import port
from fairlead_autoscaler.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """The database's time at one moment of our own."""

    database: datetime
    own: float
    """Seconds."""

    def at(self, own: float) -> datetime:
        """Return the database's time at a moment of our own clock."""
        return self.database + timedelta(seconds=own - self.own)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """All that is known of all pools."""

    clock: Clock
    snapshot: Snapshot
    answered: bool
    """Whether the snapshot is of now; else it is the last that there was."""
    cluster: port.Look
    own: float
    """Our own clock at the look."""
    autoscalers: Mapping[str, tuple[str, ...]]
    """Others' autoscalers, by the Deployment that they target."""
    pods_max: int | None
    """Pods of all pools that quotas let be there together; None: no quota counts pods."""

    @property
    def now(self) -> datetime:
        """The database's time."""
        return self.clock.at(self.own)


def inputs_of(
    sight: Sight,
    pool: str,
    *,
    connections: int,
    pods_max: int | None,
    pending: bool,
    write_failed: bool,
) -> inputs.Inputs:
    """Return what the decision on a pool is made from.

    Args:
        sight: Everything that was seen.
        pool: One that has a Deployment.
        connections: That the pool's pods may hold together.
        pods_max: Pods that it may have, those that terminate counted; None: no quota says so.
        pending: Whether it has a job that is due, where that was asked.
        write_failed: Whether its last write was refused, or nobody knows.
    """
    pods = tuple(_pod(each, sight.clock) for each in sight.cluster.pods if each.pool == pool)
    uids = {each.uid for each in pods}
    found = sight.cluster.deployments[pool]
    here = found.replicas + sum(each.terminating for each in pods)
    return inputs.Inputs(
        now=sight.now,
        answered=sight.answered,
        cluster_at=sight.clock.at(sight.cluster.as_of),
        demand=sight.snapshot.demand.get(pool),
        deployment=_deployment(found, sight.autoscalers.get(found.name, ())),
        pods=pods,
        workers=tuple(each for each in sight.snapshot.workers if each.pool == pool),
        loads=tuple(each for each in sight.snapshot.loads if each.pod_uid in uids),
        pending=pending,
        connections=connections,
        quota_pods=None if pods_max is None else max(0, pods_max - here),
        write_failed=write_failed,
    )


def pools_with_work(queues: Sequence[str], pools: Sequence[Pool]) -> frozenset[str]:
    """Return the pools that one of these queues belongs to: to the first that names it."""
    patterns = [(glob(queue), pool.name) for pool in pools for queue in pool.queues]
    homes = (
        next((name for pattern, name in patterns if pattern.matches(queue)), None)
        for queue in queues
    )
    return frozenset(home for home in homes if home is not None)


def _pod(pod: port.Pod, clock: Clock) -> inputs.Pod:
    return inputs.Pod(
        uid=pod.uid,
        created_at=pod.created_at,
        seen_at=None if pod.seen_at is None else clock.at(pod.seen_at),
        ready=pod.ready,
        was_ready=pod.was_ready,
        terminating=pod.terminating,
        unschedulable=pod.unschedulable,
    )


def _deployment(found: port.Deployment, autoscalers: tuple[str, ...]) -> inputs.Deployment:
    return inputs.Deployment(
        replicas=found.replicas,
        version=found.version,
        generation=found.generation,
        observed_generation=found.observed_generation,
        status_replicas=found.status_replicas,
        updated_replicas=found.updated_replicas,
        past_deadline=found.past_deadline,
        owner=found.owner,
        autoscalers=autoscalers,
    )

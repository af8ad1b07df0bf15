"""Combine one snapshot of the database and one of the cluster into each pool's inputs.

The two have clocks of their own. The database's counts; the process's own clock extrapolates it
while the database does not answer, and dates what a watch showed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from fairlead.policy import Pool, glob
from fairlead_autoscaler.controller.database_snapshot import Snapshot
from fairlead_autoscaler.decision import inputs
from fairlead_autoscaler.kube import port


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseClock:
    """The database's time at one moment of our own clock."""

    database: datetime
    own: float
    """Seconds."""

    def at(self, own: float) -> datetime:
        """Return the database's time at a moment of our own clock."""
        return self.database + timedelta(seconds=own - self.own)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """All that is known of all pools."""

    clock: DatabaseClock
    snapshot: Snapshot
    answered: bool
    """Whether the snapshot is current; else it is the last one there was."""
    cluster: port.ClusterSnapshot
    own: float
    """Our own clock at the observation."""
    autoscalers: Mapping[str, tuple[str, ...]]
    """Other autoscalers, by the Deployment that they target."""
    pods_max: int | None
    """Pods of all pools together that quotas allow; None: no quota counts pods."""

    @property
    def now(self) -> datetime:
        """The database's time."""
        return self.clock.at(self.own)


def inputs_of(
    observation: Observation,
    pool: str,
    *,
    connections: int,
    pods_max: int | None,
    pending: bool,
    write_failed: bool,
) -> inputs.Inputs:
    """Return the inputs of the decision on a pool.

    Args:
        observation: All that is known.
        pool: One that has a Deployment.
        connections: What the pool's pods may use together.
        pods_max: The most pods it may have, terminating ones counted; None: no quota.
        pending: Whether it has a job that is due, if that was read.
        write_failed: Whether its last write was refused or its outcome is unknown.
    """
    pods = tuple(
        _pod(each, observation.clock) for each in observation.cluster.pods if each.pool == pool
    )
    uids = {each.uid for each in pods}
    found = observation.cluster.deployments[pool]
    here = found.replicas + sum(each.terminating for each in pods)
    return inputs.Inputs(
        now=observation.now,
        answered=observation.answered,
        cluster_at=observation.clock.at(observation.cluster.as_of),
        demand=observation.snapshot.demand.get(pool),
        deployment=found,
        autoscalers=observation.autoscalers.get(found.name, ()),
        pods=pods,
        workers=tuple(each for each in observation.snapshot.workers if each.pool == pool),
        loads=tuple(each for each in observation.snapshot.loads if each.pod_uid in uids),
        pending=pending,
        connections=connections,
        quota_pods=None if pods_max is None else max(0, pods_max - here),
        write_failed=write_failed,
    )


def pools_with_work(queues: Sequence[str], pools: Sequence[Pool]) -> frozenset[str]:
    """Return the pools that own one of these queues: the first pool that names it."""
    patterns = [(glob(queue), pool.name) for pool in pools for queue in pool.queues]
    owners = (
        next((name for pattern, name in patterns if pattern.matches(queue)), None)
        for queue in queues
    )
    return frozenset(owner for owner in owners if owner is not None)


def _pod(pod: port.WatchedPod, clock: DatabaseClock) -> inputs.Pod:
    return inputs.Pod(
        uid=pod.uid,
        created_at=pod.created_at,
        seen_at=None if pod.seen_at is None else clock.at(pod.seen_at),
        ready=pod.ready,
        was_ready=pod.was_ready,
        terminating=pod.terminating,
        unschedulable=pod.unschedulable,
    )

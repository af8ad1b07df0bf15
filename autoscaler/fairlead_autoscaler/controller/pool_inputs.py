"""Combine one snapshot of the database and one of the cluster into each pool's inputs.

The two have clocks of their own. The database's counts; the process's own clock extrapolates it
while the database does not answer, and dates what a watch showed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from fairlead.policy import Pool, glob
from fairlead_autoscaler.controller.budget import PoolerClients
from fairlead_autoscaler.controller.database_snapshot import Snapshot
from fairlead_autoscaler.decision import inputs
from fairlead_autoscaler.decision.quotas import Room
from fairlead_autoscaler.decision.reasons import Reason
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
class QuotasRead:
    """The quotas as they were read, and the pods that each pool had then.

    Pods that we add later count; others' changes are seen when they are read again.
    """

    limits: tuple[inputs.QuotaLimit, ...] = ()
    defaults: inputs.ContainerDefaults = field(default_factory=inputs.ContainerDefaults)
    pods: Mapping[str, int] = field(default_factory=dict[str, int])


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
    """Other autoscalers, by kind and name of what they target."""
    quotas: QuotasRead
    pooler: PoolerClients | None
    """What the pooler before PostgreSQL accepts; None: programs connect to it directly."""

    @property
    def now(self) -> datetime:
        """The database's time."""
        return self.clock.at(self.own)


def inputs_of(
    observation: Observation,
    pool: str,
    *,
    connections: int | None,
    details: Mapping[Reason, str],
    room: Room | None,
    pending: bool,
    write_failed: bool,
) -> inputs.Inputs:
    """Return the inputs of the decision on a pool.

    Args:
        observation: All that is known.
        pool: One that has a workload.
        connections: What the pool's pods may use together; None: nothing bounds them.
        details: What limits are that all pools share.
        room: What quotas allow it; None: none counts its pods.
        pending: Whether it has a job that is due, if that was read.
        write_failed: Whether its last write was refused or its outcome is unknown.
    """
    pods = tuple(
        _pod(each, observation.clock) for each in observation.cluster.pods if each.pool == pool
    )
    uids = {each.uid for each in pods}
    found = observation.cluster.workloads[pool]
    return inputs.Inputs(
        now=observation.now,
        answered=observation.answered,
        cluster_at=observation.clock.at(observation.cluster.as_of),
        demand=observation.snapshot.demand.get(pool),
        workload=found,
        autoscalers=observation.autoscalers.get(f"{found.kind}/{found.name}", ()),
        pods=pods,
        workers=tuple(each for each in observation.snapshot.workers if each.pool == pool),
        loads=tuple(
            each
            for each in observation.snapshot.loads
            if each.pool == pool and each.pod_uid in uids
        ),
        pending=pending,
        connections=connections,
        quota_pods_max=None if room is None else room.pods,
        details={**details, **({} if room is None else {Reason.AT_QUOTA: room.limit})},
        write_failed=write_failed,
    )


def pods_of(cluster: port.ClusterSnapshot, *, asked: bool) -> dict[str, int]:
    """Return the pods of each pool, with those that terminate.

    Args:
        cluster: What the watches know.
        asked: Whether pods count that are asked for and not created yet.
    """
    found = dict[str, int]()
    for pool, workload in cluster.workloads.items():
        pods = [each for each in cluster.pods if each.pool == pool]
        terminating = sum(each.terminating for each in pods)
        here = len(pods) - terminating
        found[pool] = (max(here, workload.replicas) if asked else here) + terminating
    return found


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
        ordinal=pod.ordinal,
        name=pod.name,
        problem=pod.problem,
    )

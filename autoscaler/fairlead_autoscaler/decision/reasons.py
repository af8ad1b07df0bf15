"""Why a pool has the pods that it has: every reason that a decision can give, and its sentence.

The reasons are few and fixed: they are labels of metrics, reasons of events and conditions, and
words of the command line. Cases that one row of the table of conditions covers share a reason.
"""

from collections.abc import Mapping
from enum import StrEnum


class DemandTerm(StrEnum):
    """What asks for slots; the largest term decides."""

    STEADY = "steady"
    """The recent arrival rate, with headroom so that few jobs wait too long."""
    DRAIN = "drain"
    """The backlog, to be gone before the objective is missed."""
    SCHEDULED = "scheduled"
    """Jobs that fall due before a pod requested now would be there."""
    RUNNING = "running"
    """Running jobs, and the slots kept warm on top."""
    FLOOR = "floor"
    """The least number of pods: `min`, a schedule's, or the fallback's."""


class Reason(StrEnum):
    """Why a decision is what it is."""

    # The term that asked for the pods.
    STEADY = "Steady"
    BACKLOG_DRAIN = "BacklogDrain"
    SCHEDULED_WORK = "ScheduledWork"
    RUNNING_WORK = "RunningWork"
    FLOOR = "Floor"
    WOKEN = "Woken"
    """A job waits, the pool is at zero, and its demand is unknown: one pod."""
    EMPTY = "Empty"
    """Nothing waits, runs or falls due."""

    # Scaling down.
    STABILIZING = "Stabilizing"
    """More pods were needed a short time ago."""
    PODS_DRAINING = "PodsDraining"
    """Surplus pods finish what they run."""
    POOL_AT_WORK = "PoolAtWork"
    """Any pod may be the one that is deleted, and one of them runs a job."""
    SURPLUS = "Surplus"
    """Pods that were empty or had not started are removed."""

    # Limits: fewer pods than requested.
    AT_MAX = "AtMax"
    AT_SCHEDULE_MAX = "AtScheduleMax"
    AT_COST_MAX = "AtCostMax"
    AT_CONNECTIONS = "AtConnections"
    AT_QUOTA = "AtQuota"
    AT_STARTING_MAX = "AtStartingMax"
    AT_STEP = "AtStep"
    PODS_UNSCHEDULABLE = "PodsUnschedulable"
    """Added pods have had no node for so long that none is being provisioned."""

    JOBS_FAIL = "JobsFail"
    """Jobs of the pool fail, and no worker of it is there."""

    PODS_CANNOT_RUN = "PodsCannotRun"
    """Kubernetes says of pods why they cannot run: a missing Secret, an image, a crash."""

    # What forbids adding, removing, or both.
    DATABASE_UNREACHABLE = "DatabaseUnreachable"
    DEMAND_AWAITED = "DemandAwaited"
    """The scheduler has not reported yet: it is starting, or the pool is new."""
    DEMAND_STALE = "DemandStale"
    CLUSTER_STALE = "ClusterStale"
    FALLBACK = "Fallback"
    """Stale demand, and the pool has fewer pods than the fallback."""
    FOREIGN_WRITER = "ForeignWriter"
    FOREIGN_AUTOSCALER = "ForeignAutoscaler"
    PAUSED = "Paused"
    HELD_IN = "HeldIn"
    HELD_OUT = "HeldOut"
    DRY_RUN = "DryRun"
    ROLLOUT_IN_PROGRESS = "RolloutInProgress"
    ROLLOUT_STUCK = "RolloutStuck"
    PODS_NOT_READY = "PodsNotReady"


OF_TERM = {
    DemandTerm.STEADY: Reason.STEADY,
    DemandTerm.DRAIN: Reason.BACKLOG_DRAIN,
    DemandTerm.SCHEDULED: Reason.SCHEDULED_WORK,
    DemandTerm.RUNNING: Reason.RUNNING_WORK,
    DemandTerm.FLOOR: Reason.FLOOR,
}
"""The reason given when a term decides."""

SENTENCES = {
    Reason.STEADY: "as many as the arrival rate needs, with headroom to keep waits short",
    Reason.BACKLOG_DRAIN: "as many as clear the backlog before the objective is missed",
    Reason.SCHEDULED_WORK: "as many as the jobs need that fall due before a pod could start",
    Reason.RUNNING_WORK: "as many as the running jobs and the warm slots need",
    Reason.FLOOR: "the minimum: min, a schedule's min or the fallback",
    Reason.WOKEN: "a job waits, its demand is unknown, and the pool was at zero: one pod",
    Reason.EMPTY: "nothing waits, runs or falls due",
    Reason.STABILIZING: "more were needed a short time ago",
    Reason.PODS_DRAINING: "surplus pods finish what they run",
    Reason.POOL_AT_WORK: "its kind may delete any pod: none is removed while one runs a job",
    Reason.SURPLUS: "pods that were empty, or had not started, are removed",
    Reason.AT_MAX: "max is reached",
    Reason.AT_SCHEDULE_MAX: "a schedule's max is reached",
    Reason.AT_COST_MAX: "cost.hourMax allows no more",
    Reason.AT_CONNECTIONS: "PostgreSQL, or the pooler before it, has no connections for more",
    Reason.AT_QUOTA: "the namespace's quota allows no more",
    Reason.AT_STARTING_MAX: "startingMax pods have not started yet",
    Reason.AT_STEP: "no more than twice as many, or eight more, are added in 15 s",
    Reason.PODS_UNSCHEDULABLE: "pods that were added find no node",
    Reason.JOBS_FAIL: "Jobs of the pool fail before a worker is there: one at a time is tried",
    Reason.PODS_CANNOT_RUN: "pods cannot run",
    Reason.DATABASE_UNREACHABLE: "PostgreSQL does not answer: nothing is changed",
    Reason.DEMAND_AWAITED: "the scheduler has not reported a demand yet: no pod is removed",
    Reason.DEMAND_STALE: "the scheduler's demand is older than 15 s: no pod is removed",
    Reason.CLUSTER_STALE: "the pods' state is older than 15 s: no pod is removed",
    Reason.FALLBACK: "the scheduler reports no demand: the pool gets the fallback's pods",
    Reason.FOREIGN_WRITER: "something else wrote the replicas: no write for a while",
    Reason.FOREIGN_AUTOSCALER: "another autoscaler targets the Deployment: no write",
    Reason.PAUSED: "pause is true: nothing is changed",
    Reason.HELD_IN: "holdIn is true: no pod is removed",
    Reason.HELD_OUT: "holdOut is true: no pod is added",
    Reason.DRY_RUN: "dryRun is true: this is only reported",
    Reason.ROLLOUT_IN_PROGRESS: "a rollout is under way: no pod is removed",
    Reason.ROLLOUT_STUCK: "a rollout makes no progress: no pod is removed",
    Reason.PODS_NOT_READY: "a pod that was ready is not, and may come back: no pod is removed",
}
"""The sentence of each reason: one for log, events, status and command line."""


def sentence(reason: Reason, details: Mapping[Reason, str]) -> str:
    """Return the sentence of a reason, with what is known of the limit that it names."""
    said = SENTENCES[reason]
    return f"{said}: {details[reason]}" if reason in details else said

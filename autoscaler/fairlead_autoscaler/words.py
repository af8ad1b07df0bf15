"""The sentence of each reason: one for log, events, status and command line."""

from fairlead_autoscaler.reasons import Reason

SENTENCES = {
    Reason.STEADY: "as many as what arrives needs, with headroom so that few of it waits",
    Reason.BACKLOG_DRAIN: "as many as empty what waits before the objective is missed",
    Reason.SCHEDULED_WORK: "as many as what falls due before a pod could start needs",
    Reason.RUNNING_WORK: "as many as what runs takes, and the slots kept warm above it",
    Reason.FLOOR: "the least that there are: min, a schedule's min or the fallback",
    Reason.WOKEN: "a job waits, nobody says what the pool needs, and it was at zero: one pod",
    Reason.EMPTY: "nothing waits, runs or falls due",
    Reason.STABILIZING: "more were needed a short time ago",
    Reason.PODS_DRAINING: "pods that are not needed finish what they run",
    Reason.SURPLUS: "pods that were empty, or had not started, are taken away",
    Reason.AT_MAX: "max is reached",
    Reason.AT_SCHEDULE_MAX: "a schedule's max is reached",
    Reason.AT_COST_MAX: "cost.hourMax pays for no more",
    Reason.AT_CONNECTIONS: "PostgreSQL has connections for no more",
    Reason.AT_QUOTA: "the namespace's quota has room for no more",
    Reason.AT_STARTING_MAX: "startingMax pods have not started yet",
    Reason.AT_STEP: "no more than twice as many, or eight more, are added in 15 s",
    Reason.PODS_UNSCHEDULABLE: "pods that were added find no node",
    Reason.DATABASE_UNREACHABLE: "PostgreSQL does not answer: everything stays as it is",
    Reason.DEMAND_AWAITED: "the scheduler has said nothing yet: nothing is taken away",
    Reason.DEMAND_STALE: "the scheduler has been silent for 15 s: nothing is taken away",
    Reason.CLUSTER_STALE: "nothing was heard of the pods for 15 s: nothing is taken away",
    Reason.FALLBACK: "the scheduler is silent, and the pool gets the fallback's pods",
    Reason.FOREIGN_WRITER: "somebody else wrote the replicas: they are left alone for a while",
    Reason.FOREIGN_AUTOSCALER: "another autoscaler targets the Deployment: it is left to that",
    Reason.PAUSED: "pause is true: nothing is done",
    Reason.HELD_IN: "holdIn is true: no pod is taken away",
    Reason.HELD_OUT: "holdOut is true: no pod is added",
    Reason.DRY_RUN: "dryRun is true: this is only said",
    Reason.ROLLOUT_IN_PROGRESS: "a rollout is under way: no pod is taken away",
    Reason.ROLLOUT_STUCK: "a rollout makes no progress: no pod is taken away",
    Reason.PODS_NOT_READY: "a pod that was ready is not: no pod is taken away",
}
"""What is said of a decision, for people."""

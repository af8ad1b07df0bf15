"""Why a pool has the pods that it has: every word that a decision may say.

They are few and fixed, because they become labels of metrics, reasons of events and conditions,
and words of the command line. What is in one line of a table of conditions is said by one word.
"""

from enum import StrEnum


class Term(StrEnum):
    """What asks for slots; the one that asks for most decides."""

    STEADY = "steady"
    """What arrives, by the rate of late, and headroom so that few of it wait too long."""
    DRAIN = "drain"
    """What waits already, so that it is gone before the objective is missed."""
    SCHEDULED = "scheduled"
    """What falls due before a pod that is asked for now would be there."""
    RUNNING = "running"
    """What runs, and the slots that are kept warm above it."""
    FLOOR = "floor"
    """Pods that there are at least: `min`, a schedule's, or the fallback's."""


class Reason(StrEnum):
    """Why a decision is what it is."""

    # What asked for the pods: the terms.
    STEADY = "Steady"
    BACKLOG_DRAIN = "BacklogDrain"
    SCHEDULED_WORK = "ScheduledWork"
    RUNNING_WORK = "RunningWork"
    FLOOR = "Floor"
    WOKEN = "Woken"
    """A job waits, the pool is at zero, and nobody says what it needs: one pod."""
    EMPTY = "Empty"
    """Nothing waits, runs or falls due."""

    # On the way down.
    STABILIZING = "Stabilizing"
    """More were needed a short time ago."""
    PODS_DRAINING = "PodsDraining"
    """Pods that are not needed finish what they run."""
    SURPLUS = "Surplus"
    """Pods that were empty are taken away, or such that have not started."""

    # Limits: fewer pods than were asked for.
    AT_MAX = "AtMax"
    AT_SCHEDULE_MAX = "AtScheduleMax"
    AT_COST_MAX = "AtCostMax"
    AT_CONNECTIONS = "AtConnections"
    AT_QUOTA = "AtQuota"
    AT_STARTING_MAX = "AtStartingMax"
    AT_STEP = "AtStep"
    PODS_UNSCHEDULABLE = "PodsUnschedulable"
    """Pods that were added have found no node for so long that none is being made for them."""

    # What forbids adding, taking away, or both.
    DATABASE_UNREACHABLE = "DatabaseUnreachable"
    DEMAND_AWAITED = "DemandAwaited"
    """The scheduler has never said what the pool needs: it starts, or the pool is a new one."""
    DEMAND_STALE = "DemandStale"
    CLUSTER_STALE = "ClusterStale"
    FALLBACK = "Fallback"
    """As stale, and the pool has fewer pods than it is to have then."""
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
    Term.STEADY: Reason.STEADY,
    Term.DRAIN: Reason.BACKLOG_DRAIN,
    Term.SCHEDULED: Reason.SCHEDULED_WORK,
    Term.RUNNING: Reason.RUNNING_WORK,
    Term.FLOOR: Reason.FLOOR,
}
"""What is said when a term decides."""

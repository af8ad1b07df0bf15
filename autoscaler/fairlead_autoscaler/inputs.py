"""What a decision is made from: one look at the database and at the cluster, for one pool.

Nothing here is judged yet. `now` is the database's time; while it does not answer, the time of
its last answer carried on by the process's own clock. Every other time is on that clock, too,
but for the creation of a pod, which only the API server knows.
"""

from dataclasses import dataclass
from datetime import datetime

SCHEDULED_WITHIN_SECONDS = (5, 20, 60, 180)
"""What the places of `Demand.scheduled_slot_seconds` count within, from now on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What a pool needs by the scheduler's leader, as if the pool had its maximum of slots.

    One row for each pool, which the leader writes at most once a second. Only the scheduler
    knows what the policy lets run.
    """

    pool: str
    epoch: int
    """The leader's; under another one `became_runnable_total` counts from elsewhere."""
    at: datetime
    """When the leader counted."""
    became_runnable_total: int
    """Jobs that the policy came to allow to run, ever since the epoch began."""
    work_slot_seconds: float
    """Of jobs that may run now and have not started: how long they take, by estimate."""
    slots_useful: int
    """Slots that what runs and what may run now would take at once."""
    slots_allowed: int
    """Slots that the policy would let be busy at once if every lane had work enough."""
    oldest_runnable_at: datetime | None
    """Since when the oldest job that may run has waited; None: there is none."""
    scheduled_slot_seconds: tuple[float, ...]
    """Work that falls due within each of `SCHEDULED_WITHIN_SECONDS`."""
    service_mean: float
    """Seconds that a job takes."""
    service_variance: float
    """Seconds squared, between jobs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodLoad:
    """What the jobs that a pod holds have left, by estimate; a pod without jobs has no row."""

    pod_uid: str
    jobs: int
    slot_seconds: float
    """Of all of them together, as `fleet.remaining_seconds` says of each."""
    longest_seconds: float
    """Of the one that is longest from its end."""
    long_jobs: int
    """Of the jobs, those that are far from their end, as `fleet.is_long` says of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """A live worker, and the mark that its pod carries; a restarted container inherits it."""

    pod_uid: str
    slots_full: int
    """What it runs at once when all of its processes are there; some may still start."""
    registered_at: datetime
    drain_until: datetime | None = None
    """Until when the pod takes no more jobs; None or past: it takes them."""
    drained_at: datetime | None = None
    """Since when it has nothing left under this mark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod of the pool's Deployment."""

    uid: str
    created_at: datetime
    """By the clock of the API server, in whole seconds."""
    seen_at: datetime | None
    """When our watch first showed it; None: it was there before we began to look."""
    ready: bool
    was_ready: bool
    """Whether it has been ready at any time."""
    terminating: bool = False
    unschedulable: bool = False
    """Whether it waits for a node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """The pool's Deployment."""

    replicas: int
    """What is asked for."""
    version: str
    """The resource version, which every write and every change of the status moves."""
    generation: int
    observed_generation: int
    status_replicas: int
    """Pods of all its ReplicaSets, without those that terminate."""
    updated_replicas: int
    """Those of the newest template."""
    past_deadline: bool = False
    """Whether a rollout made no progress for as long as it may."""
    owner: str | None = None
    """Who else wrote `replicas` last; None: we did, or nobody."""
    autoscalers: tuple[str, ...] = ()
    """Other autoscalers that target it, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """One look at one pool."""

    now: datetime
    answered: bool
    """Whether the database answered; if not, what came from it is as it last was."""
    cluster_at: datetime
    """As of when pods and Deployment are known: when the one of their two watches that was
    silent for longer last got an event or a bookmark, or was opened anew."""
    demand: Demand | None
    """The newest row; None: there never was one."""
    deployment: Deployment
    pods: tuple[Pod, ...] = ()
    workers: tuple[Worker, ...] = ()
    loads: tuple[PodLoad, ...] = ()
    pending: bool = False
    """Whether the pool has any unfinished job that is due; asked only while it is at zero."""
    connections: int | None = None
    """Connections to PostgreSQL that the pool's pods may hold together; None: no budget."""
    quota_pods: int | None = None
    """Pods that quotas let be added to those that are asked for; None: no quota counts pods."""
    write_failed: bool = False
    """Whether the last decision's `scale` was refused, or nobody knows what became of it."""

"""What a decision is made from: one reading of the database and the cluster, for one pool.

Nothing is evaluated here. `now` is the database's time; while the database does not answer, the
time of its last answer plus what has passed on the process's own clock. Every other time is on
that clock too, except a pod's creation, which only the API server knows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from fairlead_autoscaler.decision.reasons import Reason
from fairlead_autoscaler.targets import Removal, Target

SCHEDULED_WITHIN_SECONDS = (5, 20, 60, 180)
"""The horizons, from now, of the entries of `Demand.scheduled_slot_seconds`."""
FIRES_WITHIN_SECONDS = 600
"""How far ahead the scheduler says what schedules will fire."""


class Fires(NamedTuple):
    """What schedules will fire within five seconds."""

    at: float
    """When these begin, in seconds since 1970."""
    jobs: int
    slot_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """A pool's demand, counted by the scheduler's leader as if the pool had its most slots.

    One row for each pool, written at most once a second. Only the scheduler knows what the
    policy lets run.
    """

    pool: str
    epoch: int
    """The scheduler leader's; another epoch restarts `became_runnable_total`."""
    at: datetime
    """When the leader counted."""
    became_runnable_total: int
    """Jobs that became runnable under the policy since the epoch began."""
    work_slot_seconds: float
    """Estimated duration of all jobs that may run now and have not started."""
    slots_useful: int
    """Slots that what runs and what may run now would use at once, those kept beside long jobs
    for short ones included."""
    slots_kept: int
    """Of these, the kept ones."""
    slots_allowed: int
    """Slots that the policy would let be busy at once if every lane had enough work."""
    oldest_runnable_at: datetime | None
    """Since when the oldest runnable job has waited; None: there is none."""
    scheduled_slot_seconds: tuple[float, ...]
    """Work that falls due within each of `SCHEDULED_WITHIN_SECONDS`."""
    service_mean: float
    """Mean seconds that a job takes."""
    service_variance: float
    """Variance of that, in seconds squared."""
    fires: tuple[Fires, ...] = ()
    """What schedules will fire, the soonest first, as far ahead as `FIRES_WITHIN_SECONDS`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodLoad:
    """Estimated remaining work of the jobs a pod holds; a pod without jobs has no row."""

    pod_uid: str
    jobs: int
    slot_seconds: float
    """Of all of them together; of each, as `fleet.remaining_seconds` computes it."""
    longest_seconds: float
    """Of the job that is furthest from its end."""
    long_jobs: int
    """How many of the jobs are far from their end, as `fleet.is_long` decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """A live worker, and its pod's drain mark, which a restarted container inherits."""

    pod_uid: str
    slots_full: int
    """Slots once all of its processes are up; some may still start."""
    registered_at: datetime
    drain_until: datetime | None = None
    """Until when the pod takes no more jobs; None or past: it takes jobs."""
    drained_at: datetime | None = None
    """Since when it is empty under this mark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod of the pool's workload, its times on the database's clock."""

    uid: str
    created_at: datetime
    """By the clock of the API server, in whole seconds."""
    seen_at: datetime | None
    """When our watch first showed it; None: it existed before the watch began."""
    ready: bool
    was_ready: bool
    """Whether it has ever been ready."""
    terminating: bool = False
    unschedulable: bool = False
    """Whether it waits for a node."""
    name: str = ""
    problem: str = ""
    """Why it cannot run, in a sentence; empty: nothing says so."""
    ordinal: int | None = None
    """The number at the end of its name, which orders the pods of a StatefulSet; None: it has
    none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What a container requests and is limited to, in thousandths, by resource."""

    requests: Mapping[str, int] = field(default_factory=dict[str, int])
    limits: Mapping[str, int] = field(default_factory=dict[str, int])
    restarts: bool = False
    """Whether an init container goes on beside the others: a sidecar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodTemplate:
    """What quotas count of a pool's pods."""

    containers: tuple[Resources, ...] = ()
    inits: tuple[Resources, ...] = ()
    """In the order in which they start."""
    whole: Resources = field(default_factory=Resources)
    """Of the pod itself, where it says so; it counts in place of the containers'."""
    overhead: Mapping[str, int] = field(default_factory=dict[str, int])
    priority_class: str = ""
    has_deadline: bool = False
    """Whether the pod ends by itself after some time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerDefaults:
    """What LimitRanges fill in for a container that does not say it."""

    requests: Mapping[str, int] = field(default_factory=dict[str, int])
    limits: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which pods a quota counts."""

    name: str
    operator: str = "Exists"
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaLimit:
    """One limit of a quota."""

    quota: str
    """Its name."""
    resource: str
    """As the quota calls it: `pods`, `requests.cpu`, `limits.memory`."""
    hard: str
    """The limit, as the quota has it."""
    left: int
    """What was left of it, in thousandths."""
    scopes: tuple[Scope, ...] = ()
    """All of them hold for the pods that it counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What holds a pool's pods: a Deployment, or what stands in its place.

    The Kubernetes port reads it and the decision uses it as it is.
    """

    name: str
    uid: str
    target: Target | None = None
    """Which object it is; None: the Deployment of that name."""
    replicas: int
    """The number of pods asked for."""
    version: str
    """The resource version, also that of its scale; every write and status change moves it."""
    generation: int
    observed_generation: int
    status_replicas: int
    """Pods of all its ReplicaSets, without those that terminate."""
    updated_replicas: int
    """Those of the newest template."""
    terminating_replicas: int = 0
    """0 too where the server does not count them."""
    past_deadline: bool = False
    """Whether a rollout made no progress for as long as it may."""
    is_replacing: bool = False
    """Whether pods of an older revision are still to be replaced, by its revisions."""
    first_ordinal: int = 0
    """The lowest number of a pod, of a StatefulSet."""
    failed_at: tuple[float, ...] = ()
    """When Jobs of the pool failed that are still there, in seconds since 1970, ascending."""
    removes_one_by_one: bool = False
    """Whether no pod is removed while one with a lower number is not ready."""
    template: PodTemplate = field(default_factory=PodTemplate)
    owner: str | None = None
    """Who else wrote `replicas` last, by its managed fields; None: we did, or no one else.

    The creator of a Deployment with a number in it is not an owner until we have written one.
    """

    @property
    def address(self) -> str:
        """What the port calls it."""
        return self.name if self.target is None else str(self.target)

    @property
    def kind(self) -> str:
        """Its kind."""
        return self._object.kind

    @property
    def api_version(self) -> str:
        """Of its kind, as it names it itself."""
        return self._object.api_version

    @property
    def removal(self) -> Removal:
        """Which of its pods go when fewer are asked for."""
        return self._object.removal

    @property
    def _object(self) -> Target:
        return self.target or Target(name=self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What is known of one pool at one tick."""

    now: datetime
    answered: bool
    """Whether the database answered; if not, its values are the last known ones."""
    cluster_at: datetime
    """As of when pods and workload are known: the last event, bookmark or reopening of
    whichever of their two watches has been silent for longer."""
    demand: Demand | None
    """The newest row; None: there never was one."""
    workload: Workload
    autoscalers: tuple[str, ...] = ()
    """Other autoscalers that target the workload, by name."""
    pods: tuple[Pod, ...] = ()
    workers: tuple[Worker, ...] = ()
    loads: tuple[PodLoad, ...] = ()
    pending: bool = False
    """Whether the pool has an unfinished job that is due; read only while it is at zero."""
    connections: int | None = None
    """PostgreSQL connections that the pool's pods may hold together; None: no budget."""
    quota_pods_max: int | None = None
    """The most pods, with those that terminate, that quotas allow; None: none counts them."""
    details: Mapping[Reason, str] = field(default_factory=dict[Reason, str])
    """What a limit is, for those of which it is worth saying."""
    write_failed: bool = False
    """Whether the last decision's `scale` was refused or its outcome is unknown."""

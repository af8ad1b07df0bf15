"""What the controller may read and write on Kubernetes: one protocol, plain values.

There are no more methods than rights. `snapshot` and `documents` send no request: watches keep
their answers at hand. Every other method is one request with a time limit, but `create_jobs`:
one for each. An address is a target's, as `targets` writes it; pools are found by the targets
that the port was created with.

A request that does not succeed raises a `KubeError`, whose class says whether it may have taken
effect. Nothing is retried here: the next tick observes again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from fairlead_autoscaler.decision.inputs import ContainerDefaults, QuotaLimit, Workload
from fairlead_autoscaler.election.elector import Lease

POOL_LABEL = "fairlead/pool"
"""The label of a worker's pod that names its pool."""
FIELD_OWNER = "fairlead-autoscaler"
"""The field manager of everything that we write."""
DOCUMENT_KEY = "policy.yaml"
"""The key of both ConfigMaps that hold a policy."""
AUTHOR = "fairlead/author"
"""The annotation of a ConfigMap that says which person wrote its policy."""


class KubeError(Exception):
    """A request that did not succeed; its text is one sentence for a log."""


class NotSyncedError(KubeError):
    """The watches have not completed their first list: nothing is known."""


class ConflictError(KubeError):
    """409: the object is newer than the given version. Nothing was changed."""


class NotFoundError(KubeError):
    """404: there is no such object; the Lease is the only one that we create."""


class ForbiddenError(KubeError):
    """401, 403: we have no right to this. Nothing was changed."""


class RefusedError(KubeError):
    """Another 4xx: the request itself is wrong. Nothing was changed."""


class BusyError(KubeError):
    """429: the server is overloaded. Nothing was changed.

    `retry_after_seconds` is how long it asks to wait; 0 if it does not say.
    """

    def __init__(self, sentence: str, *, retry_after_seconds: float = 0.0) -> None:
        super().__init__(sentence)
        self.retry_after_seconds = retry_after_seconds


class UnreachableError(KubeError):
    """No answer in time, a broken connection, or 5xx: the outcome is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedPod:
    """A worker's pod that has not ended, its `seen_at` on the port's clock."""

    uid: str
    name: str
    pool: str
    created_at: datetime
    """By the API server's clock, in whole seconds."""
    seen_at: float | None
    """When a watch first showed it, by the port's clock; None: it existed at our start."""
    ready: bool
    was_ready: bool
    """Whether it has ever been ready."""
    terminating: bool
    unschedulable: bool
    """Whether it waits for a node."""
    problem: str = ""
    """Why it cannot run, in a sentence; empty: nothing says so."""

    @property
    def ordinal(self) -> int | None:
        """The number at the end of its name; None: there is none."""
        digits = self.name.rpartition("-")[2]
        return int(digits) if digits.isascii() and digits.isdecimal() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSnapshot:
    """The cluster as the watches know it."""

    pods: tuple[WatchedPod, ...]
    """Of all pools that the port knows, sorted by name."""
    workloads: Mapping[str, Workload]
    """By pool."""
    missing: tuple[str, ...]
    """Pools whose target does not exist."""
    as_of: float
    """Until when the pods are known to be complete, by the port's clock.

    The targets may be older: a write names their version, and is refused if they are.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A ConfigMap's policy."""

    name: str
    uid: str
    text: str
    """Empty: it holds none."""
    version: str
    writers: tuple[str, ...] = ()
    """Who wrote it, the last one first: programs, by their managed fields. More than one: they
    have all said this, and each would change it alone."""
    author: str = ""
    """The person, where something in the cluster notes it in the annotation `AUTHOR`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """Both ConfigMaps of the policy; None: there is no such ConfigMap."""

    live: Document | None
    """What people edit; if not empty, it replaces the other as a whole."""
    values: Document | None
    """What the chart rendered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """A target's requested replicas."""

    replicas: int
    version: str
    """The target's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An event on one of our objects; on a pod it is our own."""

    kind: str
    name: str
    uid: str
    type: Literal["Normal", "Warning"]
    reason: str
    """One word, at most 128 characters."""
    action: str
    """One word for what was done or tried."""
    note: str
    """A sentence; beyond 1024 bytes it is cut off."""
    api_version: str = "v1"
    """Of the object, as it names it itself: `apps/v1`."""


class KubePort(Protocol):
    """The cluster. One thread calls it; the lease thread may call what is about the Lease."""

    def snapshot(self) -> ClusterSnapshot:
        """Return what the watches know; no request.

        Raises:
            NotSyncedError: They have not completed their first list.
        """
        ...

    def documents(self) -> Documents:
        """Return the policy's ConfigMaps as the watches know them; no request.

        Raises:
            NotSyncedError: They have not completed their first list.
        """
        ...

    def read_documents(self) -> Documents:
        """Request both ConfigMaps, as a new leader does before it stores a document."""
        ...

    def scale(self, address: str) -> Scale:
        """Request the scale of a target, which is named as `str(Target)` writes it."""
        ...

    def apply_scale(self, address: str, *, replicas: int, version: str) -> Scale:
        """Request this number of pods of a target, unless it is newer than `version`.

        Server-side apply with force: `replicas` is ours from then on. The same twice is refused
        the second time, as the first created a new version.

        Raises:
            ConflictError: It is newer; the watch will show it.
        """
        ...

    def create_jobs(self, pool: str, *, total: int, may_go_on: Callable[[], bool]) -> None:
        """Make as many Jobs of a pool as are missing for so many that have not ended.

        They are counted anew first, so that a repeat makes none twice, whoever made the others.

        Args:
            pool: A pool whose target is a PodTemplate.
            total: How many are to be there.
            may_go_on: Asked before each one is made.
        """
        ...

    def record_event(self, event: Event) -> None:
        """Record an event; the same again within six minutes increments its count."""
        ...

    def write_status(self, data: Mapping[str, str]) -> None:
        """Replace all that we wrote to the status ConfigMap; idempotent."""
        ...

    def lease(self) -> Lease:
        """Request the Lease."""
        ...

    def write_lease(self, lease: Lease) -> Lease:
        """Replace the Lease of that version, and return it as stored.

        Raises:
            ConflictError: It is newer.
        """
        ...

    def create_lease(self, lease: Lease) -> Lease:
        """Create the Lease, and return it as stored; its version is not sent.

        Raises:
            ConflictError: There is one.
        """
        ...

    def autoscalers(self) -> Mapping[str, tuple[str, ...]]:
        """Request the HorizontalPodAutoscalers, by kind and name of what they target.

        Raises:
            ForbiddenError: The right to it is optional, and not given.
        """
        ...

    def quotas(self) -> tuple[QuotaLimit, ...]:
        """Request the limits of the namespace's quotas, and what is left of each.

        Raises:
            ForbiddenError: The right to it is optional, and not given.
        """
        ...

    def container_defaults(self) -> ContainerDefaults:
        """Request what LimitRanges fill in for containers.

        Raises:
            ForbiddenError: The right to it is optional, and not given.
        """
        ...

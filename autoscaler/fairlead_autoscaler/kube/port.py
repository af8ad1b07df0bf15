"""What the controller may ask of Kubernetes and may do there: one protocol, plain values.

A dozen questions and acts, no more than there are rights. `look` and `documents` ask nobody:
watches keep their answers at hand. Everything else is one request with a time limit. Where a
name is asked for, it is that of a Deployment; pools are found by the names that the port was
made with.

Every request raises a `KubeError` when it does not succeed; which one says whether it may have
taken effect. Nothing is tried again here: the next tick looks again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from fairlead_autoscaler.elector import Lease

POOL_LABEL = "fairlead/pool"
"""The label of a worker's pod that names its pool."""
FIELD_OWNER = "fairlead-autoscaler"
"""Under what name the fields that we write are ours."""
DOCUMENT_KEY = "policy.yaml"
"""The key of both ConfigMaps that hold a policy."""


class KubeError(Exception):
    """A request that did not succeed; its text is one sentence for a log."""


class NotSyncedError(KubeError):
    """The watches have not yet shown everything once: there is nothing to go by."""


class ConflictError(KubeError):
    """409: the object is newer than the version that was named. Nothing was changed."""


class NotFoundError(KubeError):
    """404: there is no such object, and creating it is not for us."""


class ForbiddenError(KubeError):
    """401, 403: we have no right to this. Nothing was changed."""


class RefusedError(KubeError):
    """Another 4xx: the request itself is wrong. Nothing was changed."""


class BusyError(KubeError):
    """429: the server takes no more now. Nothing was changed.

    `after_seconds` is how long it wants to be left alone; 0 if it does not say.
    """

    def __init__(self, sentence: str, *, after_seconds: float = 0.0) -> None:
        super().__init__(sentence)
        self.after_seconds = after_seconds


class UnreachableError(KubeError):
    """No answer in time, a broken connection, or 5xx: nobody knows whether it took effect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A worker's pod that has not ended, from seven fields of the object and what was seen."""

    uid: str
    name: str
    pool: str
    created_at: datetime
    """By the API server's clock, in whole seconds."""
    seen_at: float | None
    """When a watch first showed it, by the port's clock; None: it was there at our start."""
    ready: bool
    was_ready: bool
    """Whether it is or was ready at any time."""
    terminating: bool
    unschedulable: bool
    """Whether it waits for a node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """A pool's Deployment."""

    name: str
    uid: str
    replicas: int
    """What is asked for."""
    version: str
    """The resource version; it is that of the Deployment's scale too."""
    generation: int
    observed_generation: int
    status_replicas: int
    """Pods of all its ReplicaSets, without those that terminate."""
    updated_replicas: int
    terminating_replicas: int
    """0 too where the server does not count them."""
    past_deadline: bool
    """Whether a rollout made no progress for as long as it may."""
    owner: str | None
    """Who but us wrote `replicas` last, as its managed fields say; None: we did, or nobody.

    Whoever made the Deployment with a number in it is not an owner until we have written one.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The cluster as the watches know it."""

    pods: tuple[Pod, ...]
    """Of all pools that the port knows, by name."""
    deployments: Mapping[str, Deployment]
    """By pool."""
    missing: tuple[str, ...]
    """Pools whose Deployment does not exist."""
    as_of: float
    """Until when the pods are known to be complete, by the port's clock.

    The Deployments may be older: a write names their version, and is refused if they are.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What a ConfigMap holds of the policy."""

    name: str
    uid: str
    text: str
    """Empty: it holds none."""
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """Both ConfigMaps of the policy; None: there is no such ConfigMap."""

    live: Document | None
    """What people edit; not empty, it replaces the other whole."""
    values: Document | None
    """What the chart rendered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """What is asked of a Deployment."""

    replicas: int
    version: str
    """The Deployment's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something to say of an object of ours."""

    kind: Literal["Deployment", "ConfigMap"]
    name: str
    uid: str
    type: Literal["Normal", "Warning"]
    reason: str
    """One word, at most 128 characters."""
    action: str
    """One word for what was done or tried."""
    note: str
    """A sentence; beyond 1024 bytes it is cut off."""


class KubePort(Protocol):
    """The cluster. One thread calls it; a Lease's keeper may call `lease` from another."""

    def look(self) -> Look:
        """Return what the watches know; no request.

        Raises:
            NotSyncedError: They have not shown everything once.
        """
        ...

    def documents(self) -> Documents:
        """Return the policy's ConfigMaps as the watches know them; no request.

        Raises:
            NotSyncedError: They have not shown everything once.
        """
        ...

    def read_documents(self) -> Documents:
        """Ask for both ConfigMaps: a new leader does so before it stores what a watch says."""
        ...

    def scale(self, name: str) -> Scale:
        """Ask what a Deployment is asked for."""
        ...

    def apply_scale(self, name: str, *, replicas: int, version: str) -> Scale:
        """Ask for so many pods, unless the Deployment is newer than `version`.

        Server-side apply with force: `replicas` is ours from then on. The same twice is
        refused the second time, as the first has made a new version.

        Raises:
            ConflictError: It is newer; the watch will show it.
        """
        ...

    def say(self, event: Event) -> None:
        """Record an event; the same again within six minutes counts up the first."""
        ...

    def write_status(self, data: Mapping[str, str]) -> None:
        """Replace all that we wrote to the status ConfigMap; the same twice is once."""
        ...

    def lease(self) -> Lease:
        """Ask for the Lease."""
        ...

    def write_lease(self, lease: Lease) -> Lease:
        """Replace the Lease of that version, and return it as it then is.

        Raises:
            ConflictError: It is newer.
        """
        ...

    def autoscalers(self) -> Mapping[str, tuple[str, ...]]:
        """Ask for the HorizontalPodAutoscalers, by the Deployment that they target.

        Raises:
            ForbiddenError: The right to it is optional, and not given.
        """
        ...

    def quota_pods(self) -> int | None:
        """Ask how many pods the namespace's quotas would let be added; None: they do not say.

        Raises:
            ForbiddenError: The right to it is optional, and not given.
        """
        ...

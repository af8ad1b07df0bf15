"""What holds the pods of a pool: a Deployment, another kind with a scale, or a Job template.

It is written as `resource.version.group/name`, such as `statefulsets.v1.apps/gpu-workers`; a
name alone is a Deployment's. The kind says in which order its controller removes pods, and with
that which pods have to be empty before fewer of them are asked for.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

_TEXT = re.compile(
    r"(?:(?P<resource>[a-z][a-z0-9]*)\.(?P<version>v[0-9][a-z0-9]*)(?:\.(?P<group>[a-z0-9.-]+))?/)?"
    r"(?P<name>[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?)"
)


class Removal(StrEnum):
    """Which pods go when fewer are asked for."""

    UNREADY_FIRST = "unready-first"
    """Those that are not ready go before all others, as of a ReplicaSet."""
    LAST_FIRST = "last-first"
    """The one with the highest number in its name goes first, as of a StatefulSet."""
    UNKNOWN = "unknown"
    """Any may go."""
    BY_THEMSELVES = "by-themselves"
    """None is removed: each ends after one job, or when it is told to take none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    kind: str
    removal: Removal


_KNOWN = {
    ("deployments", "apps"): _Known(kind="Deployment", removal=Removal.UNREADY_FIRST),
    ("replicasets", "apps"): _Known(kind="ReplicaSet", removal=Removal.UNREADY_FIRST),
    ("statefulsets", "apps"): _Known(kind="StatefulSet", removal=Removal.LAST_FIRST),
    ("rollouts", "argoproj.io"): _Known(kind="Rollout", removal=Removal.UNREADY_FIRST),
    ("podtemplates", ""): _Known(kind="PodTemplate", removal=Removal.BY_THEMSELVES),
}
"""What is known of a resource of a group; a Rollout's pods are those of ReplicaSets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """An object that holds a pool's pods; `str` of it is how it is written."""

    name: str
    resource: str = "deployments"
    version: str = "v1"
    group: str = "apps"
    """Empty: the API's oldest part, which has none."""

    def __str__(self) -> str:
        if (self.resource, self.group) == ("deployments", "apps"):
            return self.name
        group = f".{self.group}" if self.group else ""
        return f"{self.resource}.{self.version}{group}/{self.name}"

    @property
    def api_version(self) -> str:
        """As objects name it: `apps/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def kind(self) -> str:
        """As objects name it; of a kind that is not known, its resource."""
        known = _KNOWN.get((self.resource, self.group))
        return self.resource if known is None else known.kind

    @property
    def is_known(self) -> bool:
        """Whether the fields of the object that count replicas are known."""
        return (self.resource, self.group) in _KNOWN and self.group == "apps"

    @property
    def counts_updated(self) -> bool:
        """Whether its status counts the pods of the newest template; it leaves a 0 out."""
        return self.kind in {"Deployment", "Rollout"}

    @property
    def has_scale(self) -> bool:
        """Whether a number of pods can be written to it."""
        return self.removal is not Removal.BY_THEMSELVES

    @property
    def removal(self) -> Removal:
        """Which pods go when fewer are asked for."""
        known = _KNOWN.get((self.resource, self.group))
        return Removal.UNKNOWN if known is None else known.removal

    def path(self, namespace: str) -> str:
        """Return where the API server has all objects of its kind."""
        root = f"/apis/{self.group}" if self.group else "/api"
        return f"{root}/{self.version}/namespaces/{namespace}/{self.resource}"


def parsed(text: str) -> Target | None:
    """Return the target that a text names; None: it names none."""
    found = _TEXT.fullmatch(text)
    if found is None:
        return None
    if found["resource"] is None:
        return Target(name=found["name"])
    return Target(
        name=found["name"],
        resource=found["resource"],
        version=found["version"],
        group=found["group"] or "",
    )

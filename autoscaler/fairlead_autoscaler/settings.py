"""The controller's settings: variables with the prefix `FAIRLEAD_`, checked at start.

The chart sets them; the names of objects are those that the controller's rights list.
"""

import socket
from typing import Literal

from pydantic import Field, model_validator

from fairlead.settings import ServiceSettings
from fairlead_autoscaler import targets
from fairlead_autoscaler.targets import Target

NAME_MAX = 253
"""What Kubernetes lets a name have."""


class AutoscalerSettings(ServiceSettings):
    """What `fairlead-autoscaler` works with."""

    namespace: str = Field(
        default="",
        max_length=NAME_MAX,
        description="The namespace of all its objects; empty: that of its own pod.",
    )
    pod_name: str = Field(
        default_factory=socket.gethostname,
        min_length=1,
        max_length=NAME_MAX,
        description="Its own pod; the name appears as holder of the Lease.",
    )
    pod_uid: str = Field(
        default="",
        max_length=NAME_MAX,
        description="The UID of its own pod, on which it records why it cannot lead.",
    )
    pod_selector: str = Field(
        default="fairlead/pool",
        min_length=1,
        description="Label selector of the workers' pods of this release.",
    )
    pool_targets: str = Field(
        default="",
        description="What holds each pool's pods, as `pool=target`, separated by commas. A "
        "target is a Deployment's name, or any object with a scale, as "
        "`resource.version.group/name`: `gpu=statefulsets.v1.apps/gpu-workers`. With "
        "`podtemplates.v1/name` the pool runs one Job for each job, made from that template.",
    )
    lease_name: str = Field(
        default="fairlead-autoscaler",
        min_length=1,
        max_length=NAME_MAX,
        description="The Lease by which one of several controllers leads; it is created if "
        "missing.",
    )
    status_configmap: str = Field(
        default="fairlead-status",
        min_length=1,
        max_length=NAME_MAX,
        description="The ConfigMap that it writes the state of all pools to.",
    )
    policy_source: Literal["configmap", "database"] = Field(
        default="database",
        description="Where the policy is edited: configmap, which the controller stores in the "
        "database; database, with `fairlead policy apply FILE --release NAME`.",
    )
    policy_configmap: str = Field(
        default="fairlead-policy",
        min_length=1,
        max_length=NAME_MAX,
        description="The ConfigMap with the policy that people edit.",
    )
    policy_values_configmap: str = Field(
        default="fairlead-policy-values",
        min_length=1,
        max_length=NAME_MAX,
        description="The ConfigMap with the policy in force while the other is empty.",
    )
    policy_live_max: str = Field(
        default="",
        description="The most pods of each pool that the policy which people edit may ask for, "
        "as `pool=pods`, separated by commas; `*` is every pool that is not named.",
    )
    autoscaler_enabled: bool = Field(
        default=True,
        description="false: no pod is drained and no pool scaled; the policy is still stored.",
    )
    read_autoscalers: bool = Field(
        default=False,
        description="Whether to read the HorizontalPodAutoscalers that target a pool, once a "
        "minute.",
    )
    read_quotas: bool = Field(
        default=False,
        description="Whether to read what the namespace's quotas and LimitRanges allow, once a "
        "minute, and every ten seconds while they keep a pool small.",
    )
    tick_seconds: float = Field(
        default=5.0,
        ge=0.5,
        le=15,
        description="Seconds between two decisions; a pool that wakes is decided on at once. "
        "A drain mark holds for 60 s, and has to outlive several.",
    )

    @model_validator(mode="after")
    def _bounds_can_be_read(self) -> "AutoscalerSettings":
        for each in _entries(self.policy_live_max):
            pool, _, pods = each.partition("=")
            if not (pool and pods.isascii() and pods.isdigit()):
                raise ValueError(f"policy_live_max has {each!r}: write pool=pods")
        return self

    @model_validator(mode="after")
    def _targets_can_be_read(self) -> "AutoscalerSettings":
        found = [each.partition("=") for each in _entries(self.pool_targets)]
        for pool, equals, text in found:
            if not (pool and equals and text):
                raise ValueError(f"pool_targets has {pool + equals!r}: write pool=target")
            if targets.parsed(text) is None:
                raise ValueError(
                    f"pool_targets has the target {text!r}: write a Deployment's name, or "
                    "resource.version.group/name"
                )
        for names, what in (
            ([each[0] for each in found], "pool"),
            ([str(targets.parsed(each[2])) for each in found], "target"),
        ):
            twice = sorted({each for each in names if names.count(each) > 1})
            if twice:
                raise ValueError(f"pool_targets names the {what} {twice[0]!r} twice: keep one")
        return self

    @property
    def targets(self) -> dict[str, Target]:
        """What holds each pool's pods."""
        parts = (each.partition("=") for each in _entries(self.pool_targets))
        found = ((pool, targets.parsed(text)) for pool, _, text in parts)
        return {pool: target for pool, target in found if target is not None}

    @property
    def policy_bounds(self) -> dict[str, int]:
        """The most pods of each pool that a live policy may ask for."""
        parts = (each.partition("=") for each in _entries(self.policy_live_max))
        return {pool: int(pods) for pool, _, pods in parts}


def _entries(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]

"""What is read from the API server's JSON: the fields that are used, and no others.

Validating the bytes themselves builds nothing for the rest of an object, which is most of it:
a pod is ten kilobytes of text, and seven fields of it are wanted.
"""

from datetime import datetime
from typing import Annotated, Generic, Literal, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
)
from pydantic.alias_generators import to_camel

from fairlead_autoscaler.kube.port import UnreachableError


def _nothing_is_empty(value: object) -> object:
    return {} if value is None else value


class Part(BaseModel):
    """A part of an object; what is not named here is passed over."""

    model_config = ConfigDict(alias_generator=to_camel, extra="ignore", frozen=True)


Labels = Annotated[dict[str, str], BeforeValidator(_nothing_is_empty)]


class Replicas(Part):
    """Whether `spec.replicas` is among the fields that somebody manages."""

    replicas: object = Field(default=None, alias="f:replicas")


class Fields(Part):
    """The fields that somebody manages."""

    spec: Replicas | None = Field(default=None, alias="f:spec")


class Managed(Part):
    """Who manages which fields, and since when."""

    by: str = Field(default="", alias="manager")
    subresource: str = ""
    time: datetime | None = None
    fields_v1: Fields | None = Field(default=None, alias="fieldsV1")

    @property
    def has_replicas(self) -> bool:
        """Whether `spec.replicas` is among them."""
        spec = self.fields_v1.spec if self.fields_v1 else None
        return spec is not None and spec.replicas is not None


class Meta(Part):
    """An object's metadata."""

    name: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: Labels = Field(default_factory=dict)
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None


class ManagedMeta(Meta):
    """The same, with who manages what."""

    managed_fields: tuple[Managed, ...] = ()


class Condition(Part):
    """One of an object's conditions."""

    type: str
    status: str
    reason: str = ""
    last_transition_time: datetime | None = None


Conditions = Annotated[tuple[Condition, ...], BeforeValidator(lambda value: value or ())]


class PodStatus(Part):
    """What a kubelet says of a pod."""

    phase: str = ""
    start_time: datetime | None = None
    conditions: Conditions = ()


class Pod(Part):
    """A pod."""

    metadata: Meta
    status: PodStatus = Field(default_factory=PodStatus)


class DeploymentSpec(Part):
    """What is asked of a Deployment."""

    replicas: int = 1


class DeploymentStatus(Part):
    """What became of it."""

    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    terminating_replicas: int = 0
    conditions: Conditions = ()


class Deployment(Part):
    """A Deployment."""

    metadata: ManagedMeta
    spec: DeploymentSpec
    status: DeploymentStatus = Field(default_factory=DeploymentStatus)


class ScaleSpec(Part):
    """What a scale asks for; zero is left out."""

    replicas: int = 0


class Scale(Part):
    """The scale of a Deployment."""

    metadata: Meta
    spec: ScaleSpec = Field(default_factory=ScaleSpec)


class ConfigMap(Part):
    """A ConfigMap."""

    metadata: Meta
    data: Labels = Field(default_factory=dict)


class LeaseSpec(Part):
    """What a Lease says; an empty one says nothing."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    lease_transitions: int | None = None
    acquire_time: datetime | None = None
    renew_time: datetime | None = None


class Lease(Part):
    """A Lease."""

    metadata: Meta
    spec: LeaseSpec = Field(default_factory=LeaseSpec)


class Target(Part):
    """What a HorizontalPodAutoscaler scales."""

    kind: str
    name: str


class AutoscalerSpec(Part):
    """What a HorizontalPodAutoscaler is to do."""

    scale_target_ref: Target


class Autoscaler(Part):
    """A HorizontalPodAutoscaler."""

    metadata: Meta
    spec: AutoscalerSpec


class QuotaStatus(Part):
    """What a quota allows, and what is used of it."""

    hard: Labels = Field(default_factory=dict)
    used: Labels = Field(default_factory=dict)


class Quota(Part):
    """A ResourceQuota."""

    status: QuotaStatus = Field(default_factory=QuotaStatus)


class ListMeta(Part):
    """A list's metadata."""

    resource_version: str = ""
    continue_: str = Field(default="", alias="continue")


T = TypeVar("T", bound=Part)


class Listed(Part, Generic[T]):
    """A page of a list."""

    metadata: ListMeta
    items: Annotated[tuple[T, ...], BeforeValidator(lambda value: value or ())] = ()


class Watched(Part, Generic[T]):
    """A line of a watch that brings an object."""

    object: T


class Kind(Part):
    """What sort of line a watch has sent."""

    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]


class Marked(Part):
    """The object of a bookmark."""

    metadata: Meta


class Trouble(Part):
    """The object of an error: a Status."""

    code: int = 0
    message: str = ""


PODS = TypeAdapter(Listed[Pod])
POD = TypeAdapter(Watched[Pod])
DEPLOYMENTS = TypeAdapter(Listed[Deployment])
DEPLOYMENT = TypeAdapter(Watched[Deployment])
CONFIG_MAPS = TypeAdapter(Listed[ConfigMap])
CONFIG_MAP = TypeAdapter(Watched[ConfigMap])
"""Pages of lists, and lines of watches."""

KIND = TypeAdapter(Kind)
BOOKMARK = TypeAdapter(Watched[Marked])
ERROR = TypeAdapter(Watched[Trouble])
EVENT = TypeAdapter(Marked)
SCALE = TypeAdapter(Scale)
LEASE = TypeAdapter(Lease)
ONE_CONFIG_MAP = TypeAdapter(ConfigMap)
ONE_DEPLOYMENT = TypeAdapter(Deployment)
AUTOSCALERS = TypeAdapter(Listed[Autoscaler])
QUOTAS = TypeAdapter(Listed[Quota])

R = TypeVar("R")


def read(adapter: TypeAdapter[R], body: bytes) -> R:
    """Return what an answer says.

    Raises:
        UnreachableError: It says nothing of that kind: something else than an API server
            answered, and nobody knows what became of the request.
    """
    try:
        return adapter.validate_json(body)
    except ValidationError as error:
        raise UnreachableError(f"not an API server's answer: {error.title}") from error

"""The models of the API server's JSON: the fields that are used, and no others.

Validating the bytes directly builds nothing for the rest of an object, which is most of it: a
pod is ten kilobytes of text, and seven fields of it are needed.
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


def _part_or_empty(value: object) -> object:
    return value if issubclass(type(value), dict | BaseModel) else {}


def _count_or_none(value: object) -> object:
    return value if str(value).isdecimal() else None


class Part(BaseModel):
    """A part of an object; fields that are not named are ignored."""

    model_config = ConfigDict(alias_generator=to_camel, extra="ignore", frozen=True)


Labels = Annotated[dict[str, str], BeforeValidator(_nothing_is_empty)]
Amount = Annotated[str, BeforeValidator(str)]
"""A quantity; JSON may have it as a number."""
Amounts = Annotated[dict[str, Amount], BeforeValidator(_nothing_is_empty)]


class OwnedReplicas(Part):
    """Whether `spec.replicas` is among the managed fields."""

    replicas: object = Field(default=None, alias="f:replicas")


class OwnedFields(Part):
    """The fields that one manager owns."""

    spec: OwnedReplicas | None = Field(default=None, alias="f:spec")
    data: Annotated[dict[str, object], BeforeValidator(_nothing_is_empty)] = Field(
        default_factory=dict, alias="f:data"
    )


class ManagedFields(Part):
    """Who manages which fields, and since when."""

    by: str = Field(default="", alias="manager")
    subresource: str = ""
    time: datetime | None = None
    fields_v1: OwnedFields | None = Field(default=None, alias="fieldsV1")

    @property
    def has_replicas(self) -> bool:
        """Whether `spec.replicas` is among them."""
        spec = self.fields_v1.spec if self.fields_v1 else None
        return spec is not None and spec.replicas is not None

    def has_key(self, key: str) -> bool:
        """Whether a ConfigMap's key is among them."""
        return self.fields_v1 is not None and f"f:{key}" in self.fields_v1.data


class Meta(Part):
    """An object's metadata."""

    name: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: Labels = Field(default_factory=dict)
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None


class ManagedObjectMeta(Meta):
    """Metadata with the managed fields."""

    managed_fields: tuple[ManagedFields, ...] = ()
    annotations: Labels = Field(default_factory=dict)


class ConditionObject(Part):
    """One of an object's conditions."""

    type: str
    status: str
    reason: str = ""
    last_transition_time: datetime | None = None


Conditions = Annotated[tuple[ConditionObject, ...], BeforeValidator(lambda value: value or ())]


class WaitingObject(Part):
    """Why a container does not run."""

    reason: str = ""
    message: str = ""


class TerminatedObject(Part):
    """How a container ended."""

    reason: str = ""
    exit_code: int = 0


class ContainerStates(Part):
    """What a container does, or did last."""

    waiting: WaitingObject | None = None
    terminated: TerminatedObject | None = None


class ContainerStatus(Part):
    """A container as the kubelet sees it."""

    name: str = ""
    image: str = ""
    state: ContainerStates = Field(default_factory=ContainerStates)
    last_state: ContainerStates = Field(default_factory=ContainerStates)


ContainerStatuses = Annotated[
    tuple[ContainerStatus, ...], BeforeValidator(lambda value: value or ())
]


class PodStatus(Part):
    """The status that the kubelet reports."""

    phase: str = ""
    start_time: datetime | None = None
    conditions: Conditions = ()
    container_statuses: ContainerStatuses = ()
    init_container_statuses: ContainerStatuses = ()


class PodObject(Part):
    """A pod."""

    metadata: Meta
    status: PodStatus = Field(default_factory=PodStatus)


class ResourcesObject(Part):
    """What a container, or a pod, requests and is limited to."""

    requests: Amounts = Field(default_factory=dict)
    limits: Amounts = Field(default_factory=dict)


class ContainerObject(Part):
    """A container."""

    resources: ResourcesObject = Field(default_factory=ResourcesObject)
    restart_policy: str = ""


Containers = Annotated[tuple[ContainerObject, ...], BeforeValidator(lambda value: value or ())]


class PodSpec(Part):
    """What quotas count of a pod."""

    containers: Containers = ()
    init_containers: Containers = ()
    resources: ResourcesObject = Field(default_factory=ResourcesObject)
    overhead: Amounts = Field(default_factory=dict)
    priority_class_name: str = ""
    active_deadline_seconds: int | None = None


class PodTemplateObject(Part):
    """What pods are made from."""

    spec: PodSpec = Field(default_factory=PodSpec)


class RollingUpdate(Part):
    """How a StatefulSet replaces its pods."""

    partition: int = 0


class UpdateStrategy(Part):
    """The same, and whether it does so by itself."""

    type: str = "RollingUpdate"
    rolling_update: Annotated[RollingUpdate, BeforeValidator(_part_or_empty)] = Field(
        default_factory=RollingUpdate
    )


class Ordinals(Part):
    """The numbers of a StatefulSet's pods."""

    start: int = 0


class WorkloadSpec(Part):
    """The requested replicas, and what their pods are made from.

    Of a kind that is not known, any of it may be missing.
    """

    replicas: int = 1
    template: Annotated[PodTemplateObject, BeforeValidator(_part_or_empty)] = Field(
        default_factory=PodTemplateObject
    )
    update_strategy: Annotated[UpdateStrategy, BeforeValidator(_part_or_empty)] = Field(
        default_factory=UpdateStrategy
    )
    pod_management_policy: str = ""
    ordinals: Annotated[Ordinals, BeforeValidator(_part_or_empty)] = Field(
        default_factory=Ordinals
    )


class WorkloadStatus(Part):
    """The observed state."""

    observed_generation: Annotated[int | None, BeforeValidator(_count_or_none)] = None
    """A Rollout of Argo has it as text."""
    replicas: int = 0
    updated_replicas: Annotated[int | None, BeforeValidator(_count_or_none)] = None
    terminating_replicas: int = 0
    current_revision: str = ""
    update_revision: str = ""
    conditions: Conditions = ()


class WorkloadObject(Part):
    """A Deployment, a StatefulSet, or another object with a scale."""

    metadata: ManagedObjectMeta
    spec: WorkloadSpec = Field(default_factory=WorkloadSpec)
    status: WorkloadStatus = Field(default_factory=WorkloadStatus)


class PodTemplateWhole(Part):
    """A PodTemplate: the pod as it is, to be copied."""

    metadata: Meta
    template: dict[str, object] = Field(default_factory=dict)


class JobStatus(Part):
    """How far a Job is."""

    conditions: Conditions = ()


class JobObject(Part):
    """A Job."""

    metadata: Meta
    status: JobStatus = Field(default_factory=JobStatus)


class ScaleSpec(Part):
    """The requested replicas; zero is left out."""

    replicas: int = 0


class ScaleStatus(Part):
    """The replicas there are."""

    replicas: int = 0


class ScaleObject(Part):
    """The scale of an object."""

    metadata: Meta
    spec: ScaleSpec = Field(default_factory=ScaleSpec)
    status: ScaleStatus = Field(default_factory=ScaleStatus)


class ConfigMap(Part):
    """A ConfigMap."""

    metadata: ManagedObjectMeta
    data: Labels = Field(default_factory=dict)


class LeaseSpec(Part):
    """The content of a Lease; all of it may be missing."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    lease_transitions: int | None = None
    acquire_time: datetime | None = None
    renew_time: datetime | None = None


class LeaseObject(Part):
    """A Lease."""

    metadata: Meta
    spec: LeaseSpec = Field(default_factory=LeaseSpec)


class Target(Part):
    """What a HorizontalPodAutoscaler scales."""

    kind: str
    name: str


class HorizontalPodAutoscalerSpec(Part):
    """What a HorizontalPodAutoscaler targets."""

    scale_target_ref: Target


class HorizontalPodAutoscaler(Part):
    """A HorizontalPodAutoscaler."""

    metadata: Meta
    spec: HorizontalPodAutoscalerSpec


class QuotaStatus(Part):
    """The limits of a quota, and what is used of them."""

    hard: Amounts = Field(default_factory=dict)
    used: Amounts = Field(default_factory=dict)


class ScopeObject(Part):
    """A requirement of a quota's scope."""

    scope_name: str
    operator: str
    values: tuple[str, ...] = ()


class ScopeSelector(Part):
    """The requirements of a quota's scopes."""

    match_expressions: tuple[ScopeObject, ...] = ()


class QuotaSpec(Part):
    """Which pods a quota counts."""

    scopes: tuple[str, ...] = ()
    scope_selector: ScopeSelector = Field(default_factory=ScopeSelector)


class Quota(Part):
    """A ResourceQuota."""

    metadata: Meta = Field(default_factory=Meta)
    spec: QuotaSpec = Field(default_factory=QuotaSpec)
    status: QuotaStatus = Field(default_factory=QuotaStatus)


class LimitRangeItem(Part):
    """What a LimitRange says of one kind of thing."""

    type: str
    default: Amounts = Field(default_factory=dict)
    default_request: Amounts = Field(default_factory=dict)


class LimitRangeSpec(Part):
    """What a LimitRange says."""

    limits: Annotated[tuple[LimitRangeItem, ...], BeforeValidator(lambda value: value or ())]


class LimitRange(Part):
    """A LimitRange."""

    spec: LimitRangeSpec


class ListMeta(Part):
    """A list's metadata."""

    resource_version: str = ""
    continue_: str = Field(default="", alias="continue")


T = TypeVar("T", bound=Part)


class ObjectList(Part, Generic[T]):
    """A page of a list."""

    metadata: ListMeta
    items: Annotated[tuple[T, ...], BeforeValidator(lambda value: value or ())] = ()


class WatchEvent(Part, Generic[T]):
    """A line of a watch with an object."""

    object: T


class WatchEventType(Part):
    """The type of a line of a watch."""

    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]


class Bookmark(Part):
    """The object of a bookmark."""

    metadata: Meta


class StatusObject(Part):
    """The object of an error: a Status."""

    code: int = 0
    message: str = ""


PODS = TypeAdapter(ObjectList[PodObject])
POD = TypeAdapter(WatchEvent[PodObject])
WORKLOADS = TypeAdapter(ObjectList[WorkloadObject])
WORKLOAD = TypeAdapter(WatchEvent[WorkloadObject])
POD_TEMPLATES = TypeAdapter(ObjectList[PodTemplateWhole])
POD_TEMPLATE = TypeAdapter(WatchEvent[PodTemplateWhole])
JOBS = TypeAdapter(ObjectList[JobObject])
JOB = TypeAdapter(WatchEvent[JobObject])
CONFIG_MAPS = TypeAdapter(ObjectList[ConfigMap])
CONFIG_MAP = TypeAdapter(WatchEvent[ConfigMap])
"""Pages of lists, and lines of watches."""

KIND = TypeAdapter(WatchEventType)
BOOKMARK = TypeAdapter(WatchEvent[Bookmark])
ERROR = TypeAdapter(WatchEvent[StatusObject])
EVENT = TypeAdapter(Bookmark)
SCALE = TypeAdapter(ScaleObject)
LEASE = TypeAdapter(LeaseObject)
ONE_CONFIG_MAP = TypeAdapter(ConfigMap)
ONE_JOB = TypeAdapter(JobObject)
ONE_WORKLOAD = TypeAdapter(WorkloadObject)
AUTOSCALERS = TypeAdapter(ObjectList[HorizontalPodAutoscaler])
QUOTAS = TypeAdapter(ObjectList[Quota])
LIMIT_RANGES = TypeAdapter(ObjectList[LimitRange])

R = TypeVar("R")


def read(adapter: TypeAdapter[R], body: bytes) -> R:
    """Return the object in an answer.

    Raises:
        UnreachableError: It is of another kind: something other than an API server answered,
            and the outcome of the request is unknown.
    """
    try:
        return adapter.validate_json(body)
    except ValidationError as error:
        raise UnreachableError(f"not an API server's answer: {error.title}") from error

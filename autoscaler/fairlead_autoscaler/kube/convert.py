"""Convert models into the port's values."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, cast

from fairlead_autoscaler.decision.inputs import (
    ContainerDefaults,
    PodTemplate,
    QuotaLimit,
    Resources,
    Scope,
    Workload,
)
from fairlead_autoscaler.election.elector import Lease
from fairlead_autoscaler.kube import models
from fairlead_autoscaler.kube.jobs import JobTemplate, SeenJob
from fairlead_autoscaler.kube.port import (
    AUTHOR,
    DOCUMENT_KEY,
    FIELD_OWNER,
    POOL_LABEL,
    Document,
    Scale,
    WatchedPod,
)
from fairlead_autoscaler.kube.quantities import thousandths
from fairlead_autoscaler.targets import Removal, Target

if TYPE_CHECKING:
    from fairlead.jsontext import Json

_ENDED = {"Succeeded", "Failed"}
_CRASHES = "CrashLoopBackOff"
_OF_IMAGES = {"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName"}
_CANNOT_RUN = {
    *_OF_IMAGES,
    _CRASHES,
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
}
"""Reasons of waiting containers that do not pass by themselves."""
_SAID_MAX = 300
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_AT_FIRST = timedelta(seconds=1)
"""A kubelet sets `Ready: False` in the second in which it first sees a pod, or the next."""


def pod(
    read: models.PodObject, before: WatchedPod | None, seen_at: float | None
) -> WatchedPod | None:
    """Return a pod; None: it has ended, and its ReplicaSet has replaced it.

    Args:
        read: The object.
        before: As it was last seen.
        seen_at: When it was first seen; None: it existed when the watch began.
    """
    if read.status.phase in _ENDED and read.metadata.deletion_timestamp is None:
        return None
    conditions = {each.type: each for each in read.status.conditions}
    ready = conditions.get("Ready")
    is_ready = ready is not None and ready.status == "True"
    placed = conditions.get("PodScheduled")
    return WatchedPod(
        uid=read.metadata.uid,
        name=read.metadata.name,
        pool=read.metadata.labels.get(POOL_LABEL, ""),
        created_at=read.metadata.creation_timestamp or _LONG_AGO,
        seen_at=before.seen_at if before else seen_at,
        ready=is_ready,
        was_ready=is_ready
        or (before is not None and before.was_ready)
        or _lost_readiness(read, ready),
        terminating=read.metadata.deletion_timestamp is not None,
        problem=problem(read.status),
        unschedulable=placed is not None
        and placed.status == "False"
        and placed.reason == "Unschedulable",
    )


def problem(status: models.PodStatus) -> str:
    """Return why a container of a pod cannot run, in a sentence; empty: nothing says so."""
    for each in (*status.init_container_statuses, *status.container_statuses):
        waiting = each.state.waiting
        if waiting is None or waiting.reason not in _CANNOT_RUN:
            continue
        if waiting.reason == _CRASHES:
            return f"{waiting.reason}: {each.name} {_how_it_ended(each.last_state.terminated)}"
        what = f" {each.image}" if waiting.reason in _OF_IMAGES else ""
        said = " ".join(waiting.message.split())[:_SAID_MAX]
        return f"{waiting.reason}{what}{': ' if said else ''}{said}"
    return ""


def _how_it_ended(terminated: models.TerminatedObject | None) -> str:
    if terminated is None:
        return "ends again and again; its log says why"
    reason = f" ({terminated.reason})" if terminated.reason not in {"", "Error"} else ""
    return f"ends again and again with code {terminated.exit_code}{reason}; its log says why"


def workload_of(
    target: Target,
) -> Callable[[models.WorkloadObject, Workload | None, float | None], Workload]:
    """Return what converts the object of a target."""

    def converted(
        read: models.WorkloadObject, before: Workload | None, seen_at: float | None
    ) -> Workload:
        return workload(read, before, seen_at, target=target)

    return converted


def with_scale(read: models.WorkloadObject, scale: models.ScaleObject) -> models.WorkloadObject:
    """Return an object with the counts of its scale, which knows where the object has them."""
    spec = read.spec.model_copy(update={"replicas": scale.spec.replicas})
    status = read.status.model_copy(update={"replicas": scale.status.replicas})
    version = {"resource_version": scale.metadata.resource_version}
    metadata = read.metadata.model_copy(update=version)
    return read.model_copy(update={"metadata": metadata, "spec": spec, "status": status})


def workload(
    read: models.WorkloadObject,
    before: Workload | None,
    _seen_at: float | None,
    *,
    target: Target | None = None,
) -> Workload:
    """Return a Deployment or what stands in its place.

    An object older than one already read is ignored. A count that its kind does not have says
    nothing: it is taken to be as it should.
    """
    if before is not None and is_older(read.metadata.resource_version, before.version):
        return before
    progress = next(
        (each for each in read.status.conditions if each.type == "Progressing"), None
    )
    return Workload(
        name=read.metadata.name,
        uid=read.metadata.uid,
        target=target,
        replicas=read.spec.replicas,
        version=read.metadata.resource_version,
        generation=read.metadata.generation,
        observed_generation=_observed_generation(read, target),
        status_replicas=read.status.replicas,
        updated_replicas=_updated_replicas(read, target),
        terminating_replicas=read.status.terminating_replicas,
        is_replacing=_is_replacing(read),
        first_ordinal=read.spec.ordinals.start,
        removes_one_by_one=read.spec.pod_management_policy == "OrderedReady",
        past_deadline=progress is not None
        and progress.status == "False"
        and progress.reason == "ProgressDeadlineExceeded",
        template=template(read.spec.template.spec),
        owner=owner(read.metadata),
    )


def _observed_generation(read: models.WorkloadObject, target: Target | None) -> int:
    observed = read.status.observed_generation
    if observed is None:
        return 0 if target is None or target.is_known else read.metadata.generation
    return observed


def _updated_replicas(read: models.WorkloadObject, target: Target | None) -> int:
    """Return the pods of the newest template.

    A StatefulSet counts pods that terminate among its replicas and not among these, so that of
    it the revisions say whether a rollout is under way.
    """
    if target is not None and target.removal is Removal.LAST_FIRST:
        return read.status.replicas
    updated = read.status.updated_replicas
    if updated is None:
        return 0 if target is None or target.counts_updated else read.status.replicas
    return updated


def _is_replacing(read: models.WorkloadObject) -> bool:
    """Return whether pods of an older revision are to be replaced without being told to."""
    strategy, status = read.spec.update_strategy, read.status
    is_whole = strategy.type == "RollingUpdate" and not strategy.rolling_update.partition
    return is_whole and status.current_revision != status.update_revision


def job_template(
    read: models.PodTemplateWhole, _before: JobTemplate | None, _seen_at: float | None
) -> JobTemplate:
    """Return what Jobs are made from."""
    whole = models.PodTemplateObject.model_validate(read.template)
    return JobTemplate(
        name=read.metadata.name,
        uid=read.metadata.uid,
        version=read.metadata.resource_version,
        template=cast("Json", read.template),
        counted=template(whole.spec),
    )


def held_by_jobs(made_from: JobTemplate, target: Target, here: Sequence[SeenJob]) -> Workload:
    """Return what holds the pods of a pool of Jobs: so many as have not ended."""
    active = sum(each.is_active for each in here)
    return Workload(
        name=made_from.name,
        uid=made_from.uid,
        target=target,
        replicas=active,
        version=made_from.version,
        generation=0,
        observed_generation=0,
        status_replicas=active,
        updated_replicas=active,
        template=made_from.counted,
        failed_at=tuple(sorted(each.failed_at for each in here if each.failed_at is not None)),
    )


def owner(metadata: models.ManagedObjectMeta) -> str | None:
    """Return which other writer wrote `replicas` last; None: none did.

    While we are among the owners of the field, its value is ours: another writer takes it from
    us. The object's creator may own the number that the server filled in, and does not count as
    a writer. A write through the scale is recorded without its time.
    """
    created = metadata.creation_timestamp or _LONG_AGO
    owners = [each for each in metadata.managed_fields if each.has_replicas]
    if any(each.by == FIELD_OWNER for each in owners):
        return None
    writers = [each for each in owners if each.subresource == "scale" or _since(each) > created]
    last = max(writers, key=lambda each: (each.subresource, _since(each)), default=None)
    return last.by if last is not None else None


def document(
    read: models.ConfigMap, before: Document | None, _seen_at: float | None
) -> Document:
    """Return the policy in a ConfigMap; an object older than one already read is ignored."""
    if before is not None and is_older(read.metadata.resource_version, before.version):
        return before
    return Document(
        name=read.metadata.name,
        uid=read.metadata.uid,
        text=read.data.get(DOCUMENT_KEY, ""),
        version=read.metadata.resource_version,
        writers=_writers(read.metadata),
        author=read.metadata.annotations.get(AUTHOR, ""),
    )


def _writers(metadata: models.ManagedObjectMeta) -> tuple[str, ...]:
    """Return who wrote the policy, the last one first.

    A writer that changes it takes it from the others, unless all of them apply the same.
    """
    owners = [each for each in metadata.managed_fields if each.has_key(DOCUMENT_KEY)]
    ordered = sorted(owners, key=_since, reverse=True)
    return tuple(dict.fromkeys(each.by for each in ordered if each.by))


def is_older(version: str, than: str) -> bool:
    """Return whether a resource version is older than another, if both are numbers."""
    return version.isdecimal() and than.isdecimal() and int(version) < int(than)


def scale(read: models.ScaleObject) -> Scale:
    """Return an object's requested replicas."""
    return Scale(replicas=read.spec.replicas, version=read.metadata.resource_version)


def lease(read: models.LeaseObject) -> Lease:
    """Return the Lease; an empty one has no holder."""
    return Lease(
        version=read.metadata.resource_version,
        holder=read.spec.holder_identity or "",
        duration_seconds=read.spec.lease_duration_seconds or 0,
        transitions=read.spec.lease_transitions or 0,
        acquired_at=read.spec.acquire_time,
        renewed_at=read.spec.renew_time,
    )


def template(read: models.PodSpec) -> PodTemplate:
    """Return what quotas count of a pool's pods."""
    return PodTemplate(
        containers=tuple(_resources(each.resources) for each in read.containers),
        inits=tuple(
            _resources(each.resources, restarts=each.restart_policy == "Always")
            for each in read.init_containers
        ),
        whole=_resources(read.resources),
        overhead=_amounts(read.overhead),
        priority_class=read.priority_class_name,
        has_deadline=read.active_deadline_seconds is not None,
    )


def quota_limits(quotas: tuple[models.Quota, ...]) -> tuple[QuotaLimit, ...]:
    """Return each limit of each quota; amounts that cannot be read are left out."""
    return tuple(
        QuotaLimit(
            quota=quota.metadata.name,
            resource=resource,
            hard=hard,
            left=most - used,
            scopes=_scopes(quota.spec),
        )
        for quota in quotas
        for resource, hard in quota.status.hard.items()
        if (most := thousandths(hard)) is not None
        and (used := thousandths(quota.status.used.get(resource, "0"))) is not None
    )


def container_defaults(ranges: tuple[models.LimitRange, ...]) -> ContainerDefaults:
    """Return what LimitRanges fill in; of two that say the same, the first by order."""
    items = [
        item
        for each in reversed(ranges)
        for item in each.spec.limits
        if item.type == "Container"
    ]
    requests, limits = dict[str, int](), dict[str, int]()
    for item in items:
        requests |= _amounts(item.default_request)
        limits |= _amounts(item.default)
    return ContainerDefaults(requests=requests, limits=limits)


def _resources(read: models.ResourcesObject, *, restarts: bool = False) -> Resources:
    return Resources(
        requests=_amounts(read.requests), limits=_amounts(read.limits), restarts=restarts
    )


def _amounts(read: Mapping[str, str]) -> dict[str, int]:
    found = ((name, thousandths(amount)) for name, amount in read.items())
    return {name: amount for name, amount in found if amount is not None}


def _scopes(spec: models.QuotaSpec) -> tuple[Scope, ...]:
    return (
        *(Scope(name=each) for each in spec.scopes),
        *(
            Scope(name=each.scope_name, operator=each.operator, values=each.values)
            for each in spec.scope_selector.match_expressions
        ),
    )


def _lost_readiness(read: models.PodObject, ready: models.ConditionObject | None) -> bool:
    """Return whether an unready pod has been ready: its condition changed after its start."""
    if ready is None or ready.last_transition_time is None or read.status.start_time is None:
        return False
    return ready.last_transition_time - read.status.start_time > _AT_FIRST


def _since(managed: models.ManagedFields) -> datetime:
    return managed.time or _LONG_AGO

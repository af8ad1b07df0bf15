"""Convert models into the port's values."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from fairlead_autoscaler.decision.inputs import (
    ContainerDefaults,
    Deployment,
    PodTemplate,
    QuotaLimit,
    Resources,
    Scope,
)
from fairlead_autoscaler.election.elector import Lease
from fairlead_autoscaler.kube import models
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

_ENDED = {"Succeeded", "Failed"}
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
        unschedulable=placed is not None
        and placed.status == "False"
        and placed.reason == "Unschedulable",
    )


def deployment(
    read: models.DeploymentObject, before: Deployment | None, _seen_at: float | None
) -> Deployment:
    """Return a Deployment; an object older than one already read is ignored."""
    if before is not None and is_older(read.metadata.resource_version, before.version):
        return before
    progress = next(
        (each for each in read.status.conditions if each.type == "Progressing"), None
    )
    return Deployment(
        name=read.metadata.name,
        uid=read.metadata.uid,
        replicas=read.spec.replicas,
        version=read.metadata.resource_version,
        generation=read.metadata.generation,
        observed_generation=read.status.observed_generation,
        status_replicas=read.status.replicas,
        updated_replicas=read.status.updated_replicas,
        terminating_replicas=read.status.terminating_replicas,
        past_deadline=progress is not None
        and progress.status == "False"
        and progress.reason == "ProgressDeadlineExceeded",
        template=template(read.spec.template.spec),
        owner=owner(read.metadata),
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
    """Return a Deployment's requested replicas."""
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

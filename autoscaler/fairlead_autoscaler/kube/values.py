"""The port's values, made from what was read: what means what to the controller."""

from datetime import UTC, datetime, timedelta

from fairlead_autoscaler.elector import Lease
from fairlead_autoscaler.kube import wire
from fairlead_autoscaler.kube.port import (
    DOCUMENT_KEY,
    FIELD_OWNER,
    POOL_LABEL,
    Deployment,
    Document,
    Pod,
    Scale,
)

_ENDED = {"Succeeded", "Failed"}
_FACTORS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_AT_FIRST = timedelta(seconds=1)
"""A kubelet says `Ready: False` in the second in which it first sees a pod, or the next."""


def pod(read: wire.Pod, before: Pod | None, seen_at: float | None) -> Pod | None:
    """Return a pod; None: it has ended, and its ReplicaSet has forgotten it.

    Args:
        read: As it is.
        before: As it was last seen.
        seen_at: When it was first seen; None: it was there at our start.
    """
    if read.status.phase in _ENDED and read.metadata.deletion_timestamp is None:
        return None
    conditions = {each.type: each for each in read.status.conditions}
    ready = conditions.get("Ready")
    is_ready = ready is not None and ready.status == "True"
    placed = conditions.get("PodScheduled")
    return Pod(
        uid=read.metadata.uid,
        name=read.metadata.name,
        pool=read.metadata.labels.get(POOL_LABEL, ""),
        created_at=read.metadata.creation_timestamp or _LONG_AGO,
        seen_at=before.seen_at if before else seen_at,
        ready=is_ready,
        was_ready=is_ready or (before is not None and before.was_ready) or _fell(read, ready),
        terminating=read.metadata.deletion_timestamp is not None,
        unschedulable=placed is not None
        and placed.status == "False"
        and placed.reason == "Unschedulable",
    )


def deployment(
    read: wire.Deployment, before: Deployment | None, _seen_at: float | None
) -> Deployment:
    """Return a Deployment; a watch that is behind what was asked for shows nothing older."""
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
        owner=owner(read.metadata),
    )


def owner(metadata: wire.ManagedMeta) -> str | None:
    """Return who but us wrote `replicas` last; None: we did, or nobody.

    While we are among those who own the field its value is ours: another one takes it from us.
    Whoever made the object may own the number that the server filled in, and is no writer. A
    write through the scale is recorded without its time.
    """
    created = metadata.creation_timestamp or _LONG_AGO
    owners = [each for each in metadata.managed_fields if each.has_replicas]
    if any(each.by == FIELD_OWNER for each in owners):
        return None
    writers = [each for each in owners if each.subresource == "scale" or _since(each) > created]
    last = max(writers, key=lambda each: (each.subresource, _since(each)), default=None)
    return last.by if last is not None else None


def document(read: wire.ConfigMap, before: Document | None, _seen_at: float | None) -> Document:
    """Return what a ConfigMap holds of the policy; nothing older than was seen of it."""
    if before is not None and is_older(read.metadata.resource_version, before.version):
        return before
    return Document(
        name=read.metadata.name,
        uid=read.metadata.uid,
        text=read.data.get(DOCUMENT_KEY, ""),
        version=read.metadata.resource_version,
    )


def is_older(version: str, than: str) -> bool:
    """Tell whether a resource version is older than another, where both are numbers."""
    return version.isdecimal() and than.isdecimal() and int(version) < int(than)


def scale(read: wire.Scale) -> Scale:
    """Return what is asked of a Deployment."""
    return Scale(replicas=read.spec.replicas, version=read.metadata.resource_version)


def lease(read: wire.Lease) -> Lease:
    """Return the Lease; an empty one is nobody's."""
    return Lease(
        version=read.metadata.resource_version,
        holder=read.spec.holder_identity or "",
        duration_seconds=read.spec.lease_duration_seconds or 0,
        transitions=read.spec.lease_transitions or 0,
        acquired_at=read.spec.acquire_time,
        renewed_at=read.spec.renew_time,
    )


def quota_pods(quotas: tuple[wire.Quota, ...]) -> int | None:
    """Return how many pods all quotas would let be added; None: none of them counts pods."""
    left = [
        max(0, hard - used)
        for quota in quotas
        for name in ("pods", "count/pods")
        if (hard := count(quota.status.hard.get(name, ""))) is not None
        and (used := count(quota.status.used.get(name, "0"))) is not None
    ]
    return min(left, default=None)


def count(quantity: str) -> int | None:
    """Return a whole number as Kubernetes writes it: a thousand is `1k`; None: it is none."""
    digits = quantity.rstrip("kMG")
    factor = _FACTORS.get(quantity[len(digits) :])
    return int(digits) * factor if digits.isdecimal() and factor is not None else None


def _fell(read: wire.Pod, ready: wire.Condition | None) -> bool:
    """Tell whether a pod that is not ready has been: its condition changed after its start."""
    if ready is None or ready.last_transition_time is None or read.status.start_time is None:
        return False
    return ready.last_transition_time - read.status.start_time > _AT_FIRST


def _since(managed: wire.Managed) -> datetime:
    return managed.time or _LONG_AGO

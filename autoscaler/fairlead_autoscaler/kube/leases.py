"""The Lease over HTTP: read whole, replaced whole, its unknown metadata preserved.

The right is to `update`, which replaces the object. The chart's labels and annotations are
therefore sent back as they were read. Some tools leave Leases out of what they apply, so a
missing one is created.
"""

import json
from typing import TYPE_CHECKING, cast

from fairlead_autoscaler.election.elector import Lease, Timing
from fairlead_autoscaler.kube import convert, models
from fairlead_autoscaler.kube.client import Client
from fairlead_autoscaler.kube.events import micro_time
from fairlead_autoscaler.kube.port import ConflictError

if TYPE_CHECKING:
    from fairlead.jsontext import Json

_KEPT = ("name", "namespace", "labels", "annotations", "ownerReferences", "finalizers")
_CALL_SECONDS = Timing().call_seconds


class Leases:
    """One Lease, and its metadata as last read."""

    def __init__(self, client: Client, *, namespace: str, name: str) -> None:
        self._client = client
        self._all = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._path = f"{self._all}/{name}"
        self._new: dict[str, Json] = {"name": name, "namespace": namespace}
        self._metadata: dict[str, Json] = {}
        self._version = ""

    def read(self) -> Lease:
        """Request it."""
        return self._known(self._client.call("GET", self._path, seconds=_CALL_SECONDS))

    def write(self, lease: Lease) -> Lease:
        """Replace it, if it still has that version; the same twice is refused.

        Raises:
            ConflictError: It has not, or it is not the version that was read last.
        """
        if lease.version != self._version:
            raise ConflictError("the Lease was not read at the version that is to be replaced")
        metadata: Json = {**self._metadata, "resourceVersion": lease.version}
        return self._known(
            self._client.call(
                "PUT", self._path, body=_body(lease, metadata), seconds=_CALL_SECONDS
            )
        )

    def create(self, lease: Lease) -> Lease:
        """Create it; the same twice is refused.

        Raises:
            ConflictError: There is one.
        """
        return self._known(
            self._client.call(
                "POST", self._all, body=_body(lease, self._new), seconds=_CALL_SECONDS
            )
        )

    def _known(self, body: bytes) -> Lease:
        read = convert.lease(models.read(models.LEASE, body))
        whole = cast("dict[str, dict[str, Json]]", json.loads(body))
        self._metadata = {key: each for key, each in whole["metadata"].items() if key in _KEPT}
        self._version = read.version
        return read


def _body(lease: Lease, metadata: "Json") -> "Json":
    spec: dict[str, Json] = {
        "leaseDurationSeconds": lease.duration_seconds,
        "leaseTransitions": lease.transitions,
    }
    if lease.holder:
        spec["holderIdentity"] = lease.holder
    if lease.acquired_at is not None:
        spec["acquireTime"] = micro_time(lease.acquired_at)
    if lease.renewed_at is not None:
        spec["renewTime"] = micro_time(lease.renewed_at)
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": metadata,
        "spec": spec,
    }

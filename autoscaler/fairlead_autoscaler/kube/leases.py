"""The Lease over HTTP: read whole, replaced whole, its unknown metadata preserved.

The right is to `update`, which replaces the object. The chart's labels and annotations are
therefore sent back as they were read.
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
        self._path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}"
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
        body: Json = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {**self._metadata, "resourceVersion": lease.version},
            "spec": spec,
        }
        return self._known(
            self._client.call("PUT", self._path, body=body, seconds=_CALL_SECONDS)
        )

    def _known(self, body: bytes) -> Lease:
        read = convert.lease(models.read(models.LEASE, body))
        whole = cast("dict[str, dict[str, Json]]", json.loads(body))
        self._metadata = {key: each for key, each in whole["metadata"].items() if key in _KEPT}
        self._version = read.version
        return read

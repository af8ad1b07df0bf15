"""What a cluster's objects went through while a test ran: every change, in its order.

A watch that ends, as when the API server stood still, goes on from the last version that was
seen, so that no change between the two is missed.
"""

import json
import subprocess
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import IO, cast

from tests.support import cluster
from tests.support.chart import Object, at
from tests.support.cluster import POOL, Release
from tests.support.waiting import until

_PATHS = {
    "pods": "/api/v1/namespaces/{}/pods",
    "deployments": "/apis/apps/v1/namespaces/{}/deployments",
}
_GONE = 410
_REST_SECONDS = 0.1
"""Between a watch's end and the next one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectChange:
    """One change of an object, as the watch showed it."""

    at: float
    """By this process's clock."""
    kind: str
    name: str
    uid: str
    object: Object
    gone: bool = False


@dataclass(slots=True)
class Record:
    """All changes since it began; a thread adds to it."""

    changes: list[ObjectChange] = field(default_factory=list[ObjectChange])
    gaps: list[str] = field(default_factory=list[str])
    """Of which kinds changes may be missing, since the API server had them no more."""

    def scales(self, deployment: str = POOL) -> tuple[tuple[float, int], ...]:
        """Return each number of pods that was asked for, and since when."""
        found: list[tuple[float, int]] = []
        for each in tuple(self.changes):
            if (each.kind, each.name) != ("Deployment", deployment):
                continue
            asked = cast("int", at(each.object, "spec", "replicas"))
            if not found or found[-1][1] != asked:
                found.append((each.at, asked))
        return tuple(found)

    def before_termination(self, component: str = "worker") -> tuple[ObjectChange, ...]:
        """Return, of each pod that was asked to terminate, how it was before that."""
        before: dict[str, ObjectChange] = {}
        found: dict[str, ObjectChange] = {}
        for each in tuple(self.changes):
            labels = at(each.object, "metadata", "labels") or {}
            if each.kind != "Pod" or at(labels, "app.kubernetes.io/component") != component:
                continue
            if (each.gone or is_terminating(each.object)) and each.uid not in found:
                found[each.uid] = before.get(each.uid, each)
            before[each.uid] = each
        return tuple(found.values())

    def served_before_termination(self) -> tuple[ObjectChange, ...]:
        """Return how each worker's pod that had served was before it was asked to terminate."""
        assert [] == self.gaps
        served = {each.uid for each in tuple(self.changes) if is_ready(each.object)}
        return tuple(each for each in self.before_termination() if each.uid in served)

    def terminated_while_ready(self) -> list[str]:
        """Return the workers' pods that began to terminate while ready: none was empty."""
        return [each.name for each in self.served_before_termination() if is_ready(each.object)]


def uid(pod: Object) -> str:
    """Return what distinguishes a pod from every other, also from one of the same name."""
    return str(at(pod, "metadata", "uid"))


def is_terminating(pod: Object) -> bool:
    """Return whether a pod was asked to terminate."""
    return at(pod, "metadata", "deletionTimestamp") is not None


def is_ready(pod: Object) -> bool:
    """Return whether a pod is ready."""
    listed = cast("list[Object]", at(pod, "status", "conditions") or [])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in listed)


@contextmanager
def recorded(release: Release) -> Generator[Record]:
    """Record pods and Deployments of the release until the block ends."""
    record, done = Record(), threading.Event()
    watches: list[subprocess.Popen[str]] = []

    def follow(resource: str) -> None:
        since = 0
        while not done.is_set():
            with _watch(release, resource, since) as watch:
                watches.append(watch)
                reached = read(cast("IO[str]", watch.stdout), record.changes.append, since)
                watch.kill()
            if since and not reached:
                record.gaps.append(resource)
            since = reached
            done.wait(_REST_SECONDS)

    threads = [
        threading.Thread(target=follow, args=(resource,), daemon=True) for resource in _PATHS
    ]
    for thread in threads:
        thread.start()
    until(
        lambda: {each.kind for each in tuple(record.changes)} == {"Pod", "Deployment"},
        what="a first look at pods and Deployments",
        seconds=20,
    )
    try:
        yield record
    finally:
        done.set()
        for thread in threads:
            while thread.is_alive():
                for watch in tuple(watches):
                    watch.kill()
                thread.join(0.1)


def _watch(release: Release, resource: str, since: int) -> subprocess.Popen[str]:
    path = _PATHS[resource].format(release.namespace)
    version = f"&resourceVersion={since}" if since else ""
    return subprocess.Popen(
        [
            "/usr/bin/env",
            f"KUBECONFIG={cluster.KUBECONFIG}",
            "kubectl",
            "get",
            f"--raw={path}?watch=1{version}",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def read(stream: IO[str], seen: Callable[[ObjectChange], None], since: int) -> int:
    """Read one event a line; the last may be cut short, or say why there are no more.

    Args:
        stream: A watch's lines.
        seen: Called with each change.
        since: The version that the watch began after; 0: it begins with all that there is.

    Returns:
        The version to go on after; 0: the API server has what follows no more.
    """
    for line in stream:
        with suppress(json.JSONDecodeError):
            event = cast("Object", json.loads(line))
            if event["type"] == "ERROR":
                return 0 if at(event, "object", "code") == _GONE else since
            seen(_change_of(event))
            version = at(event["object"], "metadata", "resourceVersion")
            since = max(since, int(str(version)))
    return since


def _change_of(event: Object) -> ObjectChange:
    shown = cast("Object", event["object"])
    return ObjectChange(
        at=monotonic(),
        kind=str(shown["kind"]),
        name=str(at(shown, "metadata", "name")),
        uid=uid(shown),
        object=shown,
        gone=event["type"] == "DELETED",
    )

"""What a cluster's objects went through while a test ran: every change, in its order."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
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

    sights: list[Sight] = field(default_factory=list[Sight])

    def scales(self, deployment: str = POOL) -> tuple[tuple[float, int], ...]:
        """Return each number of pods that was asked for, and since when."""
        found: list[tuple[float, int]] = []
        for each in tuple(self.sights):
            if (each.kind, each.name) != ("Deployment", deployment):
                continue
            asked = cast("int", at(each.object, "spec", "replicas"))
            if not found or found[-1][1] != asked:
                found.append((each.at, asked))
        return tuple(found)

    def told_to_go(self, component: str = "worker") -> tuple[Sight, ...]:
        """Return, of each pod that was told to go, how it was before that."""
        before: dict[str, Sight] = {}
        told: dict[str, Sight] = {}
        for each in tuple(self.sights):
            labels = at(each.object, "metadata", "labels") or {}
            if each.kind != "Pod" or at(labels, "app.kubernetes.io/component") != component:
                continue
            if (each.gone or is_going(each.object)) and each.uid not in told:
                told[each.uid] = before.get(each.uid, each)
            before[each.uid] = each
        return tuple(told.values())


def is_going(pod: Object) -> bool:
    """Tell whether a pod was told to go."""
    return at(pod, "metadata", "deletionTimestamp") is not None


def is_ready(pod: Object) -> bool:
    """Tell whether a pod says that it is ready."""
    listed = cast("list[Object]", at(pod, "status", "conditions") or [])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in listed)


def was_ready(record: Record, uid: str) -> bool:
    """Tell whether a pod was ever seen ready."""
    return any(each.uid == uid and is_ready(each.object) for each in tuple(record.sights))


@contextmanager
def recorded(release: Release) -> Generator[Record]:
    """Record pods and Deployments of the release until the block ends.

    A connection that ends is made anew; an object that went in between is not seen to go.
    """
    record, done = Record(), threading.Event()
    watches: list[subprocess.Popen[str]] = []

    def follow(resource: str) -> None:
        while not done.is_set():
            with _watch(release, resource) as watch:
                watches.append(watch)
                read(cast("IO[str]", watch.stdout), record.sights.append)

    threads = [
        threading.Thread(target=follow, args=(resource,), daemon=True)
        for resource in ("pods", "deployments")
    ]
    for thread in threads:
        thread.start()
    until(
        lambda: {each.kind for each in tuple(record.sights)} == {"Pod", "Deployment"},
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


def _watch(release: Release, resource: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [
            "/usr/bin/env",
            f"KUBECONFIG={cluster.KUBECONFIG}",
            "kubectl",
            f"--namespace={release.namespace}",
            "get",
            resource,
            "--watch",
            "--output-watch-events",
            "--output=json",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def read(stream: IO[str], seen: Callable[[Sight], None]) -> None:
    """Read one event a line; the last may be cut short, or say why there are no more."""
    for line in stream:
        with suppress(json.JSONDecodeError):
            event = cast("Object", json.loads(line))
            if event["type"] != "ERROR":
                seen(_sight(event))


def _sight(event: Object) -> Sight:
    shown = cast("Object", event["object"])
    return Sight(
        at=monotonic(),
        kind=str(shown["kind"]),
        name=str(at(shown, "metadata", "name")),
        uid=str(at(shown, "metadata", "uid")),
        object=shown,
        gone=event["type"] == "DELETED",
    )

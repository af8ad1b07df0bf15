"""Objects as an API server shows them, with all the fields of a real pod, read or not."""

from datetime import UTC, datetime
from typing import TypeAlias, cast

from fairlead.jsontext import Json

Object: TypeAlias = "dict[str, Json]"

NAMESPACE = "team"
SELECTOR = {"app.kubernetes.io/instance": "release", "app.kubernetes.io/component": "worker"}


def now() -> str:
    """Return the present in whole seconds, as objects are stamped."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def part(whole: Object, *names: str) -> Object:
    """Return a part of an object, made empty where it is missing."""
    for name in names:
        whole = cast("Object", whole.setdefault(name, {}))
    return whole


def config_map(name: str, data: dict[str, str] | None = None) -> Object:
    """Return a ConfigMap; without data it is as the chart renders one for live edits."""
    made: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    if data is not None:
        made["data"] = cast("Json", data)
    return made


def lease(name: str) -> Object:
    """Return a Lease as the chart renders it: labelled and empty."""
    labels: Object = {"app.kubernetes.io/managed-by": "Helm"}
    notes: Object = {"meta.helm.sh/release-name": "release"}
    metadata: Object = {"name": name, "labels": labels, "annotations": notes}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata}


def deployment(name: str, pool: str, *, replicas: int | None = 0) -> Object:
    """Return a pool's Deployment; None: it says no replicas."""
    labels: Object = {**SELECTOR, "fairlead/pool": pool}
    container: Object = {"name": "worker", "image": "fairlead:test"}
    spec: Object = {
        "selector": {"matchLabels": dict(labels)},
        "template": {"metadata": {"labels": dict(labels)}, "spec": {"containers": [container]}},
    }
    if replicas is not None:
        spec["replicas"] = replicas
    metadata: Object = {"name": name, "labels": dict(labels)}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def pod(name: str, pool: str) -> Object:
    """Return a pod of a pool, as large as a real one."""
    noise: Object = {f"FAIRLEAD_{number:02}": "x" * 60 for number in range(40)}
    environment = cast("list[Json]", [{"name": key, "value": noise[key]} for key in noise])
    container: Object = {
        "name": "worker",
        "image": "fairlead:test",
        "command": ["fairlead-worker"],
        "env": environment,
    }
    metadata: Object = {
        "name": name,
        "labels": {**SELECTOR, "fairlead/pool": pool, "pod-template-hash": "5d4f"},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 40},
    }


def conditions(*, ready: bool, since: str, placed: bool = True) -> list[Json]:
    """Return the conditions of a pod that started then, or that waits for a node."""
    scheduled: Object = {
        "type": "PodScheduled",
        "status": "True" if placed else "False",
        "lastTransitionTime": since,
    }
    if not placed:
        return [{**scheduled, "reason": "Unschedulable"}]
    return [
        scheduled,
        {"type": "Initialized", "status": "True", "lastTransitionTime": since},
        {"type": "Ready", "status": str(ready), "lastTransitionTime": since},
    ]

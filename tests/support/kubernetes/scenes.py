"""A release's objects on an API server, and the port that works with them."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import cast

from fairlead_autoscaler.kube.adapter import Cluster, Names
from fairlead_autoscaler.kube.client import Client
from fairlead_autoscaler.kube.port import NotSyncedError
from fairlead_autoscaler.targets import Target
from tests.support.kubernetes import objects
from tests.support.kubernetes.objects import NAMESPACE, SELECTOR, Object
from tests.support.waiting import until

CORE = f"/api/v1/namespaces/{NAMESPACE}"
PODS = f"{CORE}/pods"
MAPS = f"{CORE}/configmaps"
QUOTAS = f"{CORE}/resourcequotas"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
EVENTS = f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events"
HPAS = f"/apis/autoscaling/v2/namespaces/{NAMESPACE}/horizontalpodautoscalers"

WORKERS = "release-worker-default"
POLICY = "release-policy"
POLICY_VALUES = "release-policy-values"

NAMES = Names(
    namespace=NAMESPACE,
    pods=",".join(f"{key}={value}" for key, value in SELECTOR.items()),
    targets={"default": Target(name=WORKERS)},
    policy=POLICY,
    policy_values=POLICY_VALUES,
    status="release-status",
    lease="release-autoscaler",
    identity="autoscaler-0",
)


def install(admin: Client, *, replicas: int | None = 0) -> None:
    """Create what the chart renders: the Deployment, the ConfigMaps and the empty Lease."""
    made: list[tuple[str, Object]] = [
        (DEPLOYMENTS, objects.deployment(WORKERS, "default", replicas=replicas)),
        (MAPS, objects.config_map(POLICY)),
        (MAPS, objects.config_map(POLICY_VALUES, {"policy.yaml": "pools: {}\n"})),
        (MAPS, objects.config_map(NAMES.status)),
        (LEASES, objects.lease(NAMES.lease)),
    ]
    for path, each in made:
        admin.call("POST", path, query={"fieldManager": "helm"}, body=each)


@contextmanager
def watching(
    client: Client, *, names: Names = NAMES, changed: Callable[[], None] = lambda: None
) -> Generator[Cluster]:
    """Watch while inside, from when everything was shown once."""
    cluster = Cluster(client, names, changed=changed)
    cluster.start()
    try:
        until(lambda: synced(cluster), what="the first list of everything", seconds=20)
        yield cluster
    finally:
        cluster.close()


def synced(cluster: Cluster) -> bool:
    """Return whether the watches have shown everything once."""
    try:
        cluster.snapshot()
        cluster.documents()
    except NotSyncedError:
        return False
    return True


def edit(admin: Client, name: str, text: str) -> None:
    """Write a policy into a ConfigMap, as `kubectl edit` does."""
    body = cast("Object", {"data": {"policy.yaml": text}})
    admin.call(
        "PATCH", f"{MAPS}/{name}", body=body, content_type="application/merge-patch+json"
    )

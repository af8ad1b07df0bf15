"""The port against Kubernetes' own API server, with the rights of its Role and no others."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest

from fairlead.jsontext import Json
from fairlead_autoscaler.decision.inputs import PodTemplate, Resources
from fairlead_autoscaler.election import elector
from fairlead_autoscaler.election.elector import Election
from fairlead_autoscaler.kube import client as clients
from fairlead_autoscaler.kube import config
from fairlead_autoscaler.kube.adapter import Cluster
from fairlead_autoscaler.kube.client import Client
from fairlead_autoscaler.kube.port import ConflictError, Event, ForbiddenError, KubeError
from tests.support import real_api
from tests.support.kubernetes import objects, scenes
from tests.support.kubernetes.objects import NAMESPACE, Object, part
from tests.support.waiting import until

pytestmark = [real_api.needs_api_server, pytest.mark.xdist_group("real-api")]

ACCOUNTS = f"{scenes.CORE}/serviceaccounts"
RBAC = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}"


def rule(group: str, resource: str, names: list[str], *verbs: str) -> Object:
    """Return a rule of a Role; no names: any."""
    made: Object = {
        "apiGroups": [group],
        "resources": [resource],
        "verbs": list(verbs),
    }
    if names:
        made["resourceNames"] = cast("Json", names)
    return made


RULES = [
    rule("", "configmaps", [scenes.POLICY, scenes.POLICY_VALUES], "get", "list", "watch"),
    rule("", "configmaps", [scenes.NAMES.status], "get", "patch"),
    rule("apps", "deployments", [scenes.WORKERS], "get", "list", "watch"),
    rule("apps", "deployments/scale", [scenes.WORKERS], "get", "patch"),
    rule("", "pods", [], "list", "watch"),
    rule("coordination.k8s.io", "leases", [scenes.NAMES.lease], "get", "update"),
    rule("events.k8s.io", "events", [], "create", "patch"),
]


@pytest.fixture(scope="module")
def admin() -> Iterator[Client]:
    """Run an API server with a release on it, and return its administrator."""
    with real_api.running() as server:
        made, _ = clients.load(str(server.kubeconfig))
        namespace: Object = {"metadata": {"name": NAMESPACE}}
        made.call("POST", "/api/v1/namespaces", body=namespace)
        made.call("POST", ACCOUNTS, body={"metadata": {"name": "autoscaler"}})
        role: Object = {"metadata": {"name": "autoscaler"}, "rules": cast("Json", RULES)}
        made.call("POST", f"{RBAC}/roles", body=role)
        binding: Object = {
            "metadata": {"name": "autoscaler"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "Role",
                "name": "autoscaler",
            },
            "subjects": [
                {"kind": "ServiceAccount", "name": "autoscaler", "namespace": NAMESPACE}
            ],
        }
        made.call("POST", f"{RBAC}/rolebindings", body=binding)
        scenes.install(made, replicas=None)
        yield made


@pytest.fixture(scope="module")
def cluster(admin: Client) -> Iterator[Cluster]:
    """Watch that release under the Role."""
    request: Object = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": 3600},
    }
    answer = admin.call("POST", f"{ACCOUNTS}/autoscaler/token", body=request)
    token = part(cast("Object", json.loads(answer)), "status")["token"]
    restricted = Client(admin.pool, admin.host, lambda: f"Bearer {token}")
    with scenes.watching(restricted) as watched:
        yield watched


def ask(admin: Client, path: str) -> Object:
    """Return an object as the administrator sees it."""
    return cast("Object", json.loads(admin.call("GET", path)))


def test_a_file_without_a_cluster_is_an_error_of_the_port() -> None:
    """A wrong KUBECONFIG is one sentence."""
    with pytest.raises(KubeError, match="leads to no cluster"):
        config.load("/dev/null/nothing")


def test_pods_are_shown_as_they_come_become_ready_and_go(
    admin: Client, cluster: Cluster
) -> None:
    """Seven fields of what a real server sends."""
    admin.call("POST", scenes.PODS, body=objects.pod("a", "default"))
    until(lambda: len(cluster.snapshot().pods) == 1, what="the pod")
    assert not cluster.snapshot().pods[0].ready
    since = objects.now()
    ready: Object = {
        **ask(admin, f"{scenes.PODS}/a"),
        "status": {
            "phase": "Running",
            "startTime": since,
            "conditions": objects.conditions(ready=True, since=since),
        },
    }

    admin.call("PUT", f"{scenes.PODS}/a/status", body=ready)

    until(lambda: cluster.snapshot().pods[0].ready, what="its readiness")
    ended: Object = {"gracePeriodSeconds": 0}
    admin.call("DELETE", f"{scenes.PODS}/a", body=ended)
    until(lambda: not cluster.snapshot().pods, what="its end")


def test_an_apply_makes_replicas_ours_until_another_client_applies(
    admin: Client, cluster: Cluster
) -> None:
    """Who else wrote last is in the managed fields; our own version says that we look."""
    seen = cluster.snapshot().workloads["default"]
    assert (1, None) == (seen.replicas, seen.owner)

    ours = cluster.apply_scale(seen.name, replicas=7, version=seen.version)

    until(
        lambda: cluster.snapshot().workloads["default"].version == ours.version,
        what="our scale in the watch",
    )
    assert (7, None) == (
        cluster.scale(seen.name).replicas,
        cluster.snapshot().workloads["default"].owner,
    )
    with pytest.raises(ConflictError):
        cluster.apply_scale(seen.name, replicas=8, version=seen.version)
    scale: Object = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": seen.name},
        "spec": {"replicas": 3},
    }
    admin.call(
        "PATCH",
        f"{scenes.DEPLOYMENTS}/{seen.name}/scale",
        query={"fieldManager": "intruder", "force": "true"},
        body=scale,
        content_type=clients.APPLY,
    )
    until(
        lambda: cluster.snapshot().workloads["default"].owner == "intruder",
        what="the other owner",
    )


def test_an_edit_of_the_policy_is_shown(admin: Client, cluster: Cluster) -> None:
    """Both ConfigMaps are watched by name."""
    scenes.edit(admin, scenes.POLICY, "pools: {a: {}}\n")

    until(
        lambda: (live := cluster.documents().live) and live.text == "pools: {a: {}}\n",
        what="the edit",
    )
    assert cluster.documents() == cluster.read_documents()


def test_who_edited_the_policy_is_known(admin: Client, cluster: Cluster) -> None:
    """By the managed fields that the server keeps, and the annotation that somebody sets."""
    for writer in ("kubectl-edit", "argocd"):
        path = f"{scenes.MAPS}/{scenes.POLICY}"
        admin.call(
            "PATCH",
            path,
            query={"fieldManager": writer, "force": "true"},
            body={
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": scenes.POLICY, "annotations": {"fairlead/author": "ann"}},
                "data": {"policy.yaml": "pools: {b: {}}\n"},
            },
            content_type=clients.APPLY,
        )

    until(
        lambda: (live := cluster.documents().live) and len(live.writers) == 2,
        what="both writers",
    )
    live = cluster.read_documents().live
    assert live is not None
    assert ({"kubectl-edit", "argocd"}, "ann") == (set(live.writers), live.author)


def test_the_status_is_replaced_whole(admin: Client, cluster: Cluster) -> None:
    """By server-side apply: what we no longer say is gone."""
    cluster.write_status({"a": "1", "b": "2"})
    cluster.write_status({"a": "3"})

    held = json.loads(admin.call("GET", f"{scenes.MAPS}/{scenes.NAMES.status}"))
    assert {"a": "3"} == held["data"]


def test_the_lease_is_acquired_renewed_and_released(admin: Client, cluster: Cluster) -> None:
    """`get` and `update` on an empty Lease are enough, and its labels stay."""
    path = f"{scenes.LEASES}/{scenes.NAMES.lease}"
    election = elector.after_read(Election(identity="me"), cluster.lease(), 0.0)
    day = datetime.now(UTC)
    held = cluster.write_lease(elector.record_to_write(election, day))
    election = elector.after_write(election, held, started_at=0.0, now=0.0)
    later = day + timedelta(seconds=1)
    again = cluster.write_lease(elector.record_to_write(election, later))
    assert ("me", 1, later) == (
        again.holder,
        again.transitions,
        again.renewed_at,
    )
    with pytest.raises(ConflictError):
        cluster.write_lease(held)

    given = elector.release(replace(election, observed=cluster.lease()), day)
    assert given is not None
    cluster.write_lease(given)

    assert "" == cluster.lease().holder
    assert (
        "Helm" == part(ask(admin, path), "metadata", "labels")["app.kubernetes.io/managed-by"]
    )


def test_the_same_event_again_counts_up_the_first(admin: Client, cluster: Cluster) -> None:
    """`create` once, then `patch` of its series."""
    event = Event(
        kind="Deployment",
        name=scenes.WORKERS,
        uid=cluster.snapshot().workloads["default"].uid,
        type="Normal",
        reason="ScaledUp",
        action="Scale",
        note="From 1 to 7 pods: steady.",
    )
    for _ in range(3):
        cluster.record_event(event)

    made = cast("list[Object]", ask(admin, scenes.EVENTS)["items"])
    assert [3] == [part(each, "series")["count"] for each in made]


def test_quotas_and_limit_ranges_are_read_as_the_server_keeps_them(admin: Client) -> None:
    """With the amounts as it writes them, and the defaults that it derives by itself."""
    quota: Object = {
        "metadata": {"name": "compute"},
        "spec": {
            "hard": {"requests.cpu": "2500m", "limits.memory": "1024Mi", "pods": 10},
            "scopes": ["NotTerminating"],
        },
    }
    limits: Object = {
        "metadata": {"name": "defaults"},
        "spec": {"limits": [{"type": "Container", "default": {"cpu": 1, "memory": "0.5Gi"}}]},
    }
    path = f"{scenes.CORE}/resourcequotas"
    admin.call("POST", path, body=quota)
    admin.call("POST", f"{scenes.CORE}/limitranges", body=limits)
    stored = ask(admin, f"{path}/compute")
    hard = part(stored, "spec")["hard"]
    status: Object = {"hard": hard, "used": {"requests.cpu": "1"}}
    admin.call("PUT", f"{path}/compute/status", body={**stored, "status": status})

    with scenes.watching(admin) as watched:
        found = {each.resource: (each.left, each.hard) for each in watched.quotas()}
        filled = watched.container_defaults()

    assert {
        "requests.cpu": (1500, "2500m"),
        "limits.memory": (2**30 * 1000, "1Gi"),
        "pods": (10_000, "10"),
    } == found
    half = 2**29 * 1000
    assert {"cpu": 1000, "memory": half} == dict(filled.limits) == dict(filled.requests)
    for each in ("resourcequotas/compute", "limitranges/defaults"):
        admin.call("DELETE", f"{scenes.CORE}/{each}")


def test_what_a_pod_template_requests_is_seen_with_its_deployment(
    admin: Client, cluster: Cluster
) -> None:
    """Amounts may be numbers, and a sidecar is an init container that restarts always."""
    resources: Object = {"requests": {"cpu": 2, "memory": "1Gi"}, "limits": {"memory": "2Gi"}}
    spec: Object = {
        "containers": [{"name": "worker", "image": "fairlead:test", "resources": resources}],
        "initContainers": [
            {
                "name": "proxy",
                "image": "proxy:test",
                "restartPolicy": "Always",
                "resources": {"requests": {"cpu": "50m"}},
            }
        ],
        "priorityClassName": "",
    }
    admin.call(
        "PATCH",
        f"{scenes.DEPLOYMENTS}/{scenes.WORKERS}",
        body={"spec": {"template": {"spec": spec}}},
        content_type="application/strategic-merge-patch+json",
    )

    def template() -> PodTemplate:
        return cluster.snapshot().workloads["default"].template

    until(lambda: template().inits != (), what="the template in the watch")
    gib = 2**30 * 1000
    assert (
        Resources(requests={"cpu": 2000, "memory": gib}, limits={"memory": 2 * gib})
        == template().containers[0]
    )
    assert (Resources(requests={"cpu": 50}, restarts=True),) == template().inits


def test_what_the_role_does_not_say_is_forbidden(cluster: Cluster) -> None:
    """The rights to other autoscalers and quotas are optional; no right names more."""
    for call in (cluster.autoscalers, cluster.quotas, cluster.container_defaults):
        with pytest.raises(ForbiddenError):
            call()
    with pytest.raises(ForbiddenError):
        cluster.scale("another")

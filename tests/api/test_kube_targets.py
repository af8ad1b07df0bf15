"""Targets of other kinds, and Jobs, on Kubernetes' own API server with narrow rights."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import cast

import pytest

from fairlead.jsontext import Json
from fairlead_autoscaler.kube import client as clients
from fairlead_autoscaler.kube.adapter import Cluster
from fairlead_autoscaler.kube.client import Client
from fairlead_autoscaler.kube.jobs import CREATED_MAX
from fairlead_autoscaler.kube.port import ConflictError, KubeError, NotSyncedError
from fairlead_autoscaler.targets import Target, parsed
from tests.support import real_api
from tests.support.kubernetes import objects, scenes
from tests.support.kubernetes.objects import NAMESPACE, SELECTOR, Object, part
from tests.support.waiting import until

pytestmark = [real_api.needs_api_server, pytest.mark.xdist_group("real-api")]

APPS = f"/apis/apps/v1/namespaces/{NAMESPACE}"
JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
FLEETS = f"/apis/x.dev/v1/namespaces/{NAMESPACE}/fleets"
ACCOUNTS = f"{scenes.CORE}/serviceaccounts"
RBAC = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}"
KINDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

NAMES = replace(
    scenes.NAMES,
    targets={
        pool: cast("Target", parsed(text))
        for pool, text in (
            ("set", "statefulsets.v1.apps/set"),
            ("fleet", "fleets.v1.x.dev/fleet"),
            ("jobs", "podtemplates.v1/jobs"),
        )
    },
    policy=None,
    policy_values=None,
)


def rule(group: str, resource: str, name: str, *verbs: str) -> Object:
    """Return a rule of a Role; no name: any."""
    made: Object = {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}
    return {**made, "resourceNames": [name]} if name else made


RULES: list[Json] = [
    rule("apps", "statefulsets", "set", "get", "list", "watch"),
    rule("apps", "statefulsets/scale", "set", "get", "patch"),
    rule("x.dev", "fleets", "fleet", "get", "list", "watch"),
    rule("x.dev", "fleets/scale", "fleet", "get", "patch"),
    rule("", "podtemplates", "jobs", "get", "list", "watch"),
    rule("batch", "jobs", "", "create", "list", "watch"),
    rule("", "pods", "", "list", "watch"),
]


def kind() -> Object:
    """Return a kind whose replicas are not where a Deployment has them."""
    schema: Json = {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
    }
    version: Object = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.size",
                "statusReplicasPath": ".status.size",
                "labelSelectorPath": ".status.selector",
            },
        },
    }
    names: Object = {"kind": "Fleet", "plural": "fleets", "singular": "fleet"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "fleets.x.dev"},
        "spec": {
            "group": "x.dev",
            "scope": "Namespaced",
            "names": names,
            "versions": [version],
        },
    }


def pods_of(pool: str, **spec: Json) -> Object:
    """Return the pods of a pool as a template."""
    container: Object = {"name": "worker", "image": "fairlead:test"}
    return {
        "metadata": {"labels": {**SELECTOR, "fairlead/pool": pool}},
        "spec": {"containers": [container], **spec},
    }


@pytest.fixture(scope="module")
def admin() -> Iterator[Client]:
    """Run an API server with a target of each kind, and return its administrator."""
    with real_api.running() as server:
        made, _ = clients.load(str(server.kubeconfig))
        made.call("POST", "/api/v1/namespaces", body={"metadata": {"name": NAMESPACE}})
        made.call("POST", KINDS, body=kind())
        made.call("POST", ACCOUNTS, body={"metadata": {"name": "autoscaler"}})
        role: Object = {"metadata": {"name": "autoscaler"}, "rules": RULES}
        made.call("POST", f"{RBAC}/roles", body=role)
        account = {"kind": "ServiceAccount", "name": "autoscaler", "namespace": NAMESPACE}
        group = "rbac.authorization.k8s.io"
        binding: Object = {
            "metadata": {"name": "autoscaler"},
            "roleRef": {"apiGroup": group, "kind": "Role", "name": "autoscaler"},
            "subjects": [cast("Json", account)],
        }
        made.call("POST", f"{RBAC}/rolebindings", body=binding)
        labels: Object = {**SELECTOR, "fairlead/pool": "set"}
        spec: Object = {
            "serviceName": "set",
            "replicas": 3,
            "selector": {"matchLabels": labels},
            "template": pods_of("set"),
        }
        made.call(
            "POST", f"{APPS}/statefulsets", body={"metadata": {"name": "set"}, "spec": spec}
        )
        fleet: Object = {
            "apiVersion": "x.dev/v1",
            "kind": "Fleet",
            "metadata": {"name": "fleet"},
            "spec": {"size": 4, "template": "big"},
        }
        until(lambda: created(made, FLEETS, fleet), what="the new kind", seconds=20)
        template: Object = {
            "metadata": {"name": "jobs"},
            "template": pods_of("jobs", restartPolicy="Never"),
        }
        made.call("POST", f"{scenes.CORE}/podtemplates", body=template)
        yield made


def created(admin: Client, path: str, body: Object) -> bool:
    """Create an object of a kind that may not be served yet."""
    try:
        admin.call("POST", path, body=body)
    except KubeError:
        return False
    return True


def restricted(admin: Client) -> Client:
    """Return a client with the Role's rights."""
    request: Object = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": 3600},
    }
    answer = admin.call("POST", f"{ACCOUNTS}/autoscaler/token", body=request)
    token = part(cast("Object", json.loads(answer)), "status")["token"]
    return Client(admin.pool, admin.host, lambda: f"Bearer {token}")


@pytest.fixture
def cluster(admin: Client) -> Iterator[Cluster]:
    """Watch them under the Role."""
    with scenes.watching(restricted(admin), names=NAMES) as watched:
        yield watched


def jobs(admin: Client) -> list[Object]:
    """Return the Jobs there are."""
    found = cast("Object", json.loads(admin.call("GET", JOBS)))
    return cast("list[Object]", found["items"])


def always() -> bool:
    """Go on."""
    return True


@pytest.mark.parametrize(
    ("pool", "address", "before"),
    [("set", "statefulsets.v1.apps/set", 3), ("fleet", "fleets.v1.x.dev/fleet", 4)],
)
def test_any_kind_with_a_scale_is_read_and_written(
    cluster: Cluster, pool: str, address: str, before: int
) -> None:
    """Wherever its object has the number: only its scale knows."""
    seen = cluster.snapshot().workloads[pool]
    assert (address, before) == (seen.address, seen.replicas)

    cluster.apply_scale(address, replicas=7, version=seen.version)

    until(
        lambda: cluster.snapshot().workloads[pool].replicas == 7,
        what="the number in the watch",
    )
    assert cluster.snapshot().workloads[pool].owner is None
    with pytest.raises(ConflictError):
        cluster.apply_scale(address, replicas=8, version=seen.version)


def test_as_many_jobs_are_made_as_are_missing(admin: Client, cluster: Cluster) -> None:
    """They count at once, and a repeat makes none."""
    assert 0 == cluster.snapshot().workloads["jobs"].replicas

    for _ in range(2):
        cluster.create_jobs("jobs", total=3, may_go_on=always)

        assert 3 == cluster.snapshot().workloads["jobs"].replicas
    made = jobs(admin)
    assert ["jobs-1", "jobs-2", "jobs-3"] == sorted(
        str(part(each, "metadata")["name"]) for each in made
    )
    assert {0} == {cast("int", part(each, "spec")["backoffLimit"]) for each in made}


def test_a_controller_that_takes_over_makes_none_twice(admin: Client, cluster: Cluster) -> None:
    """The one before crashed after it had made some; and what it sent late has their names."""
    cluster.create_jobs("jobs", total=3, may_go_on=always)
    sent = iter((True, True, False))
    cluster.create_jobs("jobs", total=6, may_go_on=lambda: next(sent))
    assert 5 == len(jobs(admin))

    blind = Cluster(restricted(admin), NAMES)
    with pytest.raises(NotSyncedError):
        blind.snapshot()
    with scenes.watching(restricted(admin), names=NAMES) as other:
        other.create_jobs("jobs", total=6, may_go_on=always)

    assert 6 == len(jobs(admin))


def test_a_job_that_has_ended_is_missing_again(admin: Client, cluster: Cluster) -> None:
    """And its number is not used twice while it is there."""
    cluster.create_jobs("jobs", total=6, may_go_on=always)
    ended = min(str(part(each, "metadata")["name"]) for each in jobs(admin))
    now = objects.now()
    body: Object = {
        "status": {
            "startTime": now,
            "conditions": [
                {"type": "FailureTarget", "status": "True", "lastTransitionTime": now},
                {"type": "Failed", "status": "True", "lastTransitionTime": now},
            ],
        }
    }
    admin.call("PATCH", f"{JOBS}/{ended}/status", body=body, content_type=clients.MERGE)
    until(lambda: cluster.snapshot().workloads["jobs"].replicas == 5, what="the end of the Job")
    assert 1 == len(cluster.snapshot().workloads["jobs"].failed_at)

    cluster.create_jobs("jobs", total=6, may_go_on=always)

    assert 7 == len(jobs(admin))
    assert 6 == cluster.snapshot().workloads["jobs"].replicas


def test_a_step_makes_so_many_and_the_next_one_goes_on(admin: Client, cluster: Cluster) -> None:
    """Other pools wait meanwhile."""
    before = len(jobs(admin))
    active = cluster.snapshot().workloads["jobs"].replicas
    total = active + CREATED_MAX + 5
    cluster.create_jobs("jobs", total=total, may_go_on=always)
    assert before + CREATED_MAX == len(jobs(admin))

    cluster.create_jobs("jobs", total=total, may_go_on=always)

    assert before + CREATED_MAX + 5 == len(jobs(admin))

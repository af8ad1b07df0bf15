"""Upgrades of a release on an API server: what the cluster wrote into it is left alone."""

import json
import os
import secrets
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import pytest

from tests.support.chart import (
    CHART,
    EVERYTHING,
    GIVEN,
    HELM,
    Json,
    Object,
    at,
    helm_3,
    needs_helm,
)
from tests.support.real_api import Api, needs_api_server
from tests.support.waiting import until

pytestmark = [
    needs_helm,
    needs_api_server,
    pytest.mark.xdist_group("api"),
    pytest.mark.timeout(300),
]

ACCOUNT = "system:serviceaccount:{}:shop-fairlead-autoscaler"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
POOL = "apis/apps/v1/deployments/shop-fairlead-worker-default"
SCALE = f"{POOL}/scale"
LEASE = "apis/coordination.k8s.io/v1/leases/shop-fairlead-autoscaler"
STATUS = "api/v1/configmaps/shop-fairlead-status"
POLICY = "api/v1/configmaps/shop-fairlead-policy"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
POD_MONITORS: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "podmonitors.monitoring.coreos.com",
    },
    "spec": {
        "group": "monitoring.coreos.com",
        "scope": "Namespaced",
        "names": {"plural": "podmonitors", "kind": "PodMonitor"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}
OFF: Object = {**GIVEN, "autoscaler": {"enabled": False}}


@dataclass(frozen=True, slots=True)
class Release:
    """A release `shop` in a namespace of its own."""

    api: Api
    namespace: str

    def helm(self, *arguments: str, values: Object | None = None) -> None:
        """Run helm on the release.

        Raises:
            AssertionError: it failed.
        """
        given = [] if values is None else ["--values", "-"]
        done = subprocess.run(
            [HELM, *arguments, *given, f"--namespace={self.namespace}"],
            input=json.dumps(values or {}),
            env={**os.environ, "KUBECONFIG": str(self.api.kubeconfig)},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    def upgrade(self, values: Object, *flags: str) -> None:
        """Install the release, or upgrade it."""
        self.helm("upgrade", "--install", "shop", str(CHART), *flags, values=values)

    def path(self, path: str) -> str:
        """Return where something of this namespace is."""
        group, _, rest = path.rpartition("/v1/")
        return f"/{group}/v1/namespaces/{self.namespace}/{rest}"

    def get(self, path: str, *keys: str) -> Json:
        """Return what stands under these keys of an object."""
        status, found = self.api.ask("GET", self.path(path))
        assert status == 200, found
        return at(found, *keys)

    def as_autoscaler(
        self, method: str, path: str, body: Object, content_type: str = "application/json"
    ) -> int:
        """Write something as the account of the autoscaler; return the status."""
        account = ACCOUNT.format(self.namespace)
        return self.api.ask(
            method, self.path(path), body, content_type=content_type, account=account
        )[0]

    def scale(self, replicas: int) -> int:
        """Scale the pool as the autoscaler does; return the status."""
        version = self.get(POOL, "metadata", "resourceVersion")
        scale: Object = {
            "apiVersion": "autoscaling/v1",
            "kind": "Scale",
            "metadata": {"name": "shop-fairlead-worker-default", "resourceVersion": version},
            "spec": {"replicas": replicas},
        }
        query = "?fieldManager=fairlead-autoscaler&force=true"
        return self.as_autoscaler("PATCH", SCALE + query, scale, APPLY)

    def replicas(self) -> Json:
        """Return how many pods the pool is to have."""
        return self.get(POOL, "spec", "replicas")


@pytest.fixture
def release(api: Api) -> Release:
    """Return a release that is not installed yet, in a namespace that is new."""
    name = f"test-{secrets.token_hex(4)}"
    namespace: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    status, said = api.ask("POST", "/api/v1/namespaces", namespace)
    assert status == 201, said
    return Release(api, name)


def test_what_was_decided_and_edited_outlives_upgrade_and_rollback(release: Release) -> None:
    """`replicas` omitted keeps 7, 0 and 5; a live policy, Lease and status stay as they are."""
    edited: Object = {"data": {"policy.yaml": "version: 7\n"}}
    said: Object = {"data": {"status.yaml": "pools: []\n"}}
    release.upgrade(GIVEN)
    assert 1 == release.replicas()

    status, _ = release.api.ask("PATCH", release.path(POLICY), edited, content_type=MERGE)
    assert 200 == status
    assert 200 == release.as_autoscaler("PATCH", STATUS, said, MERGE)
    lease = cast("Object", release.get(LEASE))
    assert 200 == release.as_autoscaler(
        "PUT", LEASE, {**lease, "spec": {"holderIdentity": "pod-1"}}
    )
    steps: tuple[tuple[int, Callable[[], None]], ...] = (
        (7, lambda: release.upgrade({**GIVEN, "image": {"tag": "2"}})),
        (0, lambda: release.helm("rollback", "shop", "1")),
        (5, lambda: release.upgrade({**GIVEN, "policy": {"document": {"version": 3}}})),
    )
    for replicas, step in steps:
        assert 200 == release.scale(replicas)
        step()

        assert replicas == release.replicas()
        assert edited["data"] == release.get(POLICY, "data")
        assert said["data"] == release.get(STATUS, "data")
        assert "pod-1" == release.get(LEASE, "spec", "holderIdentity")


def test_a_pool_that_was_adopted_keeps_its_pods_when_the_autoscaler_comes(
    release: Release,
) -> None:
    """Adopting applies the number that is there, so that it is ours when helm lets it go.

    Helm 3 ignores who owns a field, and removes what it renders no longer.
    """
    release.upgrade({**OFF, "workerPools": {"default": {"replicas": 6}}})
    assert 6 == release.replicas()

    assert 200 == release.scale(6)
    release.upgrade(GIVEN)

    assert (1 if helm_3() else 6) == release.replicas()


def test_switching_the_autoscaler_off_takes_the_number_of_pods_from_it(
    release: Release,
) -> None:
    """Helm 4 needs a flag for it, in an upgrade and in a rollback; Helm 3 does not."""
    off: Object = {**OFF, "workerPools": {"default": {"replicas": 6}}}
    release.upgrade(off)
    steps: tuple[Callable[..., None], ...] = (
        lambda *flags: release.helm("rollback", "shop", "1", *flags),
        lambda *flags: release.upgrade(off, *flags),
    )
    for switch_off in steps:
        assert 200 == release.scale(6)
        release.upgrade(GIVEN)
        assert 200 == release.scale(4)

        if helm_3():
            switch_off()
        else:
            with pytest.raises(AssertionError, match='conflict with "fairlead-autoscaler"'):
                switch_off()
            assert 4 == release.replicas()
            switch_off("--force-conflicts")

        assert 6 == release.replicas()


def test_the_autoscalers_account_may_do_what_its_work_takes_and_no_more(
    release: Release,
) -> None:
    """Asked of the API server's own authorizer."""
    release.upgrade(GIVEN)

    assert 200 == release.scale(3)
    pods = release.path("api/v1/pods")
    account = ACCOUNT.format(release.namespace)
    assert 200 == release.api.ask("GET", pods, account=account)[0]
    assert {403} == {
        release.as_autoscaler("PATCH", POOL, {"metadata": {}}, MERGE),
        release.as_autoscaler("PATCH", POLICY, {"data": {}}, MERGE),
        release.as_autoscaler(
            "PATCH", f"{POOL.replace('worker-default', 'scheduler')}", {}, MERGE
        ),
        release.as_autoscaler("POST", "api/v1/pods", {}),
        release.as_autoscaler("POST", "api/v1/configmaps", {}),
        release.api.ask("GET", release.path("api/v1/secrets"), account=account)[0],
        release.api.ask("GET", release.path("api/v1/configmaps"), account=account)[0],
        release.api.ask("GET", "/api/v1/pods", account=account)[0],
    }


def test_a_monitor_is_made_as_soon_as_the_cluster_knows_its_kind(release: Release) -> None:
    """Its release is installed without the operator, and has its monitor after an upgrade."""
    values: Object = {**GIVEN, "metrics": {"podMonitor": {"enabled": "auto"}}}
    release.upgrade(values)

    status, said = release.api.ask("POST", DEFINITIONS, POD_MONITORS)
    assert status == 201, said
    listed = "apis/monitoring.coreos.com/v1/podmonitors"
    until(
        lambda: release.api.ask("GET", release.path(listed))[0] == 200,
        what="an API server that serves monitors",
        seconds=30,
    )
    release.upgrade(values)

    assert release.get(f"{listed}/shop-fairlead", "spec", "selector")
    status, said = release.api.ask("DELETE", f"{DEFINITIONS}/podmonitors.monitoring.coreos.com")
    assert status == 200, said


def test_uninstalling_leaves_nothing_of_the_release(release: Release) -> None:
    """What the cluster wrote into is gone, too."""
    release.upgrade({**EVERYTHING, "metrics": {}})
    assert 200 == release.scale(2)

    release.helm("uninstall", "shop")

    kinds = (
        *(
            f"api/v1/{kind}"
            for kind in ("configmaps", "secrets", "services", "serviceaccounts")
        ),
        *(
            "apis/apps/v1/deployments",
            "apis/batch/v1/jobs",
            "apis/coordination.k8s.io/v1/leases",
        ),
        *(f"apis/rbac.authorization.k8s.io/v1/{kind}" for kind in ("roles", "rolebindings")),
        *("apis/policy/v1/poddisruptionbudgets", "apis/networking.k8s.io/v1/networkpolicies"),
    )
    left = {
        f"{kind} {at(each, 'metadata', 'name')}"
        for kind in kinds
        for each in cast("list[Json]", release.get(kind, "items"))
    }
    assert set() == left

"""The autoscaler's rights, held against what it asks a real API server for."""

import json
from collections.abc import Iterator
from typing import cast

import pytest
import yaml
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.cluster.conftest import VALUES as TRIAL
from tests.support import cluster, jobs
from tests.support.chart import Object, at
from tests.support.cluster import AUTOSCALER, NAMED, Release
from tests.support.kubernetes.recorder import Noted, recording
from tests.support.kubernetes.rights import Right
from tests.support.waiting import until

if why := cluster.missing():
    pytest.skip(why, allow_module_level=True)
if not cluster.NODE_ADDRESS:
    pytest.skip("NODE_ADDRESS is empty: pods reach no proxy here", allow_module_level=True)

pytestmark = pytest.mark.timeout(cluster.TIMEOUT_SECONDS)

CONFIG = ("kubectl", "config", "view", "--minify", "--output=json")
ADOPT = ("fairlead", "autoscaler", "adopt", "--kubeconfig=/etc/way/config")
NAMED_ONES = {"configmaps", "deployments", "deployments/scale", "leases"}
POOLS = ("default", "reports")
SMALL: Object = {
    "objective": "20s",
    "min": 0,
    "max": 2,
    "stabilization": "2s",
    "keep": "2s",
}
# What LimitRanges fill in is asked for where there is a quota.
ROOMY: Object = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "roomy"},
    "spec": {"hard": {"pods": "200"}},
}
TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"


def values(noted: Noted, namespace: str) -> Object:
    """Return values with which the autoscaler goes by way of the proxy, with every right."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "proxy",
                "cluster": {"server": f"http://{cluster.NODE_ADDRESS}:{noted.port}"},
            }
        ],
        "users": [{"name": "pod", "user": {"tokenFile": TOKEN}}],
        "contexts": [
            {
                "name": "proxy",
                "context": {"cluster": "proxy", "user": "pod", "namespace": namespace},
            }
        ],
        "current-context": "proxy",
    }
    way: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "way"},
        "data": {"config": json.dumps(config)},
    }
    autoscaler = cast("Object", TRIAL["autoscaler"])
    return {
        **TRIAL,
        "workerPools": {pool: {"autoscale": SMALL} for pool in POOLS},
        "extraObjects": [way, ROOMY],
        "autoscaler": {
            **autoscaler,
            "replicas": 1,
            "rbac": {"horizontalPodAutoscalers": True, "resourceQuotas": True},
            "extraArgs": ["--kubeconfig=/etc/way/config"],
            "volumes": [{"name": "way", "configMap": {"name": "way"}}],
            "volumeMounts": [{"name": "way", "mountPath": "/etc/way", "readOnly": True}],
        },
    }


@pytest.fixture(scope="module")
def noted(release: Release) -> Iterator[Noted]:
    """Yield what the autoscaler asks for, once it is installed and asks by way of a proxy."""
    shown = cast("Object", json.loads(cluster.run(*CONFIG)))
    server = str(at(shown, "clusters", 0, "cluster", "server"))
    with recording(server, authority(release), address=cluster.NODE_ADDRESS) as made:
        release.install(values(made, release.namespace))
        yield made


def authority(release: Release) -> str:
    """Return the certificate of the cluster's authority, which every namespace has."""
    return str(at(release.got("configmap", "kube-root-ca.crt"), "data", "ca.crt"))


def granted(release: Release) -> set[Right]:
    """Return what the release's Role grants, right by right."""
    rules = cast("list[dict[str, list[str]]]", release.got("role", AUTOSCALER)["rules"])
    return {
        Right(verb, group, resource, name)
        for rule in rules
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames", [""])
    }


def test_what_is_granted_is_used_and_what_is_used_is_granted(
    release: Release, noted: Noted, db: Connection[TupleRow]
) -> None:
    """The Role has no right that is not used, and nothing is asked for that it has not."""
    scales = "/apis/apps/v1/namespaces/{}/deployments/{}-worker-{}/scale"
    noted.stale |= {scales.format(release.namespace, NAMED, pool) for pool in POOLS}
    for pool in POOLS:
        jobs.inserted(db, 20, seconds=1, queue=pool).await_end()
    for paused in (True, False, True, False):
        pause(release, paused=paused)
    lose_the_lease(release)
    until(
        lambda: not any(release.replicas(f"{NAMED}-worker-{pool}") for pool in POOLS),
        what="empty pools",
        seconds=120,
    )
    release.kubectl("exec", f"deployment/{AUTOSCALER}", "--", *ADOPT)

    asked = {each if each.resource in NAMED_ONES else unnamed(each) for each in noted.used}
    assert set() == noted.refused | noted.stale
    assert set() == noted.other
    assert granted(release) == asked


def pause(release: Release, *, paused: bool) -> None:
    """Pause the pools by a live policy, or go on; wait until the autoscaler says so."""
    values_policy = release.got("configmap", f"{NAMED}-policy-values")
    edited = cast("Object", yaml.safe_load(str(at(values_policy, "data", "policy.yaml"))))
    for pool in cast("list[Object]", edited["pools"]):
        cast("Object", pool["autoscale"])["pause"] = paused
    release.edit_policy(yaml.safe_dump(edited))
    until(
        lambda: (at(release.status(), "pools", "default", "reason") == "Paused") == paused,
        what=f"a pool that is {'paused' if paused else 'not paused'} in the status",
        seconds=30,
    )


def lose_the_lease(release: Release) -> None:
    """Let the autoscaler start without a Lease, as where a tool leaves it out, and make one.

    One that runs writes the Lease that it holds, which makes it anew: it asks to create none.
    """
    release.kubectl("scale", f"deployment/{AUTOSCALER}", "--replicas=0")
    until(lambda: not release.pods("autoscaler"), what="no autoscaler", seconds=60)
    release.kubectl("delete", "lease", AUTOSCALER)
    release.kubectl("scale", f"deployment/{AUTOSCALER}", "--replicas=1")
    made = f"lease.coordination.k8s.io/{AUTOSCALER}"
    until(
        lambda: made in release.kubectl("get", "leases", "--output=name") and release.holder(),
        what="a Lease that is held",
        seconds=60,
    )


def unnamed(right: Right) -> Right:
    """Return the right without the object's name, as the Role grants it for any."""
    return Right(right.verb, right.group, right.resource, "")

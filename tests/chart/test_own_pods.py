"""How each program's and each pool's pods are replaced, probed, confined and resolved."""

from typing import cast

import pytest

from tests.support.chart import (
    CONSOLE,
    GIVEN,
    PRODUCTION,
    Json,
    Object,
    at,
    needs_helm,
    of,
    one,
    pod_specs,
    render,
)

pytestmark = [needs_helm]

POD = ("spec", "template", "spec")
OWN: Object = {
    "runtimeClassName": "gvisor",
    "dnsPolicy": "None",
    "dnsConfig": {"nameservers": ["10.0.0.10"]},
    "hostAliases": [{"ip": "10.0.0.5", "hostnames": ["db"]}],
    "lifecycle": {"preStop": {"sleep": {"seconds": 5}}},
    "startupProbe": {"failureThreshold": 300},
    "readinessProbe": {"periodSeconds": 5},
    "livenessProbe": {"exec": {"command": ["alive"]}},
    "podSecurityContext": {"runAsUser": 1000, "fsGroup": None},
    "securityContext": {"readOnlyRootFilesystem": False},
}


def deployment(name: str, values: Object) -> Object:
    """Return a Deployment of the release."""
    return one(render({**GIVEN, **values}), "Deployment", f"shop-fairlead-{name}")


def unavailable(strategy: Json, replicas: int) -> int:
    """Return how many of these pods may be missing in a rollout, as Kubernetes counts."""
    most = at(strategy, "rollingUpdate", "maxUnavailable")
    if isinstance(most, str) and most.endswith("%"):
        return replicas * int(most[:-1]) // 100
    return int(str(most))


@pytest.mark.parametrize("replicas", [1, 2, 3, 10])
def test_a_pool_that_fills_its_nodes_is_replaced(replicas: int) -> None:
    """One pod may be missing, however few there are: its node has room for a new one.

    With 0, or with a part of few pods, which is rounded down, the new pod waits for a node that
    no old one leaves, and the rollout for the new pod.
    """
    for values in (GIVEN, PRODUCTION):
        for each in of(render(values), "Deployment"):
            if at(each, "metadata", "labels", "app.kubernetes.io/component") == "worker":
                assert 1 == unavailable(at(each, "spec", "strategy"), replicas)


def test_a_pool_that_has_room_may_keep_all_of_its_pods() -> None:
    """One field of the strategy is enough, and the others stay."""
    made = deployment(
        "worker-default",
        {
            "workerPools": {
                "default": {"strategy": {"rollingUpdate": {"maxUnavailable": 0}}},
            }
        },
    )

    assert {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": "25%"}} == at(
        made, "spec", "strategy"
    )


def test_a_strategy_without_numbers_has_none_of_the_defaults() -> None:
    """Kubernetes refuses `rollingUpdate` beside `Recreate`."""
    values: Object = {"scheduler": {"strategy": {"type": "Recreate"}}}

    assert {"type": "Recreate"} == at(deployment("scheduler", values), "spec", "strategy")


@pytest.mark.parametrize("component", ["scheduler", "autoscaler", "worker-default"])
def test_each_program_and_pool_has_pods_of_its_own_kind(component: str) -> None:
    """Every field is that pod's alone; a probe's other way to ask replaces the request."""
    values: Object = (
        {"workerPools": {"default": OWN, "other": {}}}
        if component.startswith("worker")
        else {component: OWN}
    )
    made = deployment(component, values)
    container = at(made, *POD, "containers", 0)
    kept: Object = {key: OWN[key] for key in ("runtimeClassName", "dnsPolicy", "dnsConfig")}

    assert kept.items() <= cast("Object", at(made, *POD)).items()
    assert OWN["hostAliases"] == at(made, *POD, "hostAliases")
    assert OWN["lifecycle"] == at(container, "lifecycle")
    assert (300, 1) == (
        at(container, "startupProbe", "failureThreshold"),
        at(container, "startupProbe", "periodSeconds"),
    )
    assert (5, "/readyz") == (
        at(container, "readinessProbe", "periodSeconds"),
        at(container, "readinessProbe", "httpGet", "path"),
    )
    assert ({"command": ["alive"]}, None) == (
        at(container, "livenessProbe", "exec"),
        at(container, "livenessProbe", "httpGet"),
    )
    security = cast("Object", at(made, *POD, "securityContext"))
    assert (1000, 65532) == (security["runAsUser"], security["runAsGroup"])
    assert "fsGroup" not in security
    assert (False, False) == (
        at(container, "securityContext", "readOnlyRootFilesystem"),
        at(container, "securityContext", "allowPrivilegeEscalation"),
    )
    other = "scheduler" if component != "scheduler" else "autoscaler"
    assert 65532 == at(deployment(other, values), *POD, "securityContext", "runAsUser")


def test_jobs_have_rights_of_their_own_too() -> None:
    """As a cluster that gives users to pods wants."""
    own: Object = {
        "podSecurityContext": {"runAsUser": 1000},
        "securityContext": {"privileged": False},
    }
    objects = render({**GIVEN, "migrations": own, "tests": own})
    for name, spec in pod_specs(objects):
        is_job = name.startswith(("Job/", "Pod/"))
        assert (1000 if is_job else 65532) == at(spec, "securityContext", "runAsUser")
        assert (False if is_job else None) is at(
            spec, "containers", 0, "securityContext", "privileged"
        )


@pytest.mark.parametrize(("values", "asks"), [(PRODUCTION, {True}), (GIVEN, {False})])
def test_pods_ask_for_the_disk_that_they_write_to_in_production(
    values: Object, asks: set[bool]
) -> None:
    """A full node first evicts pods that use more than they asked for.

    One that does not measure its disk, such as a rootless kind's, runs no pod that asks.
    """
    console = {
        **cast("Object", values.get("console", {})),
        **cast("Object", CONSOLE["console"]),
    }
    specs = tuple(pod_specs(render({**values, "console": console})))
    asked = {
        "ephemeral-storage" in cast("Object", at(container, "resources", "requests"))
        for _, spec in specs
        for container in cast("list[Object]", spec["containers"])
    }

    assert asks == asked


@pytest.mark.parametrize("spread", ["soft", "hard"])
def test_tainted_nodes_are_no_empty_domains(spread: str) -> None:
    """Pods spread over the nodes that they may run on."""
    made = deployment("scheduler", {"scheduler": {"topologySpread": spread}})
    constraints = cast("list[Object]", at(made, *POD, "topologySpreadConstraints"))

    assert ["Honor", "Honor"] == [each["nodeTaintsPolicy"] for each in constraints]


def test_pools_that_name_one_account_share_it() -> None:
    """One object has the name; each pool has one of its own where none is named."""
    objects = render(
        {
            **GIVEN,
            "workerPoolDefaults": {
                "serviceAccount": {"name": "jobs", "annotations": {"a": "b"}}
            },
            "workerPools": {"other": {}, "own": {"serviceAccount": {"name": ""}}},
        }
    )
    named = [str(at(each, "metadata", "name")) for each in of(objects, "ServiceAccount")]

    assert ["autoscaler", "jobs", "scheduler", "worker-own"] == sorted(
        each.removeprefix("shop-fairlead-") for each in named
    )
    assert {"default": "jobs", "other": "jobs", "own": "shop-fairlead-worker-own"} == {
        str(at(each, "spec", "selector", "matchLabels", "fairlead/pool")): str(
            at(each, *POD, "serviceAccountName")
        )
        for each in of(objects, "Deployment")
        if at(each, "metadata", "labels", "app.kubernetes.io/component") == "worker"
    }


def test_a_hooks_job_has_its_network_and_its_account_before_it_runs() -> None:
    """Both are hooks of a lower weight, which go when the hooks have succeeded."""
    objects = render(
        {
            **GIVEN,
            "migrations": {"mode": "hook", "serviceAccount": {"create": True}},
            "networkPolicy": {"enabled": True, "databasePort": 6432},
        }
    )
    (job,) = of(objects, "Job")
    made = [
        one(objects, kind, "shop-fairlead-migrate")
        for kind in ("NetworkPolicy", "ServiceAccount")
    ]

    assert None is at(job, "metadata", "annotations", "helm.sh/hook-weight")
    for each in made:
        notes = cast("Object", at(each, "metadata", "annotations"))
        assert at(job, "metadata", "annotations", "helm.sh/hook") == notes["helm.sh/hook"]
        assert int(str(notes["helm.sh/hook-weight"])) < 0
        assert "before-hook-creation,hook-succeeded" == notes["helm.sh/hook-delete-policy"]
    labels = cast("Object", at(job, "spec", "template", "metadata", "labels"))
    assert (
        cast("Object", at(made[0], "spec", "podSelector", "matchLabels")).items()
        <= labels.items()
    )
    assert [{"port": 6432, "protocol": "TCP"}] == at(made[0], "spec", "egress", 1, "ports")
    with_job = render({**GIVEN, "networkPolicy": {"enabled": True}})
    assert "shop-fairlead-migrate" not in {
        str(at(each, "metadata", "name")) for each in of(with_job, "NetworkPolicy")
    }

"""The autoscaler's objects: its exact rights, and fields that an upgrade leaves alone."""

from typing import cast

import pytest

from tests.support.chart import (
    EVERYTHING,
    GIVEN,
    PRODUCTION,
    Json,
    Object,
    at,
    environment,
    needs_helm,
    of,
    one,
    render,
)

pytestmark = [needs_helm]

NAME = "shop-fairlead-autoscaler"
DNS = (53, 5353)
POD = ("spec", "template", "spec")
OFF: Object = {**GIVEN, "autoscaler": {"enabled": False}}
STORED: Object = {**GIVEN, "policy": {"source": "database"}}
DISABLED: Object = {**STORED, "autoscaler": {"enabled": False, "replicas": 0}}


def rights(values: Object) -> set[str]:
    """Return every right of a release: verb, kind, and the names that it is for."""
    found = set[str]()
    for rule in cast("list[Object]", at(one(render(values), "Role", NAME), "rules")):
        (group,), (resource,) = cast(
            "tuple[list[str], list[str]]", (rule["apiGroups"], rule["resources"])
        )
        names = cast("list[str]", rule.get("resourceNames") or ["*"])
        found |= {
            f"{verb} {group}/{resource} {name.removeprefix('shop-fairlead-')}".replace(
                " /", " "
            )
            for verb in cast("list[str]", rule["verbs"])
            for name in names
        }
    return found


def allowed(*, optional: bool) -> set[str]:
    """Return what the autoscaler may do, right by right."""
    lines = """
        get list watch: configmaps policy
        get list watch: configmaps policy-values
        patch: configmaps status
        get list watch: apps/deployments worker-default
        get patch: apps/deployments/scale worker-default
        list watch: pods *
        get update: coordination.k8s.io/leases autoscaler
        create: coordination.k8s.io/leases *
        create patch: events.k8s.io/events *
    """
    if optional:
        lines += """
        list: autoscaling/horizontalpodautoscalers *
        list: resourcequotas *
        list: limitranges *
        """
    pairs = (line.strip().split(": ") for line in lines.splitlines() if line.strip())
    return {f"{verb} {what}" for verbs, what in pairs for verb in verbs.split()}


def test_the_role_has_these_rights_and_no_more() -> None:
    """No writes to pods, no creates but of events and Leases, and all that can be named is."""
    assert allowed(optional=False) == rights(GIVEN)


def test_quotas_and_other_autoscalers_are_read_where_that_is_asked_for() -> None:
    """They are optional, and a variable says that the program may read them."""
    given = environment(one(render(EVERYTHING), "Deployment", NAME))

    assert allowed(optional=True) == rights(EVERYTHING)
    assert ("true", "true") == (
        given["FAIRLEAD_READ_AUTOSCALERS"],
        given["FAIRLEAD_READ_QUOTAS"],
    )


def test_a_release_without_pools_may_scale_nothing() -> None:
    """A rule without names would be one for every Deployment of the namespace."""
    may = rights({**GIVEN, "workerPools": {"default": None}})

    assert [] == [right for right in may if "deployments" in right]


def test_the_rights_are_bound_to_the_account_that_its_pods_have() -> None:
    """The account mounts no token by itself; the pods ask for it."""
    objects = render({**GIVEN, "autoscaler": {"serviceAccount": {"name": "scaler"}}})

    (subject,) = cast("list[Object]", at(one(objects, "RoleBinding", NAME), "subjects"))
    pod = at(one(objects, "Deployment", NAME), *POD)
    assert ("scaler", "work") == (subject["name"], subject["namespace"])
    assert ("scaler", True) == (
        at(pod, "serviceAccountName"),
        at(pod, "automountServiceAccountToken"),
    )
    assert False is one(objects, "ServiceAccount", "scaler")["automountServiceAccountToken"]


@pytest.mark.parametrize("values", [GIVEN, PRODUCTION, EVERYTHING])
def test_no_pool_renders_replicas_while_the_autoscaler_is_enabled(values: Object) -> None:
    """A chart that renders them would reset what was decided, or fail its upgrade."""
    rendered = {
        str(at(each, "metadata", "labels", "app.kubernetes.io/component")): "replicas"
        in cast("Object", each["spec"])
        for each in of(render(values), "Deployment")
    }

    assert {"scheduler", "autoscaler", "worker"} <= rendered.keys()
    assert rendered == {component: component != "worker" for component in rendered}


def test_pools_have_their_replicas_while_it_is_not() -> None:
    """The controller still runs, to sync the policy, and a variable stops it from scaling."""
    objects = render(OFF)

    assert 2 == at(
        one(objects, "Deployment", "shop-fairlead-worker-default"), "spec", "replicas"
    )
    given = environment(one(objects, "Deployment", NAME))
    assert "false" == given["FAIRLEAD_AUTOSCALER_ENABLED"]
    assert allowed(optional=False) == rights(OFF)


def test_its_environment_has_every_name_so_that_it_need_not_list() -> None:
    """The names are those of the objects that the chart renders, and those of the Role."""
    objects = render({**GIVEN, "workerPools": {"big": {}, "gone": None}})
    given = environment(one(objects, "Deployment", NAME))

    pairs = dict(pair.split("=") for pair in given["FAIRLEAD_POOL_TARGETS"].split(","))
    assert {"big", "default"} == set(pairs)
    for pool, name in pairs.items():
        made = one(objects, "Deployment", name)
        assert pool == at(made, "spec", "template", "metadata", "labels", "fairlead/pool")
        labels = cast("Object", at(made, "spec", "template", "metadata", "labels"))
        for wanted in given["FAIRLEAD_POD_SELECTOR"].split(","):
            key, equals, value = wanted.partition("=")
            assert labels[key] == value or not equals
    assert one(objects, "Lease", given["FAIRLEAD_LEASE_NAME"])
    for variable in ("STATUS_CONFIGMAP", "POLICY_CONFIGMAP", "POLICY_VALUES_CONFIGMAP"):
        assert one(objects, "ConfigMap", given[f"FAIRLEAD_{variable}"])
    assert ("configmap", "true") == (
        given["FAIRLEAD_POLICY_SOURCE"],
        given["FAIRLEAD_AUTOSCALER_ENABLED"],
    )


def test_what_is_written_in_the_cluster_is_rendered_empty() -> None:
    """A field that the chart renders is one that an upgrade takes back or fails over."""
    objects = render(GIVEN)
    empty = {"apiVersion", "kind", "metadata"}

    assert empty == set(one(objects, "Lease", NAME))
    assert empty == set(one(objects, "ConfigMap", "shop-fairlead-status"))
    assert empty == set(one(objects, "ConfigMap", "shop-fairlead-policy"))


def test_a_policy_in_the_database_needs_no_configmap_and_no_right_to_any() -> None:
    """`fairlead policy apply` sets it then."""
    objects = render(STORED)

    assert ["shop-fairlead-status"] == [
        at(each, "metadata", "name") for each in of(objects, "ConfigMap")
    ]
    assert [] == [right for right in rights(STORED) if "policy" in right]
    given = environment(one(objects, "Deployment", NAME))
    assert "database" == given["FAIRLEAD_POLICY_SOURCE"]
    assert {"FAIRLEAD_POLICY_CONFIGMAP", "FAIRLEAD_POLICY_VALUES_CONFIGMAP"}.isdisjoint(given)


def test_with_nothing_to_do_it_is_left_out_with_its_rights() -> None:
    """No replicas, no pods to scale, no policy to keep: nothing of it is there."""
    objects = render(DISABLED)

    assert [] == [
        str(each["kind"])
        for each in objects
        if at(each, "metadata", "labels", "app.kubernetes.io/component") == "autoscaler"
    ]
    assert () == of(objects, "Role")


@pytest.mark.parametrize(
    "change",
    [
        {"policy": {"document": {"fairness": {"refresh": "2s"}}}},
        {"policy": {"source": "database"}},
        {"workerPools": {"default": {"autoscale": {"max": 50}, "queues": ["a"]}}},
    ],
)
def test_a_change_of_the_policy_rolls_no_scheduler_and_no_worker(change: Object) -> None:
    """No checksum of it is in a pod's template."""
    before, after = (
        {
            name: at(one(render({**GIVEN, **values}), "Deployment", name), *POD)
            for name in ("shop-fairlead-scheduler", "shop-fairlead-worker-default")
        }
        for values in (Object(), change)
    )

    assert before == after


def test_an_eviction_leaves_one_of_its_pods() -> None:
    """Two pods, a budget of one, spread over nodes, and room for what 500 pods take."""
    objects = render(GIVEN)
    made = one(objects, "Deployment", NAME)

    assert 2 == at(made, "spec", "replicas")
    assert 1 == at(one(objects, "PodDisruptionBudget", NAME), "spec", "maxUnavailable")
    assert "kubernetes.io/hostname" == at(
        made, *POD, "topologySpreadConstraints", 0, "topologyKey"
    )
    container = at(made, *POD, "containers", 0)
    assert "128Mi" == at(container, "resources", "requests", "memory")
    assert "/readyz" == at(container, "readinessProbe", "httpGet", "path")


def egress(objects: tuple[Object, ...], component: str) -> set[int]:
    """Return the ports that a component may connect to."""
    found = set[int]()
    for policy in of(objects, "NetworkPolicy"):
        pods = at(policy, "spec", "podSelector")
        label = at(pods, "matchLabels", "app.kubernetes.io/component")
        named = at(pods, "matchExpressions", 0, "values") or [label]
        if component in cast("list[Json]", named):
            for rule in cast("list[Object]", at(policy, "spec", "egress")):
                ports = cast("list[dict[str, int]]", rule["ports"])
                found |= {port["port"] for port in ports}
    return found


def test_it_alone_may_reach_the_api_server() -> None:
    """The others reach DNS and the database, and the test's pod what it asks."""
    objects = render(
        {**GIVEN, "networkPolicy": {"enabled": True, "apiServerPorts": [443, 26443]}}
    )

    assert {*DNS, 5432, 443, 26443} == egress(objects, "autoscaler")
    assert {*DNS, 5432, 443, 26443, 8080} == egress(objects, "test")
    for component in ("scheduler", "worker", "migrate"):
        assert {*DNS, 5432} == egress(objects, component)


def test_dns_is_reached_where_its_pods_listen() -> None:
    """A policy is held to the port behind a Service: 5353 on OpenShift, or what is set."""
    assert set(DNS) <= egress(render({**GIVEN, "networkPolicy": {"enabled": True}}), "worker")

    set_to: Object = {**GIVEN, "networkPolicy": {"enabled": True, "dnsPorts": [5300]}}
    rule = at(one(render(set_to), "NetworkPolicy", "shop-fairlead-fleet"), "spec", "egress", 0)

    assert rule == {"ports": [{"port": 5300, "protocol": each} for each in ("UDP", "TCP")]}

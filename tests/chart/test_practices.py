"""What a platform team looks for in a chart, each held against the values for production."""

import json
from collections.abc import Callable, Iterator
from typing import cast

import pytest
import yaml

from tests.support.chart import (
    CHART,
    GIVEN,
    PRODUCTION,
    TRIAL,
    Json,
    Object,
    at,
    needs_helm,
    of,
    one,
    pod_specs,
    render,
    variables,
)

pytestmark = [needs_helm]

Objects = tuple[Object, ...]
Check = Callable[[Objects], bool]
DEPLOYMENTS = ("autoscaler", "scheduler", "worker-default", "worker-reports")


def specs(objects: Objects) -> list[Object]:
    """Return the specification of every pod."""
    return [spec for _, spec in pod_specs(objects)]


def containers(objects: Objects) -> list[Object]:
    """Return the containers of every pod."""
    return [
        each for spec in specs(objects) for each in cast("list[Object]", spec["containers"])
    ]


def labels(found: Object) -> set[tuple[str, str]]:
    """Return the labels of a pod, or of the pods that an object makes."""
    path = ("metadata", "labels")
    made = at(found, *path) if found["kind"] == "Pod" else at(found, "spec", "template", *path)
    return set(cast("dict[str, str]", made).items())


def long_lived(objects: Objects) -> Objects:
    """Return the Deployments, of which there has to be one for each program and pool."""
    found = of(objects, "Deployment")
    assert [at(each, "metadata", "name") for each in found] == [
        f"shop-fairlead-{name}" for name in DEPLOYMENTS
    ]
    return found


def chosen(objects: Objects, kind: str, *path: str) -> list[set[tuple[str, str]]]:
    """Return which labels the objects of a kind select pods by."""
    return [
        set(cast("dict[str, str]", at(each, "spec", *path)).items())
        for each in of(objects, kind)
    ]


def every_field_is_described(_: Objects) -> bool:
    """The schema describes each value and refuses those that it does not know.

    All but `global`, where the charts around this one put what is theirs.
    """

    def open_objects(node: Json) -> Iterator[Object]:
        if isinstance(node, dict):
            if "properties" in node and node.get("additionalProperties") is not False:
                yield node
            for below in node.values():
                yield from open_objects(below)
        elif isinstance(node, list):
            for below in node:
                yield from open_objects(below)

    schema = json.loads((CHART / "values.schema.json").read_text())
    given = set(yaml.safe_load((CHART / "values.yaml").read_text()))
    around = schema["properties"]["global"]
    return given <= set(schema["properties"]) and list(open_objects(schema)) == [around]


def every_value_has_a_row(_: Objects) -> bool:
    """The reference in the chart's README has each value."""
    page = (CHART / "README.md").read_text()
    given = yaml.safe_load((CHART / "values.yaml").read_text())
    return all(f"`{name}" in page for name in given)


def a_test_of_the_release(objects: Objects) -> bool:
    """`helm test` has a pod to run."""
    return any(
        at(each, "metadata", "annotations", "helm.sh/hook") for each in of(objects, "Pod")
    )


def a_budget_for_each(objects: Objects) -> bool:
    """A drain of nodes takes one pod of each Deployment at a time."""
    budgets = chosen(objects, "PodDisruptionBudget", "selector", "matchLabels")
    return all(
        any(wanted <= labels(each) for wanted in budgets) for each in long_lived(objects)
    )


def a_network_policy_for_each(objects: Objects) -> bool:
    """Each pod's traffic is refused in both directions but for what is named."""
    closed = [
        each
        for each in of(objects, "NetworkPolicy")
        if at(each, "spec", "policyTypes") == ["Ingress", "Egress"]
    ]
    wanted = chosen(tuple(closed), "NetworkPolicy", "podSelector", "matchLabels")
    return all(any(some <= labels(each) for some in wanted) for each in long_lived(objects))


def a_monitor_for_each(objects: Objects) -> bool:
    """Prometheus' operator scrapes each Deployment's pods."""
    (monitor,) = of(objects, "PodMonitor")
    assert not at(monitor, "spec", "selector", "matchExpressions")
    wanted = chosen(objects, "PodMonitor", "selector", "matchLabels")[0]
    return all(wanted <= labels(each) for each in long_lived(objects))


def alerts_with_runbooks(objects: Objects) -> bool:
    """Each alert links to what to do."""
    (rules,) = of(objects, "PrometheusRule")
    alerts = [
        rule
        for group in cast("list[Object]", at(rules, "spec", "groups"))
        for rule in cast("list[Object]", group["rules"])
        if "alert" in rule
    ]
    return bool(alerts) and all(at(each, "annotations", "runbook_url") for each in alerts)


def dashboards(objects: Objects) -> bool:
    """Grafana's sidecar finds the boards by their label."""
    found = [
        each
        for each in of(objects, "ConfigMap")
        if at(each, "metadata", "labels", "grafana_dashboard") == "1"
    ]
    return len(found) == len(list((CHART / "files/dashboards").glob("*.json"))) > 0


def images_by_digest(objects: Objects) -> bool:
    """No tag can be moved below a release."""
    return all("@sha256:" in str(each["image"]) for each in containers(objects))


def spread_over_nodes(objects: Objects) -> bool:
    """No node has all pods of a Deployment."""
    return all(
        at(each, "spec", "template", "spec", "topologySpreadConstraints")
        for each in long_lived(objects)
    )


def nothing_is_read_once(objects: Objects) -> bool:
    """No ConfigMap needs a checksum that restarts pods: the policy's is watched, not mounted.

    The trial database's script is read at the start of its pod alone, and has one.
    """
    mounted = [
        volume
        for spec in specs(objects)
        for volume in cast("list[Object]", spec.get("volumes", []))
        if "configMap" in volume
    ]
    trial = one(render(TRIAL), "StatefulSet", "shop-fairlead-trial-database")
    annotations = at(trial, "spec", "template", "metadata", "annotations")
    return not mounted and bool(at(annotations, "checksum/config"))


def seccomp(objects: Objects) -> bool:
    """Each pod has the runtime's filter of system calls."""
    return all(
        at(spec, "securityContext", "seccompProfile", "type") == "RuntimeDefault"
        for spec in specs(objects)
    )


def objects_of_ones_own(_: Objects) -> bool:
    """`extraObjects` adds what a platform wants beside, templates in it included."""
    own: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "{{ .Release.Name }}-own"},
    }
    return bool(one(render({**GIVEN, "extraObjects": [own]}), "ConfigMap", "shop-own"))


def described_for_artifact_hub(_: Objects) -> bool:
    """The catalogue of charts shows licence, images and changes."""
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    wanted = {f"artifacthub.io/{name}" for name in ("license", "images", "changes")}
    return wanted <= set(chart["annotations"]) and bool(chart["kubeVersion"])


SCANNED: dict[str, Check] = {
    "schema": every_field_is_described,
    "generated reference": every_value_has_a_row,
    "tests": a_test_of_the_release,
    "disruption budgets": a_budget_for_each,
    "network policies": a_network_policy_for_each,
    "monitors": a_monitor_for_each,
    "alerts": alerts_with_runbooks,
    "dashboards": dashboards,
    "digests": images_by_digest,
    "topology spread": spread_over_nodes,
    "checksums": nothing_is_read_once,
    "seccomp": seccomp,
    "extra objects": objects_of_ones_own,
    "annotations for Artifact Hub": described_for_artifact_hub,
}


def probes(objects: Objects) -> bool:
    """A pod that cannot work gets no traffic, one that hangs is started anew."""
    return all(
        at(each, "spec", "template", "spec", "containers", 0, probe)
        for each in long_lived(objects)
        for probe in ("startupProbe", "readinessProbe", "livenessProbe")
    )


def memory_is_bounded(objects: Objects) -> bool:
    """Each container asks for CPU, memory and disk, and may not take a node's memory."""
    return all(
        set(cast("Object", at(each, "resources", "requests")))
        >= {"cpu", "memory", "ephemeral-storage"}
        and at(each, "resources", "limits", "memory")
        for each in containers(objects)
    )


def jobs_may_end(objects: Objects) -> bool:
    """A worker's pod is given longer than its longest job."""
    pools = cast("Object", PRODUCTION["workerPools"])
    return all(
        cast("int", at(found, "spec", "template", "spec", "terminationGracePeriodSeconds"))
        > cast("int", at(pool, "longestTimeoutSeconds"))
        for name, pool in pools.items()
        for found in [one(objects, "Deployment", f"shop-fairlead-worker-{name}")]
    )


def replicas_are_the_autoscalers(objects: Objects) -> bool:
    """An upgrade sets no number of pods, so it does not undo what was decided."""
    return all(
        "replicas" not in cast("Object", each["spec"])
        for each in long_lived(objects)
        if "worker" in str(at(each, "metadata", "name"))
    )


def leaders_have_a_standby(objects: Objects) -> bool:
    """A second pod takes over when the first one is gone."""
    return all(
        at(one(objects, "Deployment", f"shop-fairlead-{name}"), "spec", "replicas") == 2
        for name in ("scheduler", "autoscaler")
    )


def passwords_are_files(objects: Objects) -> bool:
    """No variable has a login, which `kubectl describe` and each child process would see."""
    return not any(
        at(variable, "valueFrom", "secretKeyRef")
        for each in containers(objects)
        for variable in cast("list[Object]", each.get("env", []))
    )


def the_servers_certificate_is_checked(objects: Objects) -> bool:
    """Each container with a login asks for the certificate of the host that it connects to."""
    with_login = [
        found
        for each in containers(objects)
        if "FAIRLEAD_DATABASE_URL_FILE" in (found := variables(each))
    ]
    return len(with_login) == len(specs(objects)) and all(
        found.get("PGSSLMODE") == "verify-full" and "PGSSLROOTCERT" in found
        for found in with_login
    )


def rights_name_their_objects(objects: Objects) -> bool:
    """No rule of a Role has a wildcard, and no object is the whole cluster's."""
    rules = [
        rule for each in of(objects, "Role") for rule in cast("list[Object]", each["rules"])
    ]
    listed = [
        word
        for rule in rules
        for field in ("verbs", "resources", "apiGroups")
        for word in cast("list[str]", rule[field])
    ]
    return bool(rules) and "*" not in listed and not of(objects, "ClusterRole")


PRODUCTIVE: dict[str, Check] = {
    "probes": probes,
    "resources": memory_is_bounded,
    "grace for jobs": jobs_may_end,
    "replicas": replicas_are_the_autoscalers,
    "standbys": leaders_have_a_standby,
    "passwords": passwords_are_files,
    "TLS": the_servers_certificate_is_checked,
    "rights": rights_name_their_objects,
}


@pytest.mark.parametrize("check", SCANNED.values(), ids=SCANNED)
def test_the_chart_has_what_scans_of_charts_look_for(check: Check) -> None:
    """Each column that other public charts were scanned for."""
    assert check(render(PRODUCTION)), check.__doc__


@pytest.mark.parametrize("check", PRODUCTIVE.values(), ids=PRODUCTIVE)
def test_the_values_for_production_are_fit_for_it(check: Check) -> None:
    """What a platform team would send a release back for."""
    assert check(render(PRODUCTION)), check.__doc__


@pytest.mark.parametrize("name", ["disruption budgets", "dashboards", "digests", "resources"])
def test_a_release_without_them_is_seen_to_have_none(name: str) -> None:
    """The looks are none that any values pass: the least values have none of these."""
    bare: Object = {**GIVEN, "workerPools": {"default": {}, "reports": {}}}
    assert not {**SCANNED, **PRODUCTIVE}[name](render(bare))

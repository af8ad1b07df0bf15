"""The chart's objects: Kubernetes accepts them, and pods have the least rights."""

from importlib import import_module
from typing import cast

import pytest
from pydantic import BaseModel

from tests.support.chart import (
    ADDED,
    EVERYTHING,
    GIVEN,
    PRODUCTION,
    TRIAL,
    Json,
    Object,
    at,
    needs_helm,
    of,
    pod_specs,
    render,
)

pytestmark = [needs_helm]

VALUES: dict[str, Object] = {
    "given": GIVEN,
    "trial": {**EVERYTHING, "database": {}, **TRIAL},
    "everything": EVERYTHING,
    "production": PRODUCTION,
    "added": ADDED,
    "added by a hook": {
        **ADDED,
        "migrations": {"mode": "hook", "serviceAccount": {"create": True}},
    },
    "hook": {**GIVEN, "migrations": {"mode": "hook"}},
    "hard": {**GIVEN, "scheduler": {"topologySpread": "hard"}, "hostUsers": False},
}
each_values = pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
MONITORING = "monitoring.coreos.com/v1"


def complaint(found: Object) -> str:
    """Return what Kubernetes' own model says against an object; empty when nothing."""
    models = import_module("kubernetes.client.models")
    model = cast("type[BaseModel]", getattr(models, f"V1{found['kind']}"))
    try:
        model.model_validate(found)
    except ValueError as error:
        return str(error)
    return ""


def selected(objects: tuple[Object, ...], labels: Json) -> int:
    """Count the pods whose labels hold all of these."""
    wanted = cast("dict[str, str]", labels).items()
    pods = [
        at(each, "spec", "template", "metadata", "labels") or at(each, "metadata", "labels")
        for each in objects
        if each["kind"] in {"Deployment", "StatefulSet", "Job", "Pod"}
    ]
    return sum(wanted <= cast("dict[str, str]", found).items() for found in pods)


def containers(spec: Object) -> list[Object]:
    """Return a pod's containers, those before it included."""
    return [
        *cast("list[Object]", spec.get("initContainers", [])),
        *cast("list[Object]", spec["containers"]),
    ]


def beyond_restricted(spec: Object) -> tuple[str, ...]:
    """Name what Pod Security's level `restricted` would refuse in a pod."""
    pod = at(spec, "securityContext")
    wrong = [
        name
        for name, ok in {
            "runAsNonRoot": at(pod, "runAsNonRoot") is True,
            "runAsUser": at(pod, "runAsUser") not in {None, 0},
            "seccompProfile": at(pod, "seccompProfile", "type") == "RuntimeDefault",
            "host": not {"hostNetwork", "hostPID", "hostIPC"} & set(spec),
        }.items()
        if not ok
    ]
    for container in containers(spec):
        may = container.get("securityContext")
        if at(may, "allowPrivilegeEscalation") is not False:
            wrong.append("allowPrivilegeEscalation")
        if at(may, "capabilities", "drop") != ["ALL"] or at(may, "capabilities", "add"):
            wrong.append("capabilities")
    allowed = {"configMap", "emptyDir", "persistentVolumeClaim", "projected", "secret"}
    volumes = cast("list[Object]", spec["volumes"])
    return (*wrong, *(f"volume {each['name']}" for each in volumes if not allowed & set(each)))


@each_values
def test_every_object_is_one_that_kubernetes_knows(values: Object) -> None:
    """Each object fits Kubernetes' own model of its kind, in which unknown fields are wrong."""
    objects = render(values)
    own = [each for each in objects if each["apiVersion"] != MONITORING]

    assert {} == {str(each["kind"]): said for each in own if (said := complaint(each))}
    assert {"PodMonitor", "PrometheusRule"} >= {
        str(each["kind"]) for each in objects if each not in own
    }


@each_values
def test_every_object_is_named_once_in_the_releases_namespace(values: Object) -> None:
    """Names are labels too, so they have at most 63 characters."""
    named = [(str(each["kind"]), str(at(each, "metadata", "name"))) for each in render(values)]

    assert len(named) == len(set(named))
    assert [] == [name for _, name in named if len(name) > 63 or not name.startswith("shop-")]
    assert {"work"} == {str(at(each, "metadata", "namespace")) for each in render(values)}


@each_values
def test_every_pod_passes_the_level_restricted(values: Object) -> None:
    """Pods start under `pod-security.kubernetes.io/enforce: restricted`."""
    wrong = {name: beyond_restricted(spec) for name, spec in pod_specs(render(values))}

    assert {} == {name: found for name, found in wrong.items() if found}


@each_values
def test_no_pod_can_write_to_its_image_and_only_the_autoscaler_has_a_token(
    values: Object,
) -> None:
    """The root is read-only, and the autoscaler's pods alone have a token."""
    objects = render(values)
    specs = dict(pod_specs(objects))

    assert ["Deployment/shop-fairlead-autoscaler"] == [
        name
        for name, spec in specs.items()
        if spec["automountServiceAccountToken"] is not False
    ]
    assert {"False"} == {
        str(each["automountServiceAccountToken"]) for each in of(objects, "ServiceAccount")
    }
    assert {"True"} == {
        str(at(container, "securityContext", "readOnlyRootFilesystem"))
        for spec in specs.values()
        for container in containers(spec)
    }
    assert {"shop-fairlead-autoscaler", "shop-fairlead-test"} >= {
        str(at(each, "metadata", "name"))
        for each in objects
        if str(each["apiVersion"]).startswith("rbac.")
    }


@each_values
def test_every_container_asks_for_resources(values: Object) -> None:
    """Requests and a limit of memory are set, as a namespace with a quota wants."""
    bare = [
        name
        for name, spec in pod_specs(render(values))
        for container in containers(spec)
        if not at(container, "resources", "requests", "cpu")
        or not at(container, "resources", "limits", "memory")
    ]

    assert [] == bare


@each_values
def test_what_selects_pods_finds_some(values: Object) -> None:
    """Deployments, budgets, Services, policies and monitors select pods that there are."""
    objects = render(values)
    selectors = {
        f"{each['kind']}/{at(each, 'metadata', 'name')}": labels
        for each in objects
        if (
            labels := at(each, "spec", "selector", "matchLabels")
            or at(each, "spec", "podSelector", "matchLabels")
            or (at(each, "spec", "selector") if each["kind"] == "Service" else None)
        )
    }

    assert len(selectors) > 3
    assert [] == [name for name, labels in selectors.items() if not selected(objects, labels)]


@needs_helm
def test_what_selects_pods_does_not_change_with_the_version() -> None:
    """A selector cannot be changed, so it holds name, instance, component and pool alone."""
    keys = {
        key
        for each in of(render(EVERYTHING), "Deployment")
        for key in cast("Object", at(each, "spec", "selector", "matchLabels"))
    }

    parts = {f"app.kubernetes.io/{name}" for name in ("name", "instance", "component")}
    assert {*parts, "fairlead/pool"} == keys


def test_the_rule_of_restricted_pods_sees_what_is_not() -> None:
    """A pod that may be root, or that mounts the node, is beyond it."""
    bare: Object = {"containers": [{"name": "x"}], "volumes": [{"name": "v", "hostPath": {}}]}

    assert {"runAsNonRoot", "seccompProfile", "capabilities", "volume v"} <= set(
        beyond_restricted(bare)
    )

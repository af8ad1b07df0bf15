"""The chart as helm renders it, on this machine alone."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from typing import cast

import pytest
import yaml

from tests.support.tree import ROOT

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
Object = dict[str, Json]

CHART = ROOT / "charts/fairlead"
HELM = os.environ.get("FAIRLEAD_TEST_HELM") or shutil.which("helm") or ""
TRIAL: Object = {"trialDatabase": {"enabled": True, "password": "trial"}}
GIVEN: Object = {"database": {"existingSecret": "db"}}
CONSOLE: Object = {"console": {"enabled": True, "logins": {"existingSecret": "who"}}}
EVERYTHING: Object = {
    **GIVEN,
    "networkPolicy": {"enabled": True},
    "workerPoolDefaults": {
        "podDisruptionBudget": {"enabled": True},
        "networkEgress": [{"ports": [{"port": 443}]}],
        "doNotDisrupt": True,
    },
    "metrics": {
        "podMonitor": {"enabled": True},
        "prometheusRule": {"enabled": True},
        "dashboards": {"enabled": True},
    },
    "autoscaler": {"rbac": {"horizontalPodAutoscalers": True, "resourceQuotas": True}},
    **CONSOLE,
}
PROXY: Object = {
    "name": "proxy",
    "image": "proxy:1",
    "restartPolicy": "Always",
    "resources": {"requests": {"cpu": "10m"}, "limits": {"memory": "32Mi"}},
}
AGENT: Object = {
    "name": "agent",
    "image": "agent:1",
    "resources": {"requests": {"cpu": "10m"}, "limits": {"memory": "32Mi"}},
}
ADDED: Object = {
    **CONSOLE,
    "database": {"existingSecret": "db", "passwordCommand": "cat /run/token/password"},
    "everyPod": {
        "env": [{"name": "CLOUD", "value": "{{ .Release.Name }}"}],
        "envFrom": [{"configMapRef": {"name": "cloud"}}],
        "volumes": [{"name": "token", "emptyDir": {}}],
        "volumeMounts": [{"name": "token", "mountPath": "/run/token"}],
        "extraContainers": [AGENT],
        "extraInitContainers": [PROXY],
        "podLabels": {"azure.workload.identity/use": "true"},
        "podAnnotations": {"vault.hashicorp.com/agent-inject": "true"},
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "fairlead", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "priorityClassName": "high",
        "runtimeClassName": "gvisor",
        "dnsPolicy": "None",
        "dnsConfig": {"nameservers": ["10.0.0.10"]},
        "hostAliases": [{"ip": "10.0.0.5", "hostnames": ["db"]}],
    },
    "migrations": {
        "serviceAccount": {"create": True, "annotations": {"iam": "owner"}},
        "ttlSecondsAfterFinished": 600,
        "labels": {"team": "a"},
        "annotations": {"argocd.argoproj.io/hook": "PreSync"},
    },
    "tests": {"serviceAccount": {"create": True, "annotations": {"iam": "enqueue"}}},
    "networkPolicy": {
        "enabled": True,
        "extraEgress": [{"ports": [{"port": 443, "protocol": "TCP"}]}],
    },
}
PRODUCTION = cast("Object", yaml.safe_load((CHART / "values-production.yaml").read_text()))

needs_helm = pytest.mark.skipif(
    not HELM, reason="helm is not here: put helm 3.14 or newer into PATH to test the chart"
)


class Refused(Exception):
    """Helm's own words for values that it does not take."""

    def __init__(self, said: str) -> None:
        super().__init__(said)
        self.said = said


def helm(*arguments: str, values: Mapping[str, Json] | None = None) -> str:
    """Run helm on the chart with these values, or with none, and return what it says.

    Raises:
        Refused: it does not take the values.
    """
    done = subprocess.run(
        [HELM, *arguments, *(() if values is None else ("--values", "-"))],
        input=json.dumps(values),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode:
        raise Refused(done.stderr)
    return done.stdout


def helm_3() -> bool:
    """Return whether this is Helm 3, which writes over what others have written."""
    return helm("version", "--short").startswith("v3.")


def render(values: Mapping[str, Json], *flags: str) -> tuple[Object, ...]:
    """Return the objects of a release `shop` in the namespace `work`, to be looked at only."""
    return _rendered(json.dumps(values), flags)


@cache
def _rendered(values: str, flags: tuple[str, ...]) -> tuple[Object, ...]:
    made = text(json.loads(values), *flags)
    return tuple(cast("Object", each) for each in yaml.safe_load_all(made) if each)


def at(found: Json, *path: str | int) -> Json:
    """Return what stands under a path of keys and places; None where there is nothing."""
    for step in path:
        if isinstance(found, dict):
            found = found.get(str(step))
        elif isinstance(found, list) and isinstance(step, int) and step < len(found):
            found = found[step]
        else:
            return None
    return found


def text(values: Mapping[str, Json], *flags: str) -> str:
    """Return what helm writes for a release `shop` in the namespace `work`."""
    return helm("template", "shop", str(CHART), "--namespace", "work", *flags, values=values)


def one(objects: tuple[Object, ...], kind: str, name: str) -> Object:
    """Return the object of this kind and name."""
    (found,) = [
        each for each in objects if (each["kind"], at(each, "metadata", "name")) == (kind, name)
    ]
    return found


def of(objects: tuple[Object, ...], kind: str) -> tuple[Object, ...]:
    """Return the objects of a kind."""
    return tuple(each for each in objects if each["kind"] == kind)


def pod_specs(objects: tuple[Object, ...]) -> Iterator[tuple[str, Object]]:
    """Yield the specification of every pod, with its owner's name."""
    for each in objects:
        where = {"Pod": ("spec",), "PodTemplate": ("template", "spec")}
        spec = at(each, *where.get(str(each["kind"]), ("spec", "template", "spec")))
        if isinstance(spec, dict):
            yield f"{each['kind']}/{at(each, 'metadata', 'name')}", spec


def environment(deployment: Object) -> dict[str, str]:
    """Return the variables of a Deployment's container; those of the pod itself as `pod`."""
    return variables(at(deployment, "spec", "template", "spec", "containers", 0))


def variables(container: Json) -> dict[str, str]:
    """Return the variables of a container; those of the pod itself as `pod`."""
    listed = cast("list[Object]", at(container, "env") or [])
    names = [str(each["name"]) for each in listed]
    assert len(names) == len(set(names)), f"{names}: one name has one value"
    return {str(each["name"]): str(each.get("value", "pod")) for each in listed}

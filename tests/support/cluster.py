"""A real cluster, by way of kubectl and helm: a release of the chart in its own namespace."""

import json
import os
import secrets
import shutil
import subprocess
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

import yaml

from tests.support.chart import CHART, Json, Object, at

KUBECONFIG = os.environ.get("FAIRLEAD_TEST_KUBECONFIG", "")
"""Which cluster the tests may fill; a person's own KUBECONFIG is never taken by chance."""

IMAGE = os.environ.get("FAIRLEAD_TEST_IMAGE", "")
NEXT_IMAGE = os.environ.get("FAIRLEAD_TEST_NEXT_IMAGE", "")
"""The same image under another tag, to roll out."""

DATABASE_IMAGE = os.environ.get("FAIRLEAD_TEST_DATABASE_IMAGE", "")
NODE_ADDRESS = os.environ.get("FAIRLEAD_TEST_NODE_ADDRESS", "")
"""This machine as pods reach it: a PostgreSQL for them listens there. Empty: they cannot."""

FAULT_SECONDS = float(os.environ.get("FAIRLEAD_TEST_FAULT_SECONDS", "20"))
"""How long what is stopped stays so."""

JOB_SECONDS = float(os.environ.get("FAIRLEAD_TEST_JOB_SECONDS", "40"))
"""How long the jobs take that run through scale-in, a rollout and an upgrade."""

TIMEOUT_SECONDS = 400.0 + 10 * FAULT_SECONDS
"""Of a test, which may also wait for the end of another process's."""

RELEASE = "shop"
NAMED = f"{RELEASE}-fairlead"
"""What the names of the release's objects begin with."""

POOL = f"{NAMED}-worker-default"
AUTOSCALER = f"{NAMED}-autoscaler"

_RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}
_LITTLE: Object = {"requests": {"cpu": "20m", "memory": "64Mi"}}
# Each helm command waits itself, so this is for one that hangs.
_HELM_SECONDS = 200.0
_LOG_LINES = 40


class CommandFailed(Exception):
    """What kubectl or helm said when it failed, or that it hung."""


def missing() -> str | None:
    """Return why there is no cluster to test on, or None where there is one."""
    if not KUBECONFIG:
        return "FAIRLEAD_TEST_KUBECONFIG names no cluster: `make e2e` finds one and says so"
    lacking = [name for name in ("kubectl", "helm") if shutil.which(name) is None]
    if lacking:
        return f"{' and '.join(lacking)} not installed"
    if not (IMAGE and NEXT_IMAGE and DATABASE_IMAGE):
        return "the images for the cluster are not named: `make e2e` builds and loads them"
    return None


def image(address: str) -> Object:
    """Return an image's address as the chart's values have it."""
    repository, _, tag = address.rpartition(":")
    return {"registry": "", "repository": repository, "tag": tag}


def values(pools: Object) -> Object:
    """Return values for a release with these pools that fits on a small node."""
    return {
        "image": image(IMAGE),
        "scheduler": {"resources": _LITTLE},
        "autoscaler": {"resources": _LITTLE},
        "migrations": {"resources": _LITTLE},
        "workerPoolDefaults": {"resources": _LITTLE},
        "workerPools": pools,
    }


def api_server_ports() -> list[Json]:
    """Return the ports of the API server: of its Service, and the one behind it."""
    words = ("--namespace=default", "get", "--output=json")
    service = json.loads(run("kubectl", *words, "service", "kubernetes"))
    label = "--selector=kubernetes.io/service-name=kubernetes"
    slices = json.loads(run("kubectl", *words, "endpointslices", label))
    behind = (port["port"] for each in slices["items"] for port in each["ports"])
    return sorted({*(port["port"] for port in service["spec"]["ports"]), *behind})


def run(*words: str, given: str | None = None, seconds: float = 60.0) -> str:
    """Run kubectl or helm on the tests' cluster and return what it prints.

    Raises:
        CommandFailed: It says no, or nothing for so many seconds.
    """
    try:
        done = subprocess.run(
            ["/usr/bin/env", f"KUBECONFIG={KUBECONFIG}", *words],
            check=False,
            capture_output=True,
            text=True,
            input=given,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        raise CommandFailed(f"{' '.join(words)}: no end within {seconds:g} s") from None
    if done.returncode:
        raise CommandFailed(f"{' '.join(words)}: {done.stdout}{done.stderr}")
    return done.stdout


@dataclass(frozen=True, slots=True)
class Release:
    """A release of the chart in a namespace, and what is done with it there."""

    namespace: str

    def kubectl(self, *words: str, given: str | None = None, seconds: float = 60.0) -> str:
        """Run kubectl in the namespace and return what it prints."""
        return run(
            "kubectl", f"--namespace={self.namespace}", *words, given=given, seconds=seconds
        )

    def helm(self, *words: str, values: Mapping[str, Json] | None = None) -> str:
        """Run helm in the namespace and return what it prints."""
        with_values = () if values is None else ("--values=-",)
        given = None if values is None else json.dumps(values)
        return run(
            "helm",
            f"--namespace={self.namespace}",
            *words,
            *with_values,
            given=given,
            seconds=_HELM_SECONDS,
        )

    def install(self, values: Object, *, waits: bool = True) -> None:
        """Install the chart; with `waits` until its pods are ready and the schema is there."""
        words = ("--wait", "--wait-for-jobs", "--timeout=150s") if waits else ()
        self.helm("install", RELEASE, str(CHART), *words, values=values)

    def upgrade(self, values: Object) -> None:
        """Upgrade to these values, and do not wait for the new pods."""
        self.helm("upgrade", RELEASE, str(CHART), values=values)

    def await_rollout(self, *deployments: str) -> None:
        """Wait until Deployments have as many ready pods as they are asked for, all new."""
        for each in deployments:
            words = ("rollout", "status", f"deployment/{each}", "--timeout=150s")
            self.kubectl(*words, seconds=160)

    def got(self, *words: str) -> Object:
        """Return what `kubectl get` shows."""
        return cast("Object", json.loads(self.kubectl("get", *words, "--output=json")))

    def pods(self, component: str) -> tuple[Object, ...]:
        """Return the pods of a component, ending ones too."""
        found = self.got("pods", f"--selector=app.kubernetes.io/component={component}")
        return tuple(cast("list[Object]", found["items"]))

    def replicas(self, deployment: str = POOL) -> int:
        """Return how many pods a Deployment is asked for."""
        return cast("int", at(self.got("deployment", deployment), "spec", "replicas"))

    def lease(self) -> Object:
        """Return what the Lease says of who decides, and since when."""
        return cast("Object", self.got("lease", AUTOSCALER)["spec"])

    def holder(self) -> str:
        """Return the autoscaler's process that holds the Lease; empty: none does."""
        return str(self.lease().get("holderIdentity") or "")

    def leader(self) -> str:
        """Return the autoscaler's pod that holds the Lease; empty: none does."""
        return self.holder().partition("_")[0]

    def status(self) -> Object:
        """Return what the autoscaler says in its ConfigMap; empty before it says anything."""
        data = at(self.got("configmap", f"{NAMED}-status"), "data", "status")
        return cast("Object", yaml.safe_load(data)) if isinstance(data, str) else {}

    def edit_policy(self, document: str) -> None:
        """Write a live policy as a person would."""
        self.kubectl(
            "patch",
            "configmap",
            f"{NAMED}-policy",
            "--type=merge",
            f"--patch={json.dumps({'data': {'policy.yaml': document}})}",
        )

    def kept_by(self) -> tuple[str, ...]:
        """Return who owns which field of the pool, as the API server noted it."""
        try:
            shown = self.got("deployment", POOL, "--show-managed-fields")
        except CommandFailed as error:
            return (str(error),)
        fields = cast("list[Object]", at(shown, "metadata", "managedFields"))
        return tuple(
            f"{each.get('manager')} {each.get('operation')} {each.get('subresource', '')} "
            f"{at(each, 'fieldsV1', 'f:spec')}"
            for each in fields
        )

    def summary(self) -> str:
        """Return what there is to know when a test failed: objects, events and logs."""
        found = [
            self._said("get", "all", "--ignore-not-found", "--output=wide"),
            *self.kept_by(),
            self._said("get", "events", "--sort-by=.lastTimestamp")[-6000:],
        ]
        for component in ("autoscaler", "scheduler", "worker", "migrate", "trial-database"):
            label = f"--selector=app.kubernetes.io/component={component}"
            logs = ("logs", label, "--prefix", f"--tail={_LOG_LINES}", "--all-containers")
            found.append(self._said(*logs))
        return "\n".join(found)

    def _said(self, *words: str) -> str:
        try:
            return self.kubectl(*words)
        except CommandFailed as error:
            return str(error)


@contextmanager
def empty_namespace() -> Generator[Release]:
    """Make a namespace under the restricted profile; its end takes all that is in it."""
    name = f"fairlead-test-{secrets.token_hex(4)}"
    made = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": _RESTRICTED},
    }
    run("kubectl", "create", "--filename=-", given=json.dumps(made))
    try:
        yield Release(name)
    finally:
        # What works to the end of its grace would keep the namespace for an hour.
        words = ("--all", "--grace-period=0", "--force")
        ours = ("kubectl", f"--namespace={name}")
        run("kubectl", "delete", "namespace", name, "--wait=false")
        run(*ours, "delete", "deployments,statefulsets,jobs", "--all", "--wait=false")
        run(*ours, "delete", "pods", *words, "--wait=false")

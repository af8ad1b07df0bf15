"""The values for each platform, held to what that platform admits and does to pods."""

from pathlib import Path
from typing import cast

import pytest
import yaml

from tests.support.chart import CHART, Object, at, needs_helm, of, pod_specs, render

pytestmark = [needs_helm]

EXAMPLES = sorted((CHART / "examples").glob("*.yaml"))
UNITS = {"m": 0.001, "Mi": 2.0**20, "Gi": 2.0**30}
IDENTITIES = {
    "eks": "eks.amazonaws.com/role-arn",
    "aks": "azure.workload.identity/client-id",
}
RELEASE_SECONDS = 10
"""What a pod has after its grace to give its jobs back."""


def made(name: str) -> tuple[Object, ...]:
    """Return the objects of a platform's values."""
    text = (CHART / f"examples/{name}.yaml").read_text("utf-8")
    return render(cast("Object", yaml.safe_load(text)))


def containers(name: str) -> list[Object]:
    """Return every container of a platform's pods."""
    return [
        each
        for _, spec in pod_specs(made(name))
        for each in cast("list[Object]", spec["containers"])
    ]


def amount(text: object) -> float:
    """Return a quantity of Kubernetes as a number."""
    written = str(text)
    for unit, factor in UNITS.items():
        if written.endswith(unit):
            return float(written.removesuffix(unit)) * factor
    return float(written)


def workers(name: str) -> list[Object]:
    """Return the Deployments of the pools."""
    return [
        each
        for each in of(made(name), "Deployment")
        if at(each, "metadata", "labels", "app.kubernetes.io/component") == "worker"
    ]


def grace(deployment: Object) -> int:
    """Return for how many seconds a pod may go on after it was asked to stop."""
    return int(str(at(deployment, "spec", "template", "spec", "terminationGracePeriodSeconds")))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_rendered(path: Path) -> None:
    """Each is complete: nothing is missing, and nothing is refused."""
    assert workers(path.stem)


def test_openshift_chooses_the_user() -> None:
    """SCC restricted-v2: no user, no group, and the rest of `restricted` as ever."""
    for _, spec in pod_specs(made("openshift")):
        assert {"runAsNonRoot", "fsGroupChangePolicy", "seccompProfile"} == set(
            cast("Object", spec["securityContext"])
        )
    for each in containers("openshift"):
        assert ["ALL"] == at(each, "securityContext", "capabilities", "drop")
        assert None is at(each, "securityContext", "runAsUser")


def test_autopilot_changes_no_request_and_lets_every_pod_finish() -> None:
    """At least 50m and 52Mi, 1 to 6.5 GiB for each CPU, gone within ten minutes."""
    for each in containers("gke-autopilot"):
        cpu = amount(at(each, "resources", "requests", "cpu"))
        memory = amount(at(each, "resources", "requests", "memory"))
        assert cpu >= 0.05
        assert memory >= 52 * UNITS["Mi"]
        assert 1 <= memory / UNITS["Gi"] / cpu <= 6.5
    assert max(map(grace, workers("gke-autopilot"))) <= 600


@pytest.mark.parametrize("platform", IDENTITIES)
def test_each_login_has_an_identity_of_its_own(platform: str) -> None:
    """Whoever asks the cloud for a token does so as the role of its login."""
    objects = made(platform)
    accounts = {
        str(at(each, "metadata", "name")): at(
            each, "metadata", "annotations", IDENTITIES[platform]
        )
        for each in of(objects, "ServiceAccount")
    }
    used = {str(spec["serviceAccountName"]) for _, spec in pod_specs(objects)}

    assert used == set(accounts)
    assert None not in accounts.values()
    assert len(set(map(str, accounts.values()))) == len(accounts) == 5


def test_aks_has_the_webhooks_label_and_limits() -> None:
    """Deployment Safeguards want limits of CPU and memory, and probes of what serves."""
    for each in made("aks"):
        pod = each if each["kind"] == "Pod" else at(each, "spec", "template")
        if each["kind"] in {"Deployment", "Job", "Pod"}:
            assert "true" == at(pod, "metadata", "labels", "azure.workload.identity/use")
    for each in containers("aks"):
        assert {"cpu", "memory"} == set(cast("Object", at(each, "resources", "limits")))
    for deployment in of(made("aks"), "Deployment"):
        probed = at(deployment, "spec", "template", "spec", "containers", 0)
        assert at(probed, "readinessProbe")
        assert at(probed, "livenessProbe")


def test_spot_pods_are_gone_before_their_node_is() -> None:
    """GKE gives 15 s to pods; only the workers run there."""
    (pool,) = workers("spot")

    assert grace(pool) <= 5 + RELEASE_SECONDS
    tolerating = [name for name, spec in pod_specs(made("spot")) if spec.get("tolerations")]
    assert ["Deployment/shop-fairlead-worker-default"] == tolerating


@pytest.mark.parametrize("platform", ["cluster-autoscaler", "karpenter"])
def test_a_node_is_removed_only_when_its_jobs_may_end(platform: str) -> None:
    """A pool's pods are gone in time, or keep their node, or leave a quarter at a time."""
    for each in workers(platform):
        notes = at(each, "spec", "template", "metadata", "annotations")
        keeps = (
            at(notes, "cluster-autoscaler.kubernetes.io/safe-to-evict") == "false"
            and at(notes, "karpenter.sh/do-not-disrupt") == "true"
        )
        budgets = {
            str(at(found, "metadata", "name"))
            for found in of(made(platform), "PodDisruptionBudget")
        }
        assert keeps or (
            grace(each) <= 600
            if platform == "cluster-autoscaler"
            else str(at(each, "metadata", "name")) in budgets
        )

"""Pools whose pods are a StatefulSet's, an object's of one's own, or one Job each."""

from typing import cast

import pytest

from tests.chart.test_autoscaler import NAME, rights
from tests.support.chart import (
    GIVEN,
    Json,
    Object,
    Refused,
    at,
    environment,
    needs_helm,
    one,
    render,
)

pytestmark = [needs_helm]

ROLLOUT = "rollouts.v1alpha1.argoproj.io/mine"
POOLS: Object = {
    "default": {},
    "gpu": {"kind": "StatefulSet", "volumeClaimTemplates": [{"metadata": {"name": "scratch"}}]},
    "big": {"kind": "Job", "extraContainers": [{"name": "proxy", "image": "p"}]},
    "mine": {"target": ROLLOUT},
}
VALUES: Object = {**GIVEN, "workerPools": POOLS}
WORKER = "shop-fairlead-worker"


def test_the_autoscaler_is_told_what_holds_each_pool() -> None:
    """A Deployment by its name alone, as ever."""
    given = environment(one(render(VALUES), "Deployment", NAME))

    assert given["FAIRLEAD_POOL_TARGETS"].split(",") == [
        f"big=podtemplates.v1/{WORKER}-big",
        f"default={WORKER}-default",
        f"gpu=statefulsets.v1.apps/{WORKER}-gpu",
        f"mine={ROLLOUT}",
    ]


def test_rights_are_those_of_each_kind_by_name() -> None:
    """Jobs alone have no names before they are made; without such a pool there is no right."""
    more = rights(VALUES) - rights(GIVEN)

    assert more == {
        *(f"{verb} apps/statefulsets worker-gpu" for verb in ("get", "list", "watch")),
        *(f"{verb} apps/statefulsets/scale worker-gpu" for verb in ("get", "patch")),
        *(f"{verb} argoproj.io/rollouts mine" for verb in ("get", "list", "watch")),
        *(f"{verb} argoproj.io/rollouts/scale mine" for verb in ("get", "patch")),
        *(f"{verb} podtemplates worker-big" for verb in ("get", "list", "watch")),
        *(f"{verb} batch/jobs *" for verb in ("create", "list", "watch")),
    }


def test_a_statefulset_removes_pods_together_and_keeps_their_volumes() -> None:
    """Otherwise empty pods at the top, which are not ready, would wait for each other."""
    made = one(render(VALUES), "StatefulSet", f"{WORKER}-gpu")

    assert "Parallel" == at(made, "spec", "podManagementPolicy")
    assert "scratch" == at(made, "spec", "volumeClaimTemplates", 0, "metadata", "name")
    assert "replicas" not in cast("Object", made["spec"])
    assert "strategy" not in cast("Object", made["spec"])


def test_pods_of_jobs_run_one_job_and_end() -> None:
    """Nothing beside them goes on, and a policy knows that they have one slot."""
    objects = render(VALUES)
    made = one(objects, "PodTemplate", f"{WORKER}-big")
    spec = cast("Object", at(made, "template", "spec"))

    assert "Never" == spec["restartPolicy"]
    assert ["--jobs=1"] == at(spec, "containers", 0, "args")
    assert ["worker"] == [each["name"] for each in cast("list[Object]", spec["containers"])]
    assert "Always" == at(spec, "initContainers", 0, "restartPolicy")
    variables = {
        str(each["name"]): each.get("value")
        for each in cast("list[Object]", at(spec, "containers", 0, "env"))
    }
    assert "1" == variables["FAIRLEAD_CONCURRENCY"]
    notes = at(made, "template", "metadata", "annotations")
    assert {"fairlead/ttl-seconds-after-finished": "600"} == notes


def test_an_object_of_ones_own_takes_its_pods_from_a_template() -> None:
    """The same pods as the Deployment's would be."""
    objects = render(VALUES)
    theirs = at(one(objects, "PodTemplate", f"{WORKER}-mine"), "template", "spec")
    ours = at(one(objects, "Deployment", f"{WORKER}-default"), "spec", "template", "spec")

    def without_names(spec: Json) -> str:
        return str(spec).replace("mine", "POOL").replace("default", "POOL")

    assert without_names(ours) == without_names(theirs)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"autoscaler": {"enabled": False}}, "workerPools.big.kind=Job has no pods without"),
        ({"workerPools": {"big": {"kind": "Job", "target": ROLLOUT}}}, "so remove kind"),
        (
            {"workerPools": {"big": {"volumeClaimTemplates": [{"metadata": {"name": "x"}}]}}},
            "volumeClaimTemplates has no effect with kind=Deployment",
        ),
        ({"workerPools": {"big": {"target": "rollouts/mine"}}}, "target"),
    ],
)
def test_what_a_kind_cannot_be_is_refused(values: Object, said: str) -> None:
    """In a sentence that says what to set."""
    with pytest.raises(Refused, match=said):
        render({**VALUES, **values})

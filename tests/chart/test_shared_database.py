"""Releases that share a database, with the values of docs/how-to/share-a-database.md."""

from typing import cast

import yaml

from tests.support.chart import GIVEN, Object, at, needs_helm, of, one, render
from tests.support.tree import ROOT

pytestmark = [needs_helm]


def test_a_release_may_have_worker_pools_alone() -> None:
    """No migrations, no policy, nobody who leads, and a fixed number of pods."""
    page = (ROOT / "docs/how-to/share-a-database.md").read_text("utf-8")
    given = [yaml.safe_load(part.partition("```")[0]) for part in page.split("```yaml")[1:]]
    owner, workers = (render({**GIVEN, **cast("Object", each)}) for each in given)

    replicas = {
        str(at(each, "metadata", "name")): at(each, "spec", "replicas")
        for each in of(workers, "Deployment")
    }
    assert {"shop-fairlead-scheduler": 0, "shop-fairlead-worker-reports": 4} == replicas
    assert ((), ()) == (of(workers, "Job"), of(workers, "ConfigMap"))
    assert of(owner, "Job")
    assert ["reports", "default"] == [pool["name"] for pool in policy_pools(owner)]


def policy_pools(objects: tuple[Object, ...]) -> list[Object]:
    """Return the pools of the policy that the chart renders."""
    text = at(one(objects, "ConfigMap", "shop-fairlead-policy-values"), "data", "policy.yaml")
    return cast("list[Object]", yaml.safe_load(str(text))["pools"])

"""A policy that people edit in the cluster: who wrote it, how far it may go, where else."""

from dataclasses import replace

import pytest
import yaml

from fairlead import policy_storage
from fairlead_autoscaler.controller.options import Options
from tests.support.controlling import DEPLOYMENT, POLICY, POOL, Scene, targets_of

PLACES = "fairlead_autoscaler_policy_places"
REPLACES = (
    "policy replaces what the values say as a whole: a change of the values has no effect "
    "until policy is empty"
)
STORED = (
    "the newest version in the database is not the ConfigMap's: it was stored there, and "
    "counts until the ConfigMap changes"
)


@pytest.fixture
def edited(scene: Scene) -> Scene:
    """Return a scene whose policy comes from ConfigMaps; a live one may ask for 30 pods."""
    scene.options = Options(
        holder="me",
        targets=targets_of({POOL: DEPLOYMENT}),
        syncs_policy=True,
        policy_edited="policy",
        policy_bounds={"*": 30},
    )
    scene.controller = scene.another()
    return scene


def said(scene: Scene) -> dict[str, object]:
    """Return what the status ConfigMap says of the policy."""
    return dict(yaml.safe_load(scene.kube.status_data["status"])["policy"])


def places(scene: Scene) -> float | None:
    """Return how many places the metrics name."""
    return scene.metrics.registry.get_sample_value(PLACES)


def test_who_edited_it_is_its_author(edited: Scene) -> None:
    """In the stored version and in the status, by the program that wrote it."""
    edited.kube.edit(live=POLICY.replace("max: 20", "max: 8"), writers=("kubectl-edit",))
    edited.step()
    version = policy_storage.newest(edited.db)

    assert version is not None
    assert "configmap policy by kubectl-edit" == version.author == said(edited)["author"]
    assert ("writtenElsewhere" in said(edited), places(edited)) == (False, 1.0)


def test_a_live_policy_beyond_the_bounds_is_refused(edited: Scene) -> None:
    """In the status and in the list of refusals; the policy before stays in force."""
    edited.kube.edit(values=POLICY.replace("max: 20", "max: 40"))
    edited.step()
    edited.kube.edit(live=POLICY.replace("max: 20", "max: 31"))
    edited.step()

    assert {"min": 0, "max": 40, "objectiveSeconds": 10.0} == edited.status()["limits"]
    assert said(edited)["refused"] == (
        "pools[0].autoscale.max: 31 pods of 'default' are more than the 30 that policy.liveMax "
        "of the release's values allows"
    )
    assert [(said(edited)["refused"],)] == edited.db.execute(
        "SELECT said FROM fairlead.policy_events WHERE event = 'refused'"
    ).fetchall()
    edited.kube.edit(live=POLICY.replace("max: 20", "max: 30"))
    edited.step()
    assert {"min": 0, "max": 30, "objectiveSeconds": 10.0} == edited.status()["limits"]


def test_without_bounds_its_author_decides(edited: Scene) -> None:
    """As before there were any."""
    edited.options = replace(edited.options, policy_bounds={})
    edited.controller = edited.another()
    edited.kube.edit(live=POLICY.replace("max: 20", "max: 31"))
    edited.step()

    assert said(edited)["accepted"]


def test_a_policy_that_two_places_write_is_said(edited: Scene) -> None:
    """The values beside what people edit, two programs, and the database."""
    edited.kube.edit(values=POLICY)
    edited.step()
    one = places(edited)
    edited.kube.edit(live=POLICY.replace("max: 20", "max: 8"), writers=("argocd", "kubectl"))
    edited.step()
    two = said(edited)["writtenElsewhere"]
    policy_storage.store(edited.db, POLICY.replace("max: 20", "max: 9"))
    edited.step(2)

    assert (1.0, 4.0) == (one, places(edited))
    assert isinstance(two, list)
    assert two == [
        REPLACES,
        "argocd and kubectl both write policy: let one of them alone do it",
    ]
    assert said(edited)["writtenElsewhere"] == [*two, STORED]

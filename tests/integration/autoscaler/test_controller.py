"""The controller's step over a real database and a cluster in memory."""

from dataclasses import replace

import pytest
import yaml

from fairlead import policy_storage
from fairlead_autoscaler.controller.options import Options
from fairlead_autoscaler.kube.port import BusyError, KubeError, UnreachableError
from tests.support.controlling import DEPLOYMENT, POLICY, POOL, Scene, targets_of


def test_a_pool_at_zero_gets_the_pods_that_its_work_needs(scene: Scene) -> None:
    """In one step after the scheduler has reported it."""
    scene.need(slots=40, work=400.0)
    scene.step()

    assert 4 <= scene.replicas <= 20
    assert ["apply_scale"] == [each for each in scene.kube.calls if each == "apply_scale"]


def test_a_job_wakes_a_pool_at_zero_whose_demand_is_unknown(scene: Scene) -> None:
    """The scheduler may be down: one pod is started for a job that is due."""
    scene.step()
    assert 0 == scene.replicas
    scene.db.execute("INSERT INTO fairlead.jobs (kind) VALUES ('k')")
    scene.step()

    assert 1 == scene.replicas
    assert "Woken" == scene.status()["reason"]


def test_pods_are_emptied_before_they_are_removed(scene: Scene) -> None:
    """Marked first; `replicas` is lowered by those that are empty and not ready."""
    before, marked = scene.unneeded()
    assert marked
    assert before == scene.replicas
    scene.drain()
    scene.need(slots=0)
    scene.step()

    assert before - marked == scene.replicas


def test_what_was_decided_is_written_anew_as_often_as_it_is_to_be_read(scene: Scene) -> None:
    """On one machine a person watches; on a cluster once a minute is enough."""
    noted = "SELECT at FROM fairlead.pool_decisions"
    scene.need(slots=0)
    scene.step()
    seldom = scene.db.execute(noted).fetchall()
    scene.step()
    assert seldom == scene.db.execute(noted).fetchall()

    scene.options = replace(scene.options, refresh_seconds=1.0)
    scene.controller = scene.another()
    scene.step()
    often = scene.db.execute(noted).fetchall()
    scene.step()

    assert often != scene.db.execute(noted).fetchall()


def test_nothing_is_written_without_the_lease(scene: Scene) -> None:
    """Neither to the cluster nor to the database."""
    scene.leadership.ours = False
    scene.need(slots=40, work=400.0)
    scene.step(3)

    assert [] == scene.kube.calls
    assert [(0,)] == scene.db.execute(
        "SELECT epoch FROM fairlead.leaders WHERE role = 'autoscaler'"
    ).fetchall()


def test_a_deposed_controller_marks_nothing(scene: Scene) -> None:
    """Its epoch is not the newest: another one leads, whatever its own clock says."""
    scene.need(slots=40, work=400.0)
    scene.step()
    scene.start()
    scene.step()
    scene.db.execute("UPDATE fairlead.leaders SET epoch = epoch + 1 WHERE role = 'autoscaler'")
    scene.need(slots=0)
    scene.step()

    assert set() == scene.marked()
    assert 0 == scene.metrics.registry.get_sample_value(
        "fairlead_leader", {"program": "autoscaler"}
    )


def test_while_the_database_is_unreachable_nothing_is_removed(scene: Scene) -> None:
    """And what is there stays as it is."""
    scene.need(slots=40, work=400.0)
    scene.step()
    scene.start()
    before = scene.replicas
    scene.db.execute("REVOKE USAGE ON SCHEMA fairlead FROM fairlead_autoscaler")
    scene.step(30)
    scene.db.execute("GRANT USAGE ON SCHEMA fairlead TO fairlead_autoscaler")

    assert before == scene.replicas
    assert set() == scene.marked()
    assert "DatabaseUnreachable" == scene.status()["reason"]


@pytest.mark.parametrize("error", [UnreachableError("no answer"), BusyError("too many")])
def test_a_write_that_failed_is_made_at_the_next_step(scene: Scene, error: KubeError) -> None:
    """By what is seen then."""
    scene.kube.fail("apply_scale", error)
    scene.need(slots=40, work=400.0)
    scene.step()
    assert 0 == scene.replicas
    scene.need(slots=40, work=400.0)
    scene.step()

    assert scene.replicas > 0


def test_the_status_is_written_when_something_changes(scene: Scene) -> None:
    """And not at each step."""
    scene.need(slots=5)
    scene.step(3)
    written = scene.kube.calls.count("write_status")
    for _ in range(10):
        scene.need(slots=5)
        scene.step()

    assert written == scene.kube.calls.count("write_status")


def test_a_pool_without_a_deployment_is_named(scene: Scene) -> None:
    """With what to do about it."""
    policy_storage.store(scene.db, POLICY.replace("name: default", "name: reports"))
    scene.step()
    said = yaml.safe_load(scene.kube.status_data["status"])["pools"]["reports"]

    assert "'reports' has no Deployment" in said["message"]
    assert "NoDeployment" == said["conditions"][0]["reason"]


def test_a_decision_can_be_read_from_the_database(scene: Scene) -> None:
    """It needs no rights in the cluster."""
    scene.need(slots=40, work=400.0)
    scene.step()
    rows = scene.db.execute(
        "SELECT pool, decision ->> 'reason', decision -> 'pods' ->> 'requested'"
        " FROM fairlead.pool_decisions"
    ).fetchall()

    assert [(POOL, "BacklogDrain", str(scene.replicas))] == rows


def test_the_documents_of_configmaps_are_stored(scene: Scene) -> None:
    """What people edit goes before what the chart rendered, once it is not empty."""
    scene.options = Options(
        holder="me",
        targets=targets_of({POOL: DEPLOYMENT}),
        syncs_policy=True,
        policy_location="the ConfigMap p",
    )
    scene.controller = scene.another()
    scene.kube.edit(values=POLICY.replace("max: 20", "max: 7"))
    scene.step()
    assert {"min": 0, "max": 7, "objectiveSeconds": 10.0} == scene.status()["limits"]
    scene.kube.edit(live=POLICY.replace("max: 20", "max: 8"))
    scene.step()
    assert {"min": 0, "max": 8, "objectiveSeconds": 10.0} == scene.status()["limits"]

    assert [("configmap", "the ConfigMap p")] == scene.db.execute(
        "SELECT policy_source, policy_place FROM fairlead.install_options"
    ).fetchall()


def test_a_bad_document_changes_nothing_and_is_reported(scene: Scene) -> None:
    """The last good one stays in force, and the status says what is wrong."""
    scene.options = Options(
        holder="me", targets=targets_of({POOL: DEPLOYMENT}), syncs_policy=True
    )
    scene.controller = scene.another()
    scene.kube.edit(values=POLICY)
    scene.step()
    stored = policy_storage.newest(scene.db)
    scene.kube.edit(live="pools: 7")
    scene.step(2)
    said = yaml.safe_load(scene.kube.status_data["status"])["policy"]

    assert stored == policy_storage.newest(scene.db)
    assert [("ConfigMap", "PolicyRefused")] == [
        (each.kind, each.reason) for each in scene.kube.events if each.kind == "ConfigMap"
    ]
    assert not said["accepted"]
    assert "pools" in said["refused"]

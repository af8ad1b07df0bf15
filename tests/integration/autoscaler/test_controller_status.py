"""What the controller says when what it does, or the saying itself, does not succeed."""

from dataclasses import replace

import pytest

from fairlead import policy_storage
from fairlead_autoscaler.kube.port import (
    ClusterSnapshot,
    Event,
    ForbiddenError,
    KubeError,
    RefusedError,
    UnreachableError,
)
from tests.support.controlling import POLICY, Scene
from tests.support.logged import Lines
from tests.support.waiting import until

AWAY = UnreachableError("no answer")


@pytest.fixture
def scene(scene: Scene) -> Scene:
    """Let the pool have half of the pods that it needs here at most, which is a condition."""
    policy_storage.store(scene.db, POLICY.replace("max: 20", "max: 10"))
    return scene


def events(scene: Scene) -> list[tuple[str, str]]:
    """Return the action of each event, and how its note begins."""
    return [(each.action, each.note.partition(":")[0]) for each in scene.kube.events]


def test_a_condition_that_changes_while_the_write_fails_is_reported(scene: Scene) -> None:
    """With the pods that there are; the write that succeeds later is another event."""
    scene.kube.fail("apply_scale", AWAY)
    scene.need(slots=200, work=4000.0)
    scene.step()
    assert [("Observe", "0 pods")] == events(scene)
    scene.need(slots=200, work=4000.0)
    scene.step()

    assert [("Observe", "0 pods"), ("Scale", "from 0 to 10 pods")] == events(scene)


def test_a_write_that_fails_is_no_event_by_itself(scene: Scene) -> None:
    """Nothing has changed, and no condition either; the log says it."""
    scene.need(slots=40, work=400.0)
    scene.step()
    scene.start()
    before = events(scene)
    scene.kube.fail("apply_scale", *[AWAY] * 3)
    for _ in range(3):
        scene.need(slots=90, work=900.0)
        scene.step()

    assert before == events(scene)
    assert [] != before


@pytest.mark.parametrize("times", [1, 3])
def test_an_event_that_could_not_be_recorded_is_recorded_later(
    scene: Scene, times: int
) -> None:
    """At the first step at which the server takes it, as it was."""
    scene.kube.fail("record_event", *[AWAY] * times)
    scene.need(slots=200, work=4000.0)
    scene.step()
    assert (10, []) == (scene.replicas, events(scene))
    for _ in range(times):
        scene.need(slots=200, work=4000.0)
        scene.step()

    assert [("Scale", "from 0 to 10 pods")] == events(scene)


def test_a_write_that_is_forbidden_is_logged_once(scene: Scene, logged: Lines) -> None:
    """What is wanted is in the log and in the status, and not again at each step."""
    scene.kube.fail("apply_scale", *[ForbiddenError("no right to it")] * 6)
    for _ in range(6):
        scene.need(slots=200, work=4000.0)
        scene.step()
    said = [line["event"] for line in logged()]

    assert (1, 1) == (said.count("pool.decided"), said.count("scale.failed"))
    assert 1 == scene.kube.calls.count("write_status")
    assert 6 == scene.kube.calls.count("apply_scale")


def test_that_a_policy_is_refused_is_recorded_later_and_once(scene: Scene) -> None:
    """Its editor looks at the ConfigMap, also after an API server was unreachable."""
    scene.options = replace(scene.options, syncs_policy=True)
    scene.controller = scene.another()
    scene.kube.edit(live="pools: 7")
    scene.kube.fail("record_event", *[AWAY] * 2)
    scene.step(2)
    assert [] == scene.kube.events
    scene.step(2)

    assert ["PolicyRefused"] == [
        each.reason for each in scene.kube.events if each.kind == "ConfigMap"
    ]


def test_events_and_status_wait_when_a_pool_wakes_meanwhile(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One event is recorded at each step, so that none waits for ever; then the status is."""
    scene.options = replace(scene.options, syncs_policy=True)
    scene.controller = scene.another()
    scene.kube.edit(live="pools: 7")
    record = scene.kube.record_event

    def say(event: Event) -> None:
        scene.db.execute("NOTIFY fairlead_autoscaler, 'other'")
        until(scene.database.has_woken, what="the notification")
        record(event)

    monkeypatch.setattr(scene.kube, "record_event", say)
    scene.need(slots=200, work=4000.0)
    scene.step()
    assert ["Deployment"] == [each.kind for each in scene.kube.events]
    assert "write_status" not in scene.kube.calls
    scene.step()

    assert ["Deployment", "ConfigMap"] == [each.kind for each in scene.kube.events]
    assert "write_status" in scene.kube.calls


def test_an_event_that_the_server_refuses_is_not_tried_again(scene: Scene) -> None:
    """It would refuse it at every step."""
    scene.kube.fail("record_event", RefusedError("the event is wrong"))
    scene.need(slots=200, work=4000.0)
    scene.step(3)

    assert 1 == scene.kube.calls.count("record_event")


def test_a_controller_that_lost_the_lead_records_no_pending_event(scene: Scene) -> None:
    """The new leader records its own, and so does this one in a later term."""
    scene.kube.fail("record_event", AWAY)
    scene.need(slots=200, work=4000.0)
    scene.step()
    scene.leadership.ours = False
    scene.step()
    scene.leadership.ours, scene.leadership.term = True, 2
    scene.need(slots=200, work=4000.0)
    scene.step()

    assert [] == [each for each in events(scene) if each[0] == "Scale"]


def test_a_scale_down_that_is_postponed_again_is_logged_once_a_minute(
    scene: Scene, logged: Lines
) -> None:
    """And not at each step; once it was done, the next time is news."""
    before, _ = scene.emptied()
    scene.db.execute("REVOKE UPDATE ON fairlead.pod_drains FROM fairlead_autoscaler")
    logged()
    for _ in range(4):
        scene.need(slots=0)
        scene.step()

    assert before == scene.replicas
    assert 1 == logged.count("scale.postponed")
    for _ in range(12):
        scene.need(slots=0)
        scene.step()
    assert 1 == logged.count("scale.postponed")


def test_a_status_that_cannot_be_written_is_a_warning_a_minute(
    scene: Scene, logged: Lines
) -> None:
    """And not one at each step; once it is written, the next time is news."""
    scene.kube.fail("write_status", *[AWAY] * 14)
    scene.step(14)
    assert 2 == logged.count("status.not_written")
    scene.step()
    assert 0 == logged.count("status.not_written")
    scene.kube.fail("write_status", AWAY)
    scene.need(slots=40, work=400.0)
    scene.step()

    assert 1 == logged.count("status.not_written")


def test_a_cluster_that_is_not_known_is_a_warning_a_minute(
    scene: Scene, logged: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The watches may take long to show everything once."""

    def unknown() -> ClusterSnapshot:
        raise KubeError("pods and Deployments are not known yet")

    monkeypatch.setattr(scene.kube, "snapshot", unknown)
    scene.step(14)

    assert 2 == logged.count("observe.failed")

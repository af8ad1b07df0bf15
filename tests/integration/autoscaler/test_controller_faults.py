"""A controller whose step meets a fault: what it then does not do."""

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import monotonic

import pytest
import yaml

from fairlead import policy_storage
from fairlead.db.connect import Unreachable
from fairlead.policy import PolicyRefused
from fairlead.policy_storage import Stored
from fairlead_autoscaler.controller.controller import OBSERVATION_SECONDS_MAX
from fairlead_autoscaler.controller.database import CALL_SECONDS, Deposed, DrainMarks
from fairlead_autoscaler.controller.options import Options
from fairlead_autoscaler.kube.port import Scale, UnreachableError
from tests.conftest import Background, Connect
from tests.support.controlling import DEPLOYMENT, POLICY, POOL, Scene, targets_of
from tests.support.logged import Lines
from tests.support.waiting import until

TWO = """
pools:
  - name: second
    queues: ["second"]
    autoscale: {objective: 10s, min: 2, max: 20, slots: 10}
""" + POLICY.removeprefix("\npools:\n")


def replaced(scene: Scene, monkeypatch: pytest.MonkeyPatch, before: Callable[[], None]) -> None:
    """Let something happen just before `replicas` is written."""
    write = scene.kube.apply_scale

    def apply_scale(address: str, *, replicas: int, version: str) -> Scale:
        before()
        return write(address, replicas=replicas, version=version)

    monkeypatch.setattr(scene.kube, "apply_scale", apply_scale)


def test_empty_pods_are_removed(scene: Scene) -> None:
    """What the tests below keep from happening happens by itself."""
    before, empty = scene.emptied()
    scene.step()

    assert empty
    assert before - empty == scene.replicas


def test_nothing_is_lowered_when_the_marks_could_not_be_written(scene: Scene) -> None:
    """A mark that is not renewed lapses, and its pod takes jobs again."""
    before, _ = scene.emptied()
    scene.db.execute("REVOKE UPDATE ON fairlead.pod_drains FROM fairlead_autoscaler")
    scene.step(3)
    assert before == scene.replicas
    scene.db.execute("GRANT UPDATE ON fairlead.pod_drains TO fairlead_autoscaler")
    scene.need(slots=0)
    scene.step()

    assert before > scene.replicas


def test_nothing_is_lowered_for_a_mark_that_lapsed_after_the_look(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its pod has taken jobs again: that the mark is renewed does not make it empty."""
    before, _ = scene.emptied()
    mark = scene.database.mark_drain

    def late(marks: DrainMarks, *, epoch: int) -> frozenset[str]:
        scene.db.execute("UPDATE fairlead.pod_drains SET drain_until = now()")
        return mark(marks, epoch=epoch)

    monkeypatch.setattr(scene.database, "mark_drain", late)
    scene.step()

    assert before == scene.replicas


def test_a_deployment_that_goes_during_the_step_ends_no_controller(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is uninstalled between the look and the write."""
    replaced(scene, monkeypatch, scene.kube.workloads.clear)
    scene.need(slots=40, work=400.0)
    scene.step()
    scene.step()

    assert "NoDeployment" == scene.status()["reason"]


def syncs_policy(scene: Scene, *, deployments: dict[str, str] | None = None) -> None:
    """Have the controller follow the ConfigMaps of the policy."""
    scene.options = Options(
        holder="me", targets=targets_of(deployments or {POOL: DEPLOYMENT}), syncs_policy=True
    )
    scene.controller = scene.another()


def test_a_write_that_hangs_leaves_the_other_pools_to_the_next_step(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was seen before it is too old by then to decide on them."""
    policy_storage.store(scene.db, TWO)
    scene.kube.add_pool("second", name="release-worker-second")
    scene.options = Options(
        holder="me", targets=targets_of({POOL: DEPLOYMENT, "second": "release-worker-second"})
    )
    scene.controller = scene.another()

    def hang() -> None:
        scene.now[0] += OBSERVATION_SECONDS_MAX + 1

    replaced(scene, monkeypatch, hang)
    scene.need(slots=40, work=400.0)
    scene.step()
    assert (True, 0) == (scene.replicas > 0, scene.kube.workloads["second"].replicas)
    scene.step()

    assert 2 == scene.kube.workloads["second"].replicas


def test_steps_that_are_cut_short_again_are_logged_once_a_minute(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, logged: Lines
) -> None:
    """An API server that hangs at each write does so for a while."""
    policy_storage.store(scene.db, TWO)
    scene.kube.add_pool("second", name="release-worker-second")
    scene.options = replace(
        scene.options, targets=targets_of({POOL: DEPLOYMENT, "second": "release-worker-second"})
    )
    scene.controller = scene.another()

    def hang() -> None:
        scene.now[0] += OBSERVATION_SECONDS_MAX + 1
        raise UnreachableError("no answer")

    replaced(scene, monkeypatch, hang)
    for _ in range(3):
        scene.need(slots=40, work=400.0)
        scene.step()

    assert 1 == logged.count("step.cut_short")


def test_a_controller_that_lost_the_lease_during_the_step_publishes_nothing(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Events and the status are the new leader's."""

    def lose() -> None:
        scene.leadership.ours = False

    replaced(scene, monkeypatch, lose)
    scene.need(slots=40, work=400.0)
    scene.step()

    assert ["apply_scale"] == scene.kube.calls


def test_only_the_leader_reports_a_refused_policy(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new leader reports its own."""
    syncs_policy(scene)
    scene.step()
    store = scene.database.store_policy

    def late(
        document: str, *, author: str, reason: str, epoch: int, refused: str | None
    ) -> Stored | PolicyRefused:
        scene.leadership.ours = False
        return store(document, author=author, reason=reason, epoch=epoch, refused=refused)

    monkeypatch.setattr(scene.database, "store_policy", late)
    scene.kube.edit(live="pools: 7")
    scene.step()

    assert [] == [each for each in scene.kube.events if each.kind == "ConfigMap"]


def test_a_controller_that_was_frozen_stores_no_old_document(scene: Scene) -> None:
    """Another one leads, and may have stored a newer one."""
    epoch = scene.database.begin_epoch("me")
    scene.database.begin_epoch("another")
    with pytest.raises(Deposed):
        scene.database.store_policy("fairness: {}", author="a", reason="r", epoch=epoch)

    stored = policy_storage.newest(scene.db)
    assert stored is not None
    assert stored.document == POLICY


def test_a_policy_that_cannot_be_stored_keeps_no_pool_waiting(
    scene: Scene, connect: Connect
) -> None:
    """Another session locks the table of policies: pools follow the newest stored one."""
    syncs_policy(scene)
    scene.step()
    holder = connect(autocommit=False)
    holder.execute("LOCK TABLE fairlead.policy_versions IN ROW EXCLUSIVE MODE")
    scene.kube.edit(live=POLICY.replace("max: 20", "max: 3"))
    scene.need(slots=40, work=400.0)
    scene.step()
    holder.rollback()

    assert scene.replicas > 3


def test_documents_that_are_not_known_yet_keep_no_pool_waiting(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is stored is in force."""
    syncs_policy(scene)

    def unknown() -> None:
        raise UnreachableError("the watch has shown nothing")

    monkeypatch.setattr(scene.kube, "documents", unknown)
    scene.need(slots=40, work=400.0)
    scene.step()

    assert scene.replicas > 0


def store_unreadable(scene: Scene) -> int:
    """Store a policy as a newer program may; return its version."""
    row = scene.db.execute(
        "INSERT INTO fairlead.policy_versions (document, digest, author)"
        " VALUES ('later: {field: 7}', '0123456789ab', 'newer') RETURNING version"
    ).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.parametrize("restarted", [False, True])
def test_a_policy_that_this_program_cannot_read_is_not_in_force(
    scene: Scene, *, restarted: bool
) -> None:
    """The newest readable one is, after a restart too; the status says why the other is not."""
    shown = scene.metrics.registry.get_sample_value
    if not restarted:
        scene.step()
    readable = policy_storage.store(scene.db, POLICY.replace("max: 20", "max: 3"))
    unreadable = [store_unreadable(scene) for _ in range(12)][-1]
    scene.need(slots=40, work=400.0)
    scene.step()

    said = yaml.safe_load(scene.kube.status_data["status"])["policy"]
    assert 3 == scene.replicas
    assert (readable.version, readable.digest) == (said["version"], said["digest"])
    assert not said["accepted"]
    assert f"version {unreadable}: later" in said["refused"]
    assert readable.version == shown("fairlead_config_generation")
    assert 0 == shown("fairlead_config_last_reload_successful")

    policy_storage.store(scene.db, POLICY.replace("max: 20", "max: 4"))
    scene.need(slots=40, work=400.0)
    scene.step()

    assert {"min": 0, "max": 4, "objectiveSeconds": 10.0} == scene.status()["limits"]
    assert yaml.safe_load(scene.kube.status_data["status"])["policy"]["accepted"]
    assert 1 == shown("fairlead_config_last_reload_successful")


def test_nothing_is_shown_of_a_pool_that_is_not_in_the_policy_any_more(scene: Scene) -> None:
    """An alert on what it was would never end."""
    scene.need(slots=40, work=400.0)
    scene.step()
    shown = scene.metrics.registry.get_sample_value
    labels = {"pool": POOL, "type": "current"}
    assert shown("fairlead_autoscaler_replicas", labels) is not None
    policy_storage.store(scene.db, POLICY.replace("name: default", "name: reports"))
    scene.step()

    assert shown("fairlead_autoscaler_replicas", labels) is None


def test_a_step_asks_the_database_once_for_all_pools(scene: Scene, tmp_path: Path) -> None:
    """One statement, however many pools and pods there are; marks are written beside it."""
    policy_storage.store(scene.db, TWO)
    scene.kube.add_pool("second", name="release-worker-second")
    scene.options = Options(
        holder="me", targets=targets_of({POOL: DEPLOYMENT, "second": "release-worker-second"})
    )
    scene.controller = scene.another()
    scene.need(slots=40, work=400.0)
    scene.step()
    scene.start()
    scene.step(2)

    assert 1 == statements(scene, tmp_path / "quiet")
    scene.need(slots=0)
    scene.step(20)
    scene.need(slots=0)
    scene.step()
    assert scene.marked()
    scene.need(slots=0)
    assert 2 == statements(scene, tmp_path / "renewing")


def test_a_call_that_a_frozen_server_never_answers_is_cut_off(
    scene: Scene, background: Background
) -> None:
    """Its kernel acknowledges all that is sent, so no keepalive ends it."""
    backend = scene.database.connection().info.backend_pid
    assert not scene.database.abort_if_stuck(monotonic() + CALL_SECONDS + 1)
    os.kill(backend, signal.SIGSTOP)
    try:
        asked = background(lambda: scene.database.snapshot(known=None, asks_queues=False))
        until(
            lambda: scene.database.abort_if_stuck(monotonic() + CALL_SECONDS + 1),
            what="a call that is overdue",
        )
        with pytest.raises(Unreachable):
            asked.result(10)
    finally:
        os.kill(backend, signal.SIGCONT)

    assert {} == scene.database.snapshot(known=None, asks_queues=False).demand


def statements(scene: Scene, trace: Path) -> int:
    """Return how many statements one step sends."""
    session = scene.database.connection().pgconn
    with trace.open("wb") as written:
        session.trace(written.fileno())
        scene.step()
        session.untrace()
    sent = [line.split("\t") for line in trace.read_text().splitlines()]
    return sum(words[1:2] == ["F"] and words[3] in {"Execute", "Query"} for words in sent)


def test_a_pod_that_crashes_again_and_again_goes_first_and_keeps_no_other(scene: Scene) -> None:
    """While its worker is alive no pod goes; once that has ended it goes before all others."""
    scene.need(slots=40, work=400.0)
    scene.step()
    scene.start()
    scene.need(slots=0)
    crashing = scene.kube.pods[min(scene.kube.pods)]
    scene.kube.set_pod(crashing.name, ready=False)
    before = scene.replicas
    scene.step(20)
    assert (before, set[str]()) == (scene.replicas, scene.marked())
    assert ["PodsNotReady"] == scene.status()["forbiddenBy"]

    scene.db.execute(
        "DELETE FROM fairlead.worker_leases WHERE pod_uid = %(uid)s", {"uid": crashing.uid}
    )

    def lowered() -> bool:
        scene.step()
        return scene.replicas < before

    until(lowered, what="the first to go")

    assert (crashing.name,) == scene.kube.settle()
    assert before - 1 == scene.replicas
    assert crashing.uid not in scene.marked()

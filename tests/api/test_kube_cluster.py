"""The port over HTTP, against a server that refuses what a real one refuses."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from fairlead_autoscaler.kube.adapter import Cluster
from fairlead_autoscaler.kube.port import (
    ConflictError,
    Documents,
    Event,
    NotFoundError,
    UnreachableError,
)
from tests.support.kubernetes import api, objects, scenes
from tests.support.kubernetes.faults import Fault
from tests.support.kubernetes.objects import Object, part
from tests.support.waiting import until

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def server() -> Iterator[api.Api]:
    """Run a server with a release on it."""
    with api.running() as running:
        scenes.install(running.client())
        yield running


@pytest.fixture
def cluster(server: api.Api) -> Iterator[Cluster]:
    """Watch that release."""
    with scenes.watching(server.client()) as watched:
        yield watched


def add_pod(server: api.Api, name: str, *, ready: bool = True) -> Object:
    """Add a pod that runs."""
    made = server.store.create(scenes.PODS, objects.pod(name, "default"))
    since = objects.now()
    made["status"] = {
        "phase": "Running",
        "startTime": since,
        "conditions": objects.conditions(ready=ready, since=since),
    }
    return server.store.put(scenes.PODS, name, made)


def shown(cluster: Cluster, *names: str) -> None:
    """Wait until exactly these pods are shown."""
    until(
        lambda: names == tuple(each.name for each in cluster.snapshot().pods),
        what=f"the pods {names}",
    )


def ready(cluster: Cluster, name: str) -> None:
    """Wait until this pod is shown as ready; a pod comes first and its status after it."""
    until(
        lambda: any(each.ready for each in cluster.snapshot().pods if each.name == name),
        what=f"the pod {name} as ready",
    )


def test_pods_are_shown_as_they_come_change_and_go(server: api.Api, cluster: Cluster) -> None:
    """One pods watch, seven fields of each."""
    add_pod(server, "a", ready=False)
    made = add_pod(server, "b")
    shown(cluster, "a", "b")
    ready(cluster, "b")
    first, second = cluster.snapshot().pods
    assert ((False, False), (True, True)) == (
        (first.ready, first.was_ready),
        (second.ready, second.was_ready),
    )
    assert part(made, "metadata")["uid"] == second.uid

    server.store.delete(scenes.PODS, "a")

    shown(cluster, "b")


def test_a_pod_that_was_ready_is_remembered_as_such(server: api.Api, cluster: Cluster) -> None:
    """No scale-in while a pod that is not drained and has once been ready is not."""
    made = add_pod(server, "a")
    ready(cluster, "a")
    made["status"] = {"conditions": [{"type": "Ready", "status": "False"}]}
    server.store.put(scenes.PODS, "a", made)

    pod = until(
        lambda: next((each for each in cluster.snapshot().pods if not each.ready), None),
        what="the pod that is not ready",
    )

    assert pod.was_ready


def test_pods_of_other_releases_and_unknown_pools_are_not_shown(
    server: api.Api, cluster: Cluster
) -> None:
    """Only pods that the pools' Deployments may have made count."""
    stranger = objects.pod("stranger", "default")
    part(stranger, "metadata")["labels"] = {"fairlead/pool": "default"}
    server.store.create(scenes.PODS, stranger)
    server.store.create(scenes.PODS, objects.pod("lost", "unknown"))
    add_pod(server, "ours")

    shown(cluster, "ours")


def test_a_scale_is_applied_at_the_version_that_was_seen(cluster: Cluster) -> None:
    """Server-side apply with force and the version; the applier owns `replicas`."""
    seen = cluster.snapshot().workloads["default"]

    scale = cluster.apply_scale(seen.name, replicas=7, version=seen.version)

    assert (7, 7) == (scale.replicas, cluster.scale(seen.name).replicas)
    until(
        lambda: cluster.snapshot().workloads["default"].version == scale.version,
        what="the scale in the watch",
    )
    assert cluster.snapshot().workloads["default"].owner is None


def test_a_scale_at_an_older_version_is_refused_and_the_newer_one_is_seen_at_once(
    server: api.Api, cluster: Cluster
) -> None:
    """A 409 means: look again next tick; also when the Deployment's watch is half-open."""
    seen = cluster.snapshot().workloads["default"]
    server.silence()
    server.store.put(
        scenes.DEPLOYMENTS, seen.name, server.store.get(scenes.DEPLOYMENTS, seen.name)
    )

    with pytest.raises(ConflictError):
        cluster.apply_scale(seen.name, replicas=7, version=seen.version)

    newer = cluster.snapshot().workloads["default"]
    assert newer.version != seen.version
    assert 7 == cluster.apply_scale(newer.name, replicas=7, version=newer.version).replicas


def test_documents_that_were_asked_for_are_not_taken_back_by_a_watch(
    server: api.Api, cluster: Cluster
) -> None:
    """A new leader's watch may be behind: what it shows must not overwrite what is stored."""
    server.silence()
    scenes.edit(server.client(), scenes.POLICY, "pools: []")

    asked = cluster.read_documents()

    assert asked.live is not None
    assert "pools: []" == asked.live.text
    assert asked == cluster.documents()


def test_a_configmap_that_is_gone_is_not_shown_any_more(
    server: api.Api, cluster: Cluster
) -> None:
    """A request gets this answer before the watch does."""
    server.silence()
    server.store.delete(scenes.MAPS, scenes.POLICY)

    assert cluster.read_documents().live is None


def test_a_deployment_that_does_not_exist_is_missing_by_pool(
    server: api.Api, cluster: Cluster
) -> None:
    """A pool without a Deployment is refused by name."""
    server.store.delete(scenes.DEPLOYMENTS, scenes.WORKERS)

    until(lambda: cluster.snapshot().missing == ("default",), what="the missing Deployment")
    with pytest.raises(NotFoundError):
        cluster.apply_scale(scenes.WORKERS, replicas=1, version="1")


def test_an_edit_of_the_policy_wakes_the_controller_and_is_read(server: api.Api) -> None:
    """The controller watches both ConfigMaps; an empty live one holds nothing."""
    changes: list[None] = []
    with scenes.watching(server.client(), changed=lambda: changes.append(None)) as cluster:
        before = cluster.documents()
        assert before.live is not None
        assert before.values is not None
        assert ("", "pools: {}\n") == (before.live.text, before.values.text)
        changes.clear()

        scenes.edit(server.client(), scenes.POLICY, "pools: {default: {}}\n")

        until(lambda: changes, what="the change of the policy")
        live = cluster.documents().live
        assert live is not None
        assert "pools: {default: {}}\n" == live.text
        assert live == cluster.read_documents().live


def test_a_policy_that_is_in_no_config_map_is_not_watched(server: api.Api) -> None:
    """`policy.source: database`: there is no right to the ConfigMaps then."""
    server.asked.clear()
    names = replace(scenes.NAMES, policy=None, policy_values=None)
    with scenes.watching(server.client(), names=names) as cluster:
        shown, asked = cluster.documents(), cluster.read_documents()

    assert Documents(live=None, values=None) == shown == asked
    assert "configmaps" not in {each.resource for each in server.rights()}


def test_the_status_is_replaced_whole(server: api.Api, cluster: Cluster) -> None:
    """The status ConfigMap is rendered empty; what we wrote last is what it holds."""
    cluster.write_status({"status.yaml": "a", "old": "b"})

    cluster.write_status({"status.yaml": "c"})

    assert {"status.yaml": "c"} == server.store.get(scenes.MAPS, scenes.NAMES.status)["data"]


def test_a_lease_keeps_what_the_chart_gave_it(server: api.Api, cluster: Cluster) -> None:
    """The right is to replace it whole; its labels belong to the release."""
    before = server.store.get(scenes.LEASES, scenes.NAMES.lease)
    lease = cluster.lease()
    assert ("", 0) == (lease.holder, lease.transitions)

    held = cluster.write_lease(
        replace(lease, holder="me", duration_seconds=10, transitions=1, renewed_at=NOON)
    )

    after = server.store.get(scenes.LEASES, scenes.NAMES.lease)
    for field in ("labels", "annotations", "uid"):
        assert part(before, "metadata")[field] == part(after, "metadata")[field]
    assert ("me", 10, 1, NOON) == (
        held.holder,
        held.duration_seconds,
        held.transitions,
        held.renewed_at,
    )
    assert held == cluster.lease()


def test_a_lease_is_written_once_at_each_version(cluster: Cluster) -> None:
    """The second write at the same version changes nothing."""
    lease = cluster.lease()
    cluster.write_lease(replace(lease, holder="me", duration_seconds=10))
    cluster.lease()

    with pytest.raises(ConflictError):
        cluster.write_lease(replace(lease, holder="other", duration_seconds=10))

    assert "me" == cluster.lease().holder


def test_what_is_no_answer_of_an_api_server_is_an_error_of_the_port(
    server: api.Api, cluster: Cluster
) -> None:
    """A proxy's page, say: the outcome of the request is unknown."""
    server.faults.add(Fault(kind="strange", resource="leases"))
    server.faults.add(Fault(kind="strange", resource="configmaps", verb="get"))
    server.faults.add(Fault(kind="strange", resource="horizontalpodautoscalers"))

    for ask in (cluster.lease, cluster.autoscalers):
        with pytest.raises(UnreachableError, match="not an API server"):
            ask()


def test_the_same_event_again_counts_up_the_first(server: api.Api, cluster: Cluster) -> None:
    """`series` holds how often; another note is another event."""
    event = Event(
        kind="Deployment",
        name=scenes.WORKERS,
        uid=cluster.snapshot().workloads["default"].uid,
        type="Normal",
        reason="ScaledUp",
        action="Scale",
        note="From 1 to 2 pods." + "é" * 1024,
    )

    for _ in range(3):
        cluster.record_event(event)
    cluster.record_event(replace(event, note="From 2 to 3 pods."))

    made = list(server.store.objects[scenes.EVENTS].values())
    counts = [part(each, "series").get("count") for each in made]
    assert [3, None] == counts


def test_an_event_that_is_gone_is_made_anew(server: api.Api, cluster: Cluster) -> None:
    """The server keeps events for an hour, or for as long as its operator sets."""
    event = Event(
        kind="ConfigMap",
        name="release-policy",
        uid="u",
        type="Warning",
        reason="PolicyRefused",
        action="Read",
        note="pools: unknown field",
    )
    cluster.record_event(event)
    (name,) = server.store.objects[scenes.EVENTS]
    server.store.delete(scenes.EVENTS, name)

    cluster.record_event(event)

    assert 1 == len(server.store.objects[scenes.EVENTS])


def test_other_autoscalers_are_found_by_their_target(server: api.Api, cluster: Cluster) -> None:
    """An HPA on a pool's Deployment is reported, and not fought."""
    target: Object = {"apiVersion": "apps/v1", "kind": "Deployment", "name": scenes.WORKERS}
    hpa: Object = {"metadata": {"name": "keda-hpa-x"}, "spec": {"scaleTargetRef": target}}
    server.store.create(scenes.HPAS, hpa)

    assert {f"Deployment/{scenes.WORKERS}": ("keda-hpa-x",)} == cluster.autoscalers()


def test_every_limit_of_every_quota_is_read(server: api.Api, cluster: Cluster) -> None:
    """Each holds; which is the tightest depends on the pods of the pool."""
    assert () == cluster.quotas()
    for name, hard, used in (("a", "10", "4"), ("b", "20", "19")):
        status: Object = {"hard": {"pods": hard}, "used": {"pods": used}}
        server.store.create(scenes.QUOTAS, {"metadata": {"name": name}, "status": status})

    assert [("a", 6000), ("b", 1000)] == [(each.quota, each.left) for each in cluster.quotas()]

"""What an object of the cluster means to the controller."""

from datetime import UTC, datetime, timedelta

import pytest

from fairlead.jsontext import Json
from fairlead_autoscaler.decision.inputs import QuotaLimit, Scope
from fairlead_autoscaler.kube import convert, models
from fairlead_autoscaler.kube.events import micro_time, truncate
from fairlead_autoscaler.kube.port import FIELD_OWNER
from fairlead_autoscaler.targets import parsed

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def stamp(seconds: float) -> str:
    """Return so many seconds after noon, as objects say it."""
    return (NOON + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def managed(*entries: tuple[str, float | None]) -> models.ManagedObjectMeta:
    """Return the metadata of a Deployment made at noon, whose replicas these own since then.

    None: by its scale, which has no time.
    """
    fields: list[Json] = [
        {
            "manager": who,
            "operation": "Update",
            "fieldsV1": {"f:spec": {"f:replicas": {}}},
            **({"subresource": "scale"} if since is None else {"time": stamp(since)}),
        }
        for who, since in entries
    ]
    fields.append({"manager": "kube-controller-manager", "time": stamp(99), "fieldsV1": {}})
    return models.ManagedObjectMeta.model_validate(
        {"name": "d", "creationTimestamp": stamp(0), "managedFields": fields}
    )


@pytest.mark.parametrize(
    ("entries", "owner"),
    [
        ([], None),
        ([("helm", 0.0)], None),
        ([(FIELD_OWNER, None)], None),
        ([("helm", 0.0), (FIELD_OWNER, None)], None),
        ([("helm", 60.0), (FIELD_OWNER, None)], None),
        ([("kubectl", 60.0)], "kubectl"),
        ([("intruder", None)], "intruder"),
        ([("helm", 90.0), ("intruder", None)], "intruder"),
        ([("a", 60.0), ("b", 61.0)], "b"),
    ],
)
def test_who_else_wrote_replicas_last(
    entries: list[tuple[str, float | None]], owner: str | None
) -> None:
    """Another writer is seen by its managed fields; who made the Deployment is none."""
    assert owner == convert.owner(managed(*entries))


def pod(
    *, ready: str, since: float, phase: str = "Running", deleted: bool = False
) -> models.PodObject:
    """Return a pod that a kubelet saw at noon, ready or not since then."""
    metadata: dict[str, Json] = {
        "name": "p",
        "uid": "u",
        "labels": {"fairlead/pool": "default"},
    }
    if deleted:
        metadata["deletionTimestamp"] = stamp(50)
    condition: Json = {"type": "Ready", "status": ready, "lastTransitionTime": stamp(since)}
    status: Json = {"phase": phase, "startTime": stamp(0), "conditions": [condition]}
    return models.PodObject.model_validate({"metadata": metadata, "status": status})


@pytest.mark.parametrize(
    ("ready", "since", "was_ready"),
    [("True", 3, True), ("False", 0, False), ("False", 1, False), ("False", 7, True)],
)
def test_a_controller_that_has_just_begun_knows_who_was_ready(
    ready: str, since: float, *, was_ready: bool
) -> None:
    """A pod that is not ready, and not since its start, has been: it blocks the scale-in."""
    seen = convert.pod(pod(ready=ready, since=since), None, None)

    assert seen is not None
    assert was_ready == seen.was_ready


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_is_no_pod(phase: str) -> None:
    """An evicted pod stays to be looked at; its ReplicaSet has made another one."""
    ended = pod(ready="False", since=7, phase=phase)

    assert convert.pod(ended, None, None) is None


def test_a_pod_that_is_deleted_terminates_until_it_is_gone() -> None:
    """It counts in the connection budget."""
    seen = convert.pod(pod(ready="False", since=7, phase="Failed", deleted=True), None, 5.0)

    assert seen is not None
    assert (True, 5.0) == (seen.terminating, seen.seen_at)


def test_a_pod_that_waits_for_a_node_is_unschedulable() -> None:
    """What waits for a node says nothing about how long a pod takes to start."""
    read = models.PodObject.model_validate(
        {
            "metadata": {"name": "p", "labels": None},
            "status": {
                "phase": "Pending",
                "conditions": [
                    {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
                ],
            },
        }
    )

    seen = convert.pod(read, None, None)

    assert seen is not None
    assert seen.unschedulable


def test_a_rollout_that_made_no_progress_is_past_its_deadline() -> None:
    """`RolloutStuck` after the progress deadline."""
    condition = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}
    read = models.WorkloadObject.model_validate(
        {"metadata": {"name": "d"}, "spec": {}, "status": {"conditions": [condition]}}
    )

    seen = convert.workload(read, None, None)

    assert (True, 1) == (seen.past_deadline, seen.replicas)


def test_a_note_is_cut_at_whole_characters() -> None:
    """The server refuses more than 1024 bytes."""
    assert "short" == truncate("short")
    assert 1024 >= len(truncate("é" * 600).encode()) > 1000


def test_times_have_microseconds_and_end_in_z() -> None:
    """The server refuses an event whose time has none."""
    assert "2026-01-01T12:00:00.000000Z" == micro_time(NOON)


def test_the_limits_of_quotas_are_read_with_their_scopes() -> None:
    """Numbers are shortened as the server does; one that cannot be read is left out."""
    quotas = [
        {
            "metadata": {"name": "a"},
            "spec": {
                "scopes": ["NotTerminating"],
                "scopeSelector": {
                    "matchExpressions": [
                        {"scopeName": "PriorityClass", "operator": "In", "values": ["low"]}
                    ]
                },
            },
            "status": {"hard": {"pods": "2k", "x": "many"}, "used": {"pods": "1k", "x": "0"}},
        },
        {"metadata": {"name": "b"}, "status": {"hard": {"requests.cpu": "4"}}},
    ]
    read = tuple(models.Quota.model_validate(each) for each in quotas)
    scopes = (
        Scope(name="NotTerminating"),
        Scope(name="PriorityClass", operator="In", values=("low",)),
    )

    assert (
        QuotaLimit(quota="a", resource="pods", hard="2k", left=1_000_000, scopes=scopes),
        QuotaLimit(quota="b", resource="requests.cpu", hard="4", left=4000),
    ) == convert.quota_limits(read)


def test_a_watch_that_is_behind_shows_nothing_older() -> None:
    """Who asked for the object knows it newer than its watch does, for a moment."""
    newer, older = (
        models.WorkloadObject.model_validate(
            {
                "metadata": {"name": "d", "uid": "u", "resourceVersion": version},
                "spec": {"replicas": replicas},
            }
        )
        for version, replicas in (("10", 8), ("9", 10))
    )
    shown = convert.workload(newer, None, None)

    assert shown == convert.workload(older, shown, None)
    assert (
        "11"
        == convert.workload(
            newer.model_copy(
                update={
                    "metadata": newer.metadata.model_copy(update={"resource_version": "11"})
                }
            ),
            shown,
            None,
        ).version
    )


def test_who_wrote_the_policy_is_who_owns_its_key() -> None:
    """The last one first; who wrote other keys, or a label, is none of them."""
    entries: list[Json] = [
        {"manager": "helm", "time": stamp(1), "fieldsV1": {"f:metadata": {}}},
        {
            "manager": "argocd",
            "time": stamp(2),
            "fieldsV1": {"f:data": {"f:policy.yaml": {}}},
        },
        {
            "manager": "kubectl-edit",
            "time": stamp(3),
            "fieldsV1": {"f:data": {".": {}, "f:policy.yaml": {}}},
        },
        {"manager": "other", "time": stamp(4), "fieldsV1": {"f:data": {"f:notes": {}}}},
    ]
    read = models.ConfigMap.model_validate({"metadata": {"managedFields": entries}})

    assert ("kubectl-edit", "argocd") == convert.document(read, None, None).writers


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ({"state": {"running": {}}}, ""),
        ({"state": {"waiting": {"reason": "ContainerCreating"}}}, ""),
        (
            {
                "state": {
                    "waiting": {
                        "reason": "CreateContainerConfigError",
                        "message": 'secret "db" not found',
                    }
                }
            },
            'CreateContainerConfigError: secret "db" not found',
        ),
        (
            {"image": "r.dev/app:1", "state": {"waiting": {"reason": "ImagePullBackOff"}}},
            "ImagePullBackOff r.dev/app:1",
        ),
        (
            {
                "name": "worker",
                "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m"}},
                "lastState": {"terminated": {"exitCode": 2, "reason": "Error"}},
            },
            "CrashLoopBackOff: worker ends again and again with code 2; its log says why",
        ),
    ],
)
def test_a_pod_says_in_a_sentence_why_it_cannot_run(status: dict[str, Json], said: str) -> None:
    """What passes by itself is nothing to say."""
    read = models.PodStatus.model_validate({"containerStatuses": [status]})

    assert said == convert.problem(read)


def rolling(target: str, **said: Json) -> tuple[bool, bool]:
    """Return whether an object of a kind is at an older revision, and whether pods are."""
    read = models.WorkloadObject.model_validate(
        {
            "metadata": {"name": "w", "generation": 2},
            "spec": {"replicas": 3},
            "status": {"observedGeneration": 2, "replicas": 3, **said},
        }
    )
    made = convert.workload(read, None, None, target=parsed(target))
    pods = made.updated_replicas != made.status_replicas or made.is_replacing
    return made.observed_generation != made.generation, pods


@pytest.mark.parametrize(
    ("target", "said", "expected"),
    [
        ("w", {"updatedReplicas": 3}, (False, False)),
        ("w", {}, (False, True)),
        ("rollouts.v1alpha1.argoproj.io/w", {"observedGeneration": "2"}, (False, True)),
        ("statefulsets.v1.apps/w", {"updatedReplicas": 2}, (False, False)),
        (
            "statefulsets.v1.apps/w",
            {"currentRevision": "a", "updateRevision": "b", "updatedReplicas": 3},
            (False, True),
        ),
        ("replicasets.v1.apps/w", {}, (False, False)),
        ("fleets.v1.x.dev/w", {"observedGeneration": "soon"}, (False, False)),
    ],
)
def test_a_rollout_is_told_by_what_each_kind_says(
    target: str, said: dict[str, Json], expected: tuple[bool, bool]
) -> None:
    """A StatefulSet whose pod terminates counts fewer updated ones, and rolls out nothing."""
    assert expected == rolling(target, **said)

"""What a pod counts in a quota, as Kubernetes counts it, and how pools share what is left."""

from dataclasses import replace

import pytest

from fairlead_autoscaler.decision import quotas
from fairlead_autoscaler.decision.inputs import (
    ContainerDefaults,
    PodTemplate,
    QuotaLimit,
    Resources,
    Scope,
)
from fairlead_autoscaler.decision.quotas import Room

NOTHING = ContainerDefaults()
WORKER = PodTemplate(
    containers=(Resources(requests={"cpu": 500, "memory": 1000}, limits={"memory": 2000}),)
)
BARE = PodTemplate(containers=(Resources(),))


def limit(resource: str, left: int = 10_000, *scopes: Scope, hard: str = "10") -> QuotaLimit:
    """Return a limit of the quota `compute`."""
    return QuotaLimit(quota="compute", resource=resource, hard=hard, left=left, scopes=scopes)


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        ("pods", 1000),
        ("count/pods", 1000),
        ("cpu", 500),
        ("requests.cpu", 500),
        ("requests.memory", 1000),
        ("limits.memory", 2000),
        ("limits.cpu", None),
        ("requests.nvidia.com/gpu", 0),
        ("requests.storage", 0),
        ("services", 0),
        ("count/workloads.apps", 0),
    ],
)
def test_a_pod_counts_what_it_requests_or_is_limited_to(
    resource: str, expected: int | None
) -> None:
    """None: a pod that does not say it is refused."""
    assert expected == quotas.pod_cost(limit(resource), WORKER, NOTHING)


def test_a_device_counts_where_a_pod_requests_it() -> None:
    """Its name has dots and a slash of its own."""
    gpu = PodTemplate(containers=(Resources(limits={"nvidia.com/gpu": 2000}),))

    assert 2000 == quotas.pod_cost(limit("requests.nvidia.com/gpu"), gpu, NOTHING)


def test_what_a_limit_range_fills_in_counts() -> None:
    """A limit without a request is the request, before any default."""
    defaults = ContainerDefaults(requests={"cpu": 100}, limits={"cpu": 400})
    limited = PodTemplate(containers=(Resources(limits={"cpu": 300}),))

    assert 100 == quotas.pod_cost(limit("requests.cpu"), BARE, defaults)
    assert 400 == quotas.pod_cost(limit("limits.cpu"), BARE, defaults)
    assert 300 == quotas.pod_cost(limit("requests.cpu"), limited, defaults)


def test_init_containers_count_where_they_need_more_and_sidecars_are_added() -> None:
    """An init container runs beside the sidecars that began before it."""
    cpu = [Resources(requests={"cpu": amount}) for amount in (200, 900, 500)]
    sidecar = replace(cpu[0], restarts=True)
    early = PodTemplate(containers=(cpu[2],), inits=(sidecar, cpu[1]))
    late = PodTemplate(containers=(cpu[2],), inits=(cpu[1], sidecar), overhead={"cpu": 50})

    assert 1100 == quotas.pod_cost(limit("requests.cpu"), early, NOTHING)
    assert 950 == quotas.pod_cost(limit("requests.cpu"), late, NOTHING)


def test_what_a_pod_says_of_itself_counts_in_place_of_its_containers() -> None:
    """Resources of a whole pod."""
    whole = replace(WORKER, whole=Resources(requests={"cpu": 2000}))

    assert 2000 == quotas.pod_cost(limit("requests.cpu"), whole, NOTHING)


@pytest.mark.parametrize(
    ("scope", "template", "counted"),
    [
        (Scope(name="NotTerminating"), WORKER, True),
        (Scope(name="Terminating"), WORKER, False),
        (Scope(name="Terminating"), replace(WORKER, has_deadline=True), True),
        (Scope(name="BestEffort"), WORKER, False),
        (Scope(name="BestEffort"), BARE, True),
        (Scope(name="NotBestEffort"), WORKER, True),
        (Scope(name="PriorityClass"), WORKER, False),
        (Scope(name="PriorityClass", operator="In", values=("low",)), WORKER, False),
        (
            Scope(name="PriorityClass", operator="In", values=("low",)),
            replace(WORKER, priority_class="low"),
            True,
        ),
        (Scope(name="PriorityClass", operator="NotIn", values=("low",)), WORKER, True),
        (Scope(name="PriorityClass", operator="DoesNotExist"), WORKER, True),
        (Scope(name="VolumeAttributesClass"), WORKER, False),
    ],
)
def test_a_quota_counts_the_pods_that_all_its_scopes_name(
    scope: Scope, template: PodTemplate, *, counted: bool
) -> None:
    """Others are none of its business."""
    cost = quotas.pod_cost(limit("pods", 0, scope), template, NOTHING)

    assert (1000 if counted else 0) == cost


def test_pools_share_what_is_left_and_the_tightest_limit_is_named() -> None:
    """A pool's room is what no other uses or may come to use."""
    pods = {"a": 4, "b": 2}
    found = quotas.shares(
        (limit("requests.cpu", 2000), limit("limits.memory", 100_000, hard="1Gi")),
        {"a": WORKER, "b": WORKER},
        NOTHING,
        then=pods,
        now=pods,
    )
    first = quotas.room(found, "a")
    left = [each.after("a", 8) for each in found]

    assert Room(pods=8, limit="requests.cpu, 10 in the ResourceQuota compute") == first
    assert 2 == getattr(quotas.room(left, "b"), "pods", None)


def test_a_pool_whose_pods_are_refused_has_no_room_and_the_others_have_theirs() -> None:
    """What they do not say is what to add to them."""
    found = quotas.shares(
        (limit("requests.cpu", 2000),),
        {"a": BARE, "b": WORKER, "c": replace(WORKER, containers=())},
        NOTHING,
        then={},
        now={"a": 3, "b": 0},
    )

    wanted = "the ResourceQuota compute wants requests.cpu of every container"
    assert Room(pods=0, limit=wanted) == quotas.room(found, "a")
    assert 4 == getattr(quotas.room(found, "b"), "pods", None)

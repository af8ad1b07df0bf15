"""What the controller asks for once a minute: quotas, and other autoscalers."""

from dataclasses import replace

import pytest

from fairlead import policy_storage
from fairlead_autoscaler.controller.options import Options
from fairlead_autoscaler.decision.inputs import PodTemplate, QuotaLimit, Resources
from fairlead_autoscaler.kube.port import ForbiddenError, UnreachableError
from tests.support.controlling import DEPLOYMENT, POOL, Scene, targets_of

TWO = """
pools:
  - {name: first, queues: [a], autoscale: {objective: 10s, min: 4, max: 20, slots: 10}}
  - {name: second, queues: ["*"], autoscale: {objective: 10s, min: 4, max: 20, slots: 10}}
"""


@pytest.fixture
def asking(scene: Scene) -> Scene:
    """Have the controller ask for both."""
    scene.options = replace(scene.options, reads_quotas=True, reads_autoscalers=True)
    scene.controller = scene.another()
    return scene


def wants(scene: Scene, *, steps: int = 1) -> int:
    """Let the pool need all that it may have; return what is asked of it then."""
    for _ in range(steps):
        scene.need(slots=200, work=4000.0)
        scene.step()
        scene.start()
    return scene.replicas


def test_pods_that_were_added_since_it_was_read_count(asking: Scene) -> None:
    """The quota left three, and three were added: no three more are requested."""
    asking.kube.quota = 3
    assert 3 == wants(asking)
    asking.kube.fail("quotas", *(UnreachableError("no answer") for _ in range(3)))
    assert 3 == wants(asking, steps=6)
    asking.kube.quota = 5

    assert 5 == wants(asking, steps=4)
    assert "AtQuota" in str(asking.status()["limitedBy"])
    assert "allows no more: pods, 5 in the ResourceQuota q" in str(asking.status())


def test_a_quota_that_grew_is_seen_within_ten_seconds(asking: Scene) -> None:
    """And one that is gone. A pool that is not kept small asks once a minute."""
    asking.kube.quota = 0
    assert 0 == wants(asking)
    asking.kube.quota = None

    assert 0 < wants(asking, steps=3)
    asking.kube.calls.clear()
    wants(asking, steps=12)
    assert 1 == asking.kube.calls.count("quotas")


def limited(scene: Scene, *, cores: int) -> None:
    """Have a quota of CPU, and pods that request half a core."""
    template = PodTemplate(containers=(Resources(requests={"cpu": 500}),))
    scene.kube.workloads[POOL] = replace(scene.kube.workloads[POOL], template=template)
    used = 500 * len(scene.kube.pods)
    scene.kube.quota_limits = (
        QuotaLimit(
            quota="compute",
            resource="requests.cpu",
            hard=str(cores),
            left=1000 * cores - used,
        ),
    )


def test_a_quota_of_cpu_bounds_the_fleet_and_lifting_it_adds_pods_at_the_usual_pace(
    asking: Scene,
) -> None:
    """With room for ten the fleet asked for 144; the event names what is short."""
    limited(asking, cores=5)
    assert 10 == wants(asking, steps=2)
    assert "requests.cpu, 5 in the ResourceQuota compute" in str(asking.status()["conditions"])

    limited(asking, cores=50)

    assert 18 <= wants(asking, steps=3)


def test_pods_that_a_quota_keeps_from_being_created_are_given_up(asking: Scene) -> None:
    """Else their ReplicaSet waits ever longer, and does not see that there is room again."""
    limited(asking, cores=50)
    asking.need(slots=200, work=4000.0)
    asking.step()
    assert 20 == asking.replicas
    asking.kube.settle(ready=True)
    for name in sorted(asking.kube.pods)[10:]:
        del asking.kube.pods[name]
    limited(asking, cores=5)
    asking.now[0] += 60
    asking.need(slots=200, work=4000.0)

    asking.step()

    assert 10 == asking.replicas
    assert "AtQuota" in str(asking.status()["limitedBy"])


def test_pools_share_what_the_quota_leaves(asking: Scene) -> None:
    """Together they ask for no more than it does."""
    policy_storage.store(asking.db, TWO)
    names = {"first": "release-worker-first", "second": "release-worker-second"}
    for pool, name in names.items():
        asking.kube.add_pool(pool, name=name)
    asking.options = Options(holder="me", targets=targets_of(names), reads_quotas=True)
    asking.controller = asking.another()
    asking.kube.quota = 5
    asking.step(3)

    assert [4, 1] == [asking.kube.workloads[pool].replicas for pool in names]


def test_what_is_forbidden_keeps_nothing_else_from_being_asked(asking: Scene) -> None:
    """Each of the two is a right of its own."""
    asking.kube.fail("autoscalers", ForbiddenError("403"))
    asking.kube.quota = 3

    assert 3 == wants(asking)


def test_another_autoscaler_is_named_within_a_minute(asking: Scene) -> None:
    """The pool is left to it."""
    wants(asking)
    before = asking.replicas
    asking.kube.targets[f"Deployment/{DEPLOYMENT}"] = ("hpa",)
    asking.need(slots=0)
    asking.step(13)

    assert before == asking.replicas
    assert "ForeignAutoscaler" == asking.status()["reason"]
    assert POOL in asking.kube.workloads

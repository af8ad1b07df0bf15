"""A write of `replicas` whose outcome is unknown removes no busy pod."""

from dataclasses import replace

from fairlead_autoscaler.decision.decide import decide
from fairlead_autoscaler.decision.result import State
from fairlead_autoscaler.decision.stabilization import NeedPoint
from tests.support.autoscaling import NOW, Cluster, demand, look, pool, seconds, workload

SETTLED = State(recent_needs=(NeedPoint(NOW - seconds(3600), 0),))
"""Of a pool that has not needed anything for long."""


def test_a_scale_down_whose_answer_was_lost_removes_no_other_pods() -> None:
    """It is to be seen in the Deployment, and its pods are on their way out."""
    cluster = Cluster(pool(min=2), look(10), SETTLED)
    cluster.tick(demand())
    emptied = cluster.inputs
    lowered = decide(cluster.state, emptied, cluster.config)
    at = emptied.now + seconds(5)
    lagging = replace(
        emptied,
        now=at,
        demand=demand(at),
        workload=workload(2, "2"),
        write_failed=True,
    )
    found = decide(lowered.state, lagging, cluster.config)

    assert (2, None) == (lowered.scale, found.scale)
    assert (lowered.drain, ()) == (found.drain, found.undrain)


def test_replicas_are_not_lowered_below_the_pods_that_are_at_work() -> None:
    """A forgotten scale-down may be under way: then the empty ones are counted."""
    cluster = Cluster(pool(min=8), look(10), SETTLED)
    cluster.tick(demand())
    lagging = replace(cluster.inputs, workload=workload(8, "2"))
    found = decide(SETTLED, lagging, pool(min=2))

    assert 2 == sum(each.drained_at is not None for each in lagging.workers)
    assert None is found.scale

"""A pod that crashes again and again: the first to go, and no reason to keep the others."""

from dataclasses import replace

from fairlead_autoscaler import status
from fairlead_autoscaler.decision.decide import decide
from fairlead_autoscaler.decision.inputs import Inputs
from fairlead_autoscaler.decision.reasons import Reason
from fairlead_autoscaler.decision.result import State
from tests.support.autoscaling import (
    NOW,
    SLOTS,
    TICK,
    Cluster,
    demand,
    loads,
    look,
    pool,
    seconds,
)

CRASHED = "pod-1"
IDLE = demand()


def crashed(inputs: Inputs, *, with_worker: bool = False) -> Inputs:
    """Return the inputs while a pod is not ready, and its worker gone unless said otherwise."""
    return replace(
        inputs,
        pods=tuple(
            replace(each, ready=each.ready and each.uid != CRASHED) for each in inputs.pods
        ),
        workers=tuple(
            each for each in inputs.workers if with_worker or each.pod_uid != CRASHED
        ),
    )


def at(inputs: Inputs, after: float) -> Inputs:
    """Return the same look later; the demand is fresh."""
    now = NOW + seconds(after)
    return replace(inputs, now=now, cluster_at=now, demand=replace(demand(now), at=now))


def test_a_pool_without_work_shrinks_beside_a_pod_that_does_not_come_back() -> None:
    """It kept twenty pods for hours; now it keeps them for one start, and goes first."""
    config, state, inputs = pool(startPrior="20s", min=1), State(), crashed(look(20))
    seen: dict[float, tuple[Reason, int | None]] = {}
    for tick in range(13):
        after = tick * TICK.total_seconds()
        decision = decide(state, at(inputs, after), config)
        state = decision.state
        seen[after] = (decision.reason, decision.scale)

    assert (Reason.PODS_NOT_READY, None) == seen[15.0]
    assert Reason.STABILIZING is seen[20.0][0]
    assert (Reason.SURPLUS, 19) == seen[60.0]


def test_it_goes_before_a_pod_that_would_have_to_be_emptied() -> None:
    """A busy pool with one pod more than its maximum: none of the others is marked."""
    config = pool(startPrior="20s", max=3, stabilization="0s")
    busy = replace(crashed(look(4)), loads=loads(SLOTS, 0, SLOTS, SLOTS))
    state, seen = State(), list[tuple[int, tuple[str, ...]]]()
    for tick in range(20):
        now = NOW + tick * TICK
        fresh = demand(now, useful=3 * SLOTS, mean=3600.0)
        decision = decide(state, replace(busy, now=now, cluster_at=now, demand=fresh), config)
        state = decision.state
        if decision.scale is not None:
            seen.append((decision.scale, decision.drain))

    assert (3, ()) == seen[0]


def test_a_pod_whose_worker_is_alive_keeps_the_others_however_long_it_is_not_ready() -> None:
    """A kubelet that is silent says so of all its pods, and they go on running jobs."""
    config, state = pool(startPrior="20s"), State()
    for after in (0.0, 600.0, 3600.0):
        decision = decide(state, at(crashed(look(20), with_worker=True), after), config)
        state = decision.state

        assert (Reason.PODS_NOT_READY,) == decision.forbidden


def test_a_pod_that_comes_back_begins_anew_when_it_crashes_again() -> None:
    """Each restart has the time of a start."""
    config, state = pool(startPrior="20s"), State()
    for after, inputs in ((0, crashed(look(3))), (15, look(3)), (20, crashed(look(3)))):
        state = decide(state, at(inputs, after), config).state

    assert (Reason.PODS_NOT_READY,) == (
        decide(state, at(crashed(look(3)), 35), config).forbidden
    )
    assert () == decide(state, at(crashed(look(3)), 40), config).forbidden


def test_a_pod_that_is_empty_under_its_mark_is_not_lost() -> None:
    """It is not ready because it was asked to go."""
    cluster = Cluster(pool(min=1), look(3), State())
    for _ in range(20):
        cluster.tick(IDLE)

    assert () == cluster.state.lost
    assert 1 == cluster.inputs.workload.replicas


def test_pods_that_cannot_run_are_said_in_one_sentence() -> None:
    """As a condition, so that an event says it once, and beside whatever else is said."""
    seen = look(2)
    broken = replace(
        seen.pods[1], ready=False, was_ready=False, name="w-2", problem="ErrImagePull x:1"
    )
    inputs = replace(seen, pods=(seen.pods[0], broken), workers=seen.workers[:1])
    found = decide(State(), inputs, pool(min=2))

    said = "pods cannot run: 1 of 2, such as w-2: ErrImagePull x:1"
    assert said == status.pool_status(found, inputs, pool(min=2))["problem"]
    limited = next(each for each in found.conditions if "Limited" in each.condition)
    assert Reason.PODS_CANNOT_RUN is limited.reason

"""Floors lift the pods that are asked for, caps and paces hold them back."""

from dataclasses import replace

import pytest

from fairlead_autoscaler.decision import fleet
from fairlead_autoscaler.decision.decide import decide
from fairlead_autoscaler.decision.inputs import Inputs
from fairlead_autoscaler.decision.limits import (
    Bounded,
    ScaleUp,
    capped,
    floor_of,
    limited_scale_up,
)
from fairlead_autoscaler.decision.reasons import Reason
from fairlead_autoscaler.decision.result import State
from fairlead_autoscaler.decision.schedules import ScheduledBounds
from tests.support.autoscaling import NOW, demand, look, pods, pool, seconds, workload

NONE = ScheduledBounds(None, None)


@pytest.mark.parametrize(
    ("given", "scheduled", "expected"),
    [
        ({}, NONE, Bounded(60)),
        ({"max": 50}, NONE, Bounded(50, (Reason.AT_MAX,))),
        ({}, ScheduledBounds(None, 20), Bounded(20, (Reason.AT_SCHEDULE_MAX,))),
        ({}, ScheduledBounds(None, 0), Bounded(0, (Reason.AT_SCHEDULE_MAX,))),
        (
            {"cost": {"podHour": 0.1, "hourMax": 0.3}},
            NONE,
            Bounded(3, (Reason.AT_COST_MAX,)),
        ),
        (
            {"max": 50, "cost": {"podHour": 1, "hourMax": 4}},
            ScheduledBounds(None, 20),
            Bounded(4, (Reason.AT_COST_MAX, Reason.AT_SCHEDULE_MAX, Reason.AT_MAX)),
        ),
    ],
)
def test_the_lowest_cap_counts_and_all_that_were_met_are_named(
    given: dict[str, object], scheduled: ScheduledBounds, expected: Bounded
) -> None:
    """Of sixty pods that are asked for."""
    assert expected == capped(60, pool(**given), scheduled)


@pytest.mark.parametrize(
    ("given", "scheduled", "stale", "expected"),
    [
        ({"min": 2}, NONE, None, 2),
        ({"min": 2}, ScheduledBounds(5, None), None, 5),
        ({"min": 2}, ScheduledBounds(1, None), None, 2),
        ({"fallback": {"replicas": 7}}, NONE, None, 0),
        ({"fallback": {"replicas": 7}}, NONE, 59.0, 0),
        ({"fallback": {"replicas": 7}}, NONE, 60.0, 7),
        ({"fallback": {"replicas": 7, "after": "15s"}}, NONE, float("inf"), 7),
    ],
)
def test_the_highest_floor_counts(
    given: dict[str, object], scheduled: ScheduledBounds, stale: float | None, expected: int
) -> None:
    """The fallback's only when the scheduler has been silent for long enough."""
    assert expected == floor_of(pool(**given), scheduled, silent_seconds=stale)


@pytest.mark.parametrize(
    ("inputs", "scale_ups", "here", "expected"),
    [
        (look(0), (), 0, Bounded(60)),
        (look(2), (), 2, Bounded(10, (Reason.AT_STEP,))),
        (look(20), (), 20, Bounded(40, (Reason.AT_STEP,))),
        (look(40), (ScaleUp(NOW - seconds(14), 20),), 40, Bounded(40, (Reason.AT_STEP,))),
        (look(40), (ScaleUp(NOW - seconds(15), 20),), 40, Bounded(60)),
        (look(40), (ScaleUp(NOW - seconds(5), 0),), 40, Bounded(60)),
        (replace(look(0), quota_pods_max=3), (), 0, Bounded(3, (Reason.AT_QUOTA,))),
        (replace(look(40), quota_pods_max=40), (), 40, Bounded(40, (Reason.AT_QUOTA,))),
        (replace(look(40), connections=150), (), 40, Bounded(50, (Reason.AT_CONNECTIONS,))),
        (replace(look(40), connections=60), (), 40, Bounded(40, (Reason.AT_CONNECTIONS,))),
        (replace(look(0), connections=0), (), 0, Bounded(0, (Reason.AT_CONNECTIONS,))),
        (replace(look(40), workers=()), (), 40, Bounded(40, (Reason.AT_STARTING_MAX,))),
        (replace(look(40), pods=pods(10)), (), 40, Bounded(40, (Reason.AT_STARTING_MAX,))),
    ],
)
def test_what_holds_a_raise_back_never_takes_a_pod_away(
    inputs: Inputs, scale_ups: tuple[ScaleUp, ...], here: int, expected: Bounded
) -> None:
    """Of sixty pods that are asked for; from zero the step and the starting do not count."""
    config = pool(startingMax=30)
    found = limited_scale_up(
        60,
        here=here,
        inputs=inputs,
        fleet=fleet.of(inputs),
        scale_ups=scale_ups,
        start_seconds=30.0,
        config=config,
    )

    assert expected == found


@pytest.mark.parametrize(
    ("ages", "here", "expected"),
    [
        ((59,), 40, Bounded(60)),
        ((60,), 40, Bounded(40, (Reason.PODS_UNSCHEDULABLE,))),
        ((5, 60), 40, Bounded(40, (Reason.PODS_UNSCHEDULABLE,))),
        ((600,), 0, Bounded(60)),
    ],
)
def test_no_pods_are_added_while_some_find_no_node(
    ages: tuple[float, ...], here: int, expected: Bounded
) -> None:
    """After a start delay and 30 s no node is expected any more; from zero one is requested."""
    waiting = tuple(
        replace(each, unschedulable=True, ready=False, seen_at=NOW - seconds(age))
        for each, age in zip(pods(2), ages, strict=False)
    )
    inputs = replace(look(40), pods=(*waiting, *pods(40)[2:]))
    found = limited_scale_up(
        60,
        here=here,
        inputs=inputs,
        fleet=fleet.of(inputs),
        scale_ups=(),
        start_seconds=30.0,
        config=pool(),
    )

    assert expected == found


def test_a_pod_that_waited_for_a_node_before_we_looked_counts_from_its_creation() -> None:
    """A new controller does not begin anew to add pods for which there is no node."""
    first, *others = pods(4)
    waiting = replace(first, unschedulable=True, ready=False, was_ready=False)
    inputs = replace(look(4, demand(work=2000)), pods=(waiting, *others))
    found = decide(State(), inputs, pool())

    assert (None, Reason.PODS_UNSCHEDULABLE) == (found.scale, found.reason)


def test_pods_that_terminate_still_hold_their_connections() -> None:
    """Ten of them are on the way out: their thirty connections are not free yet."""
    leaving = tuple(replace(each, uid=f"old-{each.uid}", terminating=True) for each in pods(10))
    inputs = replace(look(40), pods=(*pods(40), *leaving), connections=150)
    found = limited_scale_up(
        60,
        here=40,
        inputs=inputs,
        fleet=fleet.of(inputs),
        scale_ups=(),
        start_seconds=30.0,
        config=pool(),
    )

    assert Bounded(40, (Reason.AT_CONNECTIONS,)) == found


def test_a_lower_max_takes_pods_away_at_once() -> None:
    """An operator set it: what was needed a moment ago does not count against it."""
    busy = demand(work=2000, waited=0)
    first = decide(State(), look(10, busy), pool(max=10))
    second = decide(first.state, replace(look(10, busy), now=NOW + seconds(5)), pool(max=4))

    assert (10, 4, 6) == (first.replicas, second.replicas, len(second.drain))


def test_a_cap_goes_before_every_floor() -> None:
    """A schedule's max below min holds; an empty pool goes to it as well."""
    config = pool(min=5, schedules=[{"start": "00:00", "end": "00:00", "max": 2}])
    found = decide(State(), replace(look(0), workload=workload(0)), config)

    assert (2, (Reason.AT_SCHEDULE_MAX,)) == (found.scale, found.limited)

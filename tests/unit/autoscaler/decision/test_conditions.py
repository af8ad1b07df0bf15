"""An event is recorded when something changed, and not because a boundary is near."""

from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest

from fairlead_autoscaler.decision.conditions import (
    ConditionState,
    PoolCondition,
    has_changed,
    updated,
)
from fairlead_autoscaler.decision.decide import decide
from fairlead_autoscaler.decision.reasons import Reason
from fairlead_autoscaler.decision.result import Decision, State
from tests.support.autoscaling import (
    NOW,
    Cluster,
    demand,
    loads,
    look,
    pool,
    seconds,
    workload,
)


def after(
    *looks: tuple[float, tuple[Reason, ...]],
) -> tuple[list[bool], tuple[ConditionState, ...]]:
    """Return at which readings something changed, and the last conditions."""
    former: tuple[ConditionState, ...] = ()
    seen: list[bool] = []
    for at, reasons in looks:
        later = updated(former, reasons, NOW + seconds(at))
        seen.append(has_changed(former, later))
        former = later
    return seen, former


@pytest.mark.parametrize(
    ("reason", "wrong"),
    [
        (Reason.DATABASE_UNREACHABLE, {PoolCondition.READY, PoolCondition.METRICS_STALE}),
        (Reason.FOREIGN_WRITER, {PoolCondition.READY}),
        (Reason.FOREIGN_AUTOSCALER, {PoolCondition.READY}),
        (Reason.DEMAND_AWAITED, {PoolCondition.METRICS_STALE}),
        (Reason.DEMAND_STALE, {PoolCondition.METRICS_STALE}),
        (Reason.CLUSTER_STALE, {PoolCondition.METRICS_STALE}),
        (Reason.PAUSED, {PoolCondition.PAUSED}),
        (Reason.HELD_IN, {PoolCondition.PAUSED}),
        (Reason.HELD_OUT, {PoolCondition.PAUSED}),
        (Reason.DRY_RUN, {PoolCondition.PAUSED}),
        (Reason.AT_MAX, {PoolCondition.SCALING_LIMITED}),
        (Reason.PODS_UNSCHEDULABLE, {PoolCondition.SCALING_LIMITED}),
        (Reason.ROLLOUT_STUCK, {PoolCondition.SCALING_LIMITED}),
        (Reason.EMPTY, {PoolCondition.ACTIVE}),
    ],
)
def test_every_cause_has_its_condition(reason: Reason, wrong: set[PoolCondition]) -> None:
    """Ready and Active are well when they are true, the others when they are not."""
    _, found = after((0, (reason,)))
    well = {PoolCondition.READY: True, PoolCondition.ACTIVE: True}

    assert {each: well.get(each, False) is not (each in wrong) for each in PoolCondition} == {
        each.condition: each.status for each in found
    }
    assert wrong == {each.condition for each in found if each.reason is reason}


def test_a_cause_is_reported_once_and_its_end_once() -> None:
    """However long it lasts; the end when it has not been back for a while."""
    stale = (Reason.DEMAND_STALE,)
    seen, found = after((0, ()), (5, stale), (10, stale), (15, ()), (20, ()), (25, ()))
    tail, _ = after((0, stale), (5, ()), (14, ()), (15, ()), (20, ()))

    assert [False, True, False, False, False, True] == seen
    assert [True, False, False, True, False] == tail
    assert NOW + seconds(25) == found[3].since


def test_a_limit_that_comes_and_goes_is_reported_once() -> None:
    """Another one in its place, too, as long as the first is not over."""
    looks = [
        (5.0 * tick, ((Reason.AT_STEP,), (), (Reason.AT_MAX, Reason.AT_STEP))[tick % 3])
        for tick in range(300)
    ]
    seen, _ = after(*looks)

    assert [0] == [place for place, each in enumerate(seen) if each]


def test_a_weightier_limit_that_stays_is_reported_though_the_former_applies_too() -> None:
    """A quota with room for three pods, where six were the most before: the quota is why."""
    both = (Reason.AT_QUOTA, Reason.AT_MAX)
    looks = ((0.0, (Reason.AT_MAX,)), *((5.0 * tick, both) for tick in range(1, 9)))
    seen, found = after(*looks)
    limited = found[2]

    assert [0, 6] == [place for place, each in enumerate(seen) if each]
    assert (Reason.AT_QUOTA, True, NOW) == (limited.reason, limited.status, limited.since)


def test_another_cause_of_the_same_condition_is_reported_when_the_former_is_over() -> None:
    """The condition was not well all the time."""
    outage, silence = (Reason.DATABASE_UNREACHABLE,), (Reason.DEMAND_STALE,)
    seen, found = after((0, outage), (5, silence), (10, silence), (15, silence))
    stale = found[3]

    assert [True, False, False, True] == seen
    assert (Reason.DEMAND_STALE, True, NOW) == (stale.reason, stale.status, stale.since)


def test_what_an_operator_switched_is_reported_at_once() -> None:
    """On and off."""
    seen, _ = after((0, ()), (1, (Reason.PAUSED,)), (2, (Reason.HELD_IN,)), (3, ()))

    assert [False, True, True, True] == seen


def test_a_noisy_load_makes_no_event_unless_replicas_are_written() -> None:
    """An hour at random around one level: the reason is another one every few ticks."""
    dice, total = Random(1), 0
    cluster = Cluster(pool(min=1, max=6), look(4), State())
    seen: list[Decision] = []
    for _ in range(720):
        came = sum(dice.random() < 0.05 for _ in range(200))
        total += came
        work = 8.0 * max(0, came - 8) * dice.randrange(3)
        busy = loads(*[dice.randrange(5) for _ in cluster.inputs.pods])
        row = demand(work=work, waited=dice.uniform(0, 12), total=total)
        seen.append(cluster.tick(row, jobs=busy))
    reasons = sum(a.reason is not b.reason for a, b in pairwise(seen))
    writes = sum(each.scale is not None for each in seen)
    events = sum(each.has_changed for each in seen)

    assert reasons > 100
    assert writes <= events <= writes + 8


def test_an_outage_is_reported_once_and_its_end_once() -> None:
    """Ten minutes without PostgreSQL: what is not written is not reported either."""
    cluster = Cluster(pool(min=2), look(2), State())
    cluster.tick(demand())
    changes: list[bool] = []
    for tick in range(150):
        answered = not 10 <= tick < 130
        cluster.inputs = replace(cluster.inputs, answered=answered)
        changes.append(cluster.tick(demand()).has_changed)

    assert [10, 132] == [tick for tick, each in enumerate(changes) if each]


def test_a_dry_run_reports_the_underlying_reason() -> None:
    """And that it is one."""
    found = decide(State(), look(0, demand(work=800)), pool(dryRun=True))

    assert (Reason.DRY_RUN, Reason.BACKLOG_DRAIN) == (found.reason, found.underlying)
    assert Reason.DRY_RUN is found.conditions[4].reason


def test_a_pool_at_zero_is_not_active() -> None:
    """Its first pods make it so, when they are asked for."""
    empty = decide(State(), replace(look(0), workload=workload(0)), pool())
    woken = decide(empty.state, look(0, demand(work=8)), pool())

    assert [False, True] == [each.conditions[1].status for each in (empty, woken)]
    assert woken.has_changed

"""Limits, rates and edits of the policy in the fair order, decision by decision."""

from dataclasses import replace

import pytest

from fairlead_scheduler.ordering.plan import QueueRow
from fairlead_scheduler.pending.values import PendingJob
from fairlead_scheduler.policy.compiled import Terms
from fairlead_scheduler.policy.gcra import Rate
from fairlead_scheduler.policy.settings import FairSettings
from tests.support.fair_bench import MS, Bench
from tests.support.tables import table

SECOND = 1_000_000
ONE_A_SECOND = Rate(1, SECOND, 1)


def test_a_lane_at_its_limit_waits_until_one_of_its_jobs_ends() -> None:
    """eligible: in flight < limit; in flight is queued or running."""
    bench = Bench(table({("q", "a"): Terms(limit=2)}))
    bench.add("q/a", 100, 100, 100, 100)

    assert "a1 a2" == bench.claim_order(bench.plan())
    assert () == bench.plan()
    bench.order.claimed([1, 2], bench.now_us)
    assert () == bench.plan()
    bench.order.ended([1], [100 * MS])
    assert "a3" == bench.claim_order(bench.plan())


def test_a_lane_that_a_plan_brings_to_its_limit_is_held_back_by_then() -> None:
    """Blocked lanes are counted from the decision on, though the plan was over with it."""
    bench = Bench(table({("q", "a"): Terms(limit=2), ("q", "b"): Terms(limit=3)}))
    bench.add("q/a", 100, 100, 100)
    bench.plan(2)
    assert {"limit": 1} == held(bench)

    bench.add("q/b", 100, 100, 100)
    bench.plan(2)

    assert {"limit": 1} == held(bench)


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8, 9, 30])
def test_a_limit_holds_however_far_it_is_from_a_plans_end(limit: int) -> None:
    """Turns of several jobs, and lanes with more room than a plan has, end at the limit too."""
    bench = Bench(table({("q", "a"): Terms(limit=limit)}), turn_us=MS)
    bench.add("q/a", *[1] * 40)
    planned = 0
    for room in (1, 2, 5, 1, 40, 40):
        planned += len(bench.plan(room, slots=100))

    assert limit == planned


def test_a_queue_at_its_limit_waits_whichever_lane_is_next() -> None:
    """A queue's limit is over all its tenants, and these go on sharing it."""
    bench = Bench(table({("q", None): Terms(limit=2)}))
    bench.add("q/a", 100, 100, 100)
    bench.add("q/b", 100, 100, 100)
    bench.add("r/c", 100)

    assert "a1 c1 b1" == bench.claim_order(bench.plan())
    bench.order.ended([1], [100 * MS])
    assert "a2" == bench.claim_order(bench.plan())
    bench.order.ended([2, 4], [100 * MS] * 2)
    assert "b2 a3" == bench.claim_order(bench.plan())


def test_a_turn_of_several_short_jobs_stops_at_the_limit() -> None:
    """Jobs that share a turn count one by one."""
    bench = Bench(
        table({("q", "a"): Terms(limit=3), ("q", None): Terms(limit=5)}),
        turn_us=MS,
        prior_us=MS,
    )
    bench.add("q/a", *[1] * 10)
    bench.add("q/b", *[1] * 10)

    jobs = bench.plan(slots=100)

    assert "a1 a2 a3 b1 b2" == bench.claim_order(jobs)


def test_a_limit_of_one_lane_leaves_the_others_alone() -> None:
    """What is not eligible leaves its heap."""
    bench = Bench(table({("q", "a"): Terms(limit=1)}))
    bench.add("q/a", 1, 1, 1)
    bench.add("q/b", 100, 100, 100)

    assert "a1 b1 b2 b3" == bench.claim_order(bench.plan())


@pytest.mark.parametrize(("slots", "expected"), [(1, 1), (8, 2), (9, 3)])
def test_a_limit_may_be_a_share_of_the_live_slots(slots: int, expected: int) -> None:
    """A percentage is rounded up, and one at least."""
    bench = Bench(table({("q", "a"): Terms(limit_per_10_000=2500)}))
    bench.add("q/a", *[100] * 10)

    assert expected == len(bench.plan(slots=slots))


def test_more_slots_raise_a_limit_that_is_a_share_of_them() -> None:
    """Lanes that the limit blocked go on."""
    bench = Bench(table({("q", "a"): Terms(limit_per_10_000=5000)}))
    bench.add("q/a", *[100] * 10)
    bench.plan(slots=4)

    assert 3 == len(bench.plan(slots=10))


def test_a_rate_lets_a_burst_go_and_then_one_job_after_another() -> None:
    """GCRA per lane: the burst, then one each interval."""
    bench = Bench(table({("q", "a"): Terms(rates=(Rate(10, SECOND, 2),))}))
    bench.now_us = 5 * SECOND
    bench.add("q/a", *[100] * 10)

    assert "a1 a2" == bench.claim_order(bench.plan())
    bench.now_us += 50 * MS
    assert () == bench.plan()
    release_us = bench.order.release_us
    assert release_us is not None
    assert 5 * SECOND + 1 * MS + 100 * MS == release_us
    bench.now_us = release_us - MS
    assert "a3" == bench.claim_order(bench.plan())


def test_every_window_of_a_rate_has_to_allow_a_job() -> None:
    """Several windows at once."""
    windows = (Rate(1, SECOND, 2), Rate(3, 3600 * SECOND, 3))
    bench = Bench(table({("q", None): Terms(rates=windows)}))
    bench.add("q/a", *[100] * 10)
    counts: list[int] = []
    for _ in range(4):
        bench.now_us += 2 * SECOND
        counts.append(len(bench.plan()))

    assert [2, 1, 0, 0] == counts


def test_a_dispatch_that_is_refused_costs_no_rate() -> None:
    """Nothing was dispatched: the next plan may."""
    bench = Bench(table({("q", "a"): Terms(rates=(ONE_A_SECOND,))}))
    bench.now_us = 5 * SECOND
    bench.add("q/a", 100, 100)
    (job,) = bench.plan()

    bench.order.refused([job.id], "default")

    assert "a2" == bench.claim_order(bench.plan())


def test_what_rates_have_used_comes_with_the_plan_and_binds_the_next_leader() -> None:
    """Rates are exact across restarts: they are written in the dispatch itself."""
    terms = table({("q", "a"): Terms(rates=(ONE_A_SECOND,))})
    bench = Bench(terms)
    bench.now_us = 5 * SECOND
    bench.add("q/a", 100)
    used = bench.decide(5 * SECOND, 1, 10).used
    heir = Bench(terms)
    heir.adopt([], 5 * SECOND, (), used)
    heir.add("q/a", 100)
    heir.now_us = 5 * SECOND + 900 * MS

    assert [("q", "a", SECOND, 6 * SECOND)] == [each[:4] for each in used]
    assert () == heir.plan()
    heir.now_us = 6 * SECOND
    assert "a1" == heir.claim_order(heir.plan())


def test_a_plan_without_rated_lanes_has_nothing_to_store() -> None:
    """A lane without a rate costs nothing."""
    bench = Bench(table({("q", "a"): Terms(limit=5)}))
    bench.add("q/a", 100)

    assert () == bench.decide(0, 1, 10).used


def test_what_a_limit_held_back_earns_no_credit() -> None:
    """Becoming eligible again: S = max(S, V)."""
    bench = Bench(table({("q", "a"): Terms(limit=1)}))
    bench.add("q/a", *[100] * 5)
    bench.add("q/b", *[100] * 40)
    ids = [job.id for job in bench.plan(20)]
    bench.order.claimed(ids, bench.now_us)
    bench.order.ended(ids[1:], [100 * MS] * 19)

    bench.order.apply(table({}), bench.now_us)

    assert "b20 a2 b21 a3" == bench.picked(4)


def test_a_rate_outlives_the_lane_that_used_it() -> None:
    """A lane without work may be forgotten, but not what it has used."""
    terms = table({("q", "a"): Terms(rates=(ONE_A_SECOND,))})
    bench = Bench(terms)
    bench.order.apply(replace(terms, settings=FairSettings(idle_lanes_max=0)), 0)
    bench.now_us = 5 * SECOND
    bench.add("q/a", 100)
    bench.add("q/b", 100)
    bench.run(bench.plan(), 1)
    bench.plan()

    bench.reconcile([], bench.now_us)
    bench.add("q/a", 100)
    bench.add("q/b", 100)

    assert "b2" == bench.claim_order(bench.plan())


def test_a_new_limit_is_in_force_from_the_next_plan_on() -> None:
    """Apply re-keys lanes between two plans."""
    bench = Bench()
    bench.add("q/a", *[100] * 10)
    bench.plan(3)

    bench.order.apply(table({("q", "a"): Terms(limit=4)}), bench.now_us)
    assert 1 == len(bench.plan())
    bench.order.apply(table({}), bench.now_us)
    assert 6 == len(bench.plan())


def test_what_waits_above_a_new_limit_is_named_for_recall() -> None:
    """Unclaimed rows are recalled where a rule now holds them, those that go last."""
    bench = Bench()
    bench.add("q/a", *[100] * 6)
    bench.add("r/b", *[100] * 2)
    bench.plan()
    bench.order.claimed([1, 2], bench.now_us)

    bench.order.apply(table({("q", "a"): Terms(limit=3)}), bench.now_us)

    assert (4, 5, 6) == bench.order.surplus_rows()
    bench.order.recalled([4, 5, 6], bench.heads)
    assert () == bench.order.surplus_rows()
    assert not bench.order.may_exceed_limits


def test_a_new_weight_is_felt_at_once() -> None:
    """What a light lane owes it does not owe a thousand times when it becomes heavy."""
    bench = Bench(table({("q", "a"): Terms(weight=0.01)}))
    bench.add("q/a", *[100] * 30)
    bench.add("q/b", *[100] * 30)
    assert "a1 b1 b2" == bench.picked(3)

    bench.order.apply(table({("q", "a"): Terms(weight=10.0)}), bench.now_us)

    picked = bench.picked(12).split()
    assert 10 <= sum(name.startswith("a") for name in picked)


def test_thousands_of_lanes_have_their_new_terms_within_a_few_plans() -> None:
    """An edit holds up no plan for long, nor can another edit keep a lane from its terms."""
    names: list[tuple[str, str]] = [("q", f"t{number}") for number in range(3500)]
    bench = Bench()
    for number, (queue, tenant) in enumerate(names):
        bench.heads.discovered([PendingJob(number, number, queue, tenant, 0, None, 0)])
    bench.plan(0)
    for limit in range(4, 0, -1):
        terms: dict[tuple[str, str | None], Terms] = dict.fromkeys(names, Terms(limit=limit))
        bench.order.apply(replace(table(terms), digest=str(limit)), bench.now_us)
    for number, (queue, tenant) in enumerate(names, start=len(names)):
        bench.heads.discovered([PendingJob(number, number, queue, tenant, 0, None, 0)])
    for _ in range(3):
        bench.plan(0)

    assert 3500 == len(bench.plan())


def test_a_new_weight_forgives_no_debt() -> None:
    """What was charged beyond the others stays the same in slot-time."""
    bench = Bench(table({("q", "a"): Terms(weight=2.0)}))
    bench.add("q/a", 400, 200, 200)
    bench.add("q/b", *[100] * 30)
    assert "a1 b1" == bench.picked(2)

    bench.order.apply(table({("q", "a"): Terms(weight=1.0)}), bench.now_us)

    assert "b2 b3 b4" == bench.picked(3)


def test_the_estimator_of_a_new_policy_counts_from_then_on() -> None:
    """Jobs without a hint are charged by the settings in force."""
    bench = Bench()
    bench.add("q/a", None, None)
    (first,) = bench.plan(1)
    settings = FairSettings(prior_us=7 * MS)

    bench.order.apply(replace(table({}), settings=settings), bench.now_us)

    (second,) = bench.plan(1)
    assert (100 * MS, 7 * MS) == (first.estimate_us, second.estimate_us)


def test_a_new_leader_counts_what_is_in_flight() -> None:
    """Limits are exact across failovers: in flight is rebuilt from work_queue."""
    bench = Bench(table({("q", "a"): Terms(limit=2)}))
    rows = [QueueRow(100 + n, "q", "a", 0, 100, n or None) for n in range(2)]
    bench.adopt(rows, 0)
    bench.add("q/a", 100)

    assert () == bench.plan()
    bench.order.ended([100], [100])
    assert "a1" == bench.claim_order(bench.plan())


def held(bench: Bench) -> dict[str, int]:
    """Return how many lanes are held back, by each reason that holds any."""
    return {reason: lanes for reason, lanes in bench.order.blocked_lanes().items() if lanes}


def test_lanes_that_are_held_back_are_counted_by_reason() -> None:
    """Blocked lanes by reason: limit, rate, paused; a queue's reason is that of its lanes."""
    bench = Bench(
        table(
            {
                ("q", "a"): Terms(limit=1),
                ("q", "b"): Terms(rates=(ONE_A_SECOND,)),
                ("r", None): Terms(limit=1),
            }
        )
    )
    bench.now_us = 5 * SECOND
    for lane in ("q/a", "q/b", "q/c", "r/d", "r/e"):
        bench.add(lane, 100, 100)
    bench.plan(paused="q/c")

    assert {"limit": 3, "rate": 1, "paused": 1} == held(bench)
    bench.order.ended([1, 7], [1, 1])
    bench.now_us += SECOND
    bench.plan()
    bench.plan()
    assert {"limit": 2} == held(bench)
